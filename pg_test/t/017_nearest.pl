# The nearest rows: in order and exact beside filters of every kind, for each row of another table, over
# partitions, with little memory; and how many pages they read, near and far from the centre.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('nearest', conf => "jit = off\nmax_parallel_workers_per_gather = 0\n");
$node->safe_psql('postgres', <<'SQL');
-- Uniform fingerprints, 2 % without one.
CREATE TABLE t AS SELECT i::bigint AS id, (i % 3)::int AS part, CASE WHEN i % 50 = 0 THEN NULL ELSE hashint8extended(i, 1) END AS fp
	FROM generate_series(1, 60000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
-- One value for most rows, others near and far.
CREATE TABLE crowd AS SELECT i::bigint AS id, CASE WHEN i % 20 = 0 THEN NULL WHEN i % 3 = 0 THEN flip(42, (i % 40)::int) ELSE 42 END AS fp
	FROM generate_series(1, 30000) i;
CREATE INDEX crowd_fp ON crowd USING simhash (fp);
-- All rows in one corner.
CREATE TABLE corner AS SELECT i::bigint AS id, hashint8extended(i, 2) & 65535 AS fp FROM generate_series(1, 20000) i;
CREATE INDEX corner_fp ON corner USING simhash (fp);
-- Three tenants, and some rows without one; the last row has a tenant of its own.
CREATE TABLE scoped AS SELECT id, CASE WHEN id = 20000 THEN 3 ELSE nullif(part, 2) END AS part, fp FROM t WHERE id <= 20000;
CREATE INDEX scoped_fp ON scoped USING simhash (part as_numbered, fp);
CREATE TABLE parted (id bigint, part int, fp bigint) PARTITION BY LIST (part);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted2 (fp bigint, id bigint, part int);
ALTER TABLE parted ATTACH PARTITION parted2 FOR VALUES IN (2);
INSERT INTO parted SELECT id, part, fp FROM t WHERE id <= 9000;
CREATE INDEX parted_fp ON parted USING simhash (fp);
VACUUM ANALYZE;

-- The distances of the rows that a query returns with columns (id, fp, d), against the n smallest
-- that the table has under the filter; $1 is the centre.
CREATE FUNCTION order_faults(tab regclass, q bigint, filter text, oracle text, n int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id, fp, fp <~> %s AS d FROM %s
		WHERE %s ORDER BY fp <~> %1$s LIMIT %4$s', quote_nullable(q) || '::bigint', tab, filter, n);
	got record;
	want int[];
BEGIN
	PERFORM read_by('index');
	IF plan_of(query) !~ 'Order By: ' OR plan_of(query) ~ '(^|-> +)Sort\n' THEN
		RETURN NEXT format('no index orders: %s', query);
	END IF;
	-- Distinct ids are counted outside: next to array_agg that would sort its input (from PostgreSQL 16 on).
	EXECUTE format('SELECT d, real, cardinality(list) AS rows, (SELECT count(DISTINCT i) FROM unnest(list) AS i) AS ids
		FROM (SELECT array_agg(d) AS d, array_agg(bit_count((fp # $1)::bit(64))::int) AS real, array_agg(id) AS list
			FROM (%s) x) y', query) INTO got USING q;
	PERFORM read_by('table');
	EXECUTE format('SELECT array_agg(d) FROM (SELECT bit_count((fp # $1)::bit(64))::int AS d FROM %s
		WHERE %s ORDER BY d LIMIT %s) x', tab, oracle, n)
		INTO want USING q;
	IF got.d IS DISTINCT FROM want OR got.real IS DISTINCT FROM got.d OR got.rows <> got.ids THEN
		RETURN NEXT format('%s: %s rows (%s ids), not %s; %s instead of %s', query, got.rows, got.ids, cardinality(want), got.d[:40], want[:40]);
	END IF;
END $$;
SQL

sub no_faults
{
	my ($what, $sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $out, $err) = $node->psql('postgres', $sql);
	return is($out . $err, '', $what);
}

# ------------------------------------------------------------------ filters
my $q = $node->safe_psql('postgres', 'SELECT flip(fp, 2) FROM t WHERE id = 777');
my $other = $node->safe_psql('postgres', 'SELECT flip(fp, 5) FROM t WHERE id = 4242');
# A condition, and how the oracle says it.
my @filters = (
	[ 'true', 'true' ],
	[ 'id % 7 = 0', 'id % 7 = 0' ],
	[ 'id = 59999', 'id = 59999' ],
	[ 'false IS TRUE AND id > 0 OR id < 0', 'false' ],
	[ "fp <~> $q <= 20", "bit_count((fp # ($q))::bit(64)) <= 20" ],
	[ "fp <~> $q <= 20 AND id % 5 = 1", "bit_count((fp # ($q))::bit(64)) <= 20 AND id % 5 = 1" ],
	# A radius around another centre than that of the order, narrow and wide, and around both.
	[ "fp <~> $other <= 6", "bit_count((fp # ($other))::bit(64)) <= 6" ],
	[ "fp <~> $other <= 26", "bit_count((fp # ($other))::bit(64)) <= 26" ],
	[ "fp <~> $other <= 30 AND fp <~> $q <= 28", "bit_count((fp # ($other))::bit(64)) <= 30 AND bit_count((fp # ($q))::bit(64)) <= 28" ],
	[ "fp <~> $q <= 28 AND fp <~> $q <= 22", "bit_count((fp # ($q))::bit(64)) <= 22" ],
	[ "fp ~= $other", "bit_count((fp # ($other))::bit(64)) <= 3" ],
	[ "fp <~> $q <= -1", 'false' ],
	[ 'fp IS NOT NULL', "coalesce(fp::text, '') <> ''" ],
	[ 'fp IS NULL', "coalesce(fp::text, '') = ''" ],
	[ "fp IS NOT NULL AND fp <~> $q <= 19", "bit_count((fp # ($q))::bit(64)) <= 19" ]);
for my $cache ('64MB', '0')
{
	for my $n (1, 25, 100000)
	{
		my $all = join ' UNION ALL ', map { "SELECT * FROM order_faults('t', $q, \$f\$$_->[0]\$f\$, \$f\$$_->[1]\$f\$, $n)" } @filters;
		no_faults("filters, the nearest $n, directory cache $cache", "SET simhash_dedup.directory_cache = '$cache'; $all");
	}
}
# Beside a scope.
my @scopes = ('part = 1', 'part IS NULL', 'part = 3', 'part = 8');
no_faults("scopes beside filters", join ' UNION ALL ', map {
	my $scope = $_;
	map { "SELECT * FROM order_faults('scoped', $q, \$f\$$scope AND ($_->[0])\$f\$, \$f\$$scope AND ($_->[1])\$f\$, 1000)" } @filters
} @scopes);
# Two radii without an order.
for my $k (4, 9, 25)
{
	is($node->safe_psql('postgres',
		"SET enable_seqscan = off; SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t WHERE fp <~> $q <= $k AND fp <~> ($q # 7) <= 9"),
		$node->safe_psql('postgres',
			"SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t
				WHERE bit_count((fp # ($q))::bit(64)) <= $k AND bit_count((fp # ($q # 7))::bit(64)) <= 9"),
		"two radii at once, $k and 9");
}
unlike($node->safe_psql('postgres',
	"SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN SELECT id FROM t ORDER BY fp <~> $q DESC LIMIT 3"),
	qr/Order By:/, 'the farthest rows are not asked of the index');

# ------------------------------------------------------------------ memory
# 64 kB hold 8192 rows that wait: a ring of 19,000 does not fit, and the others only in part.
for my $memory ('64kB', '4MB')
{
	my $all = join ' UNION ALL ', map { my $c = $_; map { "SELECT * FROM nearest_faults('crowd', $c, $_)" } 1, 9000, 40000 } 42, 43, -1;
	no_faults("waiting rows within $memory, many equal ones",
		"SET work_mem = '$memory'; $all UNION ALL SELECT * FROM null_faults('crowd', 42)");
	no_faults("waiting rows within $memory, uniform ones",
		"SET work_mem = '$memory'; SELECT * FROM nearest_faults('t', $q, 100000) UNION ALL SELECT * FROM nearest_faults('corner', -1, 100000)");
	no_faults("waiting rows within $memory, of a scope, and of all",
		"SET work_mem = '$memory'; SELECT * FROM scope_nearest_faults('scoped', 'part = 1', 'fp', $q, 100000)
		UNION ALL SELECT * FROM scope_nearest_faults('scoped', 'true', 'fp', $q, 100000)");
}

# ------------------------------------------------------------------ for each row of another table
$node->safe_psql('postgres',
	'CREATE TABLE asked AS SELECT row_number() OVER () AS n, flip(fp, (id % 4)::int) AS fp FROM t WHERE id % 1500 = 7');
my $lateral = 'SELECT a.n, x.d FROM asked a, LATERAL (SELECT fp <~> a.fp AS d FROM t ORDER BY fp <~> a.fp LIMIT 4) x';
my $off = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;';
like($node->safe_psql('postgres', "$off EXPLAIN (COSTS OFF) $lateral"),
	qr/Nested Loop.*Limit\n\s+->  Index Scan using t_fp on t\n\s+Order By: \(fp <~> a\.fp\)/s, 'the nearest of each: by the index');
is($node->safe_psql('postgres', "$off SELECT array_agg(n || ':' || d ORDER BY n, d) FROM ($lateral) y"),
	$node->safe_psql('postgres', "SELECT array_agg(n || ':' || d ORDER BY n, d) FROM (SELECT a.n, x.d FROM asked a, LATERAL
		(SELECT bit_count((fp # a.fp)::bit(64)) AS d FROM t ORDER BY d LIMIT 4) x) y"),
	'the nearest of each: as the oracle has them');

# ------------------------------------------------------------------ partitions
my $merged = $node->safe_psql('postgres', "$off EXPLAIN (COSTS OFF) SELECT id FROM parted ORDER BY fp <~> $q LIMIT 9");
like($merged, qr/Merge Append\n\s+Sort Key: .*<~>.*(Index Scan.*){3}/s, 'partitions are merged in order');
no_faults('the nearest of all partitions', join ' UNION ALL ',
	map { "SELECT * FROM order_faults('parted', $q, 'true', 'true', $_)" } 1, 40, 10000);
no_faults('the same within a radius',
	"SELECT * FROM order_faults('parted', $q, 'fp <~> $q <= 24', 'bit_count((fp # ($q))::bit(64)) <= 24', 500)");

# ------------------------------------------------------------------ pages
# Buffers of the whole query.
sub pages_read
{
	my ($sql, $settings) = @_;
	my $plan = $node->safe_psql('postgres', ($settings // '') . "$off EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $sql");
	$plan =~ /Order By/ or die $plan;
	my ($hit) = $plan =~ /Buffers: shared(?: hit=(\d+))?/;
	my ($read) = $plan =~ /Buffers: shared[^\n]* read=(\d+)/;
	return ($hit // 0) + ($read // 0);
}
my $pages = $node->safe_psql('postgres', "SELECT pg_relation_size('t_fp') / 8192");
for my $cache ('64MB', '0')
{
	# After some searches the session has a directory, if it may.
	my $set = "SET simhash_dedup.directory_cache = '$cache'; $off
		DO \$\$ BEGIN FOR i IN 1 .. 6 LOOP PERFORM id FROM t ORDER BY fp <~> (i * 998244353::bigint) LIMIT 1; PERFORM id FROM corner ORDER BY fp <~> -i LIMIT 1; END LOOP; END \$\$;";
	my $exact = $node->safe_psql('postgres', 'SELECT fp FROM t WHERE id = 12345');
	my $one = pages_read("SELECT id FROM t ORDER BY fp <~> $exact LIMIT 1", $set);
	# Root, leaf, metapage and the row's own page; the ring of exact equals needs one space.
	cmp_ok($one, '<=', 8, "the row itself is found in few pages ($one of $pages)");
	my $near = pages_read("SELECT id FROM t ORDER BY fp <~> ($exact # 5) LIMIT 1", $set);
	cmp_ok($near, '<=', 20, "a row two bits away in few ($near)");
	my $random = pages_read('SELECT id FROM t ORDER BY fp <~> 1234567890123 LIMIT 1', $set);
	# The nearest row is some 14 bits away: look-ups ring by ring, begun anew at each horizon.
	cmp_ok($random, '<=', 4 * $pages, "nothing near: a few times the index, no more ($random of $pages)");
	cmp_ok($random, '>', $one, 'which is more than for a near one');
	my $ten = pages_read("SELECT id FROM t ORDER BY fp <~> $exact LIMIT 10", $set);
	cmp_ok($ten, '<=', 4 * $pages, "ten, of which nine are far ($ten)");
	# Every row is 48 bits away: bands that double, not one reading for each ring.
	my $own = $node->safe_psql('postgres', "SELECT pg_relation_size('corner_fp') / 8192");
	my $far = pages_read('SELECT id FROM corner ORDER BY fp <~> -1 LIMIT 1', $set);
	cmp_ok($far, '<=', 3 * $own, "all rows far away ($far pages, the index has $own)");
}
# The nearest of a small scope: its own leaves, however many rows others have.
for my $cache ('64MB', '0')
{
	my $set = "SET simhash_dedup.directory_cache = '$cache'; $off";
	cmp_ok(pages_read("SELECT id FROM scoped WHERE part = 3 ORDER BY fp <~> $q LIMIT 5", $set), '<=', 40,
		'the nearest of a tenant with one row');
	cmp_ok(pages_read("SELECT id FROM scoped WHERE part = 8 ORDER BY fp <~> $q LIMIT 5", $set), '<=', 40, 'and of one without');
}
# A filter that few rows pass makes the scan go on, and no further than needed.
cmp_ok(pages_read("SELECT id FROM t WHERE id = 12345 ORDER BY fp <~> (SELECT fp FROM t x WHERE x.id = 12345) LIMIT 1"), '<', 60000 / 100,
	'a filter that the nearest row passes');

is_sound($node, 't', 't_fp', 'at the end', 1);
is_sound($node, 'crowd', 'crowd_fp', 'at the end, equal rows', 1);
is_sound($node, 'scoped', 'scoped_fp', 'at the end, scopes', 1);
$node->stop;
done_testing();
