# within= between sessions: however many write at once, no near-duplicates of a tenant stay unmarked, whichever of several
# triggers of a partition tree their rows fire, and clusters have one tenant. Tenants do not wait for each other.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('within', conf => "deadlock_timeout = 20ms\n");

# One of 25 families of near-duplicates, and other ones every tenth of a second: the first members of a family often
# arrive at the same time, as long as the load goes on.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION passing_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT hashint8extended(floor(random() * 25)::bigint + 25 * floor(extract(epoch FROM clock_timestamp()) * 10)::bigint, 3)
		# (1::bigint << floor(random() * 63)::int)
$$;
CREATE FUNCTION pick(n int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT floor(random() * n)::int';
SQL

# 16 sessions, or fewer, run the script until that number of transactions is done, or for some seconds in a soak; returns how many
# were sent back.
sub race
{
	my ($what, $script, $transactions, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $race = run_sessions($node, $script, sessions => 16, isolation => 'read committed',
		transactions => $transactions, seconds => int(soak_seconds() / 8), %options);
	is($race->{errors}, '', "$what: no session failed, and no transaction for another reason than concurrency");
	cmp_ok($race->{done}, '>=', $options{sessions} // 16, "$what: $race->{done} transactions, $race->{sent_back} sent back");
	return $race->{sent_back};
}

# A partition tree whose triggers are fired by src: pairs of a table and the arguments of its trigger.
sub fresh_tree
{
	my (@triggers) = @_;
	my $src = 0;
	my $create = join '', map {
		my ($table, $arguments) = @$_;
		"CREATE TRIGGER flag_$src BEFORE INSERT OR UPDATE ON $table FOR EACH ROW WHEN (NEW.src = " . $src++ . ')'
		  . " EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=dup', 'key=id'$arguments);\n";
	} @triggers;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS race;
CREATE TABLE race (id bigint GENERATED ALWAYS AS IDENTITY, part int, src int, tenant int, source text, fp bigint, dup boolean) PARTITION BY LIST (part);
CREATE TABLE race_0 (dup boolean, fp bigint, source text, tenant int, src int, part int, id bigint NOT NULL);
ALTER TABLE race ATTACH PARTITION race_0 FOR VALUES IN (0);
CREATE TABLE race_1 PARTITION OF race FOR VALUES IN (1);
CREATE INDEX ON race USING simhash (fp);
$create
SQL
	return;
}

# Pairs of originals that a trigger would have found whichever came first: within $k bits, and $same.
sub unmarked
{
	my ($k, $same) = @_;
	return $node->safe_psql('postgres', <<"SQL");
WITH originals AS MATERIALIZED (SELECT * FROM race WHERE NOT dup)
SELECT count(*) FROM originals a, originals b WHERE a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= $k AND $same
SQL
}

# The pause makes transactions overlap between their check and their commit.
sub insert
{
	my ($triggers) = @_;
	return "BEGIN;\nINSERT INTO race (part, src, tenant, source, fp) VALUES (pick(2), pick($triggers), 1 + pick(8), chr(97 + pick(2)), passing_fp());\n"
	  . "SELECT pg_sleep(0.002);\nCOMMIT;\n";
}

fresh_tree([ 'race', ", 'lock=off', 'within=tenant'" ]);
race('lock=off', insert(1), 2000);
cmp_ok(unmarked(3, 'a.tenant = b.tenant'), '>', 0, 'lock=off: near-duplicates pass, so the test can see them');

# 8 tenants, one trigger.
fresh_tree([ 'race', ", 'within=tenant'" ]);
is(race('one trigger', insert(1), 3000), 0, 'one trigger: no deadlock, nothing to retry');
is(unmarked(3, 'a.tenant = b.tenant'), 0, 'one trigger: no near-duplicates of a tenant among the originals');
cmp_ok(unmarked(3, 'true'), '>', 0, 'one trigger: those of other tenants are');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM race WHERE dup'), '>', 0, 'one trigger: some rows are marked');
fresh_tree([ 'race', ", 'within=tenant', 'radius=8'" ]);
is(race('radius 8', insert(1), 1500), 0, 'radius 8: nothing to retry');
is(unmarked(8, 'a.tenant = b.tenant'), 0, 'radius 8: no near-duplicates of a tenant among the originals');
fresh_tree([ 'race', ", 'within=tenant'" ]);
race('repeatable read', insert(1), 1500, isolation => 'repeatable read');
is(unmarked(3, 'a.tenant = b.tenant'), 0, 'repeatable read: no near-duplicates of a tenant among the originals');

# Triggers with, without and with different within=. Of two rows that fire 0 (tenant) and 1 (tenant, source), each order of the
# two marks one if they have tenant and source in common. Trigger 2 has no scope; it is on one of the partitions, or on the tree.
my $both = 'a.tenant = b.tenant AND (a.source = b.source OR a.src + b.src = 0)';
fresh_tree([ 'race', ", 'within=tenant'" ], [ 'race', ", 'within=source,tenant', 'radius=5'" ]);
is(race('two scopes', insert(2), 2500), 0, 'two scopes: nothing to retry');
is(unmarked(3, $both), 0, 'two scopes: no pair is unmarked that both triggers compare');
fresh_tree([ 'race', ", 'within=tenant'" ], [ 'race', ", 'within=source,tenant'" ], [ 'race_0', '' ]);
# On race_1 there is no third trigger.
my $three = insert(3) =~ s/VALUES \(pick\(2\), pick\(3\)/SELECT part, CASE part WHEN 0 THEN pick(3) ELSE pick(2) END/r =~ s/passing_fp\(\)\);/passing_fp() FROM pick(2) part;/r;
is(race('three scopes', $three, 3000), 0, 'three scopes: nothing to retry');
is(unmarked(3, "a.src < 2 AND b.src < 2 AND $both"), 0, 'three scopes: no pair is unmarked that the triggers of the tree compare');
is(unmarked(3, 'a.src = 2 AND b.src = 2'), 0, 'three scopes: no pair is unmarked that the trigger of the partition compares');
is(unmarked(3, 'a.part + b.part = 0 AND a.tenant = b.tenant AND a.source = b.source'), 0, 'three scopes: nor one that either does');
fresh_tree([ 'race', ", 'within=tenant'" ], [ 'race', ", 'within=source'" ]);
race('nothing in common', insert(2), 1500);
is(unmarked(3, 'a.src = b.src AND CASE a.src WHEN 0 THEN a.tenant = b.tenant ELSE a.source = b.source END'), 0,
	'nothing in common: no pair of one trigger is unmarked');
is(unmarked(3, 'a.tenant = b.tenant AND a.source = b.source'), 0, 'nothing in common: nor a pair that both compare');

# Rows that change tenant, and partition.
fresh_tree([ 'race', ", 'within=tenant'" ]);
$node->safe_psql('postgres', 'INSERT INTO race (part, src, tenant, fp) SELECT pick(2), 0, 1 + pick(8), hashint8extended(pick(60), 5) FROM generate_series(1, 300)');
race('changes', "BEGIN;\nUPDATE race SET tenant = 1 + (SELECT pick(8)), part = (SELECT pick(2)), fp = (SELECT hashint8extended(pick(60), 5))"
	. " WHERE id = (SELECT 1 + pick(300));\nSELECT pg_sleep(0.001);\nCOMMIT;\n", 2500);
is(unmarked(3, 'a.tenant = b.tenant'), 0, 'changes: no near-duplicates of a tenant among the originals');

# One session holds tenant 1, the other stores rows of 200 tenants, equal to that row, and waits for no lock but by chance.
fresh_tree([ 'race', ", 'within=tenant'" ]);
my ($first, $second) = map { open_session($node) } 1 .. 2;
$first->query_safe('BEGIN; INSERT INTO race (part, src, tenant, fp) VALUES (0, 0, 1, 0)');
my $passed = $second->query_safe(<<"SQL");
SET lock_timeout = '1ms';
SET client_min_messages = warning;
CREATE TEMP TABLE passed (tenant int);
DO \$\$
BEGIN
	FOR tenant IN 2 .. 201 LOOP
		BEGIN
			INSERT INTO race (part, src, tenant, fp) VALUES (0, 0, tenant, 0);
			INSERT INTO passed VALUES (tenant);
		EXCEPTION WHEN lock_not_available THEN
			NULL;
		END;
	END LOOP;
END \$\$;
SELECT count(*) FROM passed;
SQL
cmp_ok($passed, '>=', 185, "of 200 tenants $passed do not wait for another one");
$second->query('INSERT INTO race (part, src, tenant, fp) VALUES (0, 0, 1, 0)');
like($second->{stderr}, qr/ERROR:  canceling statement due to lock timeout/, 'the same tenant does');
$first->query_safe('COMMIT');
$_->quit for $first, $second;

# Clusters: each tenant's are those of its own rows, and nothing else is in the table.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE member (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int, fp bigint);
CREATE INDEX ON member USING simhash (fp);
CREATE TABLE cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
CREATE INDEX ON cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON member FOR EACH ROW
	EXECUTE FUNCTION simhash_maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE TRIGGER assign_truncated AFTER TRUNCATE ON member FOR EACH STATEMENT
	EXECUTE FUNCTION simhash_maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE VIEW should_be AS SELECT id AS key, cluster_id FROM (
	SELECT id, min(id) OVER cluster AS cluster_id, count(*) OVER cluster AS size FROM (
		SELECT id, tenant, simhash_cluster_number(fp, 3) OVER (PARTITION BY tenant ORDER BY id) AS number FROM member
	) n WINDOW cluster AS (PARTITION BY tenant, number)
) s WHERE size > 1;
SQL
is(race('clusters', "BEGIN;\nINSERT INTO member (tenant, fp) VALUES (1 + pick(8), passing_fp());\nSELECT pg_sleep(0.002);\nCOMMIT;\n", 2500), 0,
	'clusters: no deadlock, nothing to retry');
is($node->safe_psql('postgres', '(TABLE cluster EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE cluster)'), '',
	'clusters: they are those of each tenant');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM cluster'), '>', 0, 'clusters: there are some');

# A deferred trigger locks when it fires.
my $of_row = "FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'within=tenant')";
$node->safe_psql('postgres', "DROP TRIGGER assign ON member; CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON member DEFERRABLE INITIALLY DEFERRED $of_row");
is(race('deferred', "BEGIN;\nINSERT INTO member (tenant, fp) VALUES (1 + pick(8), passing_fp());\n"
	. "SET CONSTRAINTS ALL IMMEDIATE;\nSELECT pg_sleep(0.002);\nCOMMIT;\n", 1500), 0, 'deferred: nothing to retry');
is($node->safe_psql('postgres', '(TABLE cluster EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE cluster)'), '',
	'deferred: clusters are those of each tenant');
$node->safe_psql('postgres', "DROP TRIGGER assign ON member; CREATE TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON member $of_row");

# Statements of many rows never deadlock: copies of hot texts, of one tenant or of several in any order; rows near each other;
# rows that go while others come. An entry of a row that is left alone stays.
$node->safe_psql('postgres', 'CREATE VIEW kept AS SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM cluster) c WHERE size > 1');
my $hot = 'hashint8extended(pick(3), 3) # (1::bigint << 9 * pick(3))';
for my $case (
	[ 'one tenant', "INSERT INTO member (tenant, fp) SELECT t, $hot FROM pick(4) t, generate_series(1, 20);\n" ],
	[ 'several tenants', "INSERT INTO member (tenant, fp) SELECT pick(4), $hot FROM generate_series(1, 20);\n" ],
	[ 'near rows', "INSERT INTO member (tenant, fp) SELECT t, hashint8extended(f, 4) # (1::bigint << i) FROM pick(4) t, pick(1000000) f, generate_series(1, 10) i;\n" ],
	[ 'rows that go', "WITH new AS (INSERT INTO member (tenant, fp) SELECT pick(4), $hot FROM generate_series(1, 10))\n"
		. "DELETE FROM member WHERE id IN (SELECT id FROM member ORDER BY random() LIMIT 10 FOR UPDATE SKIP LOCKED);\n" ])
{
	my ($what, $statement) = @$case;
	$node->safe_psql('postgres', 'TRUNCATE member');
	is(race($what, $statement, 800), 0, "$what: no deadlock, nothing to retry");
	is($node->safe_psql('postgres', '(TABLE kept EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE kept)'), '', "$what: clusters are true");
}
$node->safe_psql('postgres', 'TRUNCATE member');
# Rows that change tenant: one in a transaction, which never deadlocks, then several.
sub clusters_agree
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', <<'SQL'), 0, "$what: no cluster has two tenants");
SELECT count(*) FROM (SELECT FROM cluster JOIN member ON id = key GROUP BY cluster_id HAVING count(DISTINCT tenant) > 1) spans
SQL
	is($node->safe_psql('postgres', <<'SQL'), 0, "$what: near rows of a tenant are in one cluster");
SELECT count(*) FROM member a JOIN member b ON a.fp <~> b.fp <= 3 AND a.tenant = b.tenant AND a.id < b.id
	LEFT JOIN cluster x ON x.key = a.id LEFT JOIN cluster y ON y.key = b.id WHERE (x.cluster_id = y.cluster_id) IS NOT TRUE
SQL
	return;
}
my $change = 'UPDATE member SET tenant = 1 + (SELECT pick(8)) WHERE id IN (SELECT 1 + pick(300) FROM generate_series(1, %d));';
my $store = 'INSERT INTO member (tenant, fp) VALUES (1 + pick(8), hashint8extended(pick(60), 5));';
$node->safe_psql('postgres', 'TRUNCATE member, cluster RESTART IDENTITY');
$node->safe_psql('postgres', 'INSERT INTO member (tenant, fp) SELECT 1 + pick(8), hashint8extended(pick(60), 5) FROM generate_series(1, 300)');
is(race('one row changes', sprintf("DO \$\$ BEGIN IF random() < 0.5 THEN $change ELSE $store END IF; PERFORM pg_sleep(0.002); END \$\$;\n", 1), 2000), 0,
	'one row changes: no deadlock, nothing to retry');
clusters_agree('one row changes');
race('several rows change', sprintf("BEGIN;\n$store\n$change\nCOMMIT;\n", 4), 150, sessions => 4);
clusters_agree('several rows change');

$node->stop;
done_testing();
