# The attack: rounds that are drawn from a seed. Each draws a table (AttackTables), lets several sessions change it at
# random, its definition and indexes too, while others ask (AttackStatements, AttackQuestions), kills what it likes, and
# compares every answer with reading every row; then it damages files of indexes (AttackDamage). `make attack SEED=7` goes on
# for SECONDS_EACH; here it is a minute, from one seed, so that two runs differ by races alone. SEED and ROUND repeat a round.
use strict;
use warnings;
use AttackDamage;
use AttackQuestions;
use AttackStatements;
use AttackTables;
use IPC::Run;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{SIMHASH_TEST_SEED} || (soak_seconds() ? int(rand(1_000_000)) : 1);
my $only = $ENV{SIMHASH_ROUND} || undef;
# diag, not note: these lines are shown at once.
diag "seed $seed";
my $end = time + (soak_seconds() || 40);

my $node = new_node('attack', damaged => 1, conf => <<'CONF');
search_path = 'attack, public'
shared_buffers = 64MB
restart_after_crash = on
max_prepared_transactions = 20
deadlock_timeout = 50ms
lock_timeout = 500ms
statement_timeout = 60s
allow_in_place_tablespaces = on
max_wal_size = 2GB
wal_level = replica
max_wal_senders = 2
log_min_messages = error
CONF
my %server = (major => int($node->pg_version =~ s/\D.*//r),
	icu => $node->safe_psql('postgres', "SELECT count(*) > 0 FROM pg_collation WHERE collname = 'und-x-icu'") eq 't');
if ($server{major} >= 19)
{
	$node->append_conf('postgresql.conf', 'max_repack_replication_slots = 4');
	$node->restart;
}
add_attack($node);
$node->safe_psql('postgres',
	"CREATE COLLATION public.no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)") if $server{icu};
$node->safe_psql('postgres', <<"SQL");
CREATE TABLESPACE elsewhere LOCATION '';
CREATE TEMP TABLE image (id int, phash bigint, dhash bigint);
\\copy image FROM '$ENV{PG_TEST_DATA}/image_hashes.csv' CSV HEADER
INSERT INTO image_fp SELECT id, phash FROM image;
SQL

my %done = map { $_ => 0 } qw(rounds sessions transactions sent_back kills questions by_index damages wrong errors misleading quick heap);
my $failed = 0;

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---- what must be true --------------------------------------------------------------------------------------------

# Of a table that nobody changes: no answer differs, no index has a fault, and no rows are nearer than a constraint lets them.
sub faults_of
{
	my ($t, $n) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set ON_ERROR_STOP 0\n" . questions($t, $n) . <<"SQL", timeout => 600);
SELECT format('%s: block %s: %s', c.oid::regclass, block, fault)
	FROM pg_class c JOIN pg_am a ON a.oid = relam, simhash_index_verify(c.oid, true) WHERE amname = 'simhash' AND relkind = 'i';
SQL
	return "$out$err" . near_pairs($t);
}

sub near_pairs
{
	my ($t) = @_;
	return '' unless $t->{exclude};
	my ($a, $b) = map { $t->{fp}->($_) } 'a.', 'b.';
	return sql("SELECT 'too near: ' || a.id || ' ' || b.id FROM $t->{name} a JOIN $t->{name} b ON a.id < b.id"
		. join('', map { ' AND ' . $_->{expr}->('a.') . ' = ' . $_->{expr}->('b.') } @{ $t->{scopes} })
		. " WHERE bit_count(($a # $b)::bit(64)) <= 3 LIMIT 3");
}

# ---- sessions -----------------------------------------------------------------------------------------------------

# Starts a session for each list of transactions.
sub start_sessions
{
	my @lists = @_;
	return map {
		my $list = $_;
		my $file = $node->basedir . '/attack_' . $done{sessions}++ . '.sql';
		open my $fh, '>', $file or die "$file: $!";
		print $fh "\\warn at $_\n", map { "$_\n" } @{ $list->[$_] }, 'ROLLBACK;' for 0 .. $#$list;
		close $fh;
		my ($out, $err) = ('', '');
		+{ list => $list, file => $file, out => \$out, err => \$err, run => IPC::Run::start(
			[ 'psql', '-X', '-q', '-A', '-t', '-v', 'VERBOSITY=verbose', '-f', $file, '-h', $node->host, '-p', $node->port, 'postgres' ],
			'>', \$out, '2>', \$err) };
	} @lists;
}

# Waits for the sessions; returns what no session may print.
sub unfair_ends
{
	my ($t, $killed, @sessions) = @_;
	my $unfair = '';
	for my $session (@sessions)
	{
		$session->{run}->finish;
		$unfair .= ${ $session->{out} };
		my ($at, $sent_back) = (0, 0);
		for (split /\n/, ${ $session->{err} })
		{
			if (/^at (\d+)$/) { $done{transactions}++; $at = $1; $sent_back = 0; }
			next unless /(?:ERROR|FATAL|PANIC):  (\w{5}: .*)/;
			if (ends_fairly($t, $1, $session->{list}[$at][0], $killed)) { $done{sent_back}++ unless $sent_back++; }
			else { $unfair .= "$_\nin transaction $at: " . join("\n", @{ $session->{list}[$at] }) . "\n"; }
		}
		$unfair .= "connection lost: ${ $session->{err} }\n"
			if !$killed && ${ $session->{err} } =~ /connection to server was lost|server closed the connection/;
		unlink $session->{file};
	}
	return $unfair;
}

# What is killed, by name, and how.
my %kills = (
	nothing => sub { },
	'a backend, by its session' => sub { sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY pid LIMIT 1") },
	'a backend, by kill -9' => sub {
		my $pid =
			sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY state, pid LIMIT 1");
		return if $pid eq '';
		kill 'KILL', $pid;
		select(undef, undef, undef, 0.5);
		$node->poll_query_until('postgres', 'SELECT true');
	},
	'the server, at once' => sub { $node->stop('immediate'); $node->start; },
	'the postmaster' => sub { kill_postmaster($node); });
my @kills = ((('nothing') x 4), sort keys %kills);

# Ends what sessions have left behind: prepared transactions, invalid and missing indexes, a partition that is away.
sub settle
{
	my ($t) = @_;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	sql("ROLLBACK PREPARED '$_'") for split /\n/, sql('SELECT gid FROM pg_prepared_xacts ORDER BY 1');
	# Those of partitions hang on their parents.
	my @own = map { index_name($t, $_) } 0 .. $#{ $t->{indexes} };
	my $kept = join ', ', map { "'$_'" } @own, 'none';
	sql("DROP INDEX $_") for split /\n/, sql(<<"SQL");
SELECT indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
WHERE amname = 'simhash' AND (NOT indisvalid OR relname NOT IN ($kept)) AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = indexrelid)
	AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype = 'x')
SQL
	sql("ALTER TABLE $t->{name} ATTACH PARTITION $t->{name}_p0 FOR VALUES FROM (MINVALUE) TO (1000)")
	  if $t->{partitions} =~ /^RANGE/ && sql("SELECT relispartition FROM pg_class WHERE oid = '$t->{name}_p0'::regclass") eq 'f';
	for my $i (0 .. $#own) { sql(index_sql($t, $i)) if sql("SELECT to_regclass('$own[$i]') IS NULL") eq 't'; }
	return;
}

# ---- a round ------------------------------------------------------------------------------------------------------

my @kinds = qw(uniform skewed near real hot equal texts);

# Draws everything anew; returns whether all was as it must be.
sub round
{
	my ($round) = @_;
	srand($seed * 1000 + $round);
	my $t = draw_table(\%server, $kinds[ $round % @kinds ]);
	my ($table, $indexes) = table_sql($t);
	my ($what, $wrong, @killed) = ("seed $seed, round $round", '');
	my $looked_at = sub {
		my ($when, $faults) = @_;
		return if $faults eq '';
		$wrong = 1;
		fail("$what: $when");
		diag "Repeat it with: make attack SEED=$seed ROUND=$round\n", $faults =~ s/\A(.{8000}).*/$1.../sr, "\n";
	};
	sql("SET client_min_messages = warning;
		DROP SCHEMA IF EXISTS attack CASCADE; CREATE SCHEMA attack; SET search_path = attack, public;\n$table");
	my $load = load_of($t, 1, $t->{rows});
	my $built = chance(0.5);
	sql($built ? $load : $indexes);
	$looked_at->('empty', faults_of($t, 5)) unless $built;
	sql($built ? $indexes : $load);
	$looked_at->($built ? 'built' : 'rows inserted one by one', faults_of($t, 12));
	if (!$built)
	{
		sql('REINDEX TABLE t');
		$looked_at->('built anew', faults_of($t, 5));
	}
	for my $phase (1, 2)
	{
		last if $wrong;
		my @lists = map { [ session_lines($t, 10 * $phase + $_, $_ == 0, 12) ] } 0 .. between(2, 5);
		my ($kill, $after) = (one_of(@kills), 0.1 + rand(1.5));
		my @sessions = start_sessions(@lists);
		if ($kill ne 'nothing')
		{
			select(undef, undef, undef, $after);
			$kills{$kill}->();
			$done{kills}++;
			push @killed, $kill;
		}
		$looked_at->("sessions of phase $phase", unfair_ends($t, $kill ne 'nothing', @sessions));
		settle($t);
		$looked_at->("after phase $phase" . ($kill eq 'nothing' ? '' : ", with $kill killed"), faults_of($t, 15));
		diag map { my $s = $_; "-- session $s\n", map { map { "$_\n" } @$_ } @{ $lists[$s] } } 0 .. $#lists if $wrong && $only;
	}
	if (!$wrong)
	{
		my $damaged = damage_copies($node, $t, [ map { one_of(@damage_kinds) } 1 .. 5 ]);
		$looked_at->('damage', $damaged->{faults});
		$done{$_} += $damaged->{$_} for qw(damages wrong errors misleading quick heap);
		my $name = $t->{name};
		sql("DELETE FROM $name");
		sql("VACUUM $name");
		$looked_at->('all deleted', faults_of($t, 5));
		sql(load_of($t, 1, 500));
		$looked_at->('filled again', faults_of($t, 8));
		sql("TRUNCATE $name");
		$looked_at->('truncated', faults_of($t, 3));
	}
	diag $table, $indexes if $wrong;
	$done{$_} = sql("SELECT counted('$_')") for qw(questions by_index);
	$done{rounds}++;
	diag sprintf 'round %d: %s in %s%s%s%s; killed: %s; in all %d transactions, %d questions, %d damages', $round,
	  $t->{kind}, $t->{has}, join('', map { ", $_->{type}" } @{ $t->{scopes} }), $t->{partitions} && ", $t->{partitions}",
	  $t->{exclude} && ', apart',
	  join(', ', @killed) || 'nothing', @done{qw(transactions questions damages)};
	return !$wrong;
}

# All kinds of fingerprints at least.
for (my $i = 1; time < $end || ($i <= @kinds && !$only); $i++)
{
	my $round = $only // $i;
	my $right = eval { round($round) };
	diag "make attack SEED=$seed ROUND=$round\n$@" if $@;
	ok($right, "round $round") or $failed++;
	last if $@ || $failed == 3;
}

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal (?!9:)|TRAP/, 'no process died by itself');
cmp_ok($done{by_index}, '>', $done{questions} / 2,
	"of $done{questions} questions $done{by_index} were answered by an index") unless $failed;
$node->stop;
done_so_far(sprintf 'seed %d: %d rounds, %d sessions, %d transactions (%d sent back), %d kills, %d questions (%d by an index), %d damages',
	$seed, @done{qw(rounds sessions transactions sent_back kills questions by_index damages)});
done_so_far(sprintf 'of the damages %d gave %d wrong answers without an error; verification reported %d of these damages, in its quick form %d; %d questions ended with an error',
	@done{qw(misleading wrong heap quick errors)});
done_testing();
