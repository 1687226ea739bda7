# Builds by several processes: as sound as those by one process, within little memory, with NULLs, partial
# and expression indexes, CONCURRENTLY; errors and cancels in a worker end the command and leave
# nothing behind; statistics and progress.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('parallel', conf => <<'CONF');
max_worker_processes = 12
max_parallel_workers = 10
max_parallel_maintenance_workers = 4
maintenance_work_mem = 32MB
log_temp_files = 0
CONF
# Two thirds at random, the rest on one hot key; NULLs among them.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint, tenant int);
INSERT INTO t (fp, tenant) SELECT CASE WHEN i % 50 = 0 THEN NULL
	WHEN i % 3 = 0 THEN random_fp() & 281474976710655 ELSE random_fp() END, any_tenant() FROM generate_series(1, 120000) i;
DELETE FROM t WHERE id % 11 = 0;
ALTER TABLE t SET (parallel_workers = 2);
SQL

# Does a build launch workers? The server says so at this level of detail.
sub builds_with
{
	my ($sql, $settings) = @_;
	my $mark = -s $node->logfile;
	$node->safe_psql('postgres', ($settings // '') . "\n$sql");
	my $log = slurp_file($node->logfile, $mark);
	my @started = $log =~ /starting background worker process "parallel worker/g;
	return scalar @started;
}

sub is_complete
{
	my ($what) = @_;
	is($node->safe_psql('postgres', "SELECT * FROM simhash_index_verify('t_fp', true)"), '', "$what: every row is filed");
	is_sound($node, 't', 't_fp', $what, 1);
	my $counts = $node->safe_psql('postgres', <<'SQL');
SELECT s.rows = (SELECT count(fp) FROM t), s.null_rows = (SELECT count(*) FROM t WHERE fp IS NULL),
	c.reltuples = (SELECT count(*) FROM t) FROM simhash_index_stats('t_fp') s, pg_class c WHERE c.relname = 't_fp'
SQL
	is($counts, 't|t|t', "$what: and counted");
	return;
}

$node->append_conf('postgresql.conf', 'log_min_messages = debug1');
$node->reload;
# The postmaster, which starts workers and logs that it does, reads the settings in its own time.
$node->wait_for_log(qr/parameter "log_min_messages" changed to "debug1"/);
# Settings, and the workers to come.
my %cases = (
	'two workers' => [ '', 2 ],
	'runs on disk' => [ "SET maintenance_work_mem = '1MB';", 2 ],
	'one worker' => [ 'SET max_parallel_maintenance_workers = 1;', 1 ],
	'alone' => [ 'SET max_parallel_maintenance_workers = 0;', 0 ],
	'four workers' => [ 'ALTER TABLE t SET (parallel_workers = 4);', 4 ]);
my %scoped = map { ("$_, scopes" => [ @{ $cases{$_} }, 'tenant as_numbered, ' ]) } 'two workers', 'runs on disk', 'alone';
%cases = (%cases, %scoped);
for my $case (sort keys %cases)
{
	my ($settings, $wanted, $scopes) = @{ $cases{$case} };
	is(builds_with('CREATE INDEX t_fp ON t USING simhash (' . ($scopes // '') . 'fp)', $settings), $wanted, "$case: workers");
	is_complete($case);
	$node->safe_psql('postgres', 'DROP INDEX t_fp; ALTER TABLE t SET (parallel_workers = 2)');
}

# No worker to be had: the leader does it alone.
{
	$node->safe_psql('postgres', 'SET max_parallel_workers = 0; CREATE INDEX t_fp ON t USING simhash (fp)');
	is_complete('no worker free');
}

# Inserts and splits go on in a file that several processes wrote, and REINDEX.
$node->safe_psql('postgres', 'INSERT INTO t (fp) SELECT random_fp() FROM generate_series(1, 20000)');
is_sound($node, 't', 't_fp', 'inserts afterwards', 4);
is(builds_with('REINDEX INDEX t_fp'), 2, 'REINDEX: workers');
is_complete('REINDEX');
$node->safe_psql('postgres', 'VACUUM t; INSERT INTO t (fp) SELECT random_fp() FROM generate_series(1, 5000)');
is_sound($node, 't', 't_fp', 'VACUUM and inserts afterwards', 4);
is(builds_with('REINDEX INDEX CONCURRENTLY t_fp'), 2, 'REINDEX CONCURRENTLY: workers');
is_sound($node, 't', 't_fp', 'REINDEX CONCURRENTLY', 4);

# A crash right after the build: redo brings back what workers wrote.
$node->safe_psql('postgres', 'DROP INDEX t_fp; CHECKPOINT; CREATE INDEX t_fp ON t USING simhash (fp)');
$node->stop('immediate');
$node->start;
is_complete('after a crash');
$node->safe_psql('postgres', 'DROP INDEX t_fp');

# Partial and expression indexes; an expression that workers may not run is left to the leader.
is(builds_with('CREATE INDEX t_fp ON t USING simhash ((fp # 1)) WHERE id % 2 = 0'), 2, 'expression and predicate: workers');
is($node->safe_psql('postgres', "SELECT * FROM simhash_index_verify('t_fp', true)"), '', 'expression and predicate: every row is filed');
$node->safe_psql('postgres', <<'SQL');
DROP INDEX t_fp;
CREATE FUNCTION unsafe(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
CREATE FUNCTION failing(id bigint, fp bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN IF id = 119998 THEN RAISE EXCEPTION 'row % is bad', id; END IF; RETURN fp; END $$;
CREATE FUNCTION slow(fp bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN PERFORM pg_sleep(0.001); RETURN fp; END $$;
SQL
is(builds_with('CREATE INDEX t_fp ON t USING simhash (unsafe(fp))'), 0, 'unsafe expression: no workers');
$node->safe_psql('postgres', 'DROP INDEX t_fp');

sub nothing_is_left
{
	my ($what) = @_;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 't_fp'"), 0, "$what: no index is left");
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"),
		"$what: no worker is left");
	my @files = glob($node->data_dir . '/base/pgsql_tmp/*');
	is(scalar @files, 0, "$what: no temporary file is left");
	return;
}

# An error in the process that meets the row, the leader or a worker.
my ($status, $out, $err) = $node->psql('postgres', 'CREATE INDEX t_fp ON t USING simhash (failing(id, fp))');
like($err, qr/row 119998 is bad/, 'the error of an expression arrives');
nothing_is_left('error');

# Cancelled while all are at work, and from the start.
for my $timeout (1, 20, 100, 1500)
{
	($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = $timeout; CREATE INDEX t_fp ON t USING simhash (slow(fp))");
	like($err, qr/canceling statement due to statement timeout/, "cancelled after $timeout ms");
	nothing_is_left("cancelled after $timeout ms");
}
# A worker that is terminated ends the command.
my $run = IPC::Run::start(
	[ 'psql', '-X', '-h', $node->host, '-p', $node->port, 'postgres', '-c', 'CREATE INDEX t_fp ON t USING simhash (slow(fp))' ],
	'>', \my $said, '2>', \my $complained);
ok($node->poll_query_until('postgres',
	"SELECT count(*) = 2 FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' AND query LIKE 'CREATE INDEX%'"), 'workers say what they do');
like($node->safe_psql('postgres', 'SELECT phase, blocks_total > 0 FROM pg_stat_progress_create_index'),
	qr/^building index: scanning table\|t$/, 'progress of the scan');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");
$run->finish;
like($complained, qr/terminating|lost connection/, 'a terminated worker ends the build');
nothing_is_left('terminated');

is(builds_with('CREATE INDEX t_fp ON t USING simhash (tenant as_numbered, (id % 3), fp)'), 2, 'the next build works, with two scopes');
is_complete('the next build');
$node->stop;
done_testing();
