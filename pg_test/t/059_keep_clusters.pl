# Clusters that simhash_keep_clusters sets up, where more than one session, or more than one server, is concerned: writers
# that are under way, prepared transactions, a crash, refreshes beside each other, dumps, a standby, a logical subscriber.
# Random operations are those of 052.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = "max_prepared_transactions = 5\nwal_level = logical\n";
my $node = new_node('keep', init => [ allows_streaming => 'logical' ], conf => $conf);

# Functions of a database: faults_of(clusters), what is not as simhash_clusters has it; few(), which has notes answered row by
# row, as in a large table; off_log(clusters), keys that are not where a replay of the log puts them.
my $functions = <<'SQL';
CREATE FUNCTION faults_of(clusters regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH stored AS (SELECT key, cluster_id FROM (
			SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM %s) s WHERE size > 1),
		afresh AS MATERIALIZED (SELECT key, cluster_id FROM simhash_clusters(''doc'', ''id'', ''fp''))
		SELECT ''too much: '' || key || '' in '' || cluster_id FROM (TABLE stored EXCEPT TABLE afresh) x
		UNION ALL SELECT ''missing: '' || key || '' in '' || cluster_id FROM (TABLE afresh EXCEPT TABLE stored) x ORDER BY 1', $1);
END $$;
CREATE FUNCTION few() RETURNS void LANGUAGE sql AS 'UPDATE pg_class SET reltuples = 1000000 WHERE relname = ''doc''';
CREATE FUNCTION off_log(clusters regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT %1$L || '' '' || key FROM (
			SELECT DISTINCT ON (k.key) k.key, to_id FROM %2$I, unnest(keys) AS k (key) ORDER BY k.key, nr DESC
		) AS l FULL JOIN %1$s USING (key) WHERE to_id IS DISTINCT FROM lasting_id', $1, $1 || '_log');
END $$;
CREATE TABLE doc (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON doc USING simhash (fp);
SQL
my $sql = sub { my ($query, $on) = @_; return ($on // $node)->safe_psql('postgres', "SET client_min_messages = warning; $query") };
my $refresh = "SELECT simhash_refresh_clusters('later')";
my $none = "SELECT faults_of('later')";
my $none_at_once = "SELECT faults_of('now')";
my $off_log = "SELECT off_log('now')";
my $ids = "SELECT md5(string_agg(concat_ws(' ', key, lasting_id), ',' ORDER BY key)) FROM";
$sql->($functions);
$sql->('INSERT INTO doc SELECT i, i % 50 * 4095 FROM generate_series(1, 200) i');

# ---- writers that are under way when a table of clusters is made
my $writer = open_session($node);
$writer->query_safe('BEGIN; INSERT INTO doc VALUES (201, 1), (202, 3)');
my $keeper = open_session($node);
start_statement($keeper, "SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'now', log => 'now_log')");
ok(wait_for_wait($node, '%simhash_keep_clusters%'), 'keep waits for the writer');
$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'doc'::regclass");
$writer->query_safe('COMMIT');
finish_statement($keeper);
is($sql->($none_at_once), '', 'at once: its rows are in');
is($sql->('SELECT count(*) FROM now WHERE key > 200'), 2, 'at once: both of them');
$writer->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM doc');
$sql->("SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'later', refresh => 'manual')");
$writer->query_safe('INSERT INTO doc VALUES (203, 1); COMMIT');
is($sql->($refresh) > 200, 1, 'noted: the first refresh fills the table');
is($sql->($none), '', 'noted: the row of a transaction whose snapshot is older than the trigger is in');
$sql->('SELECT few()');

# ---- a note is seen when its row is
$writer->query_safe("BEGIN; INSERT INTO doc VALUES (210, 7 << 40), (211, 7 << 40); DELETE FROM doc WHERE id = 1; PREPARE TRANSACTION 'p'");
is($sql->("$refresh; $none"), 0, 'prepared rows are not seen');
$node->stop('immediate');
$node->start;
$sql->("COMMIT PREPARED 'p'");
is($sql->($refresh) > 2, 1, 'after a crash the prepared notes are there');
is($sql->($none), '', 'prepared rows are seen after their commit');
$writer = open_session($node);
$keeper = open_session($node);
$sql->('INSERT INTO doc VALUES (213, 7 << 40)');
$writer->query_safe("BEGIN; $refresh");
$node->stop('immediate');
$node->start;
is($sql->('SELECT count(*) FROM later_note'), 1, 'a refresh that a crash undid leaves its note');
is($sql->($refresh), 1, 'and is done again');
is($sql->("$none; $none_at_once"), '', 'clusters after a crash');

# ---- others see how far a refresh is
# Of all rows, then of notes: fingerprints of 14 bits, each within 4 bits of 5,000 rows.
$sql->(<<'END');
CREATE TABLE cube (id int PRIMARY KEY, fp bigint);
INSERT INTO cube SELECT i, i % 16384 FROM generate_series(1, 60000) i;
CREATE INDEX ON cube USING simhash (fp);
ANALYZE cube;
END
my $progress = 'SELECT function, doing, done, total FROM simhash_progress()';
my $watched = open_session($node);
$sql->("SELECT simhash_keep_clusters('cube', 'id', 'fp', 4, refresh => 'manual')");
start_statement($watched, "SELECT simhash_refresh_clusters('cube_cluster')");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM simhash_progress() WHERE function = 'simhash_refresh_clusters'"),
	'progress of a refresh of all rows');
finish_statement($watched);
is($sql->($progress), '', 'which ends with it');
$sql->('UPDATE cube SET fp = fp # 1 WHERE id <= 1500');
my $noted = $sql->('SELECT count(*) FROM cube_cluster_note');
start_statement($watched, "SELECT simhash_refresh_clusters('cube_cluster')");
ok($node->poll_query_until('postgres', "SELECT (function, doing, total) = ('simhash_refresh_clusters', 'searching near rows that changed', $noted)
	FROM simhash_progress() WHERE done BETWEEN 1 AND total - 1"), "progress of a refresh of $noted notes");
finish_statement($watched);
is($sql->($progress), '', 'and ends with it');
is($sql->('SELECT count(*) FROM cube_cluster_note'), 0, 'no note is left');
is($sql->("SELECT key, cluster_id FROM cube_cluster EXCEPT SELECT key, cluster_id FROM simhash_clusters('cube', 'id', 'fp', 4) LIMIT 5"), '', 'the clusters are right');
$watched->quit;
$sql->('SELECT simhash_drop_clusters(\'cube_cluster\'); DROP TABLE cube');

# ---- one refresh at a time
$writer = open_session($node);
$keeper = open_session($node);
$sql->('INSERT INTO doc VALUES (214, 7 << 40)');
$writer->query_safe("BEGIN; $refresh");
my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT simhash_refresh_clusters('later', nowait => true)");
like($err, qr/ERROR:  55P03: another transaction is changing the clusters of table "public.later"/, 'nowait');
$sql->('INSERT INTO doc VALUES (215, 7 << 40)');
start_statement($keeper, $refresh);
ok(wait_for_wait($node, "%simhash_refresh_clusters%"), 'another refresh waits');
$sql->('INSERT INTO doc VALUES (216, 7 << 40)');
$writer->query_safe('COMMIT');
is(finish_statement($keeper), '', 'until the first has ended');
is($sql->("SELECT count(*) FROM later_note; $none"), 0, 'and answers what was committed while it waited');

# ---- a refresh in the transaction of a change
$writer->query_safe("BEGIN; INSERT INTO doc VALUES (220, 9); $refresh");
$writer->query_safe('COMMIT');
is($sql->($none), '', 'clusters of a refresh in the transaction of a change');

# ---- dumps, with ids and log; of stored records too
$sql->("SELECT simhash_keep_records('doc', 'id', 0.9, 'fp', records => 'recorded', log => 'recorded_log')");
my @ids = map { $sql->("$ids $_") } qw(now recorded);
my $dump = $node->basedir . '/keep.sql';
command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-f', $dump, 'postgres' ], 'pg_dump');
$sql->('INSERT INTO doc VALUES (230, 7 << 40)');
my $data = $node->basedir . '/data.sql';
$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(whole part);
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-d', $_, '-f', $dump ],
	"restored to $_") for qw(whole part);
my $in = sub { my ($database, $query) = @_; return $node->safe_psql($database, "SET client_min_messages = warning; $query") };
is($in->('whole', "$ids $_->[0]"), $_->[1], "ids of a dump: $_->[0]") for [ 'now', $ids[0] ], [ 'recorded', $ids[1] ];
$in->('whole', "SELECT few(); INSERT INTO doc VALUES (231, 9), (232, 11); DELETE FROM doc WHERE id = 2");
like($in->('whole', "$refresh; $none; $none_at_once"), qr/^[1-9]\d*$/, 'a restored database goes on');
is($in->('whole', "$off_log; SELECT simhash_refresh_records('recorded') > 0; SELECT off_log('recorded')"), 't', 'its logs too');
is($in->('whole', "SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'later', refresh => 'manual')::text"), 'later',
	'nothing is missing there');
# Data alone: with triggers disabled; or with them, but without the clusters that they make.
for my $how ([ 'triggers disabled', '--disable-triggers' ], [ 'triggers', '--exclude-table-data=now' ])
{
	command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '--data-only', '--table=doc', '--table=now', '--table=later',
		'--table=later_note', $how->[1], '-f', $data, 'postgres' ], "pg_dump --data-only $how->[1]");
	$in->('part', 'SET session_replication_role = replica; TRUNCATE doc, now, later, later_note');
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-d', 'part', '-f',
		$data ], "data, $how->[0]");
	$in->('part', $refresh);
	is($in->('part', "$none; $none_at_once"), '', "clusters of data that came with $how->[0]");
}

# ---- owners
$sql->("CREATE ROLE gone; CREATE ROLE heir; ALTER TABLE doc OWNER TO gone; ALTER TABLE now OWNER TO gone; ALTER TABLE now_log OWNER TO gone; ALTER TABLE later OWNER TO gone;
	ALTER TABLE later_note OWNER TO gone; GRANT USAGE, CREATE ON SCHEMA public TO heir; REASSIGN OWNED BY gone TO heir");
is($sql->("SET ROLE heir; INSERT INTO doc VALUES (240, 9); $refresh"), 2, 'the heir of an owner may do all');

# ---- a standby
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('keep_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$sql->('INSERT INTO doc VALUES (250, 9), (251, 9)');
$sql->($refresh);
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "$none; $none_at_once; SELECT count(*) > 200 FROM later"), 't',
	'clusters of a standby are those of its primary');
($status, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\n$refresh");
like($err, qr/ERROR:  25006/, 'a standby cannot refresh');
$standby->stop;

# ---- a logical subscriber, whose triggers fire for what comes; a publication of all tables
my $subscriber = new_node('keep_subscriber', conf => "max_prepared_transactions = 5\n");
$sql->($functions, $subscriber);
$sql->("SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'later', refresh => 'manual'), simhash_keep_clusters('doc', 'id', 'fp',
	clusters => 'now', log => 'now_log');
	ALTER TABLE doc ENABLE ALWAYS TRIGGER later_keep, ENABLE ALWAYS TRIGGER later_truncate, ENABLE ALWAYS TRIGGER now_keep,
		ENABLE ALWAYS TRIGGER now_truncate", $subscriber);
$sql->('CREATE PUBLICATION docs FOR TABLE doc; CREATE PUBLICATION everything FOR ALL TABLES');
my $from = $node->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION docs CONNECTION '$from' PUBLICATION docs");
my $synced = sub {
	$node->wait_for_catchup('docs');
	$subscriber->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')");
	return;
};
$synced->();
$sql->($refresh, $subscriber);
is($sql->("$none; $none_at_once", $subscriber), '', 'subscriber: the rows of the first copy');
$sql->('SELECT few()', $subscriber);
$sql->('INSERT INTO doc VALUES (260, 9), (261, 4095 << 20), (262, 4095 << 20); UPDATE doc SET fp = 9 WHERE id = 3;
	DELETE FROM doc WHERE id = 4');
is($sql->($refresh) > 0, 1, 'notes are deleted where all tables are published');
is($sql->("SELECT simhash_refresh_records('recorded') > 0; SELECT off_log('recorded')"), 't', 'records are refreshed there');
$synced->();
is($sql->("SELECT count(*) FROM later_note", $subscriber), 5, 'subscriber: changes are noted');
is($sql->("$refresh", $subscriber) > 0, 1, 'subscriber: and answered');
is($sql->("$none; $none_at_once; $off_log", $subscriber), '', 'subscriber: clusters after changes, as its log says');
$sql->('TRUNCATE doc; INSERT INTO doc VALUES (1, 1), (2, 2)');
$synced->();
$sql->($refresh, $subscriber);
is($sql->("$none; $none_at_once; SELECT key, cluster_id FROM later ORDER BY key", $subscriber), "1|1\n2|1", 'subscriber: clusters after TRUNCATE');
$subscriber->stop;
$node->stop;
done_testing();
