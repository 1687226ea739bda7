# Citus: what would be answered wrongly on a shard, or from the empty table above the shards, is refused with the way out, or read
# from all shards. Local tables with the same rows are the oracle.
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
# Citus wants to be asked before it takes triggers.
$ENV{PGOPTIONS} = '-c citus.enable_unsafe_triggers=on';

sub flag_trigger
{
	my ($table, @more) = @_;
	my $arguments = join ', ', map { "'$_'" } 'fingerprint=fp', 'duplicate_of=dup', 'key=id', @more;
	return "CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate($arguments);";
}

# A table of that name with an index, which SQL then distributes.
sub make_table
{
	my ($name, $sql) = @_;
	return answer($coordinator, <<"SQL");
CREATE TABLE $name (tenant text NOT NULL, id int NOT NULL, kind int NOT NULL DEFAULT 0, fp bigint, dup int, PRIMARY KEY (tenant, id));
CREATE INDEX ${name}_fp ON $name USING simhash (tenant, fp);
$sql
SQL
}

# ---------------------------------------------------------------- flags
my $rows = q{SELECT 't' || i % 7, i, hashint8extended(i % 11, 0) FROM generate_series(1, 200) i};
my $store = "INSERT INTO %s (tenant, id, fp) $rows";
my $shard = qr/is a shard of distributed table "public\.\w+"/;
my $only_within = qr/near-duplicates are flagged only within the distribution column "tenant": "\w+_\d+" $shard/;

make_table('hashed', "SELECT create_distributed_table('hashed', 'tenant');" . flag_trigger('hashed'));
like(refusal($coordinator, sprintf $store, 'hashed'), $only_within, 'distributed by hash: refused');
my $one = "INSERT INTO hashed (tenant, id, fp) VALUES ('a', 1, 1)";
like(refusal($_, $one), qr/$only_within.*HINT:  Let 'within=\.\.\.' name "tenant"/s, 'refused on ' . $_->name) for @nodes;
like(refusal($coordinator, "DO \$\$ BEGIN $one; EXCEPTION WHEN feature_not_supported THEN RAISE EXCEPTION 'its SQLSTATE'; END \$\$"),
	qr/its SQLSTATE/, 'as a feature that is not supported');
is(answer($coordinator, 'SELECT count(*) FROM hashed'), 0, 'no row was stored');
answer($coordinator, 'DROP TRIGGER flag ON hashed;' . flag_trigger('hashed', 'within=kind'));
like(refusal($coordinator, sprintf $store, 'hashed'), $only_within, 'within another column: refused');

# Rows that are distributed with their table are stored over connections that do not see what is written of the shards.
make_table('filled', flag_trigger('filled') . sprintf($store, 'filled'));
like(refusal($coordinator, "SELECT create_distributed_table('filled', 'tenant')"), $only_within,
	'a table with trigger and rows: not distributed');
is(answer($coordinator, "SELECT count(*), (SELECT count(*) FROM citus_tables WHERE table_name = 'filled'::regclass) FROM filled"),
	'200|0', 'it is as it was');

# The same of each shard by itself: one connection at most sees the table that is being made above them.
make_table('filled_hash', q{SELECT create_distributed_table('filled_hash', 'tenant')});
my @one_of_each = split /\n/, answer($coordinator, <<'SQL');
SELECT min('t' || i) FROM generate_series(1, 200) i GROUP BY get_shard_id_for_distribution_column('filled_hash', 't' || i)
SQL
is(scalar @one_of_each, 6, 'a tenant for each shard');
for my $tenant (@one_of_each)
{
	make_table("filled_$tenant", flag_trigger("filled_$tenant") . "INSERT INTO filled_$tenant (tenant, id, fp) VALUES ('$tenant', 1, 1)");
	like(refusal($coordinator, "SELECT create_distributed_table('filled_$tenant', 'tenant')"), $only_within,
		"a table with a row of tenant $tenant: not distributed");
	like(refusal($coordinator, <<"SQL"), $only_within, "a row of tenant $tenant, stored by the transaction that distributes");
BEGIN;
CREATE TABLE at_once (tenant text NOT NULL, id int NOT NULL, fp bigint, dup int);
SELECT create_distributed_table('at_once', 'tenant');
${\flag_trigger('at_once')}
INSERT INTO at_once VALUES ('$tenant', 1, 1);
COMMIT;
SQL
}

# Right where all rows that are compared are in one shard.
my $flagged = 'SELECT id, dup IS NOT NULL FROM %s ORDER BY id';
make_table('here', flag_trigger('here', 'within=tenant') . sprintf($store, 'here'));
make_table('all_here', flag_trigger('all_here') . sprintf($store, 'all_here'));
make_table('by_tenant', "SELECT create_distributed_table('by_tenant', 'tenant');" . flag_trigger('by_tenant', 'within=tenant')
	. sprintf($store, 'by_tenant'));
same($coordinator, sprintf($flagged, 'by_tenant'), sprintf($flagged, 'here'), 'within the distribution column: as on one server');
make_table('filled_by_tenant', flag_trigger('filled_by_tenant', 'within=tenant'));
answer($coordinator, sprintf($store, 'filled_by_tenant'));
answer($coordinator, q{SELECT create_distributed_table('filled_by_tenant', 'tenant')});
same($coordinator, sprintf($flagged, 'filled_by_tenant'), sprintf($flagged, 'here'), 'distributed with its rows');
my %whole = (reference => 'create_reference_table(%s)', single => 'create_distributed_table(%s, NULL)',
	managed => 'citus_add_local_table_to_metadata(%s)');
for my $kind (sort keys %whole)
{
	make_table($kind, 'SELECT ' . sprintf($whole{$kind}, "'$kind'") . ';' . flag_trigger($kind));
	answer($coordinator, sprintf $store, $kind);
	same($coordinator, sprintf($flagged, $kind), sprintf($flagged, 'all_here'), "$kind: as on one server");
}

# Each copy of a reference table is searched by itself, and all name the same rows, in whatever order they hold them.
answer($coordinator,
	'TRUNCATE reference; INSERT INTO reference (tenant, id, fp)
		VALUES (\'a\', 1, 0), (\'a\', 2, 15), (\'a\', 11, 1 << 20), (\'a\', 12, 1 << 20)');
answer($coordinator, 'DELETE FROM reference WHERE id IN (1, 11)');
my ($of_reference) = place_of_shard($coordinator, 'reference', 'true');
answer($workers[0], "SET citus.enable_manual_changes_to_shards = on; VACUUM reference_$of_reference");
answer($coordinator, q{INSERT INTO reference (tenant, id, fp) VALUES ('a', 1, 0), ('a', 11, 1 << 20)});
answer($coordinator, q{INSERT INTO reference (tenant, id, fp) VALUES ('a', 3, 3), ('a', 13, 1 << 20)});
my @copies = split /\n/, answer($coordinator, <<'SQL');
SELECT result FROM run_command_on_placements('reference', 'SELECT string_agg(id || '':'' || coalesce(dup::text, ''-''), '' '' ORDER BY id)
	FROM %s')
SQL
is(scalar @copies, 4, 'a copy on each node');
is($_, $copies[0], "copies name the same: $copies[0]") for @copies[ 1 .. 3 ];
like($copies[0], qr/\b3:\d/, 'and name some');

# A shard that moves keeps its rows and their marks.
my ($id) = place_of_shard($coordinator, 'by_tenant', 'shard_size > 0');
for my $mode (qw(block_writes force_logical))
{
	my (undef, $port) = place_of_shard($coordinator, 'by_tenant', "shardid = $id");
	my ($source) = grep { $_->port == $port } @workers;
	my ($target) = grep { $_->port != $port } @workers;
	my $place = join ', ', map { "'" . $_->host . "', " . $_->port } $source, $target;
	answer($coordinator, "SELECT citus_move_shard_placement($id, $place, '$mode')");
	same($coordinator, sprintf($flagged, 'by_tenant'), sprintf($flagged, 'here'), "marks after a move, $mode");
}
answer($coordinator, q{DELETE FROM by_tenant WHERE id > 100});
answer($coordinator, sprintf($store, 'by_tenant') . ' ON CONFLICT DO NOTHING');
same($coordinator, sprintf($flagged, 'by_tenant'), sprintf($flagged, 'here'), 'rows stored after the moves');

# A shard of a partition; the second one has its columns in another order.
answer($coordinator, <<'SQL' . flag_trigger('parted', 'within=tenant'));
CREATE TABLE parted (tenant text, id int, fp bigint, dup int) PARTITION BY RANGE (id);
CREATE INDEX parted_fp ON parted USING simhash (tenant, fp);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_2 (gone int, dup int, fp bigint, id int, tenant text);
ALTER TABLE parted_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (100) TO (1000);
SELECT create_distributed_table('parted', 'tenant');
SQL
answer($coordinator, sprintf $store, 'parted');
same($coordinator, sprintf($flagged, 'parted'), sprintf($flagged, 'here'), 'a partitioned table, within the distribution column');
answer($coordinator, 'DROP TRIGGER flag ON parted;' . flag_trigger('parted'));
like(refusal($coordinator, "INSERT INTO parted (tenant, id, fp) VALUES ('a', $_, 1)"), $only_within,
	"a partitioned table: refused in the partition of $_") for 50, 500;

# A worker that is told nothing of tables does not know its shards.
make_table('hashed_too', "SELECT create_distributed_table('hashed_too', 'tenant')");
answer($coordinator, flag_trigger('hashed_too') =~ s/BEFORE INSERT OR UPDATE/BEFORE UPDATE/r);
answer($coordinator, 'SELECT stop_metadata_sync_to_node(nodename, nodeport) FROM pg_dist_node WHERE nodeport = ' . $workers[0]->port);
my ($blind) = place_of_shard($coordinator, 'hashed', 'nodeport = ' . $workers[0]->port);
my $there = answer($coordinator,
	"SELECT min(i) FROM generate_series(1, 1000) i WHERE get_shard_id_for_distribution_column('hashed', i::text) = $blind");
like(refusal($coordinator, "INSERT INTO hashed (tenant, id, fp) VALUES ('$there', 1, 1)"),
	qr/"hashed_$blind" may be a shard, but this node has no metadata of Citus/, 'without metadata: refused');
answer($coordinator, "INSERT INTO hashed_too (tenant, id, fp) VALUES ('$there', 1, 1)");
like(answer($coordinator, q{SELECT string_agg(result, ' ') FROM run_command_on_shards('hashed_too', 'UPDATE %s SET fp = 6')}),
	qr/may be a shard, but this node has no metadata of Citus/, 'without metadata: refused to a statement for each shard');
answer($coordinator, 'SELECT start_metadata_sync_to_all_nodes()');
like(refusal($coordinator, "INSERT INTO hashed (tenant, id, fp) VALUES ('$there', 1, 1)"), $only_within, 'with them again: refused');

# ---------------------------------------------------------------- clusters
my $not_kept = qr/clusters of a distributed table are not kept by triggers: "\w+_\d+" $shard/;
for my $kind ('hashed', sort keys %whole)
{
	answer($coordinator,
		"DROP TRIGGER flag ON $kind; TRUNCATE $kind; CREATE TABLE ${kind}_cluster (key int PRIMARY KEY, cluster_id int NOT NULL)");
	answer($coordinator, <<"SQL");
CREATE OR REPLACE TRIGGER keep AFTER INSERT ON $kind FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=${kind}_cluster', 'key=id', 'fingerprint=fp')
SQL
	my $error = refusal($coordinator, "INSERT INTO $kind (tenant, id, fp) VALUES ('a', 1, 1)");
	$kind eq 'managed' ? is($error, '', "$kind: stored") : like($error, $not_kept, "$kind: clusters are refused");
	answer($coordinator, "TRUNCATE $kind");
	answer($coordinator, "DROP TRIGGER keep ON $kind");
}
answer($coordinator, <<'SQL');
TRUNCATE managed_cluster;
CREATE TRIGGER keep AFTER INSERT ON managed
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=managed_cluster', 'key=id', 'fingerprint=fp');
SQL
answer($coordinator, sprintf $store, 'managed');
same($coordinator, 'SELECT key, cluster_id FROM managed_cluster ORDER BY 1',
	q{SELECT key, cluster_id FROM simhash_clusters('all_here', 'id', 'fp', 3) ORDER BY 1},
	'a local table of which Citus knows: clusters are kept');

# ---------------------------------------------------------------- functions of an index
# The table above the shards keeps the rows that were there before it was distributed.
answer($coordinator, <<'SQL');
CREATE TABLE doc (id int PRIMARY KEY, fp bigint, author int, body text);
CREATE INDEX doc_fp ON doc USING simhash (fp);
INSERT INTO doc SELECT i, hashint8extended(i / 3, 0), i % 5, 'lamp ' || i FROM generate_series(1, 3000) i;
CREATE TABLE whole AS SELECT * FROM doc;
CREATE INDEX whole_fp ON whole USING simhash (fp);
SELECT create_distributed_table('doc', 'id');
DELETE FROM doc WHERE id > 2000;
DELETE FROM whole WHERE id > 2000;
VACUUM doc;
VACUUM whole;
SQL
for my $node ($coordinator, $workers[0])
{
	my $on = $node->name;
	like(refusal($node, "SELECT * FROM simhash_index_$_('doc_fp')"),
		qr/"doc_fp" is an index of distributed table "public\.doc"\nHINT:  simhash_catalog\.index_${_}_shards\(\)/,
		"$_ of a distributed index is refused, on $on") for qw(stats verify);
	is(answer($node,
		q{SELECT count(*), count(DISTINCT shard), count(DISTINCT port), sum(rows), sum(null_rows) FROM simhash_catalog.index_stats_shards('doc_fp')}),
		'6|6|3|2000|0', "statistics of all shards, on $on");
	is(answer($node, q{SELECT * FROM simhash_catalog.index_verify_shards('doc_fp', true)}), '', "all shards are sound, on $on");
	is(answer($node,
		q{SELECT count(DISTINCT port), count(DISTINCT shard), min(rows), max(rows) FROM simhash_catalog.index_stats_shards('reference_fp')}),
		'4|1|0|0', "all placements of a reference table, on $on");
}
is(on_shards($coordinator, 'doc',
	q{SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		AND c.relname LIKE 'doc\_fp\_%%', simhash_index_stats(i.indexrelid) s
			WHERE i.indrelid = '%1$s'::regclass AND s.rows = (SELECT count(*) FROM %1$s)}),
	1, 'the index of a shard is not refused');
my $long = '"an index %% with a ""name"" of more than the sixty-three bytes"' =~ s/%%/%/r;
answer($coordinator, "ALTER INDEX doc_fp RENAME TO $long");
is(answer($coordinator, "SELECT sum(rows) FROM simhash_catalog.index_stats_shards('$long')"), 2000, 'names that Citus cuts');
answer($coordinator, "ALTER INDEX $long RENAME TO doc_fp");
is(answer($coordinator,
	q{SELECT sum(rows) FROM (SELECT rows FROM simhash_catalog.index_stats_shards('parted_1_tenant_fp_idx') UNION ALL SELECT rows
		FROM simhash_catalog.index_stats_shards('parted_2_tenant_fp_idx')) x}),
	200, 'indexes of partitions');
like(refusal($coordinator, q{SELECT * FROM simhash_catalog.index_verify_shards('parted_fp')}), qr/"parted_fp" is a partitioned index/,
	'that of the partitioned table is refused');
like(refusal($coordinator, q{SELECT * FROM simhash_catalog.index_verify_shards('whole_fp')}),
	qr/"public\.whole_fp" is not an index of a distributed table\nHINT:  simhash_index_verify\(\)/, 'one that is not distributed, too');

# Rights are those of the caller, on each node.
answer($coordinator, 'CREATE ROLE reader LOGIN; GRANT SELECT ON doc TO reader');
is(answer($coordinator, q{SET ROLE reader; SELECT sum(rows) FROM simhash_catalog.index_stats_shards('doc_fp')}), 2000,
	'who may read the table may ask for statistics');
like(refusal($coordinator, q{SET ROLE reader; SELECT fault FROM simhash_catalog.index_verify_shards('doc_fp')}),
	qr/must be owner of index doc_fp$/m,
	'who does not own it may not verify');

# What fails is not silent.
($id, my $from) = place_of_shard($coordinator, 'doc', 'true');
my ($worker) = grep { $_->port == $from } @workers;
answer($worker, "SET citus.enable_manual_changes_to_shards = on; DROP INDEX doc_fp_$id");
like(answer($coordinator, q{SELECT port, shard, block, fault FROM simhash_catalog.index_verify_shards('doc_fp')}),
	qr/\A$from\|$id\|\|not verified: ERROR:  relation "public\.doc_fp_$id" does not exist\z/, 'an index that a shard lacks');
like(refusal($coordinator, q{SELECT * FROM simhash_catalog.index_stats_shards('doc_fp')}),
	qr/the index of shard $id was not read: .*does not exist\nDETAIL:  The node is \S+:$from\./, 'no statistics without it');

# ---------------------------------------------------------------- what reads a table
my $pairs = 'count(*), sum(a), sum(b), sum(distance)';

my %questions = (
	'pairs' => "SELECT $pairs FROM simhash_pairs('%s', 'id', 'fp', 3)",
	'pairs within a column' => "SELECT $pairs FROM simhash_pairs('%s', 'id', 'fp', 3, '{author}')",
	'pairs across' => "SELECT $pairs FROM simhash_pairs_between('%1\$s', 'id', 'fp', '%1\$s', 'id', 'fp', 3)",
	'clusters' => "SELECT count(*), sum(key), sum(cluster_id) FROM simhash_clusters('%s', 'id', 'fp', 3)",
	'clusters of texts' => "SELECT count(*), sum(key), sum(cluster_id)
		FROM simhash_clusters('%s', 'id', 'fp', 3, text => 'body', min_jaccard => 0)",
	'a report' => "SELECT sum(pairs) FROM simhash_radius_report('%s', 'id', 'fp', 'body', 3, 3000)",
);
for my $question (sort keys %questions)
{
	my $right = answer($coordinator, sprintf $questions{$question}, 'whole');
	is(answer($_, sprintf $questions{$question}, 'doc'), $right, "$question, asked on " . $_->name) for $coordinator, $workers[1];
}
answer($coordinator, <<'SQL');
CREATE TABLE made (id int, body text, fp bigint GENERATED ALWAYS AS (simhash64(body, preset => 'shingles')) STORED);
INSERT INTO made SELECT i, 'lamp ' || i FROM generate_series(1, 500) i;
SELECT create_distributed_table('made', 'id');
DELETE FROM made WHERE id > 400;
SQL
is(answer($_, q{SELECT checked, differing FROM simhash_fingerprint_verify('made', 'fp', NULL)}), '400|0',
	'fingerprints are verified in the shards, asked on ' . $_->name) for @nodes[ 0, 1 ];

$workers[2]->stop('immediate');
my $lost = answer($coordinator, q{SELECT string_agg(DISTINCT fault, ' ') FROM simhash_catalog.index_verify_shards('reference_fp')});
like($lost, qr/\Anot verified: .*connect/, 'a node that is down');
stop_citus($coordinator, @workers[ 0, 1 ]);
done_testing();
