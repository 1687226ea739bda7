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
CREATE TABLE race (id bigint GENERATED ALWAYS AS IDENTITY, part int, src int, tenant int, source text, fp bigint,
	dup boolean) PARTITION BY LIST (part);
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
my $three =
	insert(3) =~ s/VALUES \(pick\(2\), pick\(3\)/SELECT part, CASE part WHEN 0 THEN pick(3) ELSE pick(2) END/r =~ s/passing_fp\(\)\);/passing_fp() FROM pick(2) part;/r;
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
$node->safe_psql('postgres',
	'INSERT INTO race (part, src, tenant, fp) SELECT pick(2), 0, 1 + pick(8), hashint8extended(pick(60), 5) FROM generate_series(1, 300)');
race('changes',
	"BEGIN;\nUPDATE race SET tenant = 1 + (SELECT pick(8)), part = (SELECT pick(2)), fp = (SELECT hashint8extended(pick(60), 5))"
	. " WHERE id = (SELECT 1 + pick(300));\nSELECT pg_sleep(0.001);\nCOMMIT;\n", 2500);
is(unmarked(3, 'a.tenant = b.tenant'), 0, 'changes: no near-duplicates of a tenant among the originals');

# One session stores a row of tenant 1, the other rows of 200 tenants, equal to that row, and waits for none of them.
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
is($passed, 200, '200 tenants do not wait for another one');
$second->query('INSERT INTO race (part, src, tenant, fp) VALUES (0, 0, 1, 0)');
like($second->{stderr}, qr/ERROR:  canceling statement due to lock timeout/, 'the same tenant does');
$second->{stderr} = '';
$first->query_safe('COMMIT');

# Equal values of a type are one scope, whatever they look like: a row waits for the one before it that is in progress, and a
# third one, of another scope, does not. (of_type in within.sql has the same values in one session.)
create_waits($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN code AS varchar(10) CHECK (VALUE <> '');
SQL
# Where the server has ICU.
my $icu = $node->psql('postgres', "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)") == 0;
for my $case (
	[ 'smallint', '1', '1', '2' ], [ 'bigint', '1', '1', '-1' ], [ 'oid', '1', '1', '2' ], [ 'boolean', 'on', 'true', 'false' ],
	[ 'uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', 'a0eebc999c0b4ef8bb6d6bb9bd380a12' ],
	[ 'text', 'a', 'a', 'A' ], [ 'varchar(5)', 'a', 'a', 'a ' ], [ 'char(5)', 'a', 'a  ', 'b' ], [ 'code', 'x', 'x', 'y' ],
	[ 'mood', 'sad', 'sad', 'happy' ], [ 'date', '2026-01-02', '20260102', '2026-01-03' ], [ 'numeric', '1', '1.00', '1.01' ],
	[ 'float8', '0', '-0', '1' ], [ 'timestamptz', '2026-01-01 00:00+00', '2026-01-01 01:00+01', '2026-01-01 00:00:01+00' ],
	[ 'interval', '1 day', '24 hours', '1 hour' ], [ 'bytea', 'a', '\x61', 'b' ], [ 'int[]', '{1,2}', '{1,2}', '{2,1}' ],
	[ 'pair', '(1,a)', '(1,a)', '(1,b)' ],
	[ 'xid', '7', '7', '8' ], [ 'jsonb', '{"a": 1, "b": 1}', '{"b": 1.0, "a": 1}', '{"a": 2}' ], [ 'int4range', '[1,3)', '[1,2]', '[1,4)' ],
	[ 'text', 'long ' x 100000, 'long ' x 100000, 'long ' x 100000 . '.' ],
	$icu ? [ 'text COLLATE caseless', 'tenant', 'TENANT', 'tenants' ] : ())
{
	my ($type, @values) = @$case;
	$first->query_safe(<<"SQL");
CREATE TABLE typed (id int PRIMARY KEY, scope $type, fp bigint, dup int);
CREATE INDEX ON typed USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON typed FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=scope');
BEGIN;
INSERT INTO typed VALUES (1, '$values[0]', 0);
SQL
	my $waits = join " || ' ' || ", map { "waits(\$\$INSERT INTO typed VALUES ($_, '$values[$_ - 1]', 1)\$\$)" } 2, 3;
	is($second->query_safe("SELECT $waits"), 'true false', "$type: rows of equal values wait for each other, others do not");
	$first->query_safe('ROLLBACK; DROP TABLE typed');
}

# Whichever trigger is fired, rows are compared with those in progress for all triggers that compare the same column: in each table
# by the columns that all triggers there name. One row fires a trigger, the other its neighbour: does it wait?
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE tree (id int, part int, src int, a int, b int, fp bigint) PARTITION BY LIST (part);
CREATE TABLE tree_1 (fp bigint, b int, a int, src int, part int, id int);
ALTER TABLE tree ATTACH PARTITION tree_1 FOR VALUES IN (1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2);
CREATE INDEX ON tree USING simhash (fp);
-- For rows of equal fingerprints that differ from the first one in neither, b, a, both; on its partition, on the other one.
CREATE FUNCTION waiting(src int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN waits(format('INSERT INTO tree VALUES (2, %s, %s, %s, %s, 7)', part, src, a, b)) THEN 'x' ELSE '-' END,
		' ' ORDER BY part, a, b) FROM generate_series(1, 2) part, generate_series(1, 2) a, generate_series(1, 2) b
$$;
SQL
sub trigger
{
	my ($src, $table, $arguments) = @_;
	return "CREATE OR REPLACE TRIGGER of_$src BEFORE INSERT ON $table FOR EACH ROW WHEN (NEW.src = $src)"
	  . " EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject'$arguments);\n";
}
# The triggers, and which rows wait, by the triggers of the first row and of the others.
for my $case (
	[ trigger(1, 'tree', ", 'within=a'"), '1 1' => 'x x - - x x - -', '1 2' => '- - - - - - - -' ],
	[ trigger(1, 'tree', ", 'within=a'") . trigger(2, 'tree', ", 'within=b,a'"), map { $_ => 'x x - - x x - -' } '1 1', '1 2', '2 2' ],
	[ trigger(1, 'tree', ", 'within=a,b'") . trigger(2, 'tree', ", 'within=b,a'"), map { $_ => 'x - - - x - - -' } '1 1', '1 2', '2 2' ],
	[ trigger(1, 'tree', '') . trigger(2, 'tree', ", 'within=b,a'"), map { $_ => 'x x x x x x x x' } '1 1', '1 2', '2 2' ],
	# One on a partition: its rows wait for each other, and for others as the trigger above says.
	[ trigger(1, 'tree', ", 'within=a'") . trigger(2, 'tree_1', ''), '1 1' => 'x x x x x x - -', '2 1' => 'x x x x x x - -',
		'2 2' => 'x x x x - - - -' ],
	# Triggers that wait for nothing or refuse all rows do not count.
	[ trigger(1, 'tree', ", 'within=a'") . trigger(2, 'tree', ", 'lock=off'") . trigger(3, 'tree', ", 'within=a,,b'"),
		'1 1' => 'x x - - x x - -', '1 2' => '- - - - - - - -' ])
{
	my ($triggers, %expected) = @$case;
	$first->query_safe($triggers);
	for my $rows (sort keys %expected)
	{
		my ($src_1, $src_2) = split / /, $rows;
		$first->query_safe("BEGIN; INSERT INTO tree VALUES (1, 1, $src_1, 1, 1, 7)");
		is($second->query_safe("SELECT waiting($src_2)"), $expected{$rows}, join ' ', "rows of triggers $rows:",
			$triggers =~ /ON (\w+) .*?reject'(.*)\)/g);
		$first->query_safe('ROLLBACK');
	}
	$first->query_safe(join '', map { "DROP TRIGGER of_$1 ON $2;" if /of_(\d) .* ON (\w+)/ } split /^/, $triggers);
}

# At random: three triggers, each on the tree or on a partition, with some radius and some columns; and pairs of rows. Where a
# trigger that one row fires would find the other, and that one fires a trigger too, the second row waits.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE drawn (src int, place text, within text[], radius int);
CREATE TABLE drawn_pair (n int, part_1 int, part_2 int, src_1 int, src_2 int, a_1 int, a_2 int, b_1 int, b_2 int, distance int, fp bigint,
	found boolean);
CREATE FUNCTION finds(place text, within text[], radius int, part_1 int, part_2 int, same_a boolean, same_b boolean,
	distance int) RETURNS boolean LANGUAGE sql AS $$
	SELECT distance <= radius AND (place = 'tree' OR part_1 = 1 AND part_2 = 1)
		AND (same_a OR NOT 'a' = ANY (within)) AND (same_b OR NOT 'b' = ANY (within))
$$;
-- Draws triggers, in place of those before, and pairs of which each row fires one.
CREATE PROCEDURE draw(round int) LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT * FROM drawn LOOP
		EXECUTE format('DROP TRIGGER of_%s ON %s', t.src, t.place);
	END LOOP;
	TRUNCATE drawn, drawn_pair;
	INSERT INTO drawn SELECT i, CASE WHEN i > 1 AND random() < 0.4 THEN 'tree_1' ELSE 'tree' END,
		(ARRAY['{}', '{a}', '{b}', '{b,a}', '{a}'])[1 + floor(random() * 5)::int]::text[], (ARRAY[0, 3, 5, 8, 12])[1 + floor(random() * 5)::int]
	FROM generate_series(1, 3) i;
	FOR t IN SELECT *, CASE within WHEN '{}' THEN '' ELSE format(', %L', 'within=' || array_to_string(within, ',')) END AS argument
		FROM drawn LOOP
		EXECUTE format('CREATE TRIGGER of_%s BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.src = %s)
			EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', ''mode=reject'',
				''radius=%s''%s)', t.src, t.place, t.src, t.radius, t.argument);
	END LOOP;
	INSERT INTO drawn_pair
	SELECT r.*, finds(fires_1.place, fires_1.within, fires_1.radius, part_1, part_2, a_1 = a_2, b_1 = b_2, distance)
		OR finds(fires_2.place, fires_2.within, fires_2.radius, part_2, part_1, a_1 = a_2, b_1 = b_2, distance)
	FROM (SELECT n, 1 + pick(2) AS part_1, 1 + pick(2) AS part_2, 1 + pick(3) AS src_1, 1 + pick(3) AS src_2, 1 + pick(2) AS a_1,
		1 + pick(2) AS a_2,
			1 + pick(2) AS b_1, 1 + pick(2) AS b_2, pick(10) AS distance, hashint8extended(n, round) AS fp FROM generate_series(1, 40) n) r
		JOIN drawn fires_1 ON fires_1.src = src_1 JOIN drawn fires_2 ON fires_2.src = src_2
	WHERE (fires_1.place = 'tree' OR part_1 = 1) AND (fires_2.place = 'tree' OR part_2 = 1);
END $$;
SQL
my ($found, $not_found, $needless, @passed) = (0, 0, 0);
for my $round (1 .. 25)
{
	$first->query_safe("CALL draw($round); BEGIN; INSERT INTO tree SELECT n, part_1, src_1, a_1, b_1, fp FROM drawn_pair");
	my @counts = split /\|/, $second->query_safe(<<'SQL');
SELECT count(*) FILTER (WHERE found), count(*) FILTER (WHERE NOT found), count(*) FILTER (WHERE NOT found AND waits),
	coalesce(string_agg(p::text, ' ' ORDER BY n) FILTER (WHERE found AND NOT waits) || ' of ' || (SELECT array_agg(d) FROM drawn d)::text, '')
FROM (SELECT *, waits(format('INSERT INTO tree VALUES (%s, %s, %s, %s, %s, %s)', 100 + n, part_2, src_2, a_2, b_2,
	fp # (SELECT coalesce(bit_xor(1::bigint << (6 * bit)), 0) FROM generate_series(1, distance) bit))) FROM drawn_pair) p
SQL
	$first->query_safe('ROLLBACK');
	$found += $counts[0];
	$not_found += $counts[1];
	$needless += $counts[2];
	push @passed, $counts[3] if $counts[3];
}
note "of $found pairs that a trigger would find, " . @passed . " did not wait in some round; of $not_found others $needless did";
cmp_ok($found, '>', 100, 'at random: many pairs would be found');
is("@passed", '', 'at random: all of them wait');
cmp_ok($needless, '<', $not_found, 'at random: not all of the others do');
$_->quit for $first, $second;

# Clusters: each tenant's are those of its own rows, and nothing else is in the table.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE member (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int, fp bigint);
CREATE INDEX ON member USING simhash (fp);
CREATE TABLE cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
CREATE INDEX ON cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON member FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE TRIGGER assign_truncated AFTER TRUNCATE ON member FOR EACH STATEMENT
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE VIEW should_be AS SELECT key, cluster_id FROM simhash_clusters('member', 'id', 'fp', 3, within => '{tenant}');
SQL
is(race('clusters', "BEGIN;\nINSERT INTO member (tenant, fp) VALUES (1 + pick(8), passing_fp());\nSELECT pg_sleep(0.002);\nCOMMIT;\n",
	2500), 0,
	'clusters: no deadlock, nothing to retry');
is($node->safe_psql('postgres', '(TABLE cluster EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE cluster)'), '',
	'clusters: they are those of each tenant');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM cluster'), '>', 0, 'clusters: there are some');

# A deferred trigger locks when it fires.
my $of_row = "FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'within=tenant')";
$node->safe_psql('postgres',
	"DROP TRIGGER assign ON member; CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON member DEFERRABLE INITIALLY DEFERRED $of_row");
is(race('deferred', "BEGIN;\nINSERT INTO member (tenant, fp) VALUES (1 + pick(8), passing_fp());\n"
	. "SET CONSTRAINTS ALL IMMEDIATE;\nSELECT pg_sleep(0.002);\nCOMMIT;\n", 1500), 0, 'deferred: nothing to retry');
is($node->safe_psql('postgres', '(TABLE cluster EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE cluster)'), '',
	'deferred: clusters are those of each tenant');
$node->safe_psql('postgres', "DROP TRIGGER assign ON member; CREATE TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON member $of_row");

# Statements of many rows never deadlock: copies of hot texts, of one tenant or of several in any order; rows near each other;
# rows that go while others come. An entry of a row that is left alone stays.
$node->safe_psql('postgres',
	'CREATE VIEW kept AS SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size
		FROM cluster) c WHERE size > 1');
my $hot = 'hashint8extended(pick(3), 3) # (1::bigint << 9 * pick(3))';
for my $case (
	[ 'one tenant', "INSERT INTO member (tenant, fp) SELECT t, $hot FROM pick(4) t, generate_series(1, 20);\n" ],
	[ 'several tenants', "INSERT INTO member (tenant, fp) SELECT pick(4), $hot FROM generate_series(1, 20);\n" ],
	[ 'near rows',
		"INSERT INTO member (tenant, fp) SELECT t, hashint8extended(f, 4) # (1::bigint << i)
			FROM pick(4) t, pick(1000000) f, generate_series(1, 10) i;\n" ],
	[ 'rows that go', "WITH new AS (INSERT INTO member (tenant, fp) SELECT pick(4), $hot FROM generate_series(1, 10))\n"
		. "DELETE FROM member WHERE id IN (SELECT id FROM member ORDER BY random() LIMIT 10 FOR UPDATE SKIP LOCKED);\n" ])
{
	my ($what, $statement) = @$case;
	$node->safe_psql('postgres', 'TRUNCATE member');
	is(race($what, $statement, 800), 0, "$what: no deadlock, nothing to retry");
	is($node->safe_psql('postgres', '(TABLE kept EXCEPT TABLE should_be) UNION ALL (TABLE should_be EXCEPT TABLE kept)'), '',
		"$what: clusters are true");
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
$node->safe_psql('postgres',
	'INSERT INTO member (tenant, fp) SELECT 1 + pick(8), hashint8extended(pick(60), 5) FROM generate_series(1, 300)');
is(race('one row changes', sprintf("DO \$\$ BEGIN IF random() < 0.5 THEN $change ELSE $store END IF; PERFORM pg_sleep(0.002); END \$\$;\n",
	1), 2000), 0,
	'one row changes: no deadlock, nothing to retry');
clusters_agree('one row changes');
race('several rows change', sprintf("BEGIN;\n$store\n$change\nCOMMIT;\n", 4), 150, sessions => 4);
clusters_agree('several rows change');

$node->stop;
done_testing();
