# Stored configurations on the nodes of Citus, by the statements of docs/presets.md: one puts them on all nodes, where nothing is
# overwritten, one compares them. A node that differs or does not answer is no silence.
use strict;
use warnings;
use SimhashTest;
use SimhashCitus;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Basename qw(dirname);
use Test::More;

need_citus();
my ($coordinator, @workers) = new_citus(3);
my @nodes = ($coordinator, @workers);
my %place = map { $workers[$_ - 1]->port => "worker$_" } 1 .. @workers;

# The statements of the page.
my $page = slurp_file(dirname($ENV{PG_TEST_DATA}) . '/docs/presets.md');
my ($copy) = $page =~ /^(SELECT w\.\* FROM \(.*?;)$/ms or die 'no statement that copies';
my ($compare) = $page =~ /^(SELECT \* FROM run_command_on_workers.*?;)$/ms or die 'no statement that compares';

# What a statement says: of each node the first line.
sub said
{
	my ($statement) = @_;
	$statement =~ s/;$//;
	return join "\n", sort map { my ($port, @rest) = split /\|/; join ' ', $place{$port}, @rest }
		split /\n/, answer($coordinator, "SELECT f.nodeport, split_part(f.result, E'\\n', 1) FROM ($statement) AS f");
}
sub faults { my $name = shift; return said($compare =~ s/'petition'/'$name'/gr) }

answer($coordinator, <<'SQL');
CREATE TABLE petition (id int, body text, fp bigint);
SELECT create_distributed_table('petition', 'id');
INSERT INTO petition SELECT i, 'the lamp in 幸福路 is dark' FROM generate_series(1, 60) i;
SQL
# Grouped by the shards: Citus would compute what is counted by count(DISTINCT) on the coordinator.
my $distinct = sub { scalar split /\n/, answer($coordinator, "SELECT simhash64_named_text(body, '$_[0]') FROM petition GROUP BY 1") };

# ---------------------------------------------------------------- a name that means different things
answer($_->[0], "SELECT simhash_create_config('made', preset => '$_->[1]')") for [ $coordinator, 's2' ], [ $workers[0], 's2' ],
	[ $workers[1], 'plain' ], [ $workers[2], 'minwise' ];
is($distinct->('made'), 3, 'made on each node, one name gives one text three fingerprints');
like(faults('made'), qr/^worker2 [0-9a-f]{64}\nworker3 [0-9a-f]{64}$/, 'the comparison names the nodes that differ');
my $differ = join "\n", map { "$_ ERROR:  configuration \"made\" is there with another meaning" } 'worker2', 'worker3';
is(said($copy), $differ, 'a copy changes none of them, and says so');

# ---------------------------------------------------------------- copied
answer($coordinator,
	q{SELECT simhash_create_config('body', preset => 's2', words => '{幸福路, 长安街}', stop_words => '{the}', idf_relation => 'petition',
		idf_column => 'body')});
my ($code, undef, $error) = $coordinator->psql('postgres', "SELECT simhash64_named_text(body, 'body') FROM petition");
like($error, qr/configuration "body" does not exist/, 'a worker that lacks a configuration says so');
like(faults('body'), qr/^(worker\d ERROR:  configuration "body" does not exist\n?){3}$/, 'and so does the comparison');
is(said($copy), $differ, 'copied');
is(faults('body'), '', 'all nodes have it');
is(answer($coordinator, "SELECT simhash64_named_text(body, 'body') FROM petition GROUP BY 1"),
	answer($coordinator, "SELECT simhash64_named_text('the lamp in 幸福路 is dark', 'body')"), 'and give the fingerprint of the coordinator');
is(said($copy), $differ, 'again: nothing is left to copy');

# Dropped here and there; rows that are missing on one node.
answer($coordinator, q{SELECT simhash_create_config('short', preset => 's0')});
said($copy);
answer($coordinator, q{SELECT run_command_on_workers($$SELECT simhash_drop_config('short')$$)});
like(faults('short'), qr/^(worker\d ERROR:  configuration "short" does not exist\n?){3}$/, 'dropped on the workers');
answer($workers[2], q{BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM simhash_catalog.content; COMMIT});
like(faults('body'), qr/^worker3 ERROR:  configuration "body" is damaged$/, 'rows of one node are missing');
is(said($copy), $differ, 'they are copied anew');
is(faults('body'), '', 'and all is whole');

# ---------------------------------------------------------------- nodes that do not answer
$workers[1]->stop('immediate');
like(faults('body'), qr/^worker2 failed to connect to /, 'a node that is down');
like(said($copy), qr/^worker2 failed to connect to /m, 'a copy says so');
$workers[1]->start;

# ---------------------------------------------------------------- fingerprints that are stored
like(refusal($coordinator, q{UPDATE petition SET fp = simhash64_named_text(body, 'body')}), qr/STABLE functions used in UPDATE/,
	'Citus refuses the UPDATE');
my $stored = q{SELECT count(*), bool_and(fp = simhash64_named_text(body, 'body')) FROM petition};
answer($coordinator, q{WITH made AS MATERIALIZED (SELECT id, simhash64_named_text(body, 'body') AS fp FROM petition)
	UPDATE petition AS p SET fp = made.fp FROM made WHERE made.id = p.id});
is(answer($coordinator, $stored), '60|t', 'with the fingerprints of a CTE it fills the column');
answer($coordinator, q{UPDATE petition SET fp = NULL});
unlike(on_shards($coordinator, 'petition', q{UPDATE %s SET fp = simhash64_named_text(body, 'body')}), qr/^(?!UPDATE)/m,
	'and so it does shard by shard');
is(answer($coordinator, $stored), '60|t', 'with the same');
answer($coordinator,
	q{INSERT INTO petition VALUES (61, 'a', simhash64_named_text('a', 'body'));
		INSERT INTO petition SELECT id + 100, body, simhash64_named_text(body, 'body') FROM petition});
is(answer($coordinator, $stored), '122|t', 'INSERT may call it');

stop_citus(@nodes);
done_testing();
