# Answers of damaged indexes, compared with the table: of a plain index, of one with scopes, and of one whose trees have three
# levels, each damaged in every way of AttackDamage, and in its inner pages. Whatever made an answer wrong without an error is
# reported by simhash_index_verify with the table; without it, but for files that are sound in themselves, and rows without a
# fingerprint, which are filed once.
# (028 flips single bytes, 007 looks at what each command says.)
use strict;
use warnings;
use AttackDamage;
use AttackTables;
use SimhashTest;
use SimhashPages;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SIMHASH_TEST_SEED} // int(rand(1_000_000));
srand($seed);
note "SIMHASH_TEST_SEED=$seed";

my $node = new_node('damaged', damaged => 1, conf => "shared_buffers = 128MB\nmax_wal_size = 4GB\n");
add_attack($node);

my %column = (columns => 'fp bigint', store => 'fp', value => sub { "drawn_fp('$_[0]', $_[1])" }, fp => sub { "$_[0]fp" });
my %tenant = (type => 'int', value => '%s', class => 'as_numbered', column => 's1', expr => sub { "$_[0]s1" });
my @tables = (
	{ what => 'plain', %column, kind => 'skewed', scopes => [] },
	{ what => 'scopes', %column, kind => 'near', scopes => [ \%tenant ] },
	# Leaves with few postings, and more of them than one page above has links.
	{ what => 'three levels', %column, kind => 'uniform', scopes => [], rows => 20_000, more => ' WITH (fillfactor = 10)' });
my %sum = map { $_ => 0 } qw(damages wrong errors misleading quick heap);
my %past_quick;

sub damage_all
{
	my ($round) = @_;
	for my $table (@tables)
	{
		my $t = { name => 't', has => '', exclude => '', partitions => '', unlogged => 0, key => 'PRIMARY KEY', indexes => [],
			server => {}, %$table };
		my $tall = $t->{what} eq 'three levels';
		# The quick form shares the kinds among the first two; the tall tree takes those that look at its levels, and whole files.
		my $n = 0;
		my @kinds = grep { soak_seconds() || /file/ || ($tall ? /inner/ : $n++ % 2 == ($t->{what} eq 'plain')) } @damage_kinds;
		my $found = damage_copies($node, $t, \@kinds, rows => $t->{rows} // 2000, more => $t->{more});
		is($found->{faults}, '', "$t->{what}, round $round: right answers, clean errors, and a fault where an answer was wrong");
		is(join(' ', @{ $found->{levels} }), join(' ', map { 3 } @kinds), 'all trees had three levels') if $tall;
		$sum{$_} += $found->{$_} for keys %sum;
		$past_quick{$_} += $found->{past_quick}{$_} for keys %{ $found->{past_quick} };
	}
	return;
}

until_over(1, \&damage_all);
cmp_ok($sum{$_}, '>', 0, "some: $_") for qw(misleading errors);
is(join(', ', grep { !/file|^rows without/ } sort keys %past_quick), '',
	'without the table, verification misses files in the place of others and rows without a fingerprint, and nothing else');
done_so_far(sprintf '%d damages: %d gave %d wrong answers without an error; verification with the table reported %d of these, without it %d (not: %s); %d answers were errors',
	@sum{qw(damages misleading wrong heap quick)}, join(', ', map { "$_ $past_quick{$_} times" } sort keys %past_quick) || '-', $sum{errors});
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC/, 'no process died');
$node->stop;
done_testing();
