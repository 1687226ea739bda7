# A database that uses all of the extension, for the tests that carry it elsewhere: to another cluster by pg_upgrade or a dump, to
# another version of the extension by an update.
package SimhashEverything;

use strict;
use warnings;
use Exporter 'import';
use SimhashTest;
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(use_everything answers goes_on);

# What every released version must be able to run. What later versions added is to be left out for older ones.
my $everything = <<'SQL';
CREATE FUNCTION body_fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE
	RETURN simhash64(body, '{"dictionary": {"幸福路": "ns"}, "stop_words": ["@en", "@zh", "street"]}', 's0');
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
CREATE TABLE named AS SELECT id, body, body_fp(body) AS fp FROM petition WHERE id <= 300;

-- Scopes before the fingerprint, a constraint within them, and clusters that a trigger keeps.
DO $$ BEGIN
	EXECUTE format('CREATE FUNCTION weighed_fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS %L',
		format('BEGIN RETURN public.simhash64(body, %L, ''s2''); END', (SELECT jsonb_build_object('idf', jsonb_build_object(
			'documents', (SELECT count(*) FROM petition), 'terms', jsonb_object_agg(feature, documents)))
		FROM (SELECT feature, count(*) AS documents FROM petition, simhash_features(body, preset => 'plain') GROUP BY 1) w)));
END $$;
CREATE TABLE note (
	id int PRIMARY KEY, tenant text, number uuid DEFAULT gen_random_uuid(), body text,
	fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED, fp128 bit(128) GENERATED ALWAYS AS (simhash_methods.simhash128(body)) STORED,
	given bigint, weighed bigint GENERATED ALWAYS AS (weighed_fp(body)) STORED,
	CONSTRAINT once EXCLUDE USING simhash (tenant WITH =, given WITH ~=)
);
CREATE INDEX note_fp ON note USING simhash (tenant, fp);
CREATE INDEX note_number ON note USING simhash (number, (simhash_methods.simhash32(body)));
CREATE TABLE note_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX note_cluster_id ON note_cluster (cluster_id);
CREATE TRIGGER keep_clusters AFTER INSERT OR UPDATE OF tenant, fp OR DELETE ON note FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=public.note_cluster', 'key=id', 'fingerprint=fp', 'within=tenant', 'radius=6');
CREATE FUNCTION of_note(n note) RETURNS bigint LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT simhash64(n.body, preset => 'record'); END;
CREATE DOMAIN near_zero AS bigint CHECK (hamming(VALUE, 0) < 64);
INSERT INTO note (id, tenant, body, given)
SELECT id, 'tenant ' || id % 3, body, given FROM petition WHERE id <= 600;

-- Hashes of another program, of 64 and of 256 bits.
CREATE TABLE picture (
	id int PRIMARY KEY, phash text, pdq text,
	fp bigint GENERATED ALWAYS AS (fingerprint_from_hex(phash)) STORED,
	parts bigint[] GENERATED ALWAYS AS (fingerprint_parts_from_hex(pdq)) STORED,
	number numeric GENERATED ALWAYS AS (fingerprint_to_unsigned(fingerprint_from_hex(phash))) STORED
);
CREATE INDEX picture_fp ON picture USING simhash (fingerprint_from_unsigned(number));
CREATE INDEX picture_1 ON picture USING simhash ((parts[1]));
CREATE INDEX picture_2 ON picture USING simhash ((parts[2]));
CREATE INDEX picture_3 ON picture USING simhash ((parts[3]));
CREATE INDEX picture_4 ON picture USING simhash ((parts[4]));
INSERT INTO picture (id, phash, pdq)
SELECT i, fingerprint_to_hex(hashint8extended(i / 2, 3)), md5((i / 2)::text) || md5(i / 2 || 'b') FROM generate_series(1, 2000) i;
CREATE VIEW picture_pair AS SELECT a.id AS a, b.id AS b, hamming_parts(a.parts, b.parts) AS distance
	FROM picture a JOIN picture b ON hamming_parts_within(b.parts, a.parts, 31) AND a.id < b.id;

-- Rows by keys, as they are spread over servers.
CREATE TABLE keyed AS SELECT key, id, fp FROM note, unnest(simhash_route(fp, 6)) AS key;
CREATE INDEX keyed_fp ON keyed USING simhash (key, fp);
CREATE VIEW keyed_pair AS SELECT g.key, p.* FROM (SELECT key, array_agg(id::bigint) AS ids, array_agg(fp) AS fps
	FROM keyed GROUP BY key) AS g,
	simhash_group_pairs(g.ids, g.fps, 6, g.key) AS p;
CREATE VIEW note_pair AS SELECT * FROM simhash_pairs('note', 'id', 'fp', 4, within => '{tenant}');
ANALYZE;
SQL

# In the database, where the extension is: data of every kind.
sub use_everything
{
	my ($node, $database) = @_;
	$node->safe_psql($database, $everything);
	return;
}

my $questions = <<'SQL';
SELECT c.relname, count(v) FROM pg_class c JOIN pg_am a ON a.oid = c.relam LEFT JOIN LATERAL simhash_index_verify(c.oid, true) v ON true
WHERE amname = 'simhash' AND c.relkind = 'i' GROUP BY 1 ORDER BY 1;
SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE amname = 'simhash' ORDER BY indexrelid::regclass::text;
SELECT count(*), sum(hashtext(p::text)) FROM petition p;
SELECT count(*), sum(hashtext(f::text)) FROM flagged f;
SELECT count(*) FROM named WHERE fp = body_fp(body);
SELECT count(*) FROM petition WHERE fp = simhash64(ROW(subject, body), '{"f1": 1, "f2": 3}', preset => 'plain');
SELECT (SELECT count(*) FROM pair), (SELECT sum(a * b % 1000) FROM pair), (SELECT count(*) FROM cluster);
SELECT count(*), sum(a), sum(b), sum(distance) FROM near;
REFRESH MATERIALIZED VIEW pair;
REFRESH MATERIALIZED VIEW cluster;
SELECT (SELECT count(*) FROM pair), (SELECT sum(a * b % 1000) FROM pair), (SELECT count(*) FROM cluster);
SELECT count(*), sum(hashtext((n.id, n.tenant, n.body, n.fp, n.fp128, n.given, n.weighed, of_note(n))::text)) FROM note n;
SELECT count(*) FROM note WHERE fp = simhash64(body) AND weighed = weighed_fp(body);
SELECT count(*), sum(hashtext(p::text)) FROM note_pair p;
SELECT count(*), sum(hashtext(p::text)) FROM keyed_pair p;
SELECT count(*), sum(key), sum(cluster_id) FROM (SELECT array_agg(a) AS a, array_agg(b) AS b
	FROM keyed_pair) AS e, simhash_components(a, b);
SELECT count(*), sum(hashtext(c::text)) FROM note_cluster c;
SELECT count(*), sum(hashtext(p::text)) FROM picture p;
SELECT count(*), sum(a), sum(b), sum(distance) FROM picture_pair;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM picture WHERE hamming_parts_within(parts, '{1,2,3,4}', 31);
EXPLAIN (COSTS OFF) SELECT id FROM hash WHERE fp <~> 5 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM hash ORDER BY fp <~> 5 LIMIT 3;
SELECT q.id, count(*), sum(h.id) FROM (SELECT * FROM hash WHERE id % 997 = 0) q JOIN hash h ON h.fp <~> q.fp <= 9 GROUP BY 1 ORDER BY 1;
SELECT count(*), sum(id) FROM petition
	WHERE simhash64(body, preset => 'plain') <~> simhash64('the lamp number 7 in street 7 is dark', preset => 'plain') <= 12;
SELECT array_agg(d ORDER BY d) FROM (SELECT fp <~> 12345 AS d FROM hash ORDER BY fp <~> 12345 LIMIT 20) x;
SQL

# What these data answer. Same text, same data, same plans.
sub answers
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, $questions);
}

# After the questions: what a user goes on with.
sub goes_on
{
	my ($node, $database, $what) = @_;
	my ($status, $out, $err);
	my $sql = sub { $node->safe_psql($database, $_[0]) };
	$sql->('INSERT INTO hash SELECT i, hashint8extended(i, 2) FROM generate_series(70001, 90000) i;
		DELETE FROM hash WHERE id % 3 = 0; VACUUM hash');
	$sql->(q{INSERT INTO petition (id, subject, body) SELECT i, 'new ' || i, 'another text ' || i FROM generate_series(5001, 5500) i});
	($status, $out, $err) = $node->psql($database, 'INSERT INTO petition (id, given) VALUES (9000, hashint8extended(7, 1) # 3)');
	like($err, qr/violates exclusion constraint "apart"/, "$what: the constraint holds");
	is($sql->('INSERT INTO flagged (id, body) SELECT id + 100000, body FROM petition WHERE id = 17; SELECT duplicate_of IS NULL FROM flagged
		WHERE id = 100017'),
		'f', "$what: the trigger flags");
	is($sql->('INSERT INTO note (id, tenant, body) SELECT id + 100000, tenant, body FROM note WHERE id IN (17, 18);'
		. ' SELECT count(*) = 2 AND bool_and(a.cluster_id = b.cluster_id) FROM note_cluster a JOIN note_cluster b ON a.key = b.key + 100000'),
		't', "$what: clusters are kept");
	add_oracle($node, $database);
	is_sound($node, 'hash', 'hash_fp', "$what, after writes", 4, $database);
	is($sql->("SELECT * FROM broken_invariants('$_')"), '',
		"$what: $_ is sound") for qw(apart once petition_fp petition_some petition_body flagged_fp note_fp note_number
		picture_fp picture_1 picture_4);
	$sql->('REINDEX TABLE hash; ALTER EXTENSION simhash_dedup UPDATE');
	return;
}

1;
