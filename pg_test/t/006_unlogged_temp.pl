# Relations whose storage comes and goes: unlogged tables after a crash, temporary tables, ON COMMIT
# DELETE ROWS, TRUNCATE in the creating transaction, wal_level minimal; and reads on a standby.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $unlogged = <<'SQL';
CREATE UNLOGGED TABLE u (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint, tenant int DEFAULT any_tenant());
CREATE INDEX u_fp ON u USING simhash (fp);
CREATE INDEX u_scoped ON u USING simhash (tenant as_numbered, (fp # 0));
SQL
my $node = new_node('unlogged');

$node->safe_psql('postgres', $unlogged . <<'SQL');
INSERT INTO u (fp) SELECT random_fp() FROM generate_series(1, 5000);
SQL
is_sound($node, 'u', 'u_fp', 'an unlogged table', 4);
$node->stop('fast');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), 5000, 'a clean stop keeps its rows');
is_sound($node, 'u', 'u_fp', 'unlogged after a clean stop', 4);
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), 0, 'a crash empties it');
is_sound($node, 'u', 'u_fp', 'unlogged after a crash', 1);
$node->safe_psql('postgres', 'INSERT INTO u (fp) SELECT random_fp() FROM generate_series(1, 5000)');
is_sound($node, 'u', 'u_fp', 'unlogged, filled again', 4);
$node->safe_psql('postgres', 'ALTER TABLE u SET LOGGED');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), 5000, 'SET LOGGED keeps its rows through a crash');
is_sound($node, 'u', 'u_fp', 'unlogged made logged', 4);

# wal_level is minimal here: what is created and filled in one transaction is synced, not logged.
is($node->safe_psql('postgres', <<'SQL'), '', 'created, filled and truncated in one transaction');
BEGIN;
CREATE TABLE fresh (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint, tenant int DEFAULT any_tenant());
INSERT INTO fresh (fp) SELECT random_fp() FROM generate_series(1, 3000);
CREATE INDEX fresh_fp ON fresh USING simhash (fp);
CREATE INDEX fresh_scoped ON fresh USING simhash (tenant as_numbered, (fp # 0));
INSERT INTO fresh (fp) SELECT random_fp() FROM generate_series(1, 3000);
COMMIT;
BEGIN;
CREATE TABLE emptied (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint, tenant int DEFAULT any_tenant());
CREATE INDEX emptied_fp ON emptied USING simhash (fp);
CREATE INDEX emptied_scoped ON emptied USING simhash (tenant as_numbered, (fp # 0));
INSERT INTO emptied (fp) SELECT random_fp() FROM generate_series(1, 2000);
SELECT * FROM faults('emptied', 2);
TRUNCATE emptied;
INSERT INTO emptied (fp) SELECT random_fp() FROM generate_series(1, 1000);
SELECT * FROM faults('emptied', 2);
COMMIT;
SQL
$node->stop('immediate');
$node->start;
is_sound($node, 'fresh', 'fresh_fp', 'created and filled in one transaction, then a crash', 4);
is_sound($node, 'emptied', 'emptied_fp', 'truncated in its creating transaction, then a crash', 4);

# A transaction that truncates and rolls back; one session sees both trees.
my ($status, $out, $err) = $node->psql('postgres', <<'SQL');
SELECT * FROM faults('fresh', 2);
BEGIN;
TRUNCATE fresh;
INSERT INTO fresh (fp) SELECT random_fp() FROM generate_series(1, 500);
SELECT * FROM faults('fresh', 2);
ROLLBACK;
SELECT * FROM faults('fresh', 2);
BEGIN;
SAVEPOINT s;
REINDEX TABLE fresh;
SELECT * FROM faults('fresh', 2);
ROLLBACK TO s;
SELECT * FROM faults('fresh', 2);
COMMIT;
SQL
is($out . $err, '', 'truncate, reindex and rollback in one session');

($status, $out, $err) = $node->psql('postgres', <<'SQL');
CREATE TEMP TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint);
CREATE INDEX kept_fp ON kept USING simhash (fp);
INSERT INTO kept (fp) SELECT CASE WHEN i % 20 = 0 THEN NULL ELSE skewed_fp() END FROM generate_series(1, 5000) i;
SELECT * FROM faults('kept', 4);
DELETE FROM kept WHERE id % 2 = 0;
VACUUM kept;
SELECT * FROM faults('kept', 4);
SELECT * FROM broken_invariants('kept_fp');
TRUNCATE kept;
INSERT INTO kept (fp) SELECT skewed_fp() FROM generate_series(1, 500) i;
SELECT * FROM faults('kept', 4);
SELECT * FROM broken_invariants('kept_fp');
CREATE TEMP TABLE gone (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint) ON COMMIT DELETE ROWS;
CREATE INDEX gone_fp ON gone USING simhash (fp);
BEGIN;
INSERT INTO gone (fp) SELECT random_fp() FROM generate_series(1, 3000);
SELECT * FROM faults('gone', 2);
COMMIT;
SELECT 'rows left' FROM gone;
BEGIN;
INSERT INTO gone (fp) SELECT random_fp() FROM generate_series(1, 1000);
SELECT * FROM faults('gone', 2);
SELECT * FROM broken_invariants('gone_fp');
COMMIT;
BEGIN;
INSERT INTO gone (fp) VALUES (1);
SELECT 'no row' WHERE NOT EXISTS (SELECT FROM gone WHERE fp <~> 3 <= 1);
ROLLBACK;
SELECT * FROM faults('gone', 1);
SELECT * FROM broken_invariants('gone_fp');
SQL
is($out . $err, '', 'temporary tables');
$node->stop;

# A standby reads, is promoted, and goes on.
my $primary = new_node('primary', init => [ allows_streaming => 1 ]);
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint);
CREATE INDEX t_fp ON t USING simhash (fp);
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('reader');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
# The standby has its init forks from the log alone.
$primary->safe_psql('postgres', $unlogged . <<'SQL');
INSERT INTO u (fp) SELECT random_fp() FROM generate_series(1, 100);
SQL
for my $round (1 .. 3)
{
	$primary->safe_psql('postgres', <<'SQL');
INSERT INTO t (fp) SELECT skewed_fp() FROM generate_series(1, 3000);
UPDATE t SET fp = flip(fp, 1) WHERE id % 9 = 0;
DELETE FROM t WHERE id % 10 = 0;
VACUUM t;
SQL
	$primary->wait_for_catchup($standby);
	is_sound($standby, 't', 't_fp', "standby, round $round", 3);
}
$standby->promote;
$standby->safe_psql('postgres', 'INSERT INTO t (fp) SELECT skewed_fp() FROM generate_series(1, 1000)');
is_sound($standby, 't', 't_fp', 'promoted', 3);
$standby->safe_psql('postgres', 'INSERT INTO u (fp) SELECT random_fp() FROM generate_series(1, 1000)');
is_sound($standby, 'u', 'u_fp', 'unlogged on the promoted', 3);
$standby->stop;
$primary->stop;
done_testing();
