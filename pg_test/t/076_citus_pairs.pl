# Pairs and clusters of a distributed table without all rows at one node: rows are stored once under each of their keys
# (simhash_route), workers pair the rows of a key, and only answers travel. For uniform rows and for skewed ones, whose largest key
# has a fifth of them, the answers are those of simhash_pairs and simhash_clusters on one table, and a search asks few shards.
use strict;
use warnings;
use SimhashTest;
use SimhashCitus;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

need_citus();
my ($coordinator, @workers) = new_citus(3, conf => "citus.shard_count = 16\n");
my @nodes = ($coordinator, @workers);
my $shards = 16;

# Each fourth row has a near copy, and those of one row are a hundred; some rows have no fingerprint.
for my $set ([ 'uniform', 'random_fp()' ], [ 'skewed', 'skewed_fp()' ])
{
	my ($name, $fp) = @$set;
	answer($coordinator, <<"SQL");
CREATE TABLE ${name}_here (id bigint PRIMARY KEY, fp bigint);
INSERT INTO ${name}_here SELECT i, CASE WHEN i % 1001 > 0 THEN $fp END FROM generate_series(1, 8000) i;
INSERT INTO ${name}_here SELECT 10000 + i, flip(fp, id::int / 4 % 8) FROM generate_series(4, 8000, 4) i JOIN ${name}_here ON id = i - 1
	WHERE fp IS NOT NULL;
INSERT INTO ${name}_here SELECT 20000 + i, fp FROM generate_series(1, 100) i, ${name}_here WHERE id = 4;
CREATE TABLE $name (LIKE ${name}_here INCLUDING ALL);
SELECT create_distributed_table('$name', 'id');
INSERT INTO $name SELECT * FROM ${name}_here;
ANALYZE $name, ${name}_here;
SQL
}

# A plan that one task for each shard does all of, with nothing brought together in between.
sub in_shards
{
	my ($query, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $plan = plan_on($coordinator, $query);
	like($plan, qr/Task Count: $shards$/m, "$what: a task for each shard");
	unlike($plan, qr/method:|Distributed Subplan/, "$what: rows stay where they are");
	return $plan;
}

# Sums of pairs (a, b, distance), and of members (key, cluster_id).
sub pair_sums { return "SELECT count(*), sum(hashint8extended(a, b)), sum(distance) FROM ($_[0]) p"; }
sub member_sums { return "SELECT count(*), sum(hashint8extended(key, cluster_id)) FROM ($_[0]) c"; }

# The search within $k of $q, by its keys.
sub routed
{
	my ($table, $q, $k) = @_;
	return "SELECT id FROM $table WHERE key = ANY (simhash_route($q, $k)) AND fp <~> $q <= $k AND simhash_meet(fp, $q, $k) = key";
}

sub try_pairs
{
	my ($set, $k) = @_;
	my $what = "$set, radius $k";
	my $keyed = "${set}_$k";
	answer($coordinator, <<"SQL");
CREATE TABLE $keyed (key bigint, id bigint, fp bigint);
SELECT create_distributed_table('$keyed', 'key', colocate_with => 'none');
CREATE TABLE ${keyed}_pair (key bigint, a bigint, b bigint, distance int);
SELECT create_distributed_table('${keyed}_pair', 'key', colocate_with => '$keyed');
SQL
	my $fill = "INSERT INTO $keyed SELECT key, id, fp FROM $set, unnest(simhash_route(fp, $k)) AS key";
	like(plan_on($coordinator, $fill), qr/method: repartition/, "$what: rows are sent to their keys from worker to worker");
	answer($coordinator, "$fill; CREATE INDEX ON $keyed USING simhash (key, fp); ANALYZE $keyed");
	my $copies = $k + 1;
	same($coordinator, "SELECT count(*), count(DISTINCT (id, key)) FROM $keyed",
		"SELECT $copies * count(fp), $copies * count(fp) FROM ${set}_here",
		"$what: each row has $copies keys");

	# In plain SQL, and by the engine of simhash_pairs for each key.
	my $want = answer($coordinator, pair_sums("SELECT * FROM simhash_pairs('${set}_here', 'id', 'fp', $k)"));
	my ($pairs) = $want =~ /^(\d+)/;
	cmp_ok($pairs, '>', 5000, "$what: one table has $pairs pairs");
	my $join = "SELECT a.key, a.id AS a, b.id AS b, a.fp <~> b.fp AS distance FROM $keyed a JOIN $keyed b"
	  . " ON a.key = b.key AND a.id < b.id AND a.fp <~> b.fp <= $k WHERE simhash_meet(a.fp, b.fp, $k) = a.key";
	my $groups = "(SELECT key, array_agg(id) AS ids, array_agg(fp) AS fps FROM $keyed GROUP BY key HAVING count(*) > 1) g";
	my $engine = "SELECT g.key, p.a, p.b, p.distance FROM $groups, LATERAL simhash_group_pairs(ids, fps, $k, g.key) p";
	for my $way ([ 'a join', $join ], [ 'simhash_group_pairs', $engine ])
	{
		my ($name, $query) = @$way;
		in_shards($query, "$what, $name");
		is(answer($coordinator, pair_sums($query)), $want, "$what, $name: the pairs of one table");
		in_shards("INSERT INTO ${keyed}_pair $query", "$what, $name, into a table");
		answer($coordinator, "TRUNCATE ${keyed}_pair; INSERT INTO ${keyed}_pair $query");
		is(answer($coordinator, pair_sums("SELECT * FROM ${keyed}_pair")), $want, "$what, $name: they are stored by the workers");
	}
	is(answer($workers[0], pair_sums($engine)), $want, "$what: asked of a worker");
	is(answer($coordinator, pair_sums("SELECT (simhash_group_pairs(array_agg(id), array_agg(fp), $k, key)).* FROM $keyed GROUP BY key")),
		$want,
		"$what: a function in the target list");

	# A star of edges for each group of a key, closed by one node.
	my $edges = "SELECT DISTINCT c.key, c.cluster_id FROM $groups, LATERAL simhash_group_clusters(ids, fps, $k) c WHERE c.key <> c.cluster_id";
	in_shards($edges, "$what, edges");
	is(answer($coordinator,
		member_sums("SELECT x.* FROM (SELECT array_agg(key) AS a, array_agg(cluster_id) AS b FROM ($edges) e) e, simhash_components(a, b) x")),
		answer($coordinator, member_sums("SELECT key, cluster_id FROM simhash_clusters('${set}_here', 'id', 'fp', $k)")),
		"$what: the clusters of one table");

	# Around rows, near misses, and what is no row.
	my ($asked, $wrong) = (0, '');
	for my $q (split /\n/, answer($coordinator,
		"SELECT flip(fp, id::int % 7) FROM ${set}_here WHERE id IN (4, 59, 60, 10020, 20003) UNION ALL VALUES (0), (-1), (4711::bigint << 48)"))
	{
		my $search = routed($keyed, "'$q'::bigint", $k);
		my ($tasks) = plan_on($coordinator, $search) =~ /Task Count: (\d+)/;
		$asked = $tasks if $tasks > $asked;
		my $sums = 'SELECT count(*), sum(id) FROM';
		my $got = answer($coordinator, "$sums ($search) x");
		my $true = answer($coordinator, "$sums ${set}_here WHERE bit_count((fp # '$q')::bit(64)) <= $k");
		$wrong .= "around $q: $got, not $true\n" if $got ne $true;
	}
	is($wrong, '', "$what: searches find what one table has");
	cmp_ok($asked, '<=', $copies, "$what: a search asks $asked of $shards shards");
	return;
}

for my $set (qw(uniform skewed))
{
	try_pairs($set, $_) for 3, 6;
}

# ---------------------------------------------------------------- searches in applications
my $q = answer($coordinator, 'SELECT fp FROM uniform_here WHERE id = 4');
like(plan_on($coordinator, routed('uniform_3', $q, 3)), qr/Index Cond: \(\(key = ANY \('\{.*fp <@ /,
	'the index on key and fingerprint serves a search');
my $prepared = 'PREPARE near (bigint) AS ' . routed('uniform_3', '$1', 3) . ';';
my $rows = answer($coordinator, 'SELECT string_agg(id::text, chr(10) ORDER BY id) FROM uniform_here WHERE bit_count((fp # ' . $q
	. ')::bit(64)) <= 3');
my $again = answer($coordinator, $prepared . "EXECUTE near ($q);" x 8 . "EXPLAIN (COSTS OFF) EXECUTE near ($q)");
# What was printed before the plan: eight times the same rows, in some order.
my ($lines, $tasks) = $again =~ /\A(.*?)\n *Custom Scan.*Task Count: (\d+)/s;
is(join("\n", sort { $a <=> $b } split /\n/, $lines), join("\n", sort { $a <=> $b } (split /\n/, $rows) x 8),
	'prepared: the same rows eight times');
cmp_ok($tasks, '<=', 4, "prepared: $tasks shards are asked, in the ninth plan too");
like(refusal($coordinator, "SET plan_cache_mode = force_generic_plan; $prepared EXECUTE near ($q)"),
	qr/ERROR:  could not create distributed plan/,
	'without values Citus has no plan for it: plan_cache_mode must not forbid them');
answer($coordinator, 'CREATE FUNCTION near(q bigint) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY '
	. routed('uniform_3', 'q', 3) . '; END $$');
is(answer($coordinator, "SELECT n FROM near($q) n ORDER BY n"), $rows, 'in a function of PL/pgSQL');

# A row that comes, changes its fingerprint and goes, under all of its keys in one transaction.
answer($coordinator, "INSERT INTO uniform_3 SELECT key, -1, $q FROM unnest(simhash_route($q, 3)) key");
is(answer($coordinator, "SELECT count(*) FROM (" . routed('uniform_3', $q, 3) . ') x WHERE id = -1'), 1,
	'a row that is added is found, once');
answer($coordinator,
	"BEGIN; DELETE FROM uniform_3 WHERE key = ANY (simhash_route($q, 3)) AND id = -1;
		INSERT INTO uniform_3 SELECT key, -1, ~($q) FROM unnest(simhash_route(~($q), 3)) key; COMMIT");
is(answer($coordinator, "SELECT count(*) FROM (" . routed('uniform_3', $q, 3) . ') x WHERE id = -1'), 0,
	'and not when its fingerprint is another');
is(answer($coordinator, "SELECT count(*) FROM (" . routed('uniform_3', "(~($q))", 3) . ') x WHERE id = -1'), 1, 'which finds it');

# Many searches in one statement.
answer($coordinator,
	'CREATE TABLE asked (n bigint, fp bigint); SELECT create_reference_table(\'asked\');
		INSERT INTO asked SELECT id, fp FROM uniform_here WHERE id % 20 = 0');
my $lookups =
	'SELECT a.n, d.id FROM asked a JOIN uniform_3 d ON d.key = ANY (simhash_route(a.fp, 3)) AND d.fp <~> a.fp <= 3
		WHERE simhash_meet(d.fp, a.fp, 3) = d.key';
like(in_shards($lookups, 'a reference table of centres'), qr/Index Cond: \(\(key = ANY \(simhash_route\(a\.fp, 3\)\)\) AND \(fp <@ /,
	'by the index, for each');
same($coordinator, "SELECT count(*), sum(hashint8extended(n, id)) FROM ($lookups) x WHERE id <> -1",
	'SELECT count(*), sum(hashint8extended(a.id, d.id)) FROM uniform_here a JOIN uniform_here d ON bit_count((a.fp # d.fp)::bit(64)) <= 3
		WHERE a.id % 20 = 0', 'and answered');

stop_citus(@nodes);
done_testing();
