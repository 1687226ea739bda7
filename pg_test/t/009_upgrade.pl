# A database that uses all of the extension goes to a new cluster by pg_upgrade, and by the dumps of the old and of the new
# pg_dump: answers, plans, rights to write and constraints are what they were. OLD_SERVER names the installation
# of the old cluster, of the same or an earlier major; without it both clusters are of the same installation.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Checksums must agree, and initdb's default changed in 18.
my @init = (extra => [ '--data-checksums', '--encoding=UTF8', '--locale=C.UTF-8' ]);
my $old = PostgreSQL::Test::Cluster->new('old', $ENV{OLD_SERVER} ? (install_path => $ENV{OLD_SERVER}) : ());
my $new = PostgreSQL::Test::Cluster->new('new');
for my $node ($old, $new)
{
	$node->init(@init);
	$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 32MB\njit = off");
}
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE app');
$old->safe_psql('app', <<'SQL');
CREATE EXTENSION simhash_dedup;
SELECT simhash_add_words('places', ARRAY['幸福路']), simhash_add_stop_word('places', 'street');
SELECT simhash_create_config('petition', preset => 's0', dictionary => 'places');

CREATE TABLE petition (
	id int PRIMARY KEY, subject text, body text,
	fp bigint GENERATED ALWAYS AS (simhash64(ROW(subject, body), '{"f1": 1, "f2": 3}', preset => 'plain')) STORED,
	given bigint,
	CONSTRAINT apart EXCLUDE USING simhash (given WITH ~=)
);
CREATE INDEX petition_fp ON petition USING simhash (fp);
CREATE INDEX petition_some ON petition USING simhash (fp) WITH (fillfactor = 70) WHERE id % 2 = 0;
CREATE INDEX petition_body ON petition USING simhash (simhash64(body, preset => 'plain'));
INSERT INTO petition (id, subject, body, given)
SELECT i, 'subject ' || i % 300, 'the lamp number ' || i % 977 || ' in street ' || i % 53 || ' is dark since week ' || i % 7
	|| CASE WHEN i % 5 = 0 THEN ' 请尽快修理幸福路的路灯' ELSE '' END, hashint8extended(i, 1)
FROM generate_series(1, 4000) i;

-- Deleted and inserted again: pages that hold what a vacuum left, and a second level of them.
CREATE TABLE hash (id bigint PRIMARY KEY, fp bigint);
CREATE INDEX hash_fp ON hash USING simhash (fp);
INSERT INTO hash SELECT i, hashint8extended(i % 30000, 2) # (1::bigint << (i % 61)::int) FROM generate_series(1, 60000) i;
DELETE FROM hash WHERE id % 4 = 0;
VACUUM hash;
INSERT INTO hash SELECT i, hashint8extended(i, 2) FROM generate_series(60001, 70000) i;
CREATE UNLOGGED TABLE scratch AS SELECT id, fp FROM hash LIMIT 1000;
CREATE INDEX scratch_fp ON scratch USING simhash (fp);
CREATE MATERIALIZED VIEW pair AS SELECT * FROM simhash_pairs('hash', 'id', 'fp', 4);
CREATE MATERIALIZED VIEW cluster AS SELECT * FROM simhash_clusters('petition', 'id', 'fp', 3);
CREATE VIEW near AS SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS distance
	FROM petition a JOIN petition b ON a.fp <~> b.fp <= 2 AND a.id < b.id;

CREATE TABLE flagged (id int PRIMARY KEY, body text, fp bigint, duplicate_of int);
CREATE INDEX flagged_fp ON flagged USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON flagged FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'duplicate_of=duplicate_of', 'weights={"body": 1}', 'preset=plain');
INSERT INTO flagged (id, body) SELECT id, body FROM petition WHERE id <= 300;
CREATE TABLE named AS SELECT id, body, simhash64_named_text(body, 'petition@1') AS fp FROM petition WHERE id <= 300;
ANALYZE;
SQL

my $questions = <<'SQL';
SELECT extversion FROM pg_extension WHERE extname = 'simhash_dedup';
SELECT c.relname, count(v) FROM pg_class c JOIN pg_am a ON a.oid = c.relam LEFT JOIN LATERAL simhash_index_verify(c.oid, true) v ON true
WHERE amname = 'simhash' AND c.relkind = 'i' GROUP BY 1 ORDER BY 1;
SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE amname = 'simhash' ORDER BY indexrelid::regclass::text;
SELECT count(*), sum(hashtext(p::text)) FROM petition p;
SELECT count(*), sum(hashtext(f::text)) FROM flagged f;
SELECT count(*) FROM named WHERE fp = simhash64_named_text(body, 'petition');
SELECT count(*) FROM petition WHERE fp = simhash64(ROW(subject, body), '{"f1": 1, "f2": 3}', preset => 'plain');
SELECT (SELECT count(*) FROM pair), (SELECT sum(a * b % 1000) FROM pair), (SELECT count(*) FROM cluster);
SELECT count(*), sum(a), sum(b), sum(distance) FROM near;
REFRESH MATERIALIZED VIEW pair;
REFRESH MATERIALIZED VIEW cluster;
SELECT (SELECT count(*) FROM pair), (SELECT sum(a * b % 1000) FROM pair), (SELECT count(*) FROM cluster);
SELECT count(*), sum(hashtext(w::text)) FROM simhash_catalog.dictionary_word w;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM hash WHERE fp <~> 5 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM hash ORDER BY fp <~> 5 LIMIT 3;
SELECT q.id, count(*), sum(h.id) FROM (SELECT * FROM hash WHERE id % 997 = 0) q JOIN hash h ON h.fp <~> q.fp <= 9 GROUP BY 1 ORDER BY 1;
SELECT count(*), sum(id) FROM petition WHERE simhash64(body, preset => 'plain') <~> simhash64('the lamp number 7 in street 7 is dark', preset => 'plain') <= 12;
SELECT array_agg(d ORDER BY d) FROM (SELECT fp <~> 12345 AS d FROM hash ORDER BY fp <~> 12345 LIMIT 20) x;
SQL

# After the questions: what a user goes on with.
sub goes_on
{
	my ($database, $what) = @_;
	my ($status, $out, $err);
	my $sql = sub { $new->safe_psql($database, $_[0]) };
	$sql->('INSERT INTO hash SELECT i, hashint8extended(i, 2) FROM generate_series(70001, 90000) i; DELETE FROM hash WHERE id % 3 = 0; VACUUM hash');
	$sql->(q{INSERT INTO petition (id, subject, body) SELECT i, 'new ' || i, 'another text ' || i FROM generate_series(5001, 5500) i});
	($status, $out, $err) = $new->psql($database, 'INSERT INTO petition (id, given) VALUES (9000, hashint8extended(7, 1) # 3)');
	like($err, qr/violates exclusion constraint "apart"/, "$what: the constraint holds");
	is($sql->('INSERT INTO flagged (id, body) SELECT id + 100000, body FROM petition WHERE id = 17; SELECT duplicate_of IS NULL FROM flagged WHERE id = 100017'),
		'f', "$what: the trigger flags");
	is($sql->(q{SELECT simhash_create_config('petition', preset => 's2')}), 2, "$what: a second version of a configuration");
	add_oracle($new, $database);
	is_sound($new, 'hash', 'hash_fp', "$what, after writes", 4, $database);
	is($sql->("SELECT * FROM broken_invariants('$_')"), '', "$what: $_ is sound") for qw(apart petition_fp petition_some petition_body flagged_fp);
	$sql->('REINDEX TABLE hash; ALTER EXTENSION simhash_dedup UPDATE');
	return;
}

my $before = $old->safe_psql('app', $questions);
like($before, qr/Index Scan using hash_fp|Bitmap Index Scan on hash_fp/, 'the index answers');
like($before, qr/^hash_fp\|0$/m, 'verification finds nothing');
my %dump = map { $_->name => $_->basedir . '/app.dump' } $old, $new;
command_ok([ $_->config_data('--bindir') . '/pg_dump', '-Fc', '-f', $dump{ $_->name }, '-d', $old->connstr('app') ],
	'pg_dump of the ' . $_->name . ' server') for $old, $new;
$old->stop;

chdir $new->basedir or die $!;
$new->command_ok(
	[
		'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old->config_data('--bindir'), '-B', $new->config_data('--bindir'),
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	'pg_upgrade');
$new->start;
is($new->safe_psql('app', $questions), $before, 'pg_upgrade: the answers are what they were');
goes_on('app', 'pg_upgrade');

for my $by ('old', 'new')
{
	my $database = "by_$by";
	$new->safe_psql('postgres', "CREATE DATABASE $database");
	$new->command_ok([ 'pg_restore', '--exit-on-error', '-d', $new->connstr($database), $dump{$by} ], "restored from the $by pg_dump");
	$new->safe_psql($database, 'ANALYZE');
	is($new->safe_psql($database, $questions), $before, "$by pg_dump: the answers are what they were");
	goes_on($database, "$by pg_dump");
}
$new->stop;
done_testing();
