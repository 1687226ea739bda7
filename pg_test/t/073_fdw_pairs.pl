# Three servers with a third of the rows each, and one in front of them that has all rows for comparison: the ways to ask
# for the nearest, for the neighbours of many rows, for pairs and clusters that docs/scale-out.md names, what goes to the
# servers of each, and that the answers are those of counting bits on one server. Last, what is refused.
use strict;
use warnings;
use SimhashForeign;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $head = new_node('head');
plan skip_all => 'postgres_fdw is not installed'
  unless $head->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");

# NULLs, equal and skewed fingerprints included.
$head->safe_psql('postgres', <<'SQL');
CREATE EXTENSION postgres_fdw;
CREATE TABLE whole (id bigint PRIMARY KEY, part int, grp int, fp bigint, body text);
INSERT INTO whole SELECT i, i % 3, i % 4, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 10 = 0 THEN 4711::bigint << 48
	WHEN i % 9 = 0 THEN flip(4711::bigint << 48, i % 4) WHEN i % 5 = 0 THEN random_fp() ELSE skewed_fp() END,
	'the street lamp before number ' || i % 7 || ' is dark' FROM generate_series(1, 3000) i;
-- Chains of neighbours over all three servers.
INSERT INTO whole SELECT 10000 + i, i % 3, i % 4, (1::bigint << i) - 1, 'a chain' FROM generate_series(1, 60) i;
CREATE TABLE asked AS SELECT row_number() OVER () AS n, fp FROM (SELECT flip(fp, 2) AS fp FROM whole WHERE id % 80 = 1) x;
INSERT INTO asked VALUES (1001, 4711::bigint << 48), (1002, 0), (1003, NULL);
ANALYZE;
SQL
my @servers = add_servers($head, 3, <<'SQL');
CREATE TABLE share (id bigint PRIMARY KEY, part int, grp int, fp bigint, body text);
CREATE INDEX share_fp ON share USING simhash (fp);
CREATE TABLE question (part int, n bigint, fp bigint);
CREATE VIEW computed AS SELECT id, part, body, simhash64(body, preset => 'shingles') AS fp FROM share;
SQL
my $columns = 'id bigint, part int, grp int, fp bigint, body text';
# Answers that take several fetches, and one; servers that work at the same time, and one after the other.
add_tree($head, 3, 'spread', $columns, 'share', "fetch_size '3'");
add_tree($head, 3, 'async', $columns, 'share', "fetch_size '10000', async_capable 'true'");
add_tree($head, 3, 'question', 'part int, n bigint, fp bigint', 'question', "batch_size '100'");
add_tree($head, 3, 'computed', 'id bigint, part int, body text, fp bigint', 'computed');
$head->safe_psql('postgres', 'INSERT INTO spread SELECT * FROM whole');
$_->safe_psql('postgres', 'ANALYZE share') for @servers;
$head->safe_psql('postgres', 'ANALYZE spread; ANALYZE async');

sub plan_of
{
	my ($sql, $before) = @_;
	return $head->safe_psql('postgres', ($before // '') . "EXPLAIN (VERBOSE, COSTS OFF) $sql");
}

# Two queries have the same rows, in whatever order.
sub same_rows
{
	my ($sql, $oracle, $what, $before) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($got, $want) = map { $head->safe_psql('postgres',
		($before // '') . "SELECT count(*), md5(string_agg(x::text, ',' ORDER BY x::text)) FROM ($_) x") } $sql, $oracle;
	unlike($want, qr/^0\|/, "$what: there are rows");
	return is($got, $want, $what);
}

# ---- the nearest ----------------------------------------------------------------------------------------------------

# A condition that the library has translated is sent as a function, one that it has not as it was written.
my $within_3 = qr/hamming_within\(.*, 3\)|<~>.*<= 3/;

sub distance { return "bit_count(($_[0] # $_[1])::bit(64))"; }

# The branches of three servers, each with a LIMIT.
sub limited
{
	my ($tree, $q, $limit) = @_;
	return join ' UNION ALL ', map { "(SELECT id, fp <~> $q AS d FROM ${tree}_$_ ORDER BY fp <~> $q LIMIT $limit)" } 0 .. 2;
}

my @q = (4711 << 48, 0, -1, 7777777777777777);
for my $q (@q)
{
	my $number = $q < 0 ? "($q)" : $q;
	my $want = 'SELECT ' . distance('fp', $number) . " AS d FROM whole ORDER BY 1 LIMIT 20";
	same_rows("SELECT fp <~> $number AS d FROM spread ORDER BY fp <~> $number LIMIT 20", $want, "the nearest of $q, merged");
	same_rows("SELECT d FROM (" . limited('spread', $number, 20) . ') x ORDER BY d LIMIT 20', $want,
		"the nearest of $q, a LIMIT for each server");
	same_rows("SELECT d FROM (" . limited('async', $number, 20) . ' OFFSET 0) x ORDER BY d LIMIT 20', $want,
		"the nearest of $q, at the same time");
	same_rows("SELECT d FROM (SELECT fp <~> $number AS d FROM async WHERE fp <~> $number <= 64 OFFSET 0) x ORDER BY d LIMIT 20",
		$want, "the nearest of $q, of those within a radius");
}
my $plan = plan_of('SELECT * FROM (' . limited('spread', 42, 7) . ') x ORDER BY d LIMIT 7');
is(scalar(grep { /ORDER BY .*<~>.* LIMIT 7/ } shipped($plan)), 3, 'each server gets order and LIMIT');
$plan = plan_of('SELECT * FROM (' . limited('async', 42, 7) . ' OFFSET 0) x ORDER BY d LIMIT 7');
is(scalar(grep { /ORDER BY .*<~>.* LIMIT 7/ } shipped($plan)), 3, 'also below OFFSET 0');
is(scalar(() = $plan =~ /Async Foreign Scan/g), 3, 'where they work at the same time');
my $generic = 'SET plan_cache_mode = force_generic_plan; PREPARE near (bigint) AS SELECT * FROM (' . limited('async', '$1', 7)
	. ' OFFSET 0) x ORDER BY d LIMIT 7; ';
$plan = plan_of('EXECUTE near (42)', $generic);
is(scalar(grep { /ORDER BY .*<~>\) \$1::bigint\) .* LIMIT 7/ } shipped($plan)), 3, 'a parameter of a prepared statement is shipped');
is($head->safe_psql('postgres', "${generic}EXECUTE near (42)") =~ s/^\d+\|//gmr,
	$head->safe_psql('postgres', 'SELECT ' . distance('fp', 42) . ' FROM whole ORDER BY 1 LIMIT 7'), 'and answered');

# ---- many questions ---------------------------------------------------------------------------------------------------

my $near = 'SELECT a.n, w.id FROM asked a JOIN whole w ON ' . distance('w.fp', 'a.fp') . ' <= 3';
my $each = 'SELECT a.n, s.id FROM asked a, LATERAL (SELECT id FROM %s t WHERE t.fp <~> a.fp <= 3 %s) s';
for my $tree (qw(spread async))
{
	same_rows(sprintf($each, $tree, ''), $near, "$tree: a search for each row of a table");
	same_rows(sprintf($each, $tree, 'OFFSET 0'), $near, "$tree: the same below OFFSET 0");
}
$plan = plan_of(sprintf $each, 'async', 'OFFSET 0');
is(scalar(grep { /hamming_within\(fp, \$1::bigint, 3\)/ } shipped($plan)), 3, 'below OFFSET 0 the search is shipped without use_remote_estimate');
is(scalar(() = $plan =~ /Async Foreign Scan/g), 3, 'to all servers at a time');
my $nearest = 'SELECT a.n, s.d FROM asked a, LATERAL (SELECT d FROM (%s) y ORDER BY d LIMIT 4) s WHERE a.fp IS NOT NULL';
same_rows(sprintf($nearest, limited('spread', 'a.fp', 4)), sprintf($nearest, 'SELECT ' . distance('fp', 'a.fp') . ' AS d FROM whole'),
	'the nearest of each row of a table');
is(scalar(grep { /ORDER BY .*<~>\) \$1::bigint\) .* LIMIT 4/ } shipped(plan_of(sprintf $nearest, limited('spread', 'a.fp', 4)))),
	3, 'with order and LIMIT shipped');

# Each server gets a copy of the questions, and joins.
$head->safe_psql('postgres', 'INSERT INTO question SELECT part, n, fp FROM asked, generate_series(0, 2) part; ANALYZE question');
# Without estimates of the servers PostgreSQL 19 takes a local join for cheaper.
my $partitionwise =
	'SET enable_partitionwise_join = on; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off; ';
for my $tree (qw(spread async))
{
	my $join = "SELECT q.n, t.id FROM question q JOIN $tree t ON q.part = t.part AND t.fp <~> q.fp <= 3";
	same_rows($join, $near, "$tree: joined on the servers", $partitionwise);
	same_rows($join, $near, "$tree: the same join without the setting");
	$plan = plan_of($join, $partitionwise);
	is(scalar(grep { /INNER JOIN .*(?:$within_3)/ } shipped($plan)), 3, "$tree: the whole join is shipped") or diag($plan);
	unlike($plan, qr/Join Filter|Filter:/, "$tree: and nothing is left to join here");
}
# What partitionwise does not mean: a pair over two servers.
my $both = 'SELECT a.id AS a, b.id AS b FROM %1$s a JOIN %1$s b ON %2$s <= 3 AND a.id < b.id';
same_rows(sprintf("$both AND a.part = b.part", 'spread', 'a.fp <~> b.fp'),
	sprintf("$both WHERE a.part = b.part", 'whole', distance('a.fp', 'b.fp')),
	'pairs within a server', $partitionwise);
$plan = plan_of(sprintf("$both AND a.part = b.part", 'spread', 'a.fp <~> b.fp'), $partitionwise);
is(scalar(grep { /INNER JOIN .*(?:$within_3)/ } shipped($plan)), 3, 'are found by the servers');

# ---- pairs and clusters -------------------------------------------------------------------------------------------------

my $brute = 'SELECT a.id AS a, b.id AS b, ' . distance('a.fp', 'b.fp') . ' AS distance FROM whole a JOIN whole b ON a.id < b.id AND '
	. distance('a.fp', 'b.fp') . ' <= %d';
for my $tree (qw(spread async))
{
	for my $radius (0, 3, 6)
	{
		my $pairs = "SELECT a, b, distance FROM simhash_pairs('$tree', 'id', 'fp', $radius)";
		same_rows($pairs, sprintf($brute, $radius), "$tree: all pairs within $radius");
	}
	same_rows("SELECT a, b, distance FROM simhash_pairs('$tree', 'id', 'fp', 3, within => '{grp}')", sprintf("$brute AND a.grp = b.grp", 3),
		"$tree: pairs within a group");
	my @of_two = ([ 'asked', 'n', $tree, 'id', 'a.n AS a, w.id AS b' ], [ $tree, 'id', 'asked', 'n', 'w.id AS a, a.n AS b' ]);
	same_rows("SELECT a, b FROM simhash_pairs_between('$_->[0]', '$_->[1]', 'fp', '$_->[2]', '$_->[3]', 'fp')",
		$near =~ s/a\.n, w\.id/$_->[4]/r, "$_->[0] and $_->[2]: pairs of two relations")
	  for @of_two;
	for my $arguments ("'components'", "'star'", "'leader'", "'components', within => '{grp}'",
		"'components', text => 'body', min_jaccard => 0.9",
		"'star', text => 'body', min_jaccard => 0.9")
	{
		my ($got, $want) = map { "SELECT * FROM simhash_clusters('$_', 'id', 'fp', 3, $arguments)" } $tree, 'whole';
		same_rows($got, $want, "$tree: clusters, $arguments");
	}
}
# ---- expressions ----------------------------------------------------------------------------------------------------------

my $print = "simhash64(body, preset => 'shingles')";
my $centre = $head->safe_psql('postgres', "SELECT $print FROM whole WHERE id = 1");
$plan = plan_of("SELECT id FROM spread WHERE $print <~> $centre <= 3");
is(scalar(grep { /hamming_within\(public\.simhash64\(body, NULL::jsonb, 'shingles'::text\), .*, 3\)/ } shipped($plan)), 3,
	'an expression is shipped with its default arguments');
$_->safe_psql('postgres', "CREATE INDEX share_print ON share USING simhash (($print)); ANALYZE share") for @servers;
my ($sent) = shipped($plan);
like($servers[0]->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN $sent"), qr/share_print.*Index Cond: \(simhash64\(.*\) <@/s,
	'and uses the index on it');
my $by_text = "SELECT id FROM whole WHERE " . distance($print, $centre) . ' <= 3';
same_rows("SELECT id FROM spread WHERE $print <~> $centre <= 3", $by_text, 'an expression');
same_rows("SELECT id FROM computed WHERE fp <~> $centre <= 3", $by_text, 'a column of a view on the servers');
($sent) = shipped(plan_of("SELECT id FROM computed_0 WHERE fp <~> $centre <= 3"));
like($servers[0]->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN $sent"), qr/share_print/, 'which uses the same index');
$plan = plan_of(join ' UNION ALL ', map { "(SELECT id, fp <~> 42 FROM computed_$_ ORDER BY fp <~> 42 LIMIT 5)" } 0 .. 2);
is(scalar(grep { /ORDER BY .*<~>.* LIMIT 5/ } shipped($plan)), 3, 'whose order is shipped with the LIMIT');
$plan = plan_of('SELECT id FROM spread WHERE simhash64(ROW(grp, body)) <~> 42 <= 3');
like($plan, qr/Filter: .*simhash64\(ROW/, 'the fingerprint of a row is made here');

# ---- what is refused ------------------------------------------------------------------------------------------------------

sub refused
{
	my ($sql, $state, $message, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $out, $err) = $head->psql('postgres', "\\set VERBOSITY verbose\nBEGIN;\n$sql");
	return like($err, qr/ERROR:  $state: $message/, $what);
}

my $flag = "FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=id', 'mode=reject')";
refused("CREATE TRIGGER flag BEFORE INSERT ON spread_0 $flag; INSERT INTO spread_0 VALUES (-1, 0, 0, 1)", '0A000',
	'"spread_0" is a foreign table',
	'a flag trigger on a foreign table');
refused("CREATE TRIGGER flag BEFORE INSERT ON spread $flag; INSERT INTO spread VALUES (-1, 1, 0, 1)", '0A000',
	'"spread_1" is a foreign table',
	'a flag trigger of a table with foreign partitions');
# Two sessions that store neighbours would not see each other's rows: each has the snapshot of its first query there.
$head->safe_psql('postgres', 'CREATE TABLE kept (key bigint PRIMARY KEY, cluster_id bigint NOT NULL)');
my $keep = "FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept', 'key=id', 'fingerprint=fp', 'radius=3')";
refused("CREATE TRIGGER keep AFTER INSERT ON spread $keep; INSERT INTO spread VALUES (-1, 1, 0, 1)", '0A000',
	'"spread_1" is a foreign table',
	'a trigger that keeps clusters of a table with foreign partitions');
refused('ALTER TABLE spread ADD EXCLUDE USING simhash (fp WITH ~=);', '0A000', '.*', 'an exclusion constraint over servers');
refused('ALTER FOREIGN TABLE spread_0 ADD EXCLUDE USING simhash (fp WITH ~=)', '0A000',
	'exclusion constraints are not supported on foreign tables', 'an exclusion constraint of a foreign table');
refused('CREATE INDEX ON spread_0 USING simhash (fp)', '42809', 'cannot create index on', 'an index of a foreign table');


# An index of the partitioned table has none of foreign partitions, and changes what is sent: not what is found.
$head->safe_psql('postgres', 'CREATE INDEX spread_fp ON spread USING simhash (fp)');
is(scalar(grep { /hamming_within\(fp, 42::bigint, 3\)|<~>.*<= 3/ } shipped(plan_of('SELECT id FROM spread WHERE fp <~> 42 <= 3'))), 3,
	'with an index of the partitioned table searches are shipped');
same_rows("SELECT id FROM spread WHERE fp <~> $q[0] <= 5", 'SELECT id FROM whole WHERE ' . distance('fp', $q[0]) . ' <= 5', 'and answered');

# ---- the other server is not like this one ----------------------------------------------------------------------------------

# `extensions` is a promise. What is shipped is called by the schema that it has here.
$servers[1]->safe_psql('postgres', 'CREATE DATABASE other');
$servers[1]->safe_psql('other', <<'SQL');
CREATE SCHEMA elsewhere;
CREATE EXTENSION simhash_dedup SCHEMA elsewhere;
CREATE TABLE share (id bigint, part int, fp bigint);
INSERT INTO share VALUES (1, 1, 7), (2, 1, 5), (3, 1, -1);
SQL
my ($host, $port) = ($servers[1]->host, $servers[1]->port);
$head->safe_psql('postgres', <<"SQL");
CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'other', extensions 'simhash_dedup');
CREATE USER MAPPING FOR CURRENT_USER SERVER other;
CREATE FOREIGN TABLE other (id bigint, part int, fp bigint) SERVER other OPTIONS (table_name 'share');
SQL
refused('SELECT id FROM other WHERE fp <~> 42 <= 3', '42883',
	'function public\.hamming_within\(bigint, bigint, integer\) does not exist', 'an extension in another schema there');
is($head->safe_psql('postgres', "SELECT a, b FROM simhash_pairs('other', 'id', 'fp')"), '1|2', 'pairs need nothing of the extension there');
$_->stop for @servers, $head;
done_testing();
