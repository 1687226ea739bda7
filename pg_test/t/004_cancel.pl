# Cancel and statement_timeout in the middle of builds and scans: they end soon, leave nothing
# behind, and the next command works.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(min);
use Time::HiRes qw(time);

my $node = new_node('cancel', conf => "maintenance_work_mem = 64MB\nmax_wal_size = 2GB\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint);
INSERT INTO t (fp) SELECT random_fp() FROM generate_series(1, 600000);
SQL

sub files_of_database
{
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_ls_dir('base/' || (SELECT oid FROM pg_database WHERE datname = 'postgres')) f WHERE f ~ '^[0-9]+\$'");
}

sub temporary_files
{
	my @files = glob($node->data_dir . '/base/pgsql_tmp/*');
	return scalar @files;
}

# What is left of a dropped relation is removed at the next checkpoint.
$node->safe_psql('postgres', 'CHECKPOINT');
my $files = files_of_database();

# Full builds, to know how long one takes at best.
my $build = 1000;
for (1 .. 3)
{
	my $start = time;
	$node->safe_psql('postgres', 'CREATE INDEX t_fp ON t USING simhash (fp)');
	$build = min($build, time - $start);
	$node->safe_psql('postgres', 'DROP INDEX t_fp; CHECKPOINT');
}
note "a build takes $build s";

# In memory, and with temporary files. A machine that is suddenly faster may finish one; not all of them.
for my $memory ('64MB', '4MB')
{
	my $stopped = 0;
	for my $share (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
	{
		my $timeout = int($build * 1000 * $share) || 1;
		my ($status, $out, $err) = $node->psql('postgres',
			"SET maintenance_work_mem = '$memory'; SET statement_timeout = $timeout;\nCREATE INDEX t_fp ON t USING simhash (fp);\nDROP INDEX t_fp");
		$stopped++ if $err =~ /canceling statement due to statement timeout/;
	}
	cmp_ok($stopped, '>=', 5, "builds stop in the middle, with $memory");
}
ok($node->poll_query_until('postgres', "SELECT temp_files > 0 FROM pg_stat_database WHERE datname = 'postgres'"),
	'builds in little memory use temporary files');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 't_fp'"), 0, 'no index is left');
is(temporary_files(), 0, 'no temporary file is left');
$node->safe_psql('postgres', 'CHECKPOINT');
is(files_of_database(), $files, 'no relation file is left');

# pg_cancel_backend in the middle, and how long the build goes on. A build may end before it is asked: then again, asked earlier.
sub cancel_build
{
	my ($how, $share) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/started/, "\\echo started\n$how t USING simhash (fp);\n\\echo ended\n");
	$node->poll_query_until('postgres', "SELECT query LIKE '$how%' FROM pg_stat_activity WHERE pid = $pid");
	select(undef, undef, undef, $build * $share);
	my $asked = processor_seconds($pid);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$node->poll_query_until('postgres',
		"SELECT state <> 'active' FROM pg_stat_activity WHERE pid = $pid");
	my $late = processor_seconds($pid) - $asked;
	$session->quit;
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_fp');
	return ($session->{stderr}, $late);
}
for my $how ('CREATE INDEX t_fp ON', 'CREATE INDEX CONCURRENTLY t_fp ON')
{
	my ($said, $late);
	for my $share (0.33, 0.2, 0.1, (0) x 7)
	{
		($said, $late) = cancel_build($how, $share);
		last if $said =~ /canceling statement/;
	}
	like($said, qr/canceling statement due to user request/, "$how: is cancelled");
	cmp_ok($late, '<', 3, "$how: soon");
}

# The next build works; so it does concurrently.
$node->safe_psql('postgres', 'CREATE INDEX t_fp ON t USING simhash (fp)');
same_answers($node, 't', 'after cancelled builds', 2);

# Scans that would take long: a radius that finds every row, a whole order, both over and over.
my %scan = (
	'a search' => 'SELECT count(*) FROM t WHERE fp <~> 1 <= 25',
	'a bitmap' => 'SELECT count(*) FROM t WHERE fp <~> 1 <= 25',
	'an order' => 'SELECT id FROM t ORDER BY fp <~> 1 OFFSET 599990');
for my $what (sort keys %scan)
{
	my $way = $what eq 'a bitmap' ? 'enable_indexscan' : 'enable_bitmapscan';
	my ($status, $out, $err) = $node->psql('postgres', <<"SQL");
SET enable_seqscan = off; SET $way = off; SET statement_timeout = '30ms';
DO \$\$ BEGIN FOR i IN 1 .. 100 LOOP PERFORM * FROM ($scan{$what}) x; END LOOP; END \$\$;
SQL
	like($err, qr/canceling statement due to statement timeout/, "$what stops");
}
my ($status, $out, $err) = $node->psql('postgres',
	"SET statement_timeout = '50ms'; SELECT * FROM generate_series(1, 50) CROSS JOIN LATERAL simhash_index_verify('t_fp', true)");
like($err, qr/canceling statement due to statement timeout/, 'verification stops');
($status, $out, $err) = $node->psql('postgres',
	"SELECT 1::bigint <~> 2; SET statement_timeout = '3ms'; SELECT * FROM simhash_index_stats('t_fp')");
like($err, qr/canceling statement due to statement timeout/, 'statistics stop');
($status, $out, $err) = $node->psql('postgres',
	"SET statement_timeout = '100ms'; INSERT INTO t (fp) SELECT hashint8extended(i, 5) FROM generate_series(1, 10000000) i");
like($err, qr/canceling statement due to statement timeout/, 'an insert of many rows stops');
($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '100ms'; REINDEX INDEX CONCURRENTLY t_fp");
like($err, qr/canceling statement due to statement timeout/, 'REINDEX CONCURRENTLY stops');
$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_fp_ccnew');
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 2 = 0');
($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '20ms';\nVACUUM t");
like($err, qr/canceling statement due to statement timeout/, 'a vacuum stops');
$node->safe_psql('postgres', 'VACUUM t');
is_sound($node, 't', 't_fp', 'after cancelled scans and vacuums', 2);

$node->stop;
done_testing();
