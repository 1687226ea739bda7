# Clusters kept at once, between sessions: unlike rows never wait, whatever the order in which transactions store them, and with
# near rows the table of clusters is what a computation of all rows gives, at each isolation level, with and without within=.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('cluster_writers', conf => "deadlock_timeout = 20ms\n");
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION pick(n int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT floor(random() * n)::int';
-- Families of rows of which some are near, and others only through rows between them.
CREATE FUNCTION near_fp() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT hashint8extended(pick(6), 3) # (pick(2048)::bigint << 7)';
CREATE FUNCTION unlike_fp() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT hashint8extended(floor(random() * 1e15)::bigint, 5)';
SQL

# A table whose clusters are kept, and what they have to be. Entries of rows that are alone do not count.
sub fresh_table
{
	my ($within, $timing) = @_;
	my $arguments = "'clusters=cluster', 'key=id', 'fingerprint=fp'" . ($within ? ", 'within=tenant'" : '');
	my $columns = $within ? '{tenant}' : '{}';
	my $kind = $timing ? 'CONSTRAINT TRIGGER' : 'TRIGGER';
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS member, cluster CASCADE;
CREATE TABLE member (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int, fp bigint);
CREATE INDEX ON member USING simhash (fp);
CREATE TABLE cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
CREATE INDEX ON cluster (cluster_id);
CREATE $kind keep AFTER INSERT OR UPDATE OR DELETE ON member $timing FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters($arguments);
CREATE TRIGGER keep_truncated AFTER TRUNCATE ON member FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters($arguments);
CREATE VIEW should_be AS SELECT key, cluster_id FROM simhash_clusters('member', 'id', 'fp', 3, within => '$columns');
CREATE VIEW kept AS SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM cluster) c WHERE size > 1;
SQL
	return;
}

sub race
{
	my ($what, $script, $transactions, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $race = run_sessions($node, $script, sessions => 16, isolation => 'read committed',
		transactions => $transactions, seconds => int(soak_seconds() / 12), %options);
	is($race->{errors}, '', "$what: no session failed, and no transaction for another reason than concurrency");
	cmp_ok($race->{done}, '>=', 16, "$what: $race->{done} transactions, $race->{sent_back} sent back");
	return $race->{sent_back};
}

sub is_true
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres',
		'SELECT count(*) FROM ((TABLE kept EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE kept)) x'), 0,
		"$what: clusters are true, of " . $node->safe_psql('postgres',
			"SELECT count(*) || ' rows in ' || count(DISTINCT cluster_id) || ' clusters' FROM should_be"));
	return;
}

# Statements of several tenants in random order, in one transaction.
my $unlike = "BEGIN;\n" . "INSERT INTO member (tenant, fp) SELECT pick(8), unlike_fp() FROM generate_series(1, 5);\n" x 4
  . "SELECT pg_sleep(0.002);\nCOMMIT;\n";
# One statement of near rows in any order.
my $near = "INSERT INTO member (tenant, fp) SELECT pick(3), near_fp() FROM generate_series(1, 1 + pick(6));\n";
# All that a transaction may do.
my $any = <<'SQL';
DO $$
BEGIN
	FOR i IN 1 .. 1 + pick(3) LOOP
		BEGIN
			CASE pick(7)
			WHEN 0, 1, 2 THEN INSERT INTO member (tenant, fp) SELECT pick(3), near_fp() FROM generate_series(1, 1 + pick(4));
			WHEN 3, 4 THEN DELETE FROM member WHERE id IN (SELECT id FROM member ORDER BY random() LIMIT 1 + pick(3));
			WHEN 5 THEN UPDATE member SET fp = near_fp() WHERE id IN (SELECT id FROM member ORDER BY random() LIMIT 1 + pick(2));
			WHEN 6 THEN UPDATE member SET tenant = pick(3) WHERE id IN (SELECT id FROM member ORDER BY random() LIMIT 1 + pick(2));
			END CASE;
			IF random() < 0.2 THEN RAISE EXCEPTION 'back'; END IF;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
	END LOOP;
	PERFORM pg_sleep(0.001);
END $$;
SQL

for my $within (0, 1)
{
	my $with = $within ? 'within' : 'without';
	fresh_table($within, '');
	is(race("$with: unlike rows", $unlike, 800), 0, "$with: unlike rows: no deadlock, nothing to retry");
	is_true("$with: unlike rows");
	# A transaction that is open keeps no unlike row waiting.
	my ($first, $second) = map { open_session($node) } 1 .. 2;
	$first->query_safe('BEGIN; INSERT INTO member (tenant, fp) VALUES (1, 0)');
	$second->query("SET lock_timeout = '50ms'; INSERT INTO member (tenant, fp) SELECT 1, unlike_fp() FROM generate_series(1, 200)");
	is($second->{stderr}, '', "$with: 200 unlike rows wait for no other row");
	$second->query('INSERT INTO member (tenant, fp) VALUES (1, 1)');
	# From PostgreSQL 19 on the server adds a line of its own.
	like($second->{stderr},
		qr/canceling statement due to lock timeout\nCONTEXT:  (?:waiting for .*\n)?while comparing rows of "member" with uncommitted rows/,
		"$with: a near one waits");
	$first->query_safe('COMMIT');
	# Statements of so many rows that they are entered in pieces: the last one is near a row of another session.
	my ($many, $near_last) = map { "INSERT INTO member (tenant, fp) $_" }
		'SELECT 1, CASE i WHEN 1500 THEN 2 ELSE hashint8extended(i, 7) END FROM generate_series(1, 1500) i', 'VALUES (1, 3)';
	for my $order ([ $many, $near_last ], [ $near_last, $many ])
	{
		$node->safe_psql('postgres', 'TRUNCATE member');
		$first->query_safe("BEGIN; $order->[0]");
		start_statement($second, "RESET lock_timeout; $order->[1]");
		ok(wait_for_wait($node, '%INSERT INTO member%'), "$with: in either order one waits for many rows, or they for it");
		$first->query_safe('COMMIT');
		finish_statement($second);
		is_true("$with: many rows");
	}
	$_->quit for $first, $second;

	fresh_table($within, '');
	my $sent_back = race("$with: near rows", $near, 1200);
	is_true("$with: near rows, $sent_back sent back");
	for my $level ('read committed', 'repeatable read', 'serializable')
	{
		for my $timing ('', $level eq 'read committed' ? 'DEFERRABLE INITIALLY DEFERRED' : ())
		{
			fresh_table($within, $timing);
			my $what = join ', ', "$with: $level", $timing ? 'deferred' : ();
			$node->safe_psql('postgres', $near x 20);
			race($what, $any, 640, isolation => $level);
			is_true($what);
		}
	}
}

# Hashes of 256 bits: the same statements, whose bits are spread over two parts.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION near_hash() RETURNS bigint[] LANGUAGE sql VOLATILE AS $$
	SELECT ARRAY[hashint8extended(f, 1) # (pick(64)::bigint << 7), 9, hashint8extended(f, 2) # (pick(32)::bigint << 40), f]
		FROM (SELECT pick(6) AS f) AS family
$$;
DROP TABLE IF EXISTS member, cluster CASCADE;
CREATE TABLE member (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int, fp bigint[]);
CREATE INDEX ON member USING simhash ((fp[1]));
CREATE INDEX ON member USING simhash ((fp[3]));
SELECT simhash_keep_clusters('member', 'id', 'fp', 3, clusters => 'cluster');
CREATE VIEW should_be AS SELECT key, cluster_id FROM simhash_clusters('member', 'id', 'fp', 3, 'components');
CREATE VIEW kept AS SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM cluster) c WHERE size > 1;
SQL
$node->safe_psql('postgres', $near =~ s/near_fp/near_hash/r x 20);
race('256 bits', $any =~ s/near_fp/near_hash/gr, 640);
is_true('256 bits');

# Texts, and people who judge rows of others that are just stored: afterwards a computation of all rows changes nothing.
my $judged = <<'SQL';
DO $$
BEGIN
	CASE pick(8)
	WHEN 0, 1 THEN INSERT INTO letter (body, fp) SELECT CASE pick(2) WHEN 0 THEN 'red lamp' ELSE 'blue chair' END, near_fp()
		FROM generate_series(1, 1 + pick(3));
	WHEN 2 THEN DELETE FROM letter WHERE id IN (SELECT id FROM letter ORDER BY random() LIMIT 1);
	WHEN 3 THEN UPDATE letter SET body = 'red lamp', fp = near_fp() WHERE id IN (SELECT id FROM letter ORDER BY random() LIMIT 1);
	WHEN 4 THEN INSERT INTO decision SELECT m - pick(20), m - pick(20), random() < 0.5 FROM (SELECT last_value AS m FROM letter_id_seq) s
		ON CONFLICT (a, b) DO UPDATE SET same = excluded.same;
	WHEN 5 THEN DELETE FROM decision WHERE a IN (SELECT a FROM decision ORDER BY random() LIMIT 1);
	WHEN 6, 7 THEN
		BEGIN
			UPDATE letter SET id = (SELECT last_value FROM letter_id_seq) - pick(40)
				WHERE id IN (SELECT id FROM letter ORDER BY random() LIMIT 1);
		EXCEPTION WHEN unique_violation THEN
			NULL;
		END;
	END CASE;
	PERFORM pg_sleep(0.001);
END $$;
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE letter (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, body text, fp bigint);
CREATE INDEX ON letter USING simhash (fp);
CREATE TABLE decision (a bigint, b bigint, same boolean NOT NULL, PRIMARY KEY (a, b));
CREATE INDEX ON decision (b);
SELECT simhash_keep_clusters('letter', 'id', 'fp', text => 'body', decisions => 'decision');
SQL
for my $level ('read committed', 'repeatable read')
{
	my $sent_back = race("judged, $level", $judged, 1200, isolation => $level);
	is($node->safe_psql('postgres', "SELECT simhash_refresh_clusters('letter_cluster')"), 0,
		"judged, $level: clusters are true, $sent_back sent back");
	note($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT cluster_id) FROM letter_cluster') . ' entries and clusters');
}
# What was judged before the rows come, which are not near: of two transactions neither sees the other's row.
$node->safe_psql('postgres', 'TRUNCATE letter, decision; INSERT INTO decision VALUES (1, 2, true)');
my ($first, $second) = map { open_session($node) } 1 .. 2;
$first->query_safe("BEGIN; INSERT INTO letter VALUES (1, 'red lamp', 0)");
start_statement($second, "INSERT INTO letter VALUES (2, 'blue chair', -1)");
ok(wait_for_wait($node, '%blue chair%'), 'judged: a row waits for another one');
$first->query_safe('COMMIT');
finish_statement($second);
is($node->safe_psql('postgres', 'SELECT key, cluster_id FROM letter_cluster ORDER BY key'), "1|1\n2|1", 'judged: and is with it');
$_->quit for $first, $second;

$node->stop;
done_testing();
