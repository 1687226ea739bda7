# What a build takes: temporary files when the rows do not fit maintenance_work_mem and none when they
# do, no more memory than that setting allows, in any of the processes; the phases that it reports; and what
# fillfactor does.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(max);
use Time::HiRes qw(time);

my $node = new_node('build',
	conf => "max_parallel_maintenance_workers = 0\nmax_worker_processes = 8\nlog_temp_files = 0\nmax_wal_size = 2GB\n");
# Many enough that each of three processes could fill three times the memory that is its share of 4 MB.
my %rows = (t => 150_000, many => 500_000);
$node->safe_psql('postgres', <<"SQL") for sort keys %rows;
CREATE TABLE $_ AS SELECT i::bigint AS id, (i % 900)::int AS tenant,
	CASE WHEN i % 100 = 0 THEN NULL WHEN i % 50 = 1 THEN 42 ELSE hashint8extended(i, 1) END AS fp
	FROM generate_series(1, $rows{$_}) i;
SQL

sub answer { return $node->safe_psql('postgres', $_[0]); }

# Bytes of temporary files so far; a session reports them when it ends, at the latest.
sub temporary_bytes { return answer("SELECT temp_bytes FROM pg_stat_database WHERE datname = 'postgres'"); }

# What a process has of its own (not shared buffers), in kB; 0 where the system does not report it.
sub own_memory
{
	my ($pid) = @_;
	open my $status, '<', "/proc/$pid/status" or return 0;
	my ($kilobytes) = join('', <$status>) =~ /^RssAnon:\s+(\d+) kB/m;
	return $kilobytes // 0;
}

# Processes that take part in the builds of a session: its own and parallel workers.
sub builders
{
	my ($pid, $postmaster) = @_;
	open my $children, '<', "/proc/$postmaster/task/$postmaster/children" or return $pid;
	my @workers = grep {
		my $title = '';
		if (open my $line, '<', "/proc/$_/cmdline") { $title = <$line> // ''; }
		$title =~ /parallel worker/
	} split ' ', <$children> // '';
	return ($pid, @workers);
}

# Builds in a session of its own. Returns the highest growth of any process's own memory, in kB, and the
# phases seen meanwhile.
sub build
{
	my ($settings, $sql) = @_;
	my $session = open_session($node);
	$session->query_safe("CREATE TEMP TABLE warm (fp bigint); CREATE INDEX ON warm USING simhash (fp); $settings");
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	my $watcher = open_session($node);
	my $before = own_memory($pid);
	$session->{stdin} .= "$sql;\n\\echo built\n";
	my ($peak, %phases, $workers) = (0);
	$workers = 0;
	my $end = time + 60;
	until ($session->{stdout} =~ /built/ || time > $end)
	{
		$session->{run}->pump_nb;
		# A worker starts as a copy of the postmaster, with next to nothing of its own.
		my @pids = builders($pid, $postmaster);
		$workers = max($workers, $#pids);
		$peak = max($peak, map { own_memory($_) - ($_ == $pid ? $before : 0) } @pids);
		$phases{$_} = 1 for split /\n/, $watcher->query('SELECT phase FROM pg_stat_progress_create_index');
	}
	$session->{stdout} = '';
	is($session->{stderr}, '', "$sql: no error");
	$session->quit;
	$watcher->quit;
	return ($peak, \%phases, $workers);
}

sub create { return "CREATE INDEX $_[0]_fp ON $_[0] USING simhash (" . ($_[1] // '') . 'fp)'; }

my $create = create('t');
# fillfactor: pages as full as asked for, and room for inserts before the first split.
my %size;
for my $fill (40, 70, 100)
{
	answer("$create WITH (fillfactor = $fill)");
	$size{$fill} = answer("SELECT leaf_fill FROM simhash_index_stats('t_fp')");
	cmp_ok(abs($size{$fill} - $fill / 100), '<', 0.1, "fillfactor $fill: leaves are $size{$fill} full");
	answer('DROP INDEX t_fp') if $fill < 100;
}
answer('ALTER INDEX t_fp SET (fillfactor = 50); REINDEX INDEX t_fp');
cmp_ok(abs(answer("SELECT leaf_fill FROM simhash_index_stats('t_fp')") - 0.5), '<', 0.1, 'REINDEX heeds a changed fillfactor');
answer('DROP INDEX t_fp');

my $telling = own_memory($$) > 0;
my (%memory, %seen);
my @cases = (
	[ 'in memory', 't', '128MB', 0 ],
	[ 'by workers in least memory', 'many', '1MB', 2 ],
	[ 'by workers in little memory', 'many', '4MB', 2 ],
	[ 'with scopes, in memory', 't', '128MB', 0, 'tenant, ' ],
	[ 'with scopes, by workers in little memory', 'many', '4MB', 2, 'tenant, ' ],
	[ 'with scopes, in little memory', 't', '2MB', 0, 'tenant, ' ],
	[ 'in little memory', 't', '2MB', 0 ]);
for my $case (@cases)
{
	my ($what, $table, $memory, $wanted, $scopes) = @$case;
	answer("ALTER TABLE $table SET (parallel_workers = $wanted)");
	my $before = temporary_bytes();
	my ($peak, $phases, $workers) =
		build("SET maintenance_work_mem = '$memory'; SET max_parallel_maintenance_workers = $wanted; SET min_parallel_table_scan_size = 0",
			create($table, $scopes));
	my $used;
	for (1 .. 30)
	{
		$used = temporary_bytes() - $before;
		last if $used || $what =~ /in memory$/;
		select(undef, undef, undef, 0.1);
	}
	diag("$what ($memory): $peak kB of memory in one process, $used bytes of temporary files, $workers workers");
	if ($what =~ /in memory$/) { is($used, 0, "$what: no temporary file"); }
	# A posting of 16 bytes, and 4 of its scope, in each of the four key spaces.
	else { cmp_ok($used, '>=', $rows{$table} * 0.99 * 4 * ($scopes ? 20 : 16), "$what: every posting went through a temporary file"); }
	$memory{$what} = $peak;
	%seen = (%seen, %$phases);
	is(answer("SELECT rows || ' ' || null_rows FROM simhash_index_stats('${table}_fp')"),
		answer("SELECT count(fp) || ' ' || count(*) - count(fp) FROM $table"), "$what: every row is filed");
	# The last is kept, and looked at closely at the end.
	answer("DROP INDEX ${table}_fp") unless $what eq 'in little memory';
}
ok($seen{"building index: $_"}, "phase $_") for 'scanning table', 'sorting and loading key spaces';
SKIP:
{
	skip 'the system does not tell the memory of a process', 6 unless $telling;
	cmp_ok($memory{'in memory'}, '>', 4000, 'rows that fit are kept in memory');
	# What is asked for, and a few fixed buffers: page images, counts of 65,536 keys.
	cmp_ok($memory{$_}, '<', 2048 + 2400, "$_: 2 MB suffice where 2 MB are allowed") for 'in little memory', 'with scopes, in little memory';
	my ($least, $little) = @memory{ 'by workers in least memory', 'by workers in little memory' };
	cmp_ok($_, '<', 4096 + 4096, 'and 4 MB in each of three processes') for $little, $memory{'with scopes, by workers in little memory'};
	# A worker's own memory without a build is several MB, and differs from major to major. It is the same in both
	# builds: in the second each of the three processes may take 1 MB more. It would be 3 MB if they did not share.
	cmp_ok($little - $least, '<', 2048, 'which they share');
}

is_sound($node, 't', 't_fp', 'built in little memory', 1);
$node->stop;
done_testing();
