# Citus, a coordinator and three workers: searches, nearest rows and joins are done by the shards' indexes, pairs and clusters of a
# distributed table are right, and shards that move keep sound indexes. One table has all rows on the coordinator, and is read
# without an index: what the shards must answer together.
use strict;
use warnings;
use SimhashTest;
use SimhashCitus;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

need_citus();
my ($coordinator, @workers) = new_citus(3);

my $where =
	q{SELECT DISTINCT result FROM run_command_on_workers($$SELECT extversion || ' in ' || extnamespace::regnamespace FROM pg_extension
		WHERE extname = 'simhash_dedup'$$)};
my $version = answer($coordinator, "SELECT extversion FROM pg_extension WHERE extname = 'simhash_dedup'");
is(answer($coordinator, $where), "$version in public", 'CREATE EXTENSION reaches the workers');

# Every 20th row is a near copy of one before it, and some have no fingerprint.
answer($coordinator, <<'SQL');
CREATE TABLE whole (id bigint PRIMARY KEY, author int, fp bigint);
INSERT INTO whole SELECT i, i % 97,
	CASE WHEN i % 20 = 0 THEN flip(hashint8extended(i - 1 - i % 7, 0), i / 20 % 4) WHEN i % 1001 > 0 THEN hashint8extended(i, 0) END
FROM generate_series(1, 30000) i;
CREATE TABLE doc (LIKE whole INCLUDING ALL);
CREATE INDEX doc_fp ON doc USING simhash (fp);
SELECT create_distributed_table('doc', 'id');
INSERT INTO doc SELECT * FROM whole;
ANALYZE whole, doc;
SQL
is(answer($coordinator, 'SELECT count(DISTINCT nodeport) FROM citus_shards WHERE table_name = \'doc\'::regclass'), 3,
	'each worker has a part of the rows');

# ---------------------------------------------------------------- within a radius
# Row 13 has a near copy, row 20.
my $q = answer($coordinator, 'SELECT fp FROM whole WHERE id = 13');
my $distance = "bit_count((fp # $q)::bit(64))";
my $rows = 'SELECT count(*), sum(id) FROM';
cmp_ok(answer($coordinator, "SELECT count(*) FROM whole WHERE $distance <= 3"), '>', 1, 'the row that is searched for has near copies');
for my $form ("fp <~> $q <= 3", "$q <~> fp < 4", "3 >= fp <~> $q", "hamming(fp, $q) <= 3", "hamming_within(fp, $q, 3)", "fp ~= $q",
	"fp <@ hamming_ball($q, 3)", "fp <~> $q BETWEEN 0 AND 3", "NOT (fp <~> $q > 3)", "fp <~> $q = 3 OR fp <~> $q < 3")
{
	like(plan_on($coordinator, "SELECT id FROM doc WHERE $form"), qr/Index Cond: \(fp (?:<@|~=)/, "by the shards' index: $form");
	same($coordinator, "$rows doc WHERE $form", "$rows whole WHERE $distance <= 3", "and answered: $form");
}
same($coordinator,
	(map { sprintf 'SELECT k, count(%1$s.id), sum(%1$s.id) FROM unnest(\'{0,1,2,4,8,12,20,26}\'::int[]) k LEFT JOIN %1$s ON %2$s <= k
		GROUP BY k ORDER BY k', @$_ }
	[ 'doc', "fp <~> $q" ], [ 'whole', $distance ]), 'radii of 0 to 26');
# From the sixth time on PostgreSQL may take a plan that does not know the values.
is(answer($coordinator, "PREPARE r (bigint, int) AS $rows doc WHERE fp <~> \$1 <= \$2;" . 'EXECUTE r (4711, 20);' x 8),
	join("\n", (answer($coordinator, "$rows whole WHERE bit_count((fp # 4711)::bit(64)) <= 20")) x 8), 'prepared, eight times');

# ---------------------------------------------------------------- nearest
like(plan_on($coordinator, "SELECT id FROM doc ORDER BY fp <~> $q LIMIT 5"), qr/Limit.*->  Limit.*Order By: \(fp <~>/s,
	'the order and the limit are left to the index of each shard');
for my $filter ('true', 'author = 5', 'fp <~> 4711 <= 22')
{
	my $nearest = "SELECT array_agg(d) FROM (SELECT %1\$s AS d FROM %2\$s WHERE $filter ORDER BY %1\$s LIMIT 40 OFFSET 3) x";
	same($coordinator, sprintf($nearest, 'fp <~> 4711', 'doc'), sprintf($nearest, 'bit_count((fp # 4711)::bit(64))', 'whole'),
		"the nearest, where $filter");
}
my $with = answer($coordinator, 'SELECT count(fp) FROM whole');
same($coordinator, "SELECT count(*), count(fp) FROM (SELECT fp FROM doc ORDER BY fp <~> 77 OFFSET $with) x",
	'SELECT count(*), 0 FROM whole WHERE fp IS NULL', 'rows without a fingerprint come last');

# ---------------------------------------------------------------- around a row of the table
my $cte = 'WITH q AS MATERIALIZED (SELECT fp FROM doc WHERE id = 13)';
like(plan_on($coordinator, "$cte SELECT id FROM doc WHERE fp <~> (SELECT fp FROM q) <= 8"), qr/Index Cond: \(fp <@/,
	'a materialized CTE is the centre of a search');
like(plan_on($coordinator, "$cte SELECT id FROM doc ORDER BY fp <~> (SELECT fp FROM q) LIMIT 3"),
	qr/Order By: \(fp <~>/, 'and of an order');
same($coordinator, "$cte $rows doc WHERE fp <~> (SELECT fp FROM q) <= 20", "$rows whole WHERE $distance <= 20", 'and answered');
# Citus takes no sub-select on a distributed table in a target list or ORDER BY, whatever its operators are.
for my $query ('SELECT id, fp <~> (SELECT fp FROM doc WHERE id = 13) FROM doc',
	'SELECT id, author = (SELECT author FROM doc WHERE id = 13) FROM doc')
{
	like(refusal($coordinator, $query), qr/ERROR:  complex joins are only supported/, "refused by Citus: $query");
}

# ---------------------------------------------------------------- joins
answer($coordinator, <<'SQL');
CREATE TABLE asked (n int PRIMARY KEY, fp bigint, k2 smallint, k4 int, k8 bigint);
CREATE TABLE asked_here (LIKE asked);
SELECT create_reference_table('asked');
INSERT INTO asked_here SELECT id, fp # 32, 3, 3, 3 FROM whole WHERE id % 20 = 0 AND id <= 200;
INSERT INTO asked_here SELECT n, fp, k::smallint, k, k FROM whole, (VALUES (901, NULL), (902, -1), (903, 8)) v (n, k) WHERE id = 13;
INSERT INTO asked_here SELECT 904, fp, -32768, -2147483648, -9223372036854775808 FROM whole WHERE id = 13;
INSERT INTO asked_here SELECT 905, fp, 3, 3, 5000000000 FROM whole WHERE id = 13;
INSERT INTO asked_here VALUES (906, NULL, 3, 3, 3);
INSERT INTO asked SELECT * FROM asked_here;
SQL
for my $k (qw(k2 k4 k8))
{
	for my $compare ('<=', '<', '=')
	{
		my $join = "SELECT count(*), sum(hashint8extended(d.id, a.n)) FROM %s a JOIN %s d ON %s $compare a.$k";
		same($coordinator, sprintf($join, 'asked', 'doc', 'a.fp <~> d.fp'),
			sprintf($join, 'asked_here', 'whole', 'bit_count((a.fp # d.fp)::bit(64))'),
			"joined with a reference table: $compare $k");
	}
}
like(plan_on($coordinator, 'SELECT a.n, d.id FROM asked a JOIN doc d ON d.fp <~> a.fp <= 3'),
	qr/Index Cond: \(fp <@ hamming_ball\(a\.fp, 3\)\)/,
	'the join goes through the index');
like(refusal($coordinator, 'SELECT count(*) FROM doc a JOIN doc b ON a.fp <~> b.fp <= 3 AND a.id < b.id'), qr/ERROR:  complex joins/,
	'two distributed tables are not joined by distance: refused by Citus, not answered wrongly');

# ---------------------------------------------------------------- pairs and clusters, at one node
my $sums = 'SELECT count(*), sum(a), sum(b), sum(distance) FROM';
my $pairs = answer($coordinator, "$sums simhash_pairs('whole', 'id', 'fp', 3)");
same($coordinator, "$sums simhash_pairs('whole', 'id', 'fp', 3) WHERE a <= 3000 AND b <= 3000",
	<<'SQL', 'simhash_pairs of the local table: brute force');
SELECT count(*), sum(a.id), sum(b.id), sum(d) FROM whole a, whole b, LATERAL (SELECT bit_count((a.fp # b.fp)::bit(64)) AS d) x
WHERE a.id < b.id AND a.id <= 3000 AND b.id <= 3000 AND d <= 3
SQL
is(answer($coordinator, "$sums simhash_pairs('doc', 'id', 'fp', 3)"), $pairs, 'simhash_pairs of the distributed table');
is(answer($workers[0], "$sums simhash_pairs('doc', 'id', 'fp', 3)"), $pairs, 'asked of a worker');
is(answer($coordinator, <<'SQL'), $pairs, 'a self-join, one side sent to all shards');
WITH a AS MATERIALIZED (SELECT id, fp FROM doc)
SELECT count(*), sum(a.id), sum(b.id), sum(a.fp <~> b.fp) FROM a JOIN doc b ON a.fp <~> b.fp <= 3 AND a.id < b.id
SQL
is(answer($coordinator, "SELECT count(*) FROM doc d, simhash_pairs('doc', 'id', 'fp', 3) p WHERE d.id = p.a"), (split /\|/, $pairs)[0],
	'simhash_pairs beside the table');
for my $query ("SELECT count(*), sum(key), sum(cluster_id) FROM simhash_clusters('%s', 'id', 'fp', 3)",
	"SELECT count(*), sum(key), sum(cluster_id) FROM simhash_clusters('%s', 'id', 'fp', 3, within => '{author}')")
{
	same($coordinator, sprintf($query, 'doc'), sprintf($query, 'whole'), "as one table: $query");
}
answer($coordinator, <<'SQL');
CREATE MATERIALIZED VIEW groups AS SELECT * FROM simhash_clusters('doc', 'id', 'fp', 3);
CREATE UNIQUE INDEX ON groups (key);
REFRESH MATERIALIZED VIEW CONCURRENTLY groups;
SQL
same($coordinator, 'SELECT count(*) FROM groups JOIN doc ON doc.id = groups.key',
	"SELECT count(*) FROM simhash_clusters('whole', 'id', 'fp', 3)",
	'a materialized view of clusters, joined with the table');

# ---------------------------------------------------------------- fingerprints made by the workers
my $of_row = q{simhash64(ROW(subject, body), '{"$columns": ["subject", "body"], "subject": 1, "body": 3}', preset => 'plain')};
answer($coordinator, <<"SQL");
CREATE TABLE pet (id int, subject text, body text, fp bigint GENERATED ALWAYS AS ($of_row) STORED);
SELECT create_distributed_table('pet', 'id');
INSERT INTO pet (id, subject, body) SELECT i, 'lamp ' || i, 'the street lamp in front of number ' || i || ' has been dark 幸福路12号'
	FROM generate_series(1, 50) i;
SQL
is(answer($coordinator, "SELECT count(*), bool_and(fp = $of_row) FROM pet"), '50|t', 'a generated column is filled by the workers');

# ---------------------------------------------------------------- exclusion constraints
my $excluding = 'DROP TABLE IF EXISTS single; CREATE TABLE single (id bigint, fp bigint, EXCLUDE USING simhash (fp WITH ~=));';
like(refusal($coordinator, "$excluding SELECT create_distributed_table('single', '$_')"), qr/ERROR:  cannot create constraint/,
	"a constraint on all rows of a table distributed by $_ is refused by Citus") for qw(id fp);
for my $how ("create_distributed_table('single', NULL)", "create_reference_table('single')")
{
	answer($coordinator, "$excluding SELECT $how; INSERT INTO single VALUES (1, 1)");
	like(refusal($coordinator, 'INSERT INTO single VALUES (2, 2)'), qr/ERROR:  conflicting key value/, "it is kept after $how");
}

# ---------------------------------------------------------------- shards that move
my ($shard, $from) = place_of_shard($coordinator, 'doc', 'true');
my ($to) = grep { $_ != $from } map { $_->port } @workers;
my $host = $coordinator->host;
answer($coordinator, "SELECT citus_move_shard_placement($shard, '$host', $from, '$host', $to, 'force_logical')");
is((place_of_shard($coordinator, 'doc', "shardid = $shard"))[1], $to, 'a shard has moved by logical replication');
shards_are_sound($coordinator, 'doc', 6, 'after the move');
same($coordinator, "$rows doc WHERE fp <~> $q <= 20", "$rows whole WHERE $distance <= 20", 'after the move: answers');

# ---------------------------------------------------------------- in a schema that is in no search path
answer($coordinator, <<'SQL');
DROP EXTENSION simhash_dedup CASCADE;
CREATE SCHEMA elsewhere;
CREATE EXTENSION simhash_dedup SCHEMA elsewhere;
CREATE INDEX ON doc USING simhash (fp elsewhere.simhash_ops);
SQL
is(answer($coordinator, $where), "$version in elsewhere", 'dropped and created in another schema, on all nodes');
my $qualified = "fp OPERATOR(elsewhere.<~>) $q <= 3";
like(plan_on($coordinator, "SELECT id FROM doc WHERE $qualified"), qr/Index Cond: \(fp OPERATOR\(elsewhere\.<@\)/,
	'there, too, the index serves a search');
same($coordinator, "$rows doc WHERE $qualified", "$rows whole WHERE $distance <= 3", 'and answers');

stop_citus($coordinator, @workers);
done_testing();
