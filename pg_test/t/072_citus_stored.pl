# Stored versions on the nodes of Citus: what differs is told, what is missing is copied, nothing is overwritten, and a node
# that does not answer is no silence.
use strict;
use warnings;
use SimhashTest;
use SimhashCitus;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

need_citus();
my ($coordinator, @workers) = new_citus(3);
my @nodes = ($coordinator, @workers);
my %place = map { $nodes[$_]->port => $_ ? "worker$_" : 'coordinator' } 0 .. $#nodes;

# What a function says, a line a row: the node's name, then the version and what is said of it.
sub said
{
	my ($node, $function) = @_;
	my $rows = answer($node, "SELECT f.port, concat_ws(' ', f.kind, f.name || '\@' || f.version), f.$_[2] FROM $function() AS f");
	return map { my ($port, @rest) = split /\|/; join ' ', grep { length } $place{$port}, @rest } split /\n/, $rows;
}
sub faults { return join "\n", sort(said($_[0], 'simhash_stored_check', 'fault')) }
sub copied { return join "\n", said($_[0], 'simhash_stored_copy', 'outcome') }

answer($coordinator, <<'SQL');
CREATE TABLE petition (id int, body text, fp bigint);
SELECT create_distributed_table('petition', 'id');
INSERT INTO petition SELECT i, 'the lamp in 幸福路 is dark' FROM generate_series(1, 60) i;
SQL
# Grouped by the shards: Citus would compute what is counted by count(DISTINCT) on the coordinator.
my $distinct = sub { scalar split /\n/, answer($coordinator, "SELECT simhash64_named_text(body, '$_[0]') FROM petition GROUP BY 1") };

# ---------------------------------------------------------------- a name that means different things
answer($_->[0], "SELECT simhash_create_config('made', preset => '$_->[1]')") for [ $coordinator, 's2' ], [ $workers[0], 's2' ], [ $workers[1], 'plain' ], [ $workers[2], 'minwise' ];
is($distinct->('made@1'), 3, 'made on each node, one name gives one text three fingerprints');
is(faults($coordinator), "worker2 config made\@1 differs\nworker3 config made\@1 differs", 'the check names the nodes that differ');
is(faults($workers[1]), join("\n", map { "$_ config made\@1 differs" } 'coordinator', 'worker1', 'worker3'), 'asked on another node, it compares with that one');
is(copied($coordinator), faults($coordinator), 'a copy changes none of them');
is($distinct->('made@1'), 3, 'and says so');

# ---------------------------------------------------------------- copied
answer($coordinator, <<'SQL');
SELECT simhash_add_words('places', '{幸福路, 长安街}'), simhash_add_stop_words('places', '{the}'), simhash_remove_word('places', '长安街');
SELECT simhash_build_idf('petitions', 'petition', 'body');
SELECT simhash_create_config('body', preset => 's2', dictionary => 'places', idf => 'petitions');
SQL
my ($code, undef, $error) = $coordinator->psql('postgres', "SELECT simhash64_named_text(body, 'body\@1') FROM petition");
like($error, qr/configuration "body\@1" does not exist/, 'a worker that lacks a configuration says so');
my @versions = ('idf petitions@1', (map { "dictionary places\@$_" } 1 .. 3), 'config body@1');
my @differ = map { "$_ config made\@1 differs" } 'worker2', 'worker3';
is(copied($coordinator), join("\n", (map { my $version = $_; map { "worker$_ $version added" } 1 .. 3 } @versions), @differ),
	'copied: what configurations use before them');
is(faults($coordinator), join("\n", @differ), 'what is copied does not differ');
is($distinct->('body@1'), 1, 'all nodes give the same fingerprint');
is(answer($coordinator, "SELECT simhash64_named_text(body, 'body\@1') FROM petition GROUP BY 1"),
	answer($coordinator, "SELECT simhash64_named_text('the lamp in 幸福路 is dark', 'body\@1')"), 'that of the coordinator');
is(copied($coordinator), join("\n", @differ), 'again: nothing is left to copy');
answer($coordinator, q{SELECT simhash_create_config('made', preset => 's2')});
is(copied($coordinator), join("\n", @differ, map { "worker$_ config made\@2 added" } 1 .. 3), 'a version after one that differs is copied');
is($distinct->('made'), 1, 'and is the way out');

# ---------------------------------------------------------------- made on a worker
answer($workers[0], q{SELECT simhash_add_word('places', 'of a worker')});
is(faults($coordinator), join("\n", sort @differ, map { my $node = $_; map { "$node $_ missing" } 'config body@2', 'dictionary places@4' } 'coordinator', 'worker2', 'worker3'),
	'versions of another node are missing here');
is(copied($coordinator), join("\n", (map { my $version = $_; map { "$_ $version missing" } 'coordinator', 'worker2', 'worker3' } 'dictionary places@4', 'config body@2'), @differ),
	'a copy from here cannot give them');
like(copied($workers[0]), qr/^coordinator dictionary places\@4 added$/m, 'a copy from the node that has them does');
is(faults($coordinator), join("\n", @differ), 'and then all agree');

# ---------------------------------------------------------------- what is not committed, what is dropped
answer($coordinator, q{BEGIN; SELECT simhash_create_config('never'); SELECT count(*) FROM simhash_stored_copy(); ROLLBACK});
is(faults($coordinator), join("\n", @differ), 'what is not committed is not copied');
answer($coordinator, q{SELECT simhash_create_config('short'); SELECT count(*) FROM simhash_stored_copy(); SELECT simhash_drop_config('short', 1)});
is(faults($coordinator), join("\n", sort 'coordinator config short@1 missing', @differ), 'dropped here, others still have it');
answer($coordinator, q{SELECT * FROM run_command_on_workers($$SELECT simhash_drop_config('short', 1)$$)});
is(faults($coordinator), join("\n", @differ), 'dropped everywhere');

# Rows that are missing on one node.
answer($workers[2], q{BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM simhash_catalog.idf_term WHERE term = 'lamp'; COMMIT});
is(faults($coordinator), join("\n", sort @differ, map { "worker3 $_ incomplete" } 'config body@1', 'config body@2', 'idf petitions@1'), 'rows of one node are missing');
answer($workers[2], q{BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM simhash_catalog.idf WHERE name = 'petitions'; DELETE FROM simhash_catalog.idf_term; COMMIT});
like(copied($coordinator), qr/^worker3 idf petitions\@1 added$/m, 'without the rest of them they are copied anew');
is(faults($coordinator), join("\n", @differ), 'and all is whole');

# ---------------------------------------------------------------- rights
answer($coordinator, q{CREATE ROLE clerk LOGIN; SELECT simhash_create_config('by_clerk')});
is(answer($coordinator, "SET ROLE clerk; SELECT DISTINCT outcome FROM simhash_stored_copy() WHERE name = 'by_clerk'"), 'ERROR:  permission denied for table config',
	'the nodes take nothing from a role that may not make versions');
is(answer($coordinator, "SET ROLE clerk; SELECT count(*) FROM simhash_stored_check() WHERE name = 'by_clerk'"), 3, 'who may look');

# ---------------------------------------------------------------- nodes that do not answer
$workers[1]->stop('immediate');
like(faults($coordinator), qr/^worker2 failed to connect to /m, 'a node that is down');
my $half = copied($coordinator);
like($half, qr/^worker2 failed to connect to /m, 'a copy goes on without it, and says so');
like($half, qr/^worker$_ config by_clerk\@1 added$/m, "and reaches worker$_") for 1, 3;
$workers[1]->start;
is(copied($coordinator), join("\n", 'worker2 config by_clerk@1 added', @differ), 'called again when it is up, a copy does the rest');

# ---------------------------------------------------------------- fingerprints that are stored
like(refusal($coordinator, q{UPDATE petition SET fp = simhash64_named_text(body, 'body@1')}), qr/STABLE functions used in UPDATE/, 'Citus refuses the UPDATE');
my $stored = q{SELECT count(*), bool_and(fp = simhash64_named_text(body, 'body@1')) FROM petition};
answer($coordinator, q{WITH made AS MATERIALIZED (SELECT id, simhash64_named_text(body, 'body@1') AS fp FROM petition)
	UPDATE petition AS p SET fp = made.fp FROM made WHERE made.id = p.id});
is(answer($coordinator, $stored), '60|t', 'with the fingerprints of a CTE it fills the column');
answer($coordinator, q{UPDATE petition SET fp = NULL});
unlike(on_shards($coordinator, 'petition', q{UPDATE %s SET fp = simhash64_named_text(body, 'body@1')}), qr/^(?!UPDATE)/m, 'and so it does shard by shard');
is(answer($coordinator, $stored), '60|t', 'with the same');
answer($coordinator, q{INSERT INTO petition VALUES (61, 'a', simhash64_named_text('a', 'body@1')); INSERT INTO petition SELECT id + 100, body, simhash64_named_text(body, 'body@1') FROM petition});
is(answer($coordinator, $stored), '122|t', 'INSERT may call it');

# ---------------------------------------------------------------- nodes that leave and come back
answer($coordinator, 'DROP TABLE petition');
my $address = "'" . $workers[2]->host . "', " . $workers[2]->port;
answer($coordinator, "SELECT citus_disable_node($address, true)");
like(faults($coordinator), qr/^worker3 not active$/m, 'a node that is not active');
answer($coordinator, "SELECT citus_remove_node($address)");
unlike(faults($coordinator), qr/worker3/, 'a node that was removed');
answer($coordinator, "SELECT citus_add_node($address)");
answer($coordinator, q{SELECT simhash_create_config('last')});
is(copied($coordinator), join("\n", (map { "$_ config last\@1 added" } map { "worker$_" } 1 .. 3), @differ), 'a node that came back');
stop_citus(@nodes);
done_testing();
