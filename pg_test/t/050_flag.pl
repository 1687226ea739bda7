# The trigger simhash_flag_duplicate() between sessions: of two sessions that store near-duplicates of each
# other at once, one always has its row marked. By row, by statement, by COPY, at each isolation level, and with lock=off
# to prove that the test would notice a duplicate that is not marked. And over logical replication.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 16;
my $node = new_node('flag', conf => "deadlock_timeout = 20ms\nwal_level = logical\nmax_prepared_transactions = 2\n",
	init => [ allows_streaming => 'logical' ]);

# Rows come from $1 families; members of a family are within 2 bits of each other, mostly.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION family_fp(families int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT hashint8extended(floor(random() * families)::bigint, 3) # (1::bigint << floor(random() * 63)::int)
$$;
-- One of 50 families, and other ones every tenth of a second: the first members of a family often arrive
-- at the same time, as long as the load goes on.
CREATE FUNCTION passing_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT hashint8extended(floor(random() * 50)::bigint + 50 * floor(extract(epoch FROM clock_timestamp()) * 10)::bigint, 3)
		# (1::bigint << floor(random() * 63)::int)
$$;
SET check_function_bodies = off;
-- Originals that are near-duplicates of each other, by counting bits.
CREATE FUNCTION missed(k int) RETURNS bigint LANGUAGE sql STABLE AS $$
	WITH originals AS MATERIALIZED (SELECT id, fp FROM race WHERE NOT is_dup)
	SELECT count(*) FROM originals a, originals b WHERE a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= k
$$;
-- Rows whose marks contradict each other, or that point at a row that is too far or not there.
CREATE FUNCTION contradictions(k int) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT count(*) FROM race a LEFT JOIN race o ON a.dup = o.id
	WHERE a.is_dup IS DISTINCT FROM (a.dup IS NOT NULL) OR a.is_dup AND (o.id IS NULL OR bit_count((a.fp # o.fp)::bit(64)) > k)
$$;
SQL

sub fresh_table
{
	my ($arguments, $partitions) = @_;
	my ($key, $partitioned) = $partitions ? ('(part, id)', 'PARTITION BY LIST (part)') : ('(id)', '');
	$node->safe_psql('postgres', join "\n", 'DROP TABLE IF EXISTS race;', <<"SQL",
CREATE SEQUENCE IF NOT EXISTS race_id;
ALTER SEQUENCE race_id RESTART;
CREATE TABLE race (id bigint DEFAULT nextval('race_id'), fp bigint, is_dup boolean, dup bigint, part int DEFAULT 0,
	PRIMARY KEY $key) $partitioned;
CREATE INDEX race_fp ON race USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON race
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup', 'key=id', $arguments);
SQL
		map { "CREATE TABLE race_$_ PARTITION OF race FOR VALUES IN ($_);" } 0 .. ($partitions // 0) - 1);
	return;
}

# 16 sessions run the script until that number of transactions is done, or for some seconds in a soak; returns how many were sent back.
sub race
{
	my ($what, $script, $transactions, $isolation) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $race = run_sessions($node, $script, sessions => $sessions, isolation => $isolation,
		transactions => $transactions, seconds => int(soak_seconds() / 8));
	is($race->{errors}, '', "$what: no session failed, and no transaction for another reason than concurrency");
	cmp_ok($race->{done}, '>=', $sessions, "$what: $race->{done} transactions, $race->{sent_back} sent back");
	return $race->{sent_back};
}

sub nothing_missed
{
	my ($what, $k) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rows = $node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE is_dup) FROM race');
	note "$what: rows|duplicates $rows";
	is($node->safe_psql('postgres', "SELECT missed($k)"), 0, "$what: no near-duplicates among the originals");
	is($node->safe_psql('postgres', "SELECT contradictions($k)"), 0, "$what: each duplicate points at a row within $k");
	return;
}

# The pause makes transactions overlap between their check and their commit.
my $one_row = "BEGIN;\nINSERT INTO race (fp) VALUES (passing_fp());\nSELECT pg_sleep(0.002);\nCOMMIT;\n";

fresh_table("'lock=off'");
race('lock=off', $one_row, 2000, 'read committed');
cmp_ok($node->safe_psql('postgres', 'SELECT missed(3)'), '>', 0, 'lock=off: near-duplicates pass, so the test can see them');

fresh_table("'radius=3'");
my $retried = race('single rows', $one_row, 4000, 'read committed');
is($retried, 0, 'single rows: no deadlock, nothing to retry');
nothing_missed('single rows', 3);

fresh_table("'radius=8'");
is(race('radius 8', $one_row, 1500, 'read committed'), 0, 'radius 8: nothing to retry');
nothing_missed('radius 8', 8);

# Two triggers with different radii, of which a row fires one: each sees what passed the other.
sub two_triggers
{
	fresh_table("'radius=3'");
	$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON race FOR EACH ROW WHEN (NEW.id % 2 = 0)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup', 'key=id', 'radius=3');
CREATE TRIGGER wide BEFORE INSERT ON race FOR EACH ROW WHEN (NEW.id % 2 = 1)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup', 'key=id', 'radius=8');
SQL
	return;
}
for my $level ('read committed', 'repeatable read', 'serializable')
{
	two_triggers();
	race("two triggers, $level", $one_row, 1200, $level);
	nothing_missed("two triggers, $level", 3);
}

# A snapshot that is older than the row that it must not miss.
my $old_snapshot =
	"BEGIN;\nSELECT count(*) FROM race WHERE id < 10;\nINSERT INTO race (fp) VALUES (passing_fp());\nSELECT pg_sleep(0.002);\nCOMMIT;\n";
fresh_table("'radius=3'");
cmp_ok(race('repeatable read', $old_snapshot, 2000, 'repeatable read'), '>', 0, 'repeatable read: some transactions were sent back');
nothing_missed('repeatable read', 3);
fresh_table("'radius=3'");
race('serializable', $old_snapshot, 1500, 'serializable');
nothing_missed('serializable', 3);

# A transaction that is sent back finds the other's row when it is tried again.
fresh_table("'radius=3'");
for my $case ([ 'repeatable read', 0 ], [ 'serializable', -1 ])
{
	my ($level, $fp) = @$case;
	my $late = open_session($node);
	my $insert = "INSERT INTO race (fp) VALUES ($fp # 1); COMMIT";
	$late->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM race");
	$node->safe_psql('postgres', "INSERT INTO race (fp) VALUES ($fp)");
	$late->query($insert);
	like($late->{stderr}, qr/ERROR:  could not serialize access: another transaction has stored a near-duplicate in "race"/,
		"$level: sent back");
	$late->{stderr} = '';
	$late->query_safe("BEGIN ISOLATION LEVEL $level; $insert");
	is($node->safe_psql('postgres', "SELECT r.is_dup, o.fp FROM race r JOIN race o ON o.id = r.dup WHERE r.fp = $fp # 1"), "t|$fp",
		"$level: a duplicate when it is tried again");
	$late->quit;
}

# Hashes of 256 bits, with an index on each part: none is missed, and hashes that are alike in three parts of four do not wait.
sub long_hashes
{
	my ($what, $arguments) = @_;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS long_race;
CREATE TABLE long_race (id bigserial PRIMARY KEY, pdq bigint[], is_dup boolean);
CREATE INDEX ON long_race USING simhash ((pdq[1]));
CREATE INDEX ON long_race USING simhash ((pdq[2]));
CREATE INDEX ON long_race USING simhash ((pdq[3]));
CREATE INDEX ON long_race USING simhash ((pdq[4]));
CREATE TRIGGER flag BEFORE INSERT ON long_race
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=pdq', 'flag=is_dup', 'radius=31', $arguments);
-- Members of a family are within 23 bits of each other in one part, and 2 in each other one: most are near, some are not.
CREATE OR REPLACE FUNCTION passing_hash() RETURNS bigint[] LANGUAGE sql VOLATILE AS \$\$
	SELECT ARRAY(SELECT hashint8extended(f.family, p) # CASE p WHEN f.part THEN (1::bigint << floor(random() * 24)::int) - 1
		ELSE 1::bigint << floor(random() * 63)::int END FROM generate_series(1, 4) AS p)
	FROM (SELECT floor(random() * 50)::bigint + 50 * floor(extract(epoch FROM clock_timestamp()) * 10)::bigint AS family,
		1 + floor(random() * 4)::int AS part) AS f
\$\$;
SQL
	my $retried = race($what, "BEGIN;\nINSERT INTO long_race (pdq) VALUES (passing_hash());\nSELECT pg_sleep(0.002);\nCOMMIT;\n",
		1500, 'read committed');
	my ($rows, $missed) = split /\|/, $node->safe_psql('postgres', <<'SQL');
WITH originals AS MATERIALIZED (SELECT id, ('x' || fingerprint_parts_to_hex(pdq))::varbit AS bits FROM long_race WHERE NOT is_dup)
SELECT (SELECT count(*) FROM originals), count(*) FROM originals AS a, originals AS b WHERE a.id < b.id AND bit_count(a.bits # b.bits) <= 31
SQL
	note "$what: $rows originals";
	return ($missed, $retried);
}

cmp_ok((long_hashes('256 bits, lock=off', "'lock=off'"))[0], '>', 0, '256 bits, lock=off: near-duplicates pass, so the test can see them');
is(join(' ', long_hashes('256 bits', "'lock=on'")), '0 0', '256 bits: no near-duplicates among the originals, no deadlock');
# 31 bits in one part or in all are waited for; 32 are not, nor is another order of the parts.
my ($holds, $asks) = map { open_session($node) } 1 .. 2;
create_waits($node);
$holds->query_safe("BEGIN; INSERT INTO long_race (pdq) VALUES ('{1,2,4,8}')");
is($asks->query_safe(<<'SQL'), 'ttt|ffff', '256 bits: a row waits for those within the radius of the whole hash, and for no others');
SELECT string_agg(left(waits(format('INSERT INTO long_race (pdq) VALUES (%L)', h))::text, 1), '' ORDER BY n) FILTER (WHERE n <= 3) || '|'
	|| string_agg(left(waits(format('INSERT INTO long_race (pdq) VALUES (%L)', h))::text, 1), '' ORDER BY n) FILTER (WHERE n > 3)
FROM (VALUES (1, ARRAY[1, 2, 4, 8]::bigint[]), (2, ARRAY[1, 2, 4 # (((1::bigint << 31) - 1) << 8), 8]), (3, ARRAY[1 # 255, 2 # 255, 4 # 255,
	8 # 127]),
	(4, ARRAY[1, 2, 4 # (((1::bigint << 32) - 1) << 8), 8]), (5, ARRAY[1 # 255, 2 # 255, 4 # 255, 8 # 255]), (6, ARRAY[1, 2, 4, ~8::bigint]),
		(7, ARRAY[~1::bigint, 1, 2, 4])) AS v (n, h)
SQL
$holds->query_safe('ROLLBACK');
$_->quit for $holds, $asks;

# Several near rows of a transaction come in any order: deadlocks are found, and others go on.
fresh_table("'radius=3'");
race('statements of 6 rows', "INSERT INTO race (fp) SELECT family_fp(3000) FROM generate_series(1, 6);\n", 1500, 'read committed');
nothing_missed('statements of 6 rows', 3);

# Rows that change: duplicates become originals and the other way round. A row that others are marked with stays an original,
# whatever it is near, so here the marks count: none may name a row that is marked itself.
fresh_table("'radius=3'");
$node->safe_psql('postgres', 'CREATE INDEX ON race (dup); INSERT INTO race (fp) SELECT family_fp(100) FROM generate_series(1, 500)');
my $update =
	"BEGIN;\nUPDATE race SET fp = family_fp(%d) WHERE id = (SELECT 1 + floor(random() * 500)::int);\nSELECT pg_sleep(0.001);\nCOMMIT;\n";
race('updates', sprintf($update, 100), 3000, 'read committed');
is($node->safe_psql('postgres', 'SELECT count(*) > 100, count(o.dup) FROM race a LEFT JOIN race o ON a.dup = o.id WHERE a.dup IS NOT NULL'),
	't|0', 'updates: no mark leads to a row that is marked');
# With a flag alone an unmarked row is compared with unmarked ones.
fresh_table("'radius=3'");
$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON race
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup');
INSERT INTO race (fp) SELECT family_fp(2000) FROM generate_series(1, 500);
SQL
race('updates of a flag', sprintf($update, 2000), 3000, 'read committed');
is($node->safe_psql('postgres', 'SELECT missed(3)'), 0, 'updates of a flag: no near-duplicates among the originals');

# Rows that arrive in all partitions while others move from one to another.
fresh_table("'radius=3'", 4);
race('partitions',
	"BEGIN;\nINSERT INTO race (fp, part) VALUES (family_fp(2000), floor(random() * 4)::int);\n"
	  . "UPDATE race SET part = (SELECT floor(random() * 4)::int)
	  	WHERE id = (SELECT 1 + floor(random() * 1000)::int);\nSELECT pg_sleep(0.001);\nCOMMIT;\n",
	2000, 'read committed');
nothing_missed('partitions', 3);

# A transaction that is prepared is waited for until it is committed, over a restart as well; so is one that has stored a row
# in a table which inherits from the one that is searched.
fresh_table("'radius=3'");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (race);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON child
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup', 'key=id', 'radius=3');
BEGIN; INSERT INTO child (fp) VALUES (0); PREPARE TRANSACTION 'first';
SQL
$node->restart;
my $waits = $node->background_psql('postgres');
$waits->query_until(qr/waiting/, "\\echo waiting\nINSERT INTO race (fp) VALUES (1);\n");
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted");
$node->safe_psql('postgres', "COMMIT PREPARED 'first'");
$waits->quit;
is($node->safe_psql('postgres', 'SELECT id, dup FROM race ORDER BY id'), "1|\n2|1", 'a prepared transaction is waited for');
$node->safe_psql('postgres', 'DROP TABLE child');

# Sessions that lock the table first do not deadlock.
fresh_table("'radius=3'");
race('statements behind a table lock',
	"BEGIN;\nLOCK TABLE race IN SHARE ROW EXCLUSIVE MODE;\nINSERT INTO race (fp) SELECT family_fp(4000)
		FROM generate_series(1, 100);\nCOMMIT;\n",
	400, 'read committed');
nothing_missed('statements behind a table lock', 3);

# COPY from all sessions at once.
fresh_table("'radius=3'");
my $rows = join '', map { "$_\n" } split /\n/,
  $node->safe_psql('postgres', 'SELECT family_fp(4000) FROM generate_series(1, 2000)');
my @runs = map {
	my ($in, $out, $err) = ("COPY race (fp) FROM STDIN;\n$rows\\.\n", '', '');
	{ err => \$err, run => IPC::Run::start([ 'psql', '-X', '-h', $node->host, '-p', $node->port, 'postgres' ], '<', \$in, '>',
		\$out, '2>', \$err) };
} 1 .. $sessions;
my $deadlocks = 0;
for my $copy (@runs)
{
	$copy->{run}->finish;
	$deadlocks++ if ${ $copy->{err} } =~ /deadlock detected/;
	unlike(${ $copy->{err} }, qr/ERROR:  (?!deadlock detected)/, 'COPY: no error but deadlocks');
}
note "$deadlocks of $sessions COPYs of 2,000 rows were victims of a deadlock";
cmp_ok($deadlocks, '<', $sessions, 'COPY: some succeeded');
nothing_missed('COPY', 3);

# A long COPY takes no locks for its rows.
fresh_table("'radius=3'");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT family_fp(60000) AS fp FROM generate_series(1, 100000);
SQL
my $path = $node->basedir . '/many.copy';
my $locks = $node->safe_psql('postgres', <<"SQL");
COPY many TO '$path';
BEGIN;
COPY race (fp) FROM '$path';
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
COMMIT;
SQL
is($locks, 0, 'a COPY of 100,000 rows holds no advisory locks');
is($node->safe_psql('postgres', <<'SQL'), 0, 'and misses no near-duplicate');
SELECT count(*) FROM race a JOIN race b ON a.fp <~> b.fp <= 3 AND a.id < b.id WHERE NOT a.is_dup AND NOT b.is_dup
SQL
is($node->safe_psql('postgres', 'SELECT contradictions(3)'), 0, 'and each duplicate points at a row within 3');

# Two sessions store near-duplicates of each other: the second waits for the first, and refuses then. Whatever the
# radii of the two triggers that they fire (the distance is the second one's), and wherever those stand.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE tree (id int, part int, src int, fp bigint, PRIMARY KEY (part, id)) PARTITION BY LIST (part);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2);
CREATE INDEX ON tree USING simhash (fp);
CREATE FUNCTION away(fp bigint, bits int) RETURNS bigint LANGUAGE sql AS $$
	SELECT fp # coalesce(bit_xor(1::bigint << bit), 0) FROM (SELECT bit FROM generate_series(0, 63) bit ORDER BY random() LIMIT bits) b
$$;
-- A trigger of rows from $2, which replaces the one before.
CREATE PROCEDURE watch(place text, src int, radius int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER of_%s BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.src = %s)
		EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', ''mode=reject'', ''key=id'', ''radius=%s'')', src, place, src, radius);
END $$;
-- Until another session waits for a transaction, or has ended its own.
CREATE PROCEDURE until_waiting(other int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 5000 LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE pid = other AND locktype = 'transactionid' AND NOT granted)
			OR i > 20 AND EXISTS (SELECT FROM pg_stat_activity WHERE pid = other AND state = 'idle');
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$;
SQL
my ($first, $second) = map { open_session($node) } 1 .. 2;
my $second_pid = $second->query_safe('SELECT pg_backend_pid()');
$first->query_safe('SET client_min_messages = warning');
my $no_triggers = join ' ', map { "DROP TRIGGER IF EXISTS of_1 ON $_; DROP TRIGGER IF EXISTS of_2 ON $_;" } 'tree', 'tree_1';
my @radii = (0, 3, 4, 8, 9, 12, 64);
# Where the trigger of the first and of the second row stands, the partitions of the rows, and which trigger each fires.
for my $places ([ 'tree', 'tree', 1, 2, 1, 2 ], [ 'tree', 'tree', 1, 2, 2, 1 ], [ 'tree', 'tree_1', 1, 1, 1, 2 ],
	[ 'tree_1', 'tree', 1, 2, 1, 2 ])
{
	my ($of_first, $of_second, $part_1, $part_2, $src_1, $src_2) = @$places;
	my @passed;
	$first->query_safe($no_triggers);
	for my $radius_1 (@radii)
	{
		$first->query_safe("CALL watch('$of_first', $src_1, $radius_1)");
		for my $radius_2 (@radii)
		{
			my ($fp, $near) = split /\|/, $first->query_safe("TRUNCATE tree; CALL watch('$of_second', $src_2, $radius_2); "
				. "SELECT fp, away(fp, $radius_2) FROM (SELECT hashint8extended((random() * 1e9)::int, 1) AS fp) r");
			$first->query_safe("BEGIN; INSERT INTO tree VALUES (1, $part_1, $src_1, $fp)");
			start_statement($second, "INSERT INTO tree VALUES (2, $part_2, $src_2, $near)");
			my $waited = $first->query_safe("CALL until_waiting($second_pid); "
				. "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $second_pid AND NOT granted); COMMIT");
			my $refusal = finish_statement($second);
			push @passed, "$radius_1, $radius_2" unless $waited eq 't' && $refusal =~ /ERROR:  near-duplicate of the row/;
		}
	}
	is("@passed", '', "triggers $src_1 on $of_first and $src_2 on $of_second: the second session waits, and refuses, whatever the radii");
}
# Whichever trigger is fired, a row is compared with those in progress for all triggers that search the same column: in each table
# within the widest radius. Triggers with lock=off or invalid arguments do not count.
$first->query_safe(<<'SQL');
DROP TABLE tree;
CREATE TABLE tree (id int PRIMARY KEY, src int, fp bigint, other bigint) PARTITION BY RANGE (id);
CREATE TABLE tree_low PARTITION OF tree FOR VALUES FROM (0) TO (10);
CREATE TABLE tree_high PARTITION OF tree FOR VALUES FROM (10) TO (20);
CREATE INDEX ON tree USING simhash (fp);
CREATE INDEX ON tree USING simhash (other);
CREATE TRIGGER a BEFORE INSERT ON tree FOR EACH ROW WHEN (NEW.src = 1)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=3');
CREATE TRIGGER b BEFORE INSERT ON tree FOR EACH ROW WHEN (NEW.src = 2)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=5');
CREATE TRIGGER c BEFORE INSERT ON tree_low FOR EACH ROW WHEN (NEW.src = 3)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=8');
CREATE TRIGGER d BEFORE INSERT ON tree FOR EACH ROW WHEN (NEW.src = 4)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=other', 'mode=reject', 'radius=1');
CREATE TRIGGER e BEFORE INSERT ON tree FOR EACH ROW WHEN (NEW.src = 5)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=20', 'lock=off');
CREATE TRIGGER f BEFORE INSERT ON tree FOR EACH ROW WHEN (NEW.src = 6)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=twenty');
-- The greatest distance at which such a row waits for one of fingerprints 0.
CREATE FUNCTION farthest(id int, src int) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(max(bits)::text, '-') FROM generate_series(0, 22) bits
	WHERE waits(format('INSERT INTO tree VALUES (%s, %s, %s, %s)', id, src, (1::bigint << bits) - 1, (1::bigint << bits) - 1))
$$;
SQL
my $farthest = 'SELECT ' . join " || ' ' || ", map { ("farthest(2, $_)", "farthest(12, $_)") } 1, 4;
# The trigger of the first row, where that is, and what waits for it: rows of trigger a and d, on each partition.
for my $case ([ 1, 'low', '8 5 - -' ], [ 1, 'high', '5 5 - -' ], [ 2, 'low', '8 5 - -' ], [ 2, 'high', '5 5 - -' ], [ 3, 'low', '8 5 - -' ],
	[ 3, 'high', '- - - -' ], [ 4, 'low', '- - 1 1' ], [ 4, 'high', '- - 1 1' ], [ 5, 'low', '- - - -' ], [ 7, 'low', '- - - -' ])
{
	my ($src, $place, $expected) = @$case;
	$first->query_safe('BEGIN; INSERT INTO tree VALUES (' . ($place eq 'low' ? 1 : 11) . ", $src, 0, 0)");
	is($second->query_safe($farthest), $expected, "trigger $src, $place: rows within the widest radius of a table wait");
	$first->query_safe('ROLLBACK');
}
$first->query('INSERT INTO tree VALUES (1, 6, 0, 0)');
like($first->{stderr}, qr/ERROR:  trigger argument "radius" must be a whole number/, 'invalid arguments refuse the row');
$first->{stderr} = '';
$first->query_safe('TRUNCATE tree');
# Rows that are not alike do not wait for each other at radius 8.
$first->query_safe("CREATE OR REPLACE TRIGGER b BEFORE INSERT ON tree FOR EACH ROW WHEN (NEW.src = 2) "
	. "EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=8'); BEGIN; INSERT INTO tree VALUES (1, 2, 0)");
is($second->query_safe('INSERT INTO tree VALUES (2, 2, -1) RETURNING id'), 2, 'radius 8: rows that are not alike do not wait');
$first->query_safe('COMMIT');
$_->quit for $first, $second;

# Rows that arrive by logical replication pass a trigger that is enabled for replicas or always.
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', <<'SQL');
CREATE EXTENSION simhash_dedup;
CREATE TABLE sent (id int PRIMARY KEY, fp bigint, is_dup boolean);
CREATE INDEX ON sent USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON sent FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup');
ALTER TABLE sent ENABLE ALWAYS TRIGGER flag;
INSERT INTO sent VALUES (1, 0);
SQL
my $connection = 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE sent (id int PRIMARY KEY, fp bigint, is_dup boolean);
CREATE PUBLICATION p FOR TABLE sent;
SELECT pg_create_logical_replication_slot('s', 'pgoutput');
SQL
$node->safe_psql('far', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p WITH (create_slot = false, copy_data = false)");
$node->safe_psql('postgres', 'INSERT INTO sent VALUES (2, 1), (3, -1)');
$node->poll_query_until('far', 'SELECT count(*) = 3 FROM sent');
is($node->safe_psql('far', 'SELECT id, is_dup FROM sent ORDER BY id'), "1|f\n2|t\n3|f", 'replicated rows are flagged');
$node->safe_psql('postgres', 'UPDATE sent SET fp = 3 WHERE id = 3');
$node->poll_query_until('far', 'SELECT is_dup FROM sent WHERE id = 3');
is($node->safe_psql('far', 'SELECT fp, is_dup FROM sent WHERE id = 3'), '3|t', 'replicated changes are flagged');
$node->safe_psql('far', 'DROP SUBSCRIPTION s');

# Names beyond ASCII where the database's encoding is not UTF-8: messages that hold them can be sent.
$node->safe_psql('postgres', "CREATE DATABASE chinese ENCODING 'EUC_CN' LOCALE 'C' TEMPLATE template0");
{
	local $ENV{PGCLIENTENCODING} = 'UTF8';
	my ($status, $out, $err) = $node->psql('chinese', <<'SQL');
CREATE EXTENSION simhash_dedup;
CREATE TABLE "信访" ("编号" int PRIMARY KEY, "指纹" bigint, "重复" int);
CREATE TRIGGER flag BEFORE INSERT ON "信访" FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=指纹', 'duplicate_of=重复');
INSERT INTO "信访" VALUES (1, 0), (2, 1);
SELECT * FROM "信访" ORDER BY 1;
SQL
	is($status, 0, 'EUC_CN: a warning is no error') or diag $err;
	is($out, "1|0|\n2|1|1", 'EUC_CN: columns are found by name');
	like($err, qr/WARNING:  table "\\u\{4fe1\}\\u\{8bbf\}" has no simhash index/, 'EUC_CN: the warning names the table');
	($status, $out, $err) = $node->psql('chinese', <<'SQL');
ALTER TABLE "信访" RENAME "指纹" TO fp;
INSERT INTO "信访" VALUES (3, 0);
SQL
	like($err, qr/ERROR:  column "\\u\{6307\}\\u\{7eb9\}" of relation "\\u\{4fe1\}\\u\{8bbf\}" does not exist/,
		'EUC_CN: an error names table and column');
}

$node->stop;
done_testing();
