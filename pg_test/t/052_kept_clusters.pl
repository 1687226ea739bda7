# Clusters that simhash_catalog.maintain_clusters() keeps while eight sessions change the rows at random, with
# triggers of many kinds: whenever the sessions pause, they are those of a full computation and of one that counts bits.
use strict;
use warnings;
use KeptClusters;
use KeptOperations;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SIMHASH_TEST_SEED} // time;
note "SIMHASH_TEST_SEED=$seed";
my $node = new_node('kept_clusters', conf => "deadlock_timeout = 10ms\nstatement_timeout = 60s\nmax_prepared_transactions = 10\n");
my $sessions = 8;
my %done = (operations => 0, transactions => 0, pauses => 0);
my %sent_back;

# Errors after which a transaction is tried again. 23505: another session has stored a row with this key. 21000: so it has, and
# the key is deferrable: clusters are looked for before it is checked.
sub is_sent_back { return $_[0] =~ /^(?:40001|40P01)/ || $_[0] =~ /^(?:23505.*"doc|21000: column "id" is not unique)/; }

# What the sessions draw from between two pauses: fingerprints, and how many keys.
my @phases = ([ 'path', 40 ], [ 'sparse', 200 ], [ 'hot', 100 ], [ 'bases', 250 ], [ 'mixed', 300 ]);

# The history since the last pause, which ended with $faults: as small as possible if it is wrong without
# concurrency too, otherwise the rows at its beginning and what each session did.
sub show
{
	my ($what, $v, $faults, $before, @lists) = @_;
	my @all = map { my $i = $_; map { $_->[$i] // () } @lists } 0 .. $#{ $lists[0] };
	my @smallest = smallest_history($node, $before, grep { $_->{error} eq '' } @all);
	return diag("$what, by one session too: ", (first_fault($node, @smallest))[1], "\n", shown_history($v, @smallest)) if @smallest;
	diag("$what, only by several sessions: $faults\n", shown_history($v, $before));
	for my $s (0 .. $#lists)
	{
		diag("-- session $s\n", map { map { "$_\n" } @{ $_->{lines} }, $_->{error} && "-- $_->{error}" } @{ $lists[$s] });
	}
	return;
}

# A transaction that refreshes noted clusters beside the sessions: every third looks at them, while no row can change.
sub refresh
{
	my ($i) = @_;
	my @look = ('BEGIN;', 'LOCK TABLE doc IN SHARE MODE;', 'SELECT must_be_true();', 'COMMIT;');
	return { operations => 0, lines => [ 'SELECT pg_sleep(0.01);', $i % 3 ? "SELECT simhash_refresh_clusters('cluster');" : @look ] };
}

# All sessions, each with what it has to try again and some new transactions. Returns the number of operations done, or
# nothing when something is wrong.
sub phase
{
	my ($what, $v, $i, $again) = @_;
	my ($kind, $keys) = @{ $phases[ $i % @phases ] };
	my @lists = map {
		my $d = { variant => $v, session => $_, sessions => $sessions, most => 4, truncates => $_ == 0,
			keys => $keys, fp => fingerprints_of($kind) };
		[ splice(@{ $again->[$_] }), map { transaction($d) } 1 .. 20 ];
	} 0 .. $sessions - 1;
	if (($v->{keep} // '') eq 'manual')
	{
		push @lists, [ map { refresh($_) } 1 .. 30 ];
		$node->safe_psql('postgres', $large);
	}
	my $before = kept_state($node);
	my $failed = run_kept($node, \@lists);
	my $operations = 0;
	for my $s (0 .. $#lists)
	{
		for my $transaction (@{ $lists[$s] })
		{
			my $error = $transaction->{error};
			next if $s == $sessions && is_sent_back($error);
			if ($error eq '')
			{
				$operations += $transaction->{operations};
				$done{transactions}++;
			}
			elsif (!is_sent_back($error))
			{
				$failed .= join "\n", $error, @{ $transaction->{lines} }, '';
			}
			else
			{
				$sent_back{ substr $error, 0, 5 }++;
				next if ($transaction->{tries} // 0) == 3;
				push @{ $again->[$s] }, { %$transaction, tries => ($transaction->{tries} // 0) + 1 };
			}
		}
	}
	$done{pauses}++;
	$done{operations} += $operations;
	my $faults = faults_of_kept($node);
	return $operations if $failed eq '' && $faults eq '';
	is($failed, '', "$what: no session failed, and no transaction for another reason than concurrency");
	is($faults, '', "$what: clusters are true") or show($what, $v, $faults, $before, @lists);
	return;
}

my $in_all = $ENV{SIMHASH_OPERATIONS} // 20000;
my @variants = kept_variants();
my %wrong;
until_over(
	1,
	sub {
		my ($round) = @_;
		for my $v (grep { !$wrong{ $_->{name} } } @variants)
		{
			srand($seed + $round);
			make_kept($node, $v);
			my @again = map { [] } 1 .. $sessions;
			my ($operations, $i) = (0, 0);
			while ($operations < 20000 / @variants)
			{
				my $more = phase("$v->{name}, seed $seed, round $round, phase $i", $v, $i, \@again);
				$wrong{ $v->{name} } = 1, last unless defined $more;
				$operations += $more;
				$i++;
			}
			ok(!$wrong{ $v->{name} }, "$v->{name}: $operations operations in $i phases");
		}
	},
	sub { return $done{operations} >= $in_all || %wrong });
done_so_far(join ', ', (map { "$done{$_} $_" } qw(operations transactions pauses)), 'sent back by SQLSTATE ' . join ' ',
	map { "$_: $sent_back{$_}" } sort keys %sent_back);

$node->stop;
done_testing();
