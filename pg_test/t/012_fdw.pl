# Three servers, each with a share of the rows, and one without rows in front of them (postgres_fdw, foreign
# partitions): searches and the order by distance are shipped, with the answers of one server that has all rows.
use strict;
use warnings;
use SimhashForeign;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $head = new_node('head');
plan skip_all => 'postgres_fdw is not installed'
  unless $head->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");

# All rows on one server: what the three must answer together. NULLs and equal fingerprints included.
$head->safe_psql('postgres', <<'SQL');
CREATE EXTENSION postgres_fdw;
CREATE TABLE whole (id bigint PRIMARY KEY, part int, fp bigint);
INSERT INTO whole SELECT i, i % 3, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 9 = 0 THEN flip(4711::bigint << 48, i % 4) ELSE skewed_fp() END
	FROM generate_series(1, 9000) i;
CREATE INDEX whole_fp ON whole USING simhash (fp);
CREATE TABLE asked (n int, fp bigint);
INSERT INTO asked SELECT row_number() OVER (), fp FROM (SELECT flip(fp, 2) AS fp FROM whole
	WHERE fp IS NOT NULL ORDER BY random() LIMIT 10) x;
INSERT INTO asked VALUES (11, 4711::bigint << 48), (12, 0), (13, -1), (14, random_fp());
ANALYZE;
SQL
my @servers = add_servers($head, 3, <<'SQL');
CREATE TABLE share (id bigint, part int, fp bigint);
CREATE INDEX share_fp ON share USING simhash (fp);
SQL
add_tree($head, 3, 'spread', 'id bigint, part int, fp bigint', 'share', "async_capable 'true'");
for my $i (0 .. 2)
{
	my ($host, $port) = ($servers[$i]->host, $servers[$i]->port);
	# The same server, without the word about the extension.
	$head->safe_psql('postgres', <<"SQL");
CREATE SERVER plain$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER plain$i;
CREATE FOREIGN TABLE plain$i (id bigint, part int, fp bigint) SERVER plain$i OPTIONS (table_name 'share');
SQL
}
# The rows come through the foreign partitions.
$head->safe_psql('postgres', 'INSERT INTO spread SELECT * FROM whole');
$_->safe_psql('postgres', 'ANALYZE share') for @servers;
$head->safe_psql('postgres', 'ANALYZE spread');

sub plan_of
{
	my ($sql) = @_;
	return $head->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $sql");
}

my $q = 4711 << 48;
my @sql = shipped(plan_of("SELECT id FROM spread WHERE fp <~> $q <= 3"));
is(scalar @sql, 3, 'a search asks three servers');
like($_, qr/WHERE .*hamming_within\(fp, .*, 3\)/, 'the radius is shipped') for @sql;
unlike(plan_of("SELECT id FROM spread WHERE fp <~> $q <= 3"), qr/Filter:/, 'and nothing is left to filter here');
like(plan_of("SELECT id FROM spread WHERE fp <~> $q <= 3"), qr/Async Foreign Scan/, 'the servers search at the same time');

for my $form ("fp <~> $q < 4", "$q <~> fp <= 3", "3 >= fp <~> $q", "hamming(fp, $q) <= 3", "hamming_within(fp, $q, 3)", "fp ~= $q")
{
	my $plan = plan_of("SELECT id FROM spread WHERE $form");
	unlike($plan, qr/Filter:/, "shipped: $form");
	is($head->safe_psql('postgres', "SELECT count(*) || ' ' || sum(id) FROM spread WHERE $form"),
		$head->safe_psql('postgres', "SELECT count(*) || ' ' || sum(id) FROM whole WHERE bit_count((fp # $q)::bit(64)) <= 3"),
		"and answered: $form");
}

my $nearest = "SELECT id, fp <~> $q AS d FROM spread ORDER BY fp <~> $q LIMIT 5";
my $plan = plan_of($nearest);
like($plan, qr/Merge Append/, 'the nearest of each server are merged');
@sql = shipped($plan);
is(scalar @sql, 3, 'the nearest are asked of three servers');
like($_, qr/ORDER BY .*<~>/, 'the order is shipped') for @sql;
$plan = plan_of("SELECT id FROM spread_0 ORDER BY fp <~> $q LIMIT 5");
like($plan, qr/Remote SQL: .*ORDER BY .*<~>.* LIMIT 5/, 'one server gets the limit as well');
$plan = plan_of("SELECT id FROM spread WHERE fp <~> $q <= 8 ORDER BY fp <~> $q LIMIT 5");
@sql = shipped($plan);
is(scalar @sql, 3, 'the nearest within a radius are asked of three servers');
like($_, qr/WHERE .*hamming_within\(fp, .*, 8\).*ORDER BY .*<~>/, 'order and radius are shipped together') for @sql;

# A parameter: a lookup for each row of another table. postgres_fdw thinks of it only when the other
# server is asked for estimates.
$head->safe_psql('postgres', "ALTER SERVER s1 OPTIONS (ADD use_remote_estimate 'true')");
my $lookups = 'SELECT a.n, s.id FROM asked a, LATERAL (SELECT id FROM spread_1 s WHERE s.fp <~> a.fp <= 3) s WHERE a.n = 11';
like(plan_of($lookups), qr/Remote SQL: .*hamming_within\(fp, \$1::bigint, 3\)/, 'a radius around a column of another table is shipped');
is($head->safe_psql('postgres', "SELECT count(*) || ' ' || sum(id) FROM ($lookups) x"),
	$head->safe_psql('postgres', "SELECT count(*) || ' ' || sum(id) FROM whole WHERE part = 1 AND bit_count((fp # $q)::bit(64)) <= 3"),
	'and answered');
$head->safe_psql('postgres', 'ALTER SERVER s1 OPTIONS (DROP use_remote_estimate)');

# What the other servers do with it.
for my $server (@servers)
{
	my $own = $server->safe_psql('postgres',
		"SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT id FROM public.share WHERE ((fp OPERATOR(public.<~>) ${q}::bigint) <= 3)");
	like($own, qr/Index Cond: \(fp <@/, $server->name . ': the shipped search uses the index');
	$own = $server->safe_psql('postgres',
		"SET enable_sort = off; EXPLAIN (COSTS OFF) SELECT id
			FROM public.share ORDER BY (fp OPERATOR(public.<~>) ${q}::bigint) ASC NULLS LAST LIMIT 5");
	like($own, qr/Order By: \(fp <~>/, $server->name . ': the shipped order uses the index');
}

# Without the option nothing of it is shipped; the answers are the same.
$plan = plan_of("SELECT id FROM plain0 WHERE fp <~> $q <= 3");
like($plan, qr/Filter:/, 'without the option the radius stays here');
unlike($plan, qr/Remote SQL: .*<~>/, 'and is not shipped');

# Answers: every radius, the nearest, with and without the option, before and after changes through
# the foreign tables.
sub compare
{
	my ($when) = @_;
	$head->safe_psql('postgres',
		'CREATE OR REPLACE VIEW plain AS SELECT * FROM plain0 UNION ALL SELECT * FROM plain1 UNION ALL SELECT * FROM plain2');
	my $radii = <<'SQL';
SELECT a.n, k, count(s.id), sum(hashint8extended(s.id, 0)), sum(d)
FROM asked a, generate_series(0, 12) k, LATERAL (SELECT id, %s AS d FROM %s x WHERE %s <= k OFFSET 0) s GROUP BY 1, 2 ORDER BY 1, 2
SQL
	my $oracle = 'bit_count((x.fp # a.fp)::bit(64))';
	my $want = $head->safe_psql('postgres', sprintf $radii, $oracle, 'whole', $oracle);
	is($head->safe_psql('postgres', sprintf $radii, 'x.fp <~> a.fp', 'spread', 'x.fp <~> a.fp'), $want,
		"$when: k = 0 .. 12 as one server answers");
	# That brings every row here for each search: a few do.
	my $few = $radii =~ s/generate_series\(0, 12\) k/unnest('{0,3,12}'::int[]) k/r =~ s/GROUP BY/WHERE a.n IN (1, 11) GROUP BY/r;
	is($head->safe_psql('postgres', sprintf $few, 'x.fp <~> a.fp', 'plain', 'x.fp <~> a.fp'),
		$head->safe_psql('postgres', sprintf $few, $oracle, 'whole', $oracle), "$when: the same without push-down");
	# Constants, as clients send them, go another way than columns.
	for my $center (split /\n/, $head->safe_psql('postgres', 'SELECT fp FROM asked WHERE n > 7'))
	{
		my @of = map { my ($table, $distance) = @$_;
			"SELECT array_agg(x) FROM (SELECT k || ':' || (SELECT count(*) || '/' || coalesce(sum(id), 0) FROM $table WHERE $distance <= k) AS x
				FROM generate_series(0, 12) k) y;\n"
			  . "SELECT array_agg(d) FROM (SELECT $distance AS d FROM $table ORDER BY $distance LIMIT 40) y;\n"
			  . "SELECT array_agg(d) FROM (SELECT $distance AS d FROM $table WHERE $distance <= 9 ORDER BY $distance LIMIT 15) y;\n"
		} [ 'spread', "(fp <~> '$center')" ], [ 'whole', "bit_count((fp # '$center')::bit(64))" ];
		is($head->safe_psql('postgres', $of[0]), $head->safe_psql('postgres', $of[1]), "$when: around $center");
	}
	# Rows without a fingerprint come last.
	my $last =
		'SELECT count(*), count(*) FILTER (WHERE fp IS NULL) FROM (SELECT fp FROM %s ORDER BY fp <~> 77 OFFSET (SELECT count(fp) FROM whole)) x';
	is($head->safe_psql('postgres', sprintf $last, 'spread'), $head->safe_psql('postgres', sprintf $last, 'whole'), "$when: NULLs last");
	return;
}

compare('filled');
for my $table (qw(whole spread))
{
	$head->safe_psql('postgres', <<"SQL");
DELETE FROM $table WHERE id % 7 = 0;
UPDATE $table SET fp = fp # 5 WHERE id % 5 = 0;
UPDATE $table SET fp = NULL WHERE fp <~> 0 <= 6;
SQL
}
$_->safe_psql('postgres', 'VACUUM share') for @servers;
compare('changed through the foreign tables');

is_sound($_, 'share', 'share_fp', $_->name, 4) for @servers;
is_sound($head, 'whole', 'whole_fp', 'the one server', 3);
$_->stop for @servers, $head;
done_testing();
