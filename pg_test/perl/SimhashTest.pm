# What the tests in pg_test/t share: a node with the extension and the oracle, and the comparison of
# an index's answers with the oracle's. See oracle.sql.
package SimhashTest;

use strict;
use warnings;
use Exporter 'import';
use File::Basename qw(dirname);
use IPC::Run;
use POSIX qw(ceil);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Test2::API qw(test2_stack);

# A wrong library is known by its first failure: `make mutants-server` does not wait for the rest of a file.
test2_stack()->top->listen(sub { exit 1 if $_[1]->causes_fail }) if $ENV{STOP_AT_FAILURE};

our @EXPORT = qw(new_node add_oracle is_sound same_answers start_load none_failed wait_for_wait processor_seconds pages_looked_at);

my $oracle = dirname(__FILE__) . '/oracle.sql';

# The pages that a plan of EXPLAIN (ANALYZE, BUFFERS) has looked at, in memory before or not: a checkpoint or other sessions
# may have sent one away.
sub pages_looked_at
{
	my ($plan) = @_;
	my ($hit, $read) = $plan =~ /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/ or die $plan;
	return ($hit // 0) + ($read // 0);
}

# A started node with the extension and the oracle in database postgres.
# Options: conf => text for postgresql.conf; init => list for init(); damaged => the test changes files of this
# node, and the server must not refuse a changed page before the extension sees it; bare => without extension and oracle.
sub new_node
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my @init = @{ $options{init} // [] };
	# From PostgreSQL 18 on, initdb makes a cluster with checksums unless it is told not to, and the server
	# refuses a changed page. Older versions do not know the option.
	push @init, extra => ['--no-data-checksums'] if $options{damaged} && $node->pg_version >= 18;
	$node->init(@init);
	$node->append_conf('postgresql.conf', <<"CONF" . ($options{conf} // ''));
log_statement = none
log_line_prefix = '%m [%p] %e %q%a '
shared_buffers = 32MB
max_connections = 40
autovacuum = off
jit = off
CONF
	$node->start;
	is($node->safe_psql('postgres', 'SHOW data_checksums'), 'off', 'checksums do not hide the damage') if $options{damaged};
	return $node if $options{bare};
	$node->safe_psql('postgres', 'CREATE EXTENSION simhash_dedup');
	add_oracle($node, 'postgres');
	return $node;
}

sub add_oracle
{
	my ($node, $database) = @_;
	$node->safe_psql($database, slurp_file($oracle));
	return;
}

# The index answers as the oracle does. $centres: how many rows are searched for; $database: where the
# table is.
sub same_answers
{
	my ($node, $table, $what, $centres, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$centres //= 8;
	my ($status, $out, $err) =
	  $node->psql($database // 'postgres', "SELECT * FROM faults('$table', $centres)");
	return is($out . $err, '', "$what: index and oracle agree");
}

# As same_answers, and the index finds no fault in its own pages, nor do those of the table that have scopes.
sub is_sound
{
	my ($node, $table, $index, $what, $centres, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_answers($node, $table, $what, $centres, $database);
	my ($status, $out, $err) =
	  $node->psql($database // 'postgres', <<"SQL");
SELECT fault FROM (SELECT '$index'::regclass UNION SELECT scoped_indexes('$table')) i (index), broken_invariants(index) fault
SQL
	return is($out . $err, '', "$what: pages are sound");
}

# Several loads may run at a time: each has files of its own.
my $load_scripts = 0;

# Starts pgbench in the background; each script is a string. Returns the harness to finish() or
# to kill. Options: clients; transactions, how many they run in all, or seconds, how long they run.
sub start_load
{
	my ($node, $scripts, %options) = @_;
	my @files;
	for my $script (@$scripts)
	{
		my $file = $node->basedir . '/load' . $load_scripts++ . '.sql';
		open my $fh, '>', $file or die "$file: $!";
		print $fh $script;
		close $fh;
		push @files, '-f', $file;
	}
	my ($out, $err) = ('', '');
	my $clients = $options{clients} // 6;
	my @length = $options{transactions} ? ('-t', ceil($options{transactions} / $clients)) : ('-T', $options{seconds} // 3);
	my $run = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-j', 2, @length, @files, '-h', $node->host, '-p', $node->port, 'postgres' ],
		'>', \$out, '2>', \$err);
	return { run => $run, err => \$err, out => \$out };
}

# No transaction of a load that has finished has failed. pgbench counts those that ended in a serialization
# failure or a deadlock; its status tells of other errors: the caller looks at that.
sub none_failed
{
	my ($node, $load, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($failed) = ${ $load->{out} } =~ /number of failed transactions: (\d+)/;
	return is($failed // 'not reported', 0, $what);
}

# Polls until a session waits for a lock in a query like $like.
sub wait_for_wait
{
	my ($node, $like) = @_;
	return $node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '$like'"
	);
}

# Processor time of a process so far, in seconds: other work on the machine does not count.
sub processor_seconds
{
	my ($pid) = @_;
	my @field = split / /, slurp_file("/proc/$pid/stat");
	return ($field[13] + $field[14]) / 100;
}

1;
