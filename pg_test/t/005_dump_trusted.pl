# An owner of a database who is no superuser creates the extension; pg_dump and pg_restore carry a
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
CREATE TABLE filed AS SELECT id, simhash64_named(p, 'petition') AS newest, simhash64_named(p, 'petition@1') AS first FROM petition AS p;
SQL

# The owner may pass on the right to make versions, and nobody changes one.
$node->safe_psql('one', 'GRANT SELECT, INSERT ON simhash_config, simhash_dictionary_word, simhash_idf, simhash_idf_term TO clerk', @owner);
is($node->safe_psql('one', q{SET ROLE clerk; SELECT simhash_create_config('clerk', preset => 'plain')}), 1, 'a version by a role that was granted the right');
for my $change (q{UPDATE simhash_config SET preset = 's0'}, 'DELETE FROM simhash_idf_term', 'TRUNCATE simhash_dictionary_word')
{
	my ($status, $out, $err) = $node->psql('one', $change, @owner);
	like($err, qr/permission denied/, "the owner may not: $change");
}

my $questions = <<'SQL';
SET enable_seqscan = off;
SELECT count(*), sum(fp), sum(given) FROM petition;
SELECT count(*), sum(a), sum(b), sum(distance) FROM near;
SELECT count(*), sum(distance) FROM near_kept;
SELECT sum(id) FROM petition WHERE fp <~> (SELECT fp FROM petition WHERE id = 7) <= 5;
SELECT sum(d) FROM (SELECT fp <~> 12345 AS d FROM petition ORDER BY fp <~> 12345 LIMIT 30) x;
SELECT count(*), sum(id), sum(newest), sum(first), count(*) FILTER (WHERE newest = first) FROM filed;
SELECT count(*) FROM filed JOIN petition AS p USING (id) WHERE newest = simhash64_named(p, 'petition') AND first = simhash64_named(p, 'petition@1');
SELECT count(*), sum(hashtext(t::text)) FROM simhash_config AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_dictionary_word AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_idf AS t;
SELECT count(*), sum(hashtext(t::text)) FROM simhash_idf_term AS t;
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

add_oracle($node, 'two');
is_sound($node, 'petition', 'petition_fp', 'the restored index', 3, 'two');
is($node->safe_psql('two', "SELECT * FROM broken_invariants('$_')"), '', "the restored $_ is sound") for qw(apart petition_some petition_body);

$node->safe_psql('two', 'DROP EXTENSION simhash_dedup CASCADE', @owner);
is($node->safe_psql('two', "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE amname = 'simhash'"),
	0, 'DROP EXTENSION CASCADE takes the indexes along');

$node->stop;
done_testing();
