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
SELECT simhash_add_words('lamps', ARRAY['street lamp', '路灯']), simhash_add_stop_word('lamps', 'monday');
SELECT simhash_build_idf('petitions', 'petition', 'body', 'lamps');
SELECT simhash_create_config('petition', '{"body": 3, "subject": 1}', 's2', 'lamps', 'petitions');
SELECT simhash_remove_word('lamps', '路灯');
CREATE TABLE named (body text, fp bigint);
CREATE FUNCTION named() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fp := public.simhash64_named_text(NEW.body, 'named@1'); RETURN NEW; END $$;
CREATE TRIGGER named BEFORE INSERT OR UPDATE ON named FOR EACH ROW EXECUTE FUNCTION named();
-- NOT VALID: pg_dump adds the constraint when all rows are there, those of the configurations too.
ALTER TABLE named ADD CONSTRAINT sound CHECK (fp = simhash64_named_text(body, 'named@1')) NOT VALID;
SELECT simhash_create_config('named', preset => 's0');
INSERT INTO named VALUES ('the lamp', 0), ('the street', 1);
CREATE TABLE filed AS SELECT id, simhash64_named(p, 'petition') AS newest, simhash64_named(p, 'petition@1') AS first FROM petition AS p;
SQL

# The owner may let other roles make versions; no role may change one.
$node->safe_psql('one', <<'SQL', @owner);
CREATE FUNCTION add_lamp(word text) RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.simhash_add_word('lamps', word) $$;
SQL
is($node->safe_psql('one', q{SET ROLE clerk; SELECT add_lamp('lantern')}), 4, 'a version by a role that the owner lets');
my ($denied, $nothing, $why) = $node->psql('one', q{SET ROLE clerk; SELECT simhash_add_word('lamps', 'lantern')});
like($why, qr/permission denied for table dictionary/, 'not without');
for my $change (q{UPDATE simhash_catalog.config SET preset = 's0'}, 'DELETE FROM simhash_catalog.idf_term', 'TRUNCATE simhash_catalog.dictionary_word')
{
	my ($status, $out, $err) = $node->psql('one', $change, @owner);
	like($err, qr/permission denied|cannot change rows/, "the owner may not: $change");
}

my $questions = <<'SQL';
SET enable_seqscan = off;
SELECT count(*), sum(fp), sum(given) FROM petition;
SELECT count(*), sum(a), sum(b), sum(distance) FROM near;
SELECT count(*), sum(distance) FROM near_kept;
SELECT sum(id) FROM petition WHERE fp <~> (SELECT fp FROM petition WHERE id = 7) <= 5;
SELECT sum(d) FROM (SELECT fp <~> 12345 AS d FROM petition ORDER BY fp <~> 12345 LIMIT 30) x;
SELECT count(*), sum(id), sum(newest), sum(first), count(*) FILTER (WHERE newest = first) FROM filed;
SELECT count(*), sum(fp) FROM named WHERE fp = simhash64_named_text(body, 'named');
SELECT count(*) FROM filed JOIN petition AS p USING (id) WHERE newest = simhash64_named(p, 'petition') AND first = simhash64_named(p, 'petition@1');
SELECT count(*), sum(hashtext(t::text)) FROM simhash_catalog.config AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_catalog.dictionary AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_catalog.dictionary_word AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_catalog.idf AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_catalog.idf_term AS t;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'petition'::regclass ORDER BY 1;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'petition'::regclass ORDER BY 1;
SQL
my $before = $node->safe_psql('one', $questions, @owner);
cmp_ok($node->safe_psql('one', 'SELECT count(*) FROM near'), '>', 100, 'there are pairs to find');

is($node->safe_psql('one', q{SELECT count(*) FROM filed JOIN petition AS p USING (id) WHERE newest = simhash64_named(p, 'petition')}, @owner),
	400, 'the configuration gives what it gave');

my $dump = $node->basedir . '/one.dump';
$node->command_ok([ 'pg_dump', '-U', 'owner', '-Fc', '-f', $dump, '-d', $node->connstr('one') ], 'pg_dump by the owner');
$node->command_ok([ 'pg_restore', '-U', 'owner', '--exit-on-error', '-j', 2, '-d', $node->connstr('two'), $dump ], 'pg_restore by the owner');
is($node->safe_psql('two', $questions, @owner), $before, 'the answers after the round trip are equal');
my ($status, $out, $err) = $node->psql('two', 'INSERT INTO petition (id, given) VALUES (1000, hashint8extended(7, 1) # 3)', @owner);
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

is($node->safe_psql('two', q{INSERT INTO named VALUES ('a lamp', 0); SELECT count(*) FROM named WHERE fp = simhash64_named_text(body, 'named')}, @owner),
	3, 'the restored trigger names its configuration');
($status, $out, $err) = $node->psql('two', 'ALTER TABLE named DISABLE TRIGGER named; UPDATE named SET fp = 7', @owner);
like($err, qr/violates check constraint "sound"/, 'the restored check holds for new rows');
$node->safe_psql('two', 'ALTER TABLE named ENABLE TRIGGER named', @owner);
is($node->safe_psql('two', q{SELECT simhash_create_config('petition', '{"body": 1}', 's2', 'lamps', 'petitions')}, @owner),
	4, 'the owner of the restored database makes versions');
is($node->safe_psql('two', q{SET ROLE clerk; SELECT add_lamp('torch')}), 5, 'and lets others');
$node->safe_psql('two', q{SELECT simhash_drop_config('petition', 1)}, @owner);

add_oracle($node, 'two');
is_sound($node, 'petition', 'petition_fp', 'the restored index', 3, 'two');
is($node->safe_psql('two', "SELECT * FROM broken_invariants('$_')"), '', "the restored $_ is sound") for qw(apart petition_some petition_body);

$node->safe_psql('two', 'DROP EXTENSION simhash_dedup CASCADE', @owner);
is($node->safe_psql('two', "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE amname = 'simhash'"),
	0, 'DROP EXTENSION CASCADE takes the indexes along');

$node->stop;
done_testing();
