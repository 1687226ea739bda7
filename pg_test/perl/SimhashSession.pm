# What the long tests share beside SimhashTest: sessions that stay open, a VACUUM that is held, nodes that are
# started again after kill -9, and rounds until a soak's time is over.
package SimhashSession;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use POSIX qw(ceil);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(
	$FOR_PIN $FOR_CONTENT soak_seconds until_over done_so_far open_session start_statement finish_statement waits_for create_gate
	hold_vacuum open_gate session_agrees create_waits run_sessions kill_backend kill_postmaster limits_memory short_of_memory
);

# Seconds that `make soak` gives this file, 0 in the quick form.
sub soak_seconds { return $ENV{SIMHASH_SOAK} // 0; }

# Calls $round with 1, 2, ... at least $quick times, in a soak until its time is over, and until $enough, if there is
# such a function, returns true.
sub until_over
{
	my ($quick, $round, $enough) = @_;
	my $end = time + soak_seconds();
	for (my $i = 1; $i <= $quick || time < $end || ($enough && !$enough->()); $i++)
	{
		$round->($i);
	}
	return;
}

# What a file has done, in numbers: test_major.sh shows this line.
sub done_so_far { return note "done: $_[0]"; }

# A session that answers query_safe() and query() without reporting each row to the log.
sub open_session
{
	my ($node) = @_;
	return $node->background_psql('postgres', on_error_stop => 0);
}

# What start_statement sends in front of a statement.
my $MARK = q{SELECT 'started'};

# Sends a statement, and does not wait for its end.
sub start_statement
{
	my ($session, $sql) = @_;
	# It may be over as soon as it has started. While the server still shows $MARK as the last query, it
	# has not started.
	$session->{stdin} .= "$MARK;\n$sql;\n\\echo over\n";
	$session->{run}->pump until $session->{stdout} =~ s/started\n//;
	return;
}

# Waits for the end of a started statement; returns the errors that it reported.
sub finish_statement
{
	my ($session) = @_;
	$session->query_until(qr/over/, '');
	my $err = $session->{stderr};
	$session->{stderr} = '';
	return $err;
}

# What pg_stat_activity calls a wait for a buffer: up to PostgreSQL 18 the one name, from 19 on one of the others.
our $FOR_PIN = qr/^(BufferPin|BufferCleanup)$/;
our $FOR_CONTENT = qr/^(BufferContent|BufferShared|BufferShareExclusive|BufferExclusive)$/;

# Polls until the backend waits for $event (of pg_stat_activity), a name or a pattern; false when its statement ends
# instead, or still runs after ten seconds.
sub waits_for
{
	my ($node, $pid, $event) = @_;
	for (1 .. 1000)
	{
		my $now = $node->safe_psql('postgres',
			"SELECT CASE WHEN state = 'active' THEN wait_event WHEN starts_with(query, \$\$$MARK\$\$) THEN 'not started' ELSE 'ended' END"
			. " FROM pg_stat_activity WHERE pid = $pid");
		return 1 if ref $event ? $now =~ $event : $now eq $event;
		return 0 if $now eq 'ended';
		select(undef, undef, undef, 0.01);
	}
	return 0;
}

# Creates waits(statement), which says whether a statement would wait for another session. It undoes what the statement does, and
# cancels one that waits after a few milliseconds.
sub create_waits
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION waits(statement text) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '5ms' AS $$
BEGIN
	EXECUTE statement;
	RAISE EXCEPTION 'it did not wait';
EXCEPTION
	WHEN lock_not_available THEN RETURN true;
	WHEN raise_exception THEN RETURN false;
END $$;
SQL
	return;
}

# The key of an advisory lock.
my $GATE = 4711;

# Creates at_gate(fp), which returns fp. With fp = 1 it waits while the gate is closed.
sub create_gate
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION at_gate(fp bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS \$\$
BEGIN
	IF fp = 1 THEN PERFORM pg_advisory_xact_lock_shared($GATE); END IF;
	RETURN fp;
END \$\$
SQL
	return;
}

# Holds a VACUUM of $table, which has an exclusion constraint on at_gate(fp) and one row with fp = 1. The server
# computes the key of each row that a check of the constraint meets. So the check that the statement $check causes
# stops at that row, with the row's leaf pinned, and VACUUM waits for the pin. The leaf is the first of a key space.
# The check pins the row's page of the table too, and VACUUM removes no dead rows from it.
# Returns the sessions, and the backend of VACUUM.
sub hold_vacuum
{
	my ($node, $table, $check, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($closer, $checker, $vacuum) = map { open_session($node) } 1 .. 3;
	my ($check_pid, $pid) = map { $_->query_safe('SELECT pg_backend_pid()') } $checker, $vacuum;
	$closer->query_safe("SELECT pg_advisory_lock($GATE)");
	start_statement($checker, $check);
	ok(waits_for($node, $check_pid, 'advisory'), "$what: the check stops at a row");
	start_statement($vacuum, "VACUUM (INDEX_CLEANUP ON, PARALLEL 0) $table");
	ok(waits_for($node, $pid, $FOR_PIN), "$what: VACUUM waits for the leaf");
	return { closer => $closer, checker => $checker, vacuum => $vacuum, pid => $pid };
}

# Lets a held VACUUM go on. Returns the errors of the check and those of VACUUM.
sub open_gate
{
	my ($held) = @_;
	$held->{closer}->query_safe("SELECT pg_advisory_unlock($GATE)");
	my @errors = map { finish_statement($held->{$_}) } qw(checker vacuum);
	$held->{$_}->quit for qw(closer checker vacuum);
	return @errors;
}

# The index answers as the oracle does, asked within this session, with all that it remembers.
sub session_agrees
{
	my ($session, $table, $what, $centres) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$centres //= 4;
	my $out = $session->query("SELECT * FROM faults('$table', $centres)");
	my $err = $session->{stderr};
	$session->{stderr} = '';
	return is($out . $err, '', "$what: index and oracle agree");
}

# Runs $script, the statements of one transaction, again and again in several sessions at a time. After a
# serialization failure or a deadlock a session goes on with the next transaction. Options: sessions; transactions, how many
# they run in all, or seconds, how long they run; isolation; nodes => the nodes to which sessions connect by turns, $node among
# them; also => an SQLSTATE that is no error either. Returns how many transactions were begun, how many were done, how many
# errors of these two or three kinds there were (sent_back), and all other errors.
sub run_sessions
{
	my ($node, $script, %options) = @_;
	my $file = $node->basedir . '/sessions.sql';
	my @nodes = @{ $options{nodes} // [$node] };
	my $sent_back_with = join '|', '40001', '40P01', $options{also} // ();
	my ($each, $until) = (ceil(($options{transactions} // 0) / $options{sessions}), '');
	if ($options{seconds})
	{
		my $end = $node->safe_psql('postgres', "SELECT clock_timestamp() + interval '$options{seconds} s'");
		$until = "SELECT clock_timestamp() > '$end' AS late \\gset\n\\if :late\n\\q\n\\endif\n";
		# More than a session has time for.
		$each = 1000 * $options{seconds};
	}
	open my $fh, '>', $file or die "$file: $!";
	# psql has no loop.
	print $fh "$script\\echo over\n$until" for 1 .. $each;
	close $fh;
	# A blank would end the option.
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . ($options{isolation} =~ s/ /\\ /r);
	my @sessions = map {
		my ($out, $err) = ('', '');
		my $at = $nodes[ $_ % @nodes ];
		{ out => \$out, err => \$err, run => IPC::Run::start(
			[ 'psql', '-X', '-q', '-o', '/dev/null', '-v', 'VERBOSITY=sqlstate', '-f', $file,
				'-h', $at->host, '-p', $at->port, 'postgres' ],
			'>', \$out, '2>', \$err) };
	} 1 .. $options{sessions};
	my %result = (begun => 0, done => 0, sent_back => 0, errors => '');
	for my $session (@sessions)
	{
		$session->{run}->finish or $result{errors} .= "psql failed\n";
		my @lines = split /^/, ${ $session->{err} };
		# After its error the rest of a transaction fails with 25P02, and 3B001 where it names a savepoint that it did not set.
		$result{errors} .= join '', grep { !/ERROR:  (?:$sent_back_with|25P02|3B001)$/ } @lines;
		my $sent_back = grep { /ERROR:  (?:$sent_back_with)$/ } @lines;
		my $all = () = ${ $session->{out} } =~ /^over$/mg;
		$result{sent_back} += $sent_back;
		$result{begun} += $all;
		$result{done} += $all - $sent_back;
	}
	return \%result;
}

# Can this machine limit the memory of a backend?
sub limits_memory { return -r '/proc/self/status' && `prlimit --version 2>/dev/null`; }

# Runs $query in $session, whose backend is $pid, with ever more memory until it answers $right. Returns how
# often it was out of memory, the other errors, the megabytes that it had in the end, and the answer.
sub short_of_memory
{
	my ($session, $pid, $query, $right) = @_;
	my $limit = sub { system('prlimit', '--pid', $pid, "--as=$_[0]:unlimited") == 0 or die 'prlimit failed' };
	my ($errors, $others, $megabytes, $answer) = (0, '', 0, '');
	while ($answer ne $right && $megabytes < 200)
	{
		my ($size) = slurp_file("/proc/$pid/status") =~ /VmSize:\s+(\d+) kB/;
		$limit->(($size + 1024 * $megabytes) * 1024);
		$answer = $session->query($query);
		my $err = $session->{stderr};
		$session->{stderr} = '';
		$limit->('unlimited');
		$errors++ if $err =~ /ERROR:  out of memory/;
		$others .= $err unless $err eq '' || $err =~ /ERROR:  out of memory/;
		$megabytes += 1;
	}
	return ($errors, $others, $megabytes, $answer);
}

# Kills a backend that runs a statement like $like, and waits until the server accepts connections again. False
# when no such backend was found in time.
sub kill_backend
{
	my ($node, $like) = @_;
	for (1 .. 500)
	{
		my $pid = $node->safe_psql('postgres', <<"SQL");
SELECT pid FROM pg_stat_activity
WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid() AND query ILIKE '$like'
ORDER BY random() LIMIT 1
SQL
		if ($pid ne '')
		{
			kill 'KILL', $pid;
			select(undef, undef, undef, 0.5);
			# psql may be refused, and gone, before the query is written to it: that raises an error here.
			for my $attempt (1 .. 100)
			{
				last if eval { $node->poll_query_until('postgres', 'SELECT true') };
				select(undef, undef, undef, 0.2);
			}
			return 1;
		}
		select(undef, undef, undef, 0.01);
	}
	return 0;
}

# Kills the postmaster alone, whose children then exit by themselves, and starts the node again when they
# are gone.
sub kill_postmaster
{
	my ($node) = @_;
	$node->kill9;
	my $log = $node->logfile;
	for (1 .. 100)
	{
		select(undef, undef, undef, 0.2);
		my $started = IPC::Run::run(
			[ 'pg_ctl', '-w', '-D', $node->data_dir, '-l', $log, '-o', '--cluster-name=' . $node->name, 'start' ],
			'>', \my $out, '2>', \my $err);
		if ($started)
		{
			$node->_update_pid(1);
			return;
		}
	}
	die "the node does not start after kill -9: see $log";
}

1;
