# One session: after each of thousands of short random transactions over few keys and fingerprints, the clusters that
# simhash_catalog.maintain_clusters() keeps are those of a full computation. What is wrong is shown as the smallest history.
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
my $node = new_node('kept_alone', conf => "max_prepared_transactions = 1\n");
my $done = 0;

# $histories histories of a variant, each of some transactions from empty tables.
sub histories
{
	my ($v, $histories) = @_;
	my @empty = ({ operations => 0, lines => [$anew] });
	my @list = map {
		my $d = { variant => $v, session => 0, sessions => 1, most => 4, truncates => 1,
			keys => (4, 8, 12)[ rand 3 ], fp => fingerprints_of((qw(few few hot mixed))[ rand 4 ]) };
		(@empty, map { transaction($d) } 1 .. 24);
	} 1 .. $histories;
	is(run_kept($node, [ \@list ], check => 1), '', "$v->{name}: the session lives");
	my @others = grep { $_->{error} !~ /^(?:P0004|)(?::|$)/ && $_->{error} !~ /^23505.*"doc/ } @list;
	is(join("\n", map { join "\n", $_->{error}, @{ $_->{lines} } } @others[ 0 .. (@others > 3 ? 2 : $#others) ]), '',
		"$v->{name}: no other error");
	$done += $_->{operations} for grep { $_->{error} eq '' } @list;
	return @list;
}

# The transactions since the tables were empty, up to the first wrong one.
sub wrong_history
{
	my (@list) = @_;
	my @since;
	for my $transaction (@list)
	{
		@since = () if $transaction->{lines}[0] eq $anew;
		push @since, $transaction;
		return @since if $transaction->{error} =~ /^P0004/;
	}
	return;
}

my %seen;
until_over(
	1,
	sub {
		my ($round) = @_;
		for my $v (kept_variants())
		{
			next if $seen{ $v->{name} };
			srand($seed + $round);
			make_kept($node, $v);
			my @wrong = wrong_history(histories($v, 14));
			ok(!@wrong, "$v->{name}: clusters are true after each transaction") or $seen{ $v->{name} } = 1;
			next unless @wrong;
			my @smallest = smallest_history($node, @wrong);
			@smallest = @wrong unless @smallest;
			diag("$v->{name}, seed $seed, round $round: ", (first_fault($node, @smallest))[1], "\n", shown_history($v, @smallest));
		}
	});
done_so_far("$done operations");

$node->stop;
done_testing();
