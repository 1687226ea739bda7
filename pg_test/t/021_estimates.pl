# What the planner expects: row estimates against true counts on real image hashes and texts, costs that
# grow with the radius, the plan that each radius gets, generic plans and joins.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('estimates', conf => "max_parallel_workers_per_gather = 0\njit = off\n");
my $file = "$ENV{PG_TEST_DATA}/image_hashes.csv";
my $texts = $node->basedir . '/texts.csv';
system("gzip -dc $ENV{PG_TEST_DATA}/debian_desc_zh.csv.gz > $texts") == 0 or die 'gzip';
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE image (id int, phash bigint, dhash bigint);
\\copy image FROM '$file' CSV HEADER
CREATE INDEX ON image USING simhash (phash);
CREATE INDEX ON image USING simhash (dhash);
CREATE TABLE words (id int, lang text, package text, subject text, body text);
\\copy words FROM '$texts' CSV HEADER
CREATE TABLE description AS SELECT id, simhash64(body) AS by_default, simhash64(body, preset => 'plain') AS plain FROM words;
CREATE INDEX ON description USING simhash (by_default);
CREATE INDEX ON description USING simhash (plain);
CREATE TABLE t AS SELECT i AS id, random_fp() AS fp FROM generate_series(1, 30000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
VACUUM ANALYZE;
CREATE FUNCTION plan(query text) RETURNS json LANGUAGE plpgsql AS \$\$
DECLARE j json; BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO j;
	RETURN j->0->'Plan';
END \$\$;
-- How far the estimate is off, as a factor, for 100 rows as centres.
CREATE FUNCTION errors(tab text, hash text, k int) RETURNS SETOF float8 LANGUAGE plpgsql AS \$\$
DECLARE centre bigint; expected float8; actual float8; BEGIN
	FOR centre IN EXECUTE format('SELECT %I FROM %I WHERE %1\$I IS NOT NULL ORDER BY hashint4(id) LIMIT 100', hash, tab) LOOP
		expected := greatest((plan(format('SELECT id FROM %I WHERE %I <~> %s <= %s', tab, hash, centre, k))->>'Plan Rows')::float8, 1);
		EXECUTE format('SELECT count(*) FROM %I WHERE %I <~> %s <= %s', tab, hash, centre, k) INTO actual;
		RETURN NEXT greatest(expected / actual, actual / expected);
	END LOOP;
END \$\$;
SQL

for my $column ([ 'image', 'phash' ], [ 'image', 'dhash' ], [ 'description', 'by_default' ], [ 'description', 'plain' ])
{
	my ($table, $hash) = @$column;
	for my $k (0 .. 8)
	{
		my ($median, $p95) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY e), percentile_cont(0.95) WITHIN GROUP (ORDER BY e) FROM errors('$table', '$hash', $k) e
SQL
		cmp_ok($median, '<=', 10, "$hash within $k: median error of the estimate");
		cmp_ok($p95, '<=', 20, "$hash within $k: 95th percentile");
		diag(sprintf '%s within %d: median error %.2f, 95th percentile %.2f', $hash, $k, $median, $p95);
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
# Each row of a wide join, or a wide radius around few: reading the table is cheaper than the index.
my $wide = $node->safe_psql('postgres', <<'SQL');
SET plan_cache_mode = force_generic_plan;
PREPARE all_far(int) AS SELECT count(*) FROM t a JOIN t b ON a.fp <~> b.fp <= 34 WHERE a.id < $1;
EXPLAIN (COSTS OFF) EXECUTE all_far(10);
EXPLAIN (COSTS OFF) SELECT count(*) FROM t a JOIN t b ON a.fp <~> b.fp <= 34;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t a JOIN t b ON a.fp <~> b.fp <= 34 WHERE a.id < 10;
SQL
unlike($wide, qr/Index Scan|Bitmap/, 'joins within a wide radius do not use the index');
# Two small tables: nested loops over rows cost less than look-ups.
my $small = $node->safe_psql('postgres', <<'SQL');
CREATE TABLE few AS SELECT id, fp FROM t WHERE id <= 20;
CREATE INDEX few_fp ON few USING simhash (fp);
ANALYZE few;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t a JOIN few b ON a.fp <~> b.fp <= 3;
SQL
like($small, qr/Nested Loop\n\s+->  Seq Scan on few b\n\s+->  (Index|Bitmap Heap) Scan (using t_fp )?on t a/,
	'few rows drive the look-ups, not all');
like($generic, qr/Index Scan using t_fp on t\n.*hamming_ball\(\$1, \$2\)/, 'generic plan of an unknown radius: the index');
like($generic, qr/Seq Scan on t\n.*hamming_within\(fp, \$1, 36\)/, 'generic plan of a wide radius: the table');
like($generic, qr/Nested Loop\n.*Seq Scan on t a\n.*\n.*Index Scan using t_fp on t b/, 'a few rows with all: the index for each');

# The nearest first: the index for some rows, a sort for all of them.
for my $page_cost ('4', '1.1')
{
	my $chosen = sub {
		my ($query, $settings) = @_;
		return $node->safe_psql('postgres', ($settings // '') . "SET random_page_cost = $page_cost; EXPLAIN (COSTS OFF) $query");
	};
	like($chosen->("SELECT id FROM t ORDER BY fp <~> 5 LIMIT $_"), qr/Index Scan using t_fp/,
		"the $_ nearest, random_page_cost $page_cost: the index")
	  for 1, 100, 10000;
	for my $query ('SELECT id FROM t ORDER BY fp <~> 5', 'SELECT id, rank() OVER (ORDER BY fp <~> 5) FROM t',
		'SELECT fp <~> 5, count(*) FROM t GROUP BY 1 ORDER BY 1', 'SELECT DISTINCT ON (fp <~> 5) id FROM t ORDER BY fp <~> 5',
		# There are hardly more distances than this.
		'SELECT fp <~> 5, count(*) FROM t GROUP BY 1 ORDER BY 1 LIMIT 64', 'SELECT DISTINCT ON (fp <~> 5) id FROM t ORDER BY fp <~> 5 LIMIT 64')
	{
		my $plan = $chosen->($query);
		ok($plan =~ /Seq Scan on t/ && $plan !~ /Index Scan/, "$query, random_page_cost $page_cost: a sort") or diag $plan;
	}
	like($chosen->("SELECT id FROM t ORDER BY fp <~> 5 LIMIT $$_[0]", 'SET effective_cache_size = 8;'), $$_[1],
		"$$_[0] of a table larger than the cache")
	  for [ 10, qr/Index Scan using t_fp/ ], [ 20000, qr/Seq Scan on t/ ];
	like($chosen->('SELECT fp <~> 5, count(*) FROM t GROUP BY 1 ORDER BY 1 LIMIT 2'), qr/Index Scan using t_fp/,
		"the first distances, random_page_cost $page_cost: the index");
}
# The nearest of one tenant: in the order of distance nearly all rows would be read from the table in vain.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE tenants AS SELECT i AS id, i % 200 AS tenant, random_fp() AS fp FROM generate_series(1, 100000) i;
CREATE INDEX tenants_tenant ON tenants (tenant);
CREATE INDEX tenants_fp ON tenants USING simhash (fp);
VACUUM ANALYZE tenants;
SQL
for my $case ([ 'tenant = 7', qr/Scan (using|on) tenants_tenant/ ], [ 'tenant IN (7, 8)', qr/Scan (using|on) tenants_tenant/ ],
	[ 'tenant < 4', qr/Scan (using|on) tenants_tenant/ ], [ 'tenant < 100', qr/Index Scan using tenants_fp/ ])
{
	my ($condition, $expected) = @$case;
	like($node->safe_psql('postgres',
		"SET random_page_cost = $_; EXPLAIN (COSTS OFF) SELECT id FROM tenants WHERE $condition ORDER BY fp <~> 7 LIMIT 10"),
		$expected, "the nearest where $condition, random_page_cost $_")
	  for '4', '1.1';
}

# Shared buffers of a query whose plan is like a pattern, after searches that made the session load its directory.
sub buffers
{
	my ($query, $pattern, $settings) = @_;
	my $plan = $node->safe_psql('postgres', ($settings // '') . <<"SQL");
SELECT FROM (SELECT count(*) FROM t a, LATERAL (SELECT FROM tenants b WHERE b.fp <~> a.fp <= 8) x WHERE a.id <= 200) x;
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $query;
SQL
	like($plan, $pattern, "the plan of $query");
	return pages_looked_at($plan);
}

# A ball around the centre of the order: the search is that of the ball, whichever comes first.
for my $k (3, 8, 12)
{
	my $within = buffers("SELECT id FROM tenants WHERE fp <~> 5 <= $k", qr/tenants_fp/);
	my $ordered = buffers("SELECT id FROM tenants WHERE fp <~> 5 <= $k ORDER BY fp <~> 5", qr/Index Scan.*\n.*\n *Order By/);
	cmp_ok($ordered, '<=', 1.3 * $within + 5, "within $k bits, in order: $ordered pages; in any order: $within");
}

# A radius that was not known, and turns out wide: each page of the table is visited a few times, not for each row.
sub pages_of_generic_plan
{
	my ($limit, $k) = @_;
	return buffers("EXECUTE within(5, $k)", qr/Index Scan using tenants_fp/, <<"SQL");
SET plan_cache_mode = force_generic_plan;
PREPARE within(bigint, int) AS SELECT id FROM tenants WHERE fp <~> \$1 <= \$2 LIMIT $limit;
SQL
}
my $table_pages = $node->safe_psql('postgres', "SELECT pg_relation_size('tenants') / 8192");
for my $k (28, 32, 64)
{
	my $pages = pages_of_generic_plan('ALL', $k);
	cmp_ok($pages, '<=', 2.2 * $table_pages, "within an unknown radius that is $k: $pages pages for a table of $table_pages");
}
# The rows are those of the table, also where the bitmap of them does not fit work_mem.
for my $work_mem ('4MB', '64kB')
{
	for my $k (20, 28, 32, 64)
	{
		is($node->safe_psql('postgres', <<"SQL"), '', "the rows within an unknown radius that is $k, work_mem $work_mem");
SET plan_cache_mode = force_generic_plan;
SET work_mem = '$work_mem';
SET enable_seqscan = off;
CREATE TEMP TABLE found (id int);
PREPARE within(bigint, int) AS INSERT INTO found SELECT id FROM tenants WHERE fp <~> \$1 <= \$2;
EXECUTE within(5, $k);
(SELECT id FROM found EXCEPT ALL SELECT id FROM tenants WHERE (fp + 0) <~> 5 <= $k)
UNION ALL (SELECT id FROM tenants WHERE (fp + 0) <~> 5 <= $k EXCEPT ALL SELECT id FROM found);
SQL
	}
}
my $first = pages_of_generic_plan(1, 32);
cmp_ok($first, '<=', 10, "one row within a wide radius: few pages ($first)");

# Scopes: a search costs what its scopes hold, and how many they are.
$node->safe_psql('postgres', <<'SQL');
CREATE INDEX tenants_scope ON tenants USING simhash (tenant, fp);
CREATE INDEX tenants_equal ON tenants (fp);
SQL
my $in_scope = qr/Index Scan (?:using|on) tenants_scope/;
cmp_ok(buffers($$_[0], $in_scope), '<=', $$_[1], "$$_[0]: pages")
  for [ 'SELECT id FROM tenants WHERE tenant = 7 AND fp <~> 5 <= 8', 20 ],
  [ 'SELECT id FROM tenants WHERE tenant IN (7, 8, 9) AND fp <~> 5 <= 8', 60 ],
  [ 'SELECT id FROM tenants WHERE tenant = 7 ORDER BY fp <~> 5 LIMIT 10', 60 ],
  [ 'SELECT id FROM tenants WHERE tenant IS NULL AND fp <~> 5 <= 8', 20 ];
sub cost
{
	my ($condition) = @_;
	return $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off;
BEGIN; DROP INDEX tenants_fp, tenants_tenant, tenants_equal;
SELECT p->>'Total Cost' FROM plan(\$\$SELECT id FROM tenants WHERE $condition\$\$) p;
SQL
}
my @ascending = map { cost($_) } 'tenant = 7 AND fp <~> 5 <= 3', 'tenant = 7 AND fp <~> 5 <= 20', 'tenant IN (7, 8) AND fp <~> 5 <= 20',
  'tenant IN (7, 8, 9) AND fp <~> 5 <= 20', 'tenant < 9 AND fp <~> 5 <= 3';
is("@ascending", join(' ', sort { $a <=> $b } @ascending), "wider, in more scopes, in all: dearer (@ascending)");
# What the index answers, but others better; and what makes it read everything.
sub chosen_without
{
	my ($indexes, $query, $settings) = @_;
	return $node->safe_psql('postgres', ($settings // '') . "BEGIN; DROP INDEX $indexes; EXPLAIN (COSTS OFF) $query");
}
like(chosen_without('tenants_tenant', 'SELECT id FROM tenants WHERE fp = 5'), qr/tenants_equal/, 'equal fingerprints: the b-tree');
like(chosen_without('tenants_equal', 'SELECT id FROM tenants WHERE fp = 5'), qr/Index Scan using tenants_fp/,
	'equal fingerprints without a b-tree: no scan of the table');
my $off = 'SET enable_sort = off; SET enable_seqscan = off; SET enable_bitmapscan = off;';
unlike(chosen_without('tenants_fp', "SELECT id FROM tenants WHERE $_ ORDER BY fp <~> 5 LIMIT 10", $off), $in_scope,
	"the nearest where $_: not by an index of which not all scopes are given")
  for 'true', 'tenant < 9', 'tenant IS NOT NULL';
$node->safe_psql('postgres', 'CREATE INDEX tenants_twice ON tenants USING simhash (fp, fp)');
unlike(chosen_without('tenants_fp', "SELECT id FROM tenants WHERE fp <~> 5 <= 3 ORDER BY fp <~> 5 LIMIT 10", $off),
	qr/Index Scan using tenants_twice/,
	'a distance to a scope column is nothing to search by');

is_sound($node, 't', 't_fp', 'at the end', 2);

# Rows in clusters of which the statistics do not know: a few are expected of each, so that other tables are not read once for
# each row that is found.
my ($found, $joined) = split /\n/, $node->safe_psql('postgres', <<'SQL'), 2;
CREATE TABLE clustered AS SELECT i AS id, CASE WHEN i % 500 = 7 THEN 7::bigint # (1::bigint << (i % 61)) ELSE random_fp() END AS fp
	FROM generate_series(1, 100000) i;
CREATE INDEX clustered_fp ON clustered USING simhash (fp);
CREATE TABLE plain AS SELECT i * 3 AS clustered FROM generate_series(1, 30000) i;
VACUUM ANALYZE clustered, plain;
SELECT count(*) FROM clustered WHERE fp <~> 7 <= 3;
EXPLAIN (COSTS OFF) SELECT FROM clustered WHERE fp <~> 7 <= 3 AND NOT EXISTS (SELECT FROM plain WHERE plain.clustered = clustered.id);
EXPLAIN (COSTS OFF) SELECT FROM clustered WHERE fp <~> 7 <= 3 LIMIT 1;
SQL
is($found, 200, 'a cluster of 200 rows');
like($joined, qr/Hash (Right )?Anti Join/, 'its rows are joined with a table that is read once');
like($joined, qr/Limit\n\s+->  Index Scan using clustered_fp/, 'the first of them is looked up');

# Planning reads no page of an index.
my $planned = $node->safe_psql('postgres', <<'SQL');
SET simhash_dedup.directory_cache = 0;
EXPLAIN (BUFFERS, FORMAT json) SELECT id FROM clustered WHERE fp <~> 7 <= 8;
EXPLAIN (BUFFERS, FORMAT json) SELECT id FROM clustered WHERE fp <~> 7 <= 8;
SQL
is(($planned =~ /"Planning":\s*\{\s*"Shared Hit Blocks": (\d+)/g)[1], 0, 'planning reads no page of the index');
$node->stop;
done_testing();
