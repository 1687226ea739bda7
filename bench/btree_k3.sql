SELECT id FROM t
WHERE ((fp >> 48) & 65535)::int4 = ((:q::bigint >> 48) & 65535)::int4
	AND bit_count((fp # :q)::bit(64)) <= 3
UNION ALL
SELECT id FROM t
WHERE ((fp >> 32) & 65535)::int4 = ((:q::bigint >> 32) & 65535)::int4
	AND bit_count((fp # :q)::bit(64)) <= 3
	AND ((fp >> 48) & 65535)::int4 <> ((:q::bigint >> 48) & 65535)::int4
UNION ALL
SELECT id FROM t
WHERE ((fp >> 16) & 65535)::int4 = ((:q::bigint >> 16) & 65535)::int4
	AND bit_count((fp # :q)::bit(64)) <= 3
	AND ((fp >> 48) & 65535)::int4 <> ((:q::bigint >> 48) & 65535)::int4 AND ((fp >> 32) & 65535)::int4 <> ((:q::bigint >> 32) & 65535)::int4
UNION ALL
SELECT id FROM t
WHERE (fp & 65535)::int4 = (:q::bigint & 65535)::int4
	AND bit_count((fp # :q)::bit(64)) <= 3
	AND ((fp >> 48) & 65535)::int4 <> ((:q::bigint >> 48) & 65535)::int4 AND ((fp >> 32) & 65535)::int4 <> ((:q::bigint >> 32) & 65535)::int4 AND ((fp >> 16) & 65535)::int4 <> ((:q::bigint >> 16) & 65535)::int4;
