# The owner of a database, not a superuser, creates the extension; pg_dump and pg_restore carry a
# schema that uses all of it into another database, where the answers are equal.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner LOGIN;
CREATE ROLE clerk;
CREATE DATABASE one OWNER owner;
CREATE DATABASE two OWNER owner;
CREATE DATABASE three OWNER owner;
SQL

my @owner = (extra_params => [ '-U', 'owner' ]);
is($node->safe_psql('one', 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user', @owner), 'f', 'the owner is no superuser');
$node->safe_psql('one', 'CREATE EXTENSION simhash_dedup', @owner);
pass('a database owner who is no superuser creates the extension');

# Two extensions in schemas with other search paths: the SQL must not lean on public.
$node->safe_psql('three', 'CREATE SCHEMA elsewhere; CREATE EXTENSION simhash_dedup SCHEMA elsewhere', @owner);
is($node->safe_psql('three', 'SET search_path = pg_catalog; SELECT 1::bigint OPERATOR(elsewhere.<~>) 2::bigint', @owner),
	2, 'the extension works in any schema');

# In a schema that the writers of a table may not use: what the table computes and checks needs no right there, a query does.
$node->safe_psql('three', <<'SQL', @owner);
SET search_path = public, elsewhere;
CREATE TABLE note (
	id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED, given bigint, duplicate_of int,
	EXCLUDE USING simhash (given WITH ~=)
);
CREATE INDEX ON note USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON note
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=duplicate_of');
SELECT simhash_keep_clusters('note', 'id', 'fp', 3);
GRANT ALL ON note, note_cluster TO clerk;
SQL
is($node->safe_psql('three', <<'SQL'), "1|\n2|1\n1|1\n2|1", 'a role without rights on that schema writes to a table that uses it');
SET ROLE clerk;
INSERT INTO note (id, body) VALUES (1, 'The lamp in Mill Lane is dark.'), (2, 'The lamp in Mill Lane is dark!');
UPDATE note SET body = body || '.' WHERE id = 1;
SELECT id, duplicate_of FROM note ORDER BY id;
SELECT key, cluster_id FROM note_cluster ORDER BY key;
SQL
my ($status, $out, $err) = $node->psql('three', 'SET ROLE clerk; INSERT INTO note (id, given) VALUES (3, 1), (4, 2)');
like($err, qr/conflicting key value violates exclusion constraint/, '... and its constraint holds');
($status, $out, $err) = $node->psql('three', 'SET ROLE clerk; SELECT id FROM note WHERE fp OPERATOR(elsewhere.<~>) 0 <= 3');
like($err, qr/permission denied for schema elsewhere/, 'its own searches need the right');
($status, $out, $err) = $node->psql('three', 'ALTER EXTENSION simhash_dedup SET SCHEMA public', @owner);
like($err, qr/extension "simhash_dedup" does not support SET SCHEMA/, 'the extension is not moved');

$node->safe_psql('one', <<'SQL', @owner);
CREATE TABLE petition (
	id int PRIMARY KEY,
	subject text,
	body text,
	fp bigint GENERATED ALWAYS AS (simhash64(ROW(subject, body), '{"f1": 2, "f2": 1}', preset => 'plain')) STORED,
	given bigint,
	CONSTRAINT apart EXCLUDE USING simhash (given WITH ~=)
);
CREATE INDEX petition_fp ON petition USING simhash (fp) WITH (fillfactor = 80);
CREATE INDEX petition_some ON petition USING simhash (fp) WHERE id % 2 = 0;
CREATE INDEX petition_body ON petition USING simhash (simhash64(body, preset => 'plain'));
CREATE VIEW near AS SELECT a.id AS a, b.id AS b, a.fp <~> b.fp AS distance
	FROM petition a JOIN petition b ON a.fp <~> b.fp <= 8 AND a.id < b.id;
CREATE MATERIALIZED VIEW near_kept AS SELECT * FROM near;
INSERT INTO petition (id, subject, body, given)
SELECT i, 'street lamp ' || i % 20, 'the lamp in street ' || i % 40 || ' does not burn since ' || repeat('monday ', i % 7),
	hashint8extended(i, 1)
FROM generate_series(1, 400) i;
REFRESH MATERIALIZED VIEW near_kept;
CREATE FUNCTION named_fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE
	RETURN simhash64(body, '{"dictionary": {"street lamp": "n"}, "stop_words": ["monday"]}', 's2');
CREATE TABLE named (body text, fp bigint);
CREATE FUNCTION named() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fp := public.named_fp(NEW.body); RETURN NEW; END $$;
CREATE TRIGGER named BEFORE INSERT OR UPDATE ON named FOR EACH ROW EXECUTE FUNCTION named();
ALTER TABLE named ADD CONSTRAINT sound CHECK (fp = named_fp(body));
INSERT INTO named VALUES ('the lamp', 0), ('the street', 1);
SQL

my $questions = <<'SQL';
SET enable_seqscan = off;
SELECT count(*), sum(fp), sum(given) FROM petition;
SELECT count(*), sum(a), sum(b), sum(distance) FROM near;
SELECT count(*), sum(distance) FROM near_kept;
SELECT sum(id) FROM petition WHERE fp <~> (SELECT fp FROM petition WHERE id = 7) <= 5;
SELECT sum(d) FROM (SELECT fp <~> 12345 AS d FROM petition ORDER BY fp <~> 12345 LIMIT 30) x;
SELECT count(*), sum(fp) FROM named WHERE fp = named_fp(body);
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'petition'::regclass ORDER BY 1;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'petition'::regclass ORDER BY 1;
SQL
my $before = $node->safe_psql('one', $questions, @owner);
cmp_ok($node->safe_psql('one', 'SELECT count(*) FROM near'), '>', 100, 'there are pairs to find');

my $dump = $node->basedir . '/one.dump';
$node->command_ok([ 'pg_dump', '-U', 'owner', '-Fc', '-f', $dump, '-d', $node->connstr('one') ], 'pg_dump by the owner');
$node->command_ok([ 'pg_restore', '-U', 'owner', '--exit-on-error', '-j', 2, '-d', $node->connstr('two'), $dump ],
	'pg_restore by the owner');
is($node->safe_psql('two', $questions, @owner), $before, 'the answers after the round trip are equal');
($status, $out, $err) = $node->psql('two', 'INSERT INTO petition (id, given) VALUES (1000, hashint8extended(7, 1) # 3)', @owner);
like($err, qr/violates exclusion constraint "apart"/, 'the restored constraint holds');
# A plain dump is the same after the round trip.
my $plain = sub {
	my $database = shift;
	my ($text, $warning);
	IPC::Run::run([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-U', 'owner', $database ], '>', \$text, '2>', \$warning) or die $warning;
	$text =~ s/^\\(un)?restrict .*\n//mg;
	return $text;
};
is($plain->('two'), $plain->('one'), 'the plain dumps are equal');

add_oracle($node, 'two');
is_sound($node, 'petition', 'petition_fp', 'the restored index', 3, 'two');
is($node->safe_psql('two', "SELECT * FROM broken_invariants('$_')"), '',
	"the restored $_ is sound") for qw(apart petition_some petition_body);

$node->safe_psql('two', 'DROP EXTENSION simhash_dedup CASCADE', @owner);
is($node->safe_psql('two',
	"SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE amname = 'simhash'"),
	0, 'DROP EXTENSION CASCADE takes the indexes along');

$node->stop;
done_testing();
