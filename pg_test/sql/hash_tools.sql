-- Hashes that tools made of the same pictures, brought by the expressions of docs/media.md: distances are the tools' own.
\getenv folder PG_ABS_SRCDIR
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA hash_tools_test;
SET search_path = hash_tools_test, public, simhash_methods;

CREATE TABLE value (tool text, version text, picture text, hash text, distances int[], id int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE way (tool text PRIMARY KEY, gives text, expression text);
\set file :folder '/data/hash_tools.csv'
COPY value (tool, version, picture, hash, distances) FROM :'file' CSV HEADER;
\set file :folder '/data/hash_tool_expressions.csv'
COPY way FROM :'file' CSV HEADER;
CREATE FUNCTION bits_of(code text, alphabet text DEFAULT 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567') RETURNS varbit
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT string_agg(right((nullif(strpos(alphabet, c), 0) - 1)::bit(6)::text, CASE length(alphabet) WHEN 32 THEN 5 ELSE 6 END), ''
		ORDER BY i)::varbit
	FROM unnest(string_to_array(code, NULL)) WITH ORDINALITY AS t (c, i)
$$;

-- Each tool has an expression, and each expression a tool; each value has a distance to each before it.
SELECT count(*) AS without FROM value FULL JOIN way USING (tool) WHERE version IS NULL OR expression IS NULL;
SELECT count(*) AS wrong FROM (SELECT distances, row_number() OVER (PARTITION BY tool ORDER BY id) - 1 AS before FROM value) AS v
WHERE cardinality(distances) <> before;

-- Fingerprints, parts, and the segments of a picture, one row each.
CREATE TABLE brought (tool text, id int, one bigint, parts bigint[]);
DO $$
DECLARE
	w way;
BEGIN
	FOR w IN TABLE way LOOP
		EXECUTE format('INSERT INTO brought (tool, id, %s) SELECT tool, id, %s FROM (SELECT tool, id, hash AS h FROM value WHERE tool = %L) AS v',
			CASE w.gives WHEN 'parts' THEN 'parts' ELSE 'one' END, w.expression, w.tool);
	END LOOP;
END $$;
-- Of a picture in segments, the nearest two are what the fixture has.
CREATE TABLE compared AS
SELECT a.tool, a.id AS a, b.id AS b, min(coalesce(x.one <~> y.one, hamming_parts(x.parts, y.parts))) AS ours,
	(array_agg(a.distances[b.number]))[1] AS theirs
FROM value AS a
	JOIN LATERAL (SELECT id, row_number() OVER (ORDER BY id) AS number FROM value WHERE tool = a.tool) AS b ON b.id < a.id
	JOIN brought AS x ON x.id = a.id JOIN brought AS y ON y.id = b.id
GROUP BY 1, 2, 3;
SELECT tool, gives, max(cardinality(b.parts)) AS parts, count(DISTINCT b.id) AS values, c.pairs, c.equal, c.apart
FROM way JOIN brought AS b USING (tool)
	JOIN (SELECT tool, count(*) AS pairs, count(*) FILTER (WHERE ours = theirs) AS equal, max(ours) AS apart FROM compared
		GROUP BY 1) AS c USING (tool)
GROUP BY 1, 2, 5, 6, 7 ORDER BY tool COLLATE "C";
SELECT count(*) AS pairs, count(*) FILTER (WHERE ours = theirs) AS equal, count(DISTINCT tool) AS tools FROM compared;
-- All expressions but those of segments can be in an index: they are immutable.
DO $$
DECLARE
	w way;
BEGIN
	FOR w IN SELECT * FROM way WHERE gives <> 'segments' LOOP
		EXECUTE 'CREATE TABLE of_a_tool (h text)';
		EXECUTE format('CREATE INDEX ON of_a_tool USING simhash (((%s)%s))', w.expression, CASE w.gives WHEN 'parts' THEN '[1]' ELSE '' END);
		DROP TABLE of_a_tool;
	END LOOP;
END $$;
-- What is cut or has a letter too many is refused.
SELECT fingerprint_to_hex(fingerprint_from_bytes(decode('xe3SUsnYLWI=', 'base64'))) AS base64,
	fingerprint_to_hex(fingerprint_from_bits(substring(bits_of('EEA4L3OSKLE5QLLC') from 17))) AS iscc,
	fingerprint_to_unsigned(fingerprint_from_bytes(decode(rpad('AeDmz/M6P08', 12, '='), 'base64'))) AS image_hasher;
SELECT fingerprint_from_bits(substring(bits_of('EEA4L3OSKLE5QLL1') from 17));
SELECT fingerprint_from_bytes(decode(rpad('AeDmz/M6P08AeDmz/M6P08', 12, '='), 'base64'));
SELECT fingerprint_from_hex('18aed6954b92d896989c6', pad => true);
DROP SCHEMA hash_tools_test CASCADE;
