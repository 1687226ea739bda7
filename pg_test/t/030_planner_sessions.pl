# The planner rewrite across sessions, databases, schemas, roles and servers: what a SQL file
# in one database cannot show.
use strict;
use warnings;

use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('planner');
$node->init;
$node->append_conf('postgresql.conf', "enable_seqscan = off\njit = off");
$node->start;

my $indexed = qr/Index Cond: \(fp (OPERATOR\(\w+\.)?<@/;

sub fill
{
	my ($db, $schema) = @_;
	$node->safe_psql($db, qq{
		CREATE SCHEMA $schema;
		CREATE EXTENSION simhash_dedup SCHEMA $schema;
		CREATE TABLE t AS SELECT i AS id, (i % 5) AS g, hashint8extended(i, 1) AS fp
			FROM generate_series(1, 2000) i;
		CREATE INDEX t_fp ON t USING simhash (fp);
		ANALYZE t});
}

# The first query of each session, in two databases with the extension in two schemas.
for my $case (['one', 'ext'], ['two', 'elsewhere'])
{
	my ($db, $schema) = @$case;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	fill($db, $schema);
	like($node->safe_psql($db, "EXPLAIN SELECT id FROM t WHERE fp OPERATOR($schema.<~>) 42 <= 3"),
		$indexed, "first query of a session, extension in schema $schema");
	is($node->safe_psql($db, qq{SELECT count(*) FROM t
			WHERE fp OPERATOR($schema.<~>) (SELECT fp FROM t WHERE id = 7) <= 3}),
		1, "and its answer");
}

# The prepared protocol: the first statement of a session is a named one with parameters.
my $script = $node->basedir . '/first.sql';
append_to_file($script, "EXPLAIN SELECT id FROM t WHERE fp OPERATOR(ext.<~>) :q <= 3;\n");
$node->command_ok(
	[ 'pgbench', '-n', '-M', 'prepared', '-D', 'q=42', '-t', '20', '-f', $script, 'one' ],
	'twenty executions of a prepared statement, across the switch to a generic plan');

# Dropping and creating the extension, and renaming its schema, within one session: nothing stale is remembered.
my $output = $node->safe_psql('one', qq{
	PREPARE q AS SELECT count(*) FROM t WHERE fp OPERATOR(ext.<~>) 42 <= 3;
	EXECUTE q;
	EXPLAIN SELECT id FROM t WHERE fp OPERATOR(ext.<~>) 42 <= 3;
	DEALLOCATE q;
	DROP EXTENSION simhash_dedup CASCADE;
	CREATE EXTENSION simhash_dedup SCHEMA public;
	SELECT 'without index';
	EXPLAIN SELECT id FROM t WHERE fp <~> 42 <= 3;
	CREATE INDEX t_fp ON t USING simhash (fp);
	SELECT 'new';
	EXPLAIN SELECT id FROM t WHERE fp <~> 42 <= 3;
	ALTER SCHEMA public RENAME TO third;
	SELECT 'moved';
	EXPLAIN SELECT id FROM third.t WHERE fp OPERATOR(third.<~>) 42 <= 3;
	ALTER SCHEMA third RENAME TO public;});
my ($before, $without, $new, $moved) = split /^without index\n|^new\n|^moved\n/m, $output;
like($before, $indexed, 'before the extension is dropped');
like($without, qr/Seq Scan on t .*\n *Filter: hamming_within\(/, 'created again, no index yet: the table is read');
like($new, $indexed, 'created again, with an index');
like($moved, $indexed, 'its schema has another name');

# A plan that was cached before the index existed is made anew.
$output = $node->safe_psql('one', qq{
	DROP INDEX t_fp;
	SET plan_cache_mode = force_generic_plan;
	PREPARE q(bigint) AS SELECT id FROM t WHERE fp <~> \$1 <= 3;
	EXPLAIN EXECUTE q(42);
	SELECT 'created';
	CREATE INDEX t_fp ON t USING simhash (fp);
	EXPLAIN EXECUTE q(42);
	SELECT 'dropped';
	DROP INDEX t_fp;
	EXPLAIN EXECUTE q(42);
	CREATE INDEX t_fp ON t USING simhash (fp);});
my ($none, $created, $dropped) = split /^created\n|^dropped\n/m, $output;
unlike($none, $indexed, 'generic plan without an index');
like($created, $indexed, 'generic plan after CREATE INDEX');
unlike($dropped, $indexed, 'generic plan after DROP INDEX');
like($dropped, qr/Filter: hamming_within\(fp, \$1, 3\)/, 'and reads the table');

# A role that may read a view, but may not even look into the schema of the extension.
$node->safe_psql('two', qq{
	CREATE ROLE guest;
	CREATE VIEW near AS SELECT id FROM t WHERE fp OPERATOR(elsewhere.<~>) 42 <= 20;
	GRANT SELECT ON near TO guest;
	REVOKE ALL ON SCHEMA elsewhere FROM PUBLIC;});
like($node->safe_psql('two', "SET ROLE guest; EXPLAIN SELECT id FROM near"), $indexed,
	'a view, for a role without rights on the schema of the extension');
is($node->safe_psql('two', "SET ROLE guest; SELECT count(*) FROM near"),
	$node->safe_psql('two',
		"SELECT count(*) FROM t WHERE bit_count((fp # 42)::bit(64)) <= 20"),
	'and its answer');

# Statistics steer: a common fingerprint is known to be common, a rare one to be rare.
my $estimate = sub {
	my ($where) = @_;
	my ($rows) = $node->safe_psql('one', "EXPLAIN SELECT id FROM skewed WHERE $where") =~ /rows=(\d+)/;
	return $rows;
};
$node->safe_psql('one', qq{
	CREATE TABLE skewed AS SELECT i AS id,
		CASE WHEN i % 4 = 0 THEN (7::bigint # (1::bigint << (i % 64))) ELSE hashint8extended(i, 1) END AS fp
		FROM generate_series(1, 20000) i;
	CREATE INDEX skewed_fp ON skewed USING simhash (fp);
	ANALYZE skewed});
cmp_ok($estimate->('fp <~> 7 <= 3'), '>', 4000, 'a quarter of the rows is near 7');
cmp_ok($estimate->('fp <~> 7 <= 3'), '<', 6000, 'and not more');
cmp_ok($estimate->('fp <~> 12345678901234 <= 3'), '==', 3, 'a few rows are near a random value');
cmp_ok($estimate->('fp <@ hamming_ball(7, 3)'), '>', 4000, 'the same estimate for a ball');
cmp_ok($estimate->('fp ~= 7'), '>', 4000, 'and for ~=');
cmp_ok($estimate->('fp <~> 7 <= -1'), '==', 1, 'a negative radius keeps nothing');
cmp_ok($estimate->('fp <~> 7 <= 64'), '==', 20000, 'radius 64 keeps everything');

# Of foreign tables the translation is shipped, and the other server makes an index condition of it.
SKIP:
{
	my $available = $node->safe_psql('two',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	skip 'postgres_fdw is not installed', 3 unless $available;
	my ($host, $port) = ($node->host, $node->port);
	$node->safe_psql('two', qq{
		CREATE EXTENSION postgres_fdw;
		ALTER SCHEMA public RENAME TO former;
		ALTER SCHEMA elsewhere RENAME TO public;
		ALTER TABLE former.t SET SCHEMA public;
		CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'one', extensions 'simhash_dedup');
		CREATE USER MAPPING FOR CURRENT_USER SERVER far;
		CREATE FOREIGN TABLE far_t (id int, g int, fp bigint) SERVER far OPTIONS (table_name 't')});
	my $plan = $node->safe_psql('two', "EXPLAIN (VERBOSE) SELECT id FROM far_t WHERE fp <~> 42 <= 3");
	like($plan, qr/Remote SQL: .*hamming_within\(fp, .*, 3\)/, 'the translation is shipped');
	is($node->safe_psql('two', "SELECT id FROM far_t WHERE fp <~> (SELECT fp FROM t WHERE id = 9) <= 3"),
		9, 'and answered');
	$node->safe_psql('two', qq{
		CREATE TABLE p (id int, g int, fp bigint) PARTITION BY LIST (g);
		CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
		CREATE INDEX ON p1 USING simhash (fp);
		CREATE FOREIGN TABLE p2 PARTITION OF p FOR VALUES IN (2) SERVER far OPTIONS (table_name 't')});
	$plan = $node->safe_psql('two', "EXPLAIN (VERBOSE) SELECT id FROM p WHERE fp <~> 42 <= 3");
	like($plan, qr/Index Cond: \(p_1\.fp <@ .*Remote SQL: .*(hamming_within|<~>)/s,
		'a local and a foreign partition: both search');
}

# Loaded in the postmaster.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'simhash_dedup'");
$node->restart;
like($node->safe_psql('one', "EXPLAIN SELECT id FROM t WHERE fp <~> 42 <= 3"), $indexed,
	'with shared_preload_libraries');
add_oracle($node, 'one');
is_sound($node, 't', 't_fp', 'at the end', 2, 'one');

$node->stop;
done_testing();
