# What the planner expects: row estimates against true counts on real image hashes, costs that grow
# with the radius, the plan that each radius gets, generic plans and joins.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('estimates', conf => "max_parallel_workers_per_gather = 0\njit = off\n");
my $file = "$ENV{PG_TEST_DATA}/image_hashes.csv";
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE image (id int, phash bigint, dhash bigint);
\\copy image FROM '$file' CSV HEADER
CREATE INDEX ON image USING simhash (phash);
CREATE INDEX ON image USING simhash (dhash);
CREATE TABLE t AS SELECT i AS id, random_fp() AS fp FROM generate_series(1, 30000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
VACUUM ANALYZE;
CREATE FUNCTION plan(query text) RETURNS json LANGUAGE plpgsql AS \$\$
DECLARE j json; BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO j;
	RETURN j->0->'Plan';
END \$\$;
-- How far the estimate is off, as a factor, for 150 rows as centres.
CREATE FUNCTION errors(hash text, k int) RETURNS SETOF float8 LANGUAGE plpgsql AS \$\$
DECLARE centre bigint; expected float8; actual float8; BEGIN
	FOR centre IN EXECUTE format('SELECT %I FROM image ORDER BY hashint4(id) LIMIT 150', hash) LOOP
		expected := greatest((plan(format('SELECT id FROM image WHERE %I <~> %s <= %s', hash, centre, k))->>'Plan Rows')::float8, 1);
		EXECUTE format('SELECT count(*) FROM image WHERE %I <~> %s <= %s', hash, centre, k) INTO actual;
		RETURN NEXT greatest(expected / actual, actual / expected);
	END LOOP;
END \$\$;
SQL

for my $hash ('phash', 'dhash')
{
	for my $k (0, 2, 3, 5, 8)
	{
		my ($median, $p95) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY e), percentile_cont(0.95) WITHIN GROUP (ORDER BY e) FROM errors('$hash', $k) e
SQL
		cmp_ok($median, '<=', 10, "$hash within $k: median error of the estimate");
		note "$hash within $k: median $median, p95 $p95";
	}
}

sub plan_of
{
	my ($k, $settings) = @_;
	return split /\|/, $node->safe_psql('postgres',
		($settings // '') . "SELECT p->>'Node Type', p->>'Total Cost' FROM plan('SELECT id FROM t WHERE fp <~> 7 <= $k') p");
}

# The index for the usual radius, the table for one that most rows are within.
is((plan_of(3))[0], 'Index Scan', 'within 3 bits: the index');
is((plan_of($_))[0], 'Seq Scan', "within $_ bits: the table") for 31, 36, 64;
my $last = 0;
for my $k (0 .. 64)
{
	my ($node_type, $cost) = plan_of($k, 'SET enable_seqscan = off; SET enable_indexscan = off;');
	ok($cost >= $last, "within $k bits costs no less than within fewer") or diag "$cost after $last";
	$last = $cost;
}

# Plans that know no centre; and a join of a few rows with all.
my $generic = $node->safe_psql('postgres', <<'SQL');
SET plan_cache_mode = force_generic_plan;
PREPARE near(bigint, int) AS SELECT id FROM t WHERE fp <~> $1 <= $2;
PREPARE far(bigint) AS SELECT id FROM t WHERE fp <~> $1 <= 36;
EXPLAIN (COSTS OFF) EXECUTE near(1, 3);
EXPLAIN (COSTS OFF) EXECUTE far(1);
EXPLAIN (COSTS OFF) SELECT * FROM t a JOIN t b ON a.fp <~> b.fp <= 3 WHERE a.id < 10;
SQL
like($generic, qr/Index Scan using t_fp on t\n.*hamming_ball\(\$1, \$2\)/, 'generic plan of an unknown radius: the index');
like($generic, qr/Seq Scan on t\n.*hamming_within\(fp, \$1, 36\)/, 'generic plan of a wide radius: the table');
like($generic, qr/Nested Loop\n.*Seq Scan on t a\n.*\n.*Index Scan using t_fp on t b/, 'a few rows with all: the index for each');

$node->stop;
done_testing();
