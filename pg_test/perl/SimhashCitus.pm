# A Citus cluster for the tests: a coordinator and workers, all on this machine, with the extension. Rows that are distributed are
# compared with the same rows in a table of the coordinator, searched without an index.
package SimhashCitus;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SimhashTest;
use Test::More;

our @EXPORT = qw(need_citus new_citus stop_citus answer refusal plan_on same on_shards shards_are_sound place_of_shard);

# Ends the file with a line when this server has no Citus.
sub need_citus
{
	my $sharedir = `pg_config --sharedir`;
	chomp $sharedir;
	return if -e "$sharedir/extension/citus.control";
	plan skip_all => 'this server has no Citus: make test-citus';
}

# A coordinator and $workers workers, in a list. The extension and Citus are in database postgres of all of them; the oracle is on
# the coordinator alone. Options: conf => text for postgresql.conf of each.
sub new_citus
{
	my ($workers, %options) = @_;
	# Each node may open a few connections to each other node, for each session of a test.
	my $conf = <<'CONF' . ($options{conf} // '');
shared_preload_libraries = 'citus'
max_connections = 100
max_prepared_transactions = 100
max_worker_processes = 24
work_mem = 16MB
client_min_messages = error
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
citus.shard_count = 6
citus.max_adaptive_executor_pool_size = 4
CONF
	my @nodes = map {
		my $node = new_node($_, bare => 1, init => [ allows_streaming => 'logical' ], conf => $conf);
		$node->append_conf('postgresql.conf', "citus.local_hostname = '" . $node->host . "'");
		$node->reload;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		$node
	} 'coordinator', map { "worker$_" } 1 .. $workers;
	my $coordinator = $nodes[0];
	my @address = map { "'" . $_->host . "', " . $_->port } @nodes;
	answer($coordinator, "SELECT citus_set_coordinator_host($address[0])");
	answer($coordinator, "SELECT citus_add_node($_)") for @address[ 1 .. $workers ];
	answer($coordinator, 'CREATE EXTENSION simhash_dedup');
	local $ENV{PGOPTIONS} = '-c citus.enable_ddl_propagation=off';
	add_oracle($coordinator, 'postgres');
	return @nodes;
}

sub stop_citus
{
	# At once: a worker that shuts down slowly waits for the others' cached connections.
	$_->stop('immediate') for @_;
	return;
}

# What psql prints for some SQL, which must not fail.
sub answer
{
	my ($node, $sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# The error of some SQL, with its hint; empty when there is none.
sub refusal
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql);
	return $err;
}

sub plan_on
{
	my ($node, $sql) = @_;
	return answer($node, "EXPLAIN (COSTS OFF) $sql");
}

# Two queries, one of a distributed table and one of the same rows in a local one, answer the same.
sub same
{
	my ($node, $distributed, $local, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(answer($node, $distributed), answer($node, $local), $what);
}

# Runs a statement on each shard of a table, on the worker that has it; %s stands for the shard's name. Returns the distinct answers.
sub on_shards
{
	my ($node, $table, $sql) = @_;
	return answer($node, "SELECT DISTINCT result FROM run_command_on_shards('$table', \$on\$$sql\$on\$) ORDER BY 1");
}

# Each of the shards, which are so many, has the table's indexes of this access method, their rows are the table's, and no page
# is at fault.
sub shards_are_sound
{
	my ($node, $table, $shards, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	# An index has its dead rows until then.
	answer($node, "VACUUM $table");
	is(answer($node, "SELECT count(*) FROM citus_shards WHERE table_name = '$table'::regclass"), $shards, "$what: $shards shards");
	return is(on_shards($node, $table, <<'SQL'), 't', "$what: each has a sound index of all its rows");
SELECT count(*) > 0 AND bool_and(s.rows = (SELECT count(fp) FROM %1$s) AND NOT EXISTS (SELECT
	FROM simhash_index_verify(i.indexrelid, true)))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam AND a.amname = 'simhash',
	simhash_index_stats(i.indexrelid) s WHERE i.indrelid = '%1$s'::regclass
SQL
}

# Where a shard is: its id, and the port of its worker. $which is a condition on citus_shards.
sub place_of_shard
{
	my ($node, $table, $which) = @_;
	return split /\|/,
		answer($node, "SELECT shardid, nodeport FROM citus_shards WHERE table_name = '$table'::regclass AND $which ORDER BY 1 LIMIT 1");
}

1;
