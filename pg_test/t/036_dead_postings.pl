# Scans remove the postings of dead rows that they meet: the next search, of whatever kind, looks at about as few pages as
# after VACUUM, and so does the trigger's. A row that has taken a dead one's address keeps its postings. Beside writers, VACUUM,
# a crash and a standby, whose pages are compared, each answer is that of reading the whole table.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $primary = new_node('primary', init => [ allows_streaming => 1 ], conf => <<'CONF');
wal_consistency_checking = 'generic,heap2'
max_wal_size = 2GB
jit = off
max_parallel_workers_per_gather = 0
hot_standby_feedback = on
wal_receiver_status_interval = 1s
max_standby_streaming_delay = 60s
CONF
my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;';
my $by_bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off;';
sub answer { return $primary->safe_psql('postgres', $_[0]); }
sub postings { return answer("SELECT rows + null_rows FROM simhash_index_stats('$_[0]')"); }

# The pages that a query looks at, and what it returns.
sub pages_of
{
	my ($settings, $query) = @_;
	my $pages = pages_looked_at(answer("$settings EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) $query"));
	return ($pages, answer("$settings SELECT coalesce(string_agg(id::text, ' '), '') FROM ($query) x"));
}

# ------------------------------------------------------------------ a row that is inserted after a search
# Rows of one fingerprint fill many leaves: the search begins at the first of them, an insert at the last.
answer(<<'SQL');
CREATE TABLE same (id int, fp bigint);
INSERT INTO same SELECT i, 42 FROM generate_series(1, 20000) i;
INSERT INTO same SELECT i, NULL FROM generate_series(1, 20000) i;
CREATE INDEX same_fp ON same USING simhash (fp);
SQL
for my $case ([ '42', 'fp <~> 42 <= 3' ], [ 'NULL', 'fp IS NULL' ])
{
	my ($fp, $condition) = @$case;
	my $insert = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) INSERT INTO same SELECT i, $fp FROM generate_series(1, 500) i";
	my $before = pages_looked_at(answer("SELECT 1; $insert"));
	my $after = pages_looked_at(answer("$by_index SELECT id FROM same WHERE $condition LIMIT 1; $insert"));
	cmp_ok($after, '<', 1.5 * $before, "after a search, rows with the fingerprint $fp are inserted as before it");
}
answer('DROP TABLE same');

# ------------------------------------------------------------------ a text that comes and goes
answer(<<'SQL');
CREATE TABLE few (id int, fp bigint, tenant int);
INSERT INTO few SELECT i, hashint8extended(i, 1), i % 100 FROM generate_series(1, 20000) i;
CREATE TABLE gone (fp bigint, tenant int);
INSERT INTO gone VALUES (42, 7), (NULL, 7);
CREATE INDEX few_fp ON few USING simhash (fp);
CREATE INDEX few_scoped ON few USING simhash (tenant, (fp # 0));
-- One copy is left; what fills the last page lets it be pruned too.
CREATE PROCEDURE come_and_go(gone_fp bigint) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM few WHERE id > 20000;
	INSERT INTO few SELECT 20000 + i, gone_fp, 7 FROM generate_series(1, 8000) i;
	INSERT INTO few VALUES (30000, gone_fp, 7);
	INSERT INTO few SELECT 40000 + i, hashint8extended(i, 2), i % 100 FROM generate_series(1, 300) i;
	COMMIT;
	DELETE FROM few WHERE id BETWEEN 20001 AND 28000;
END $$;
SQL
my @searches = (
	[ 'within a radius', 42, 'SELECT id FROM few WHERE fp <~> 42 <= 3' ],
	[ 'to the first row', 42, 'SELECT id FROM few WHERE fp <~> 42 <= 3 LIMIT 1' ],
	[ 'within a wide radius', 42, 'SELECT id FROM few WHERE fp <~> 42 <= 12 AND id > 20000' ],
	[ 'the nearest', 42, 'SELECT id FROM few ORDER BY fp <~> 42 LIMIT 1' ],
	[ 'of a tenant', 42, 'SELECT id FROM few WHERE tenant = 7 AND fp # 0 <~> 42 <= 3' ],
	[ 'of some tenants', 42, 'SELECT id FROM few WHERE tenant IN (7, 8, 9) AND fp # 0 <~> 42 <= 3' ],
	[ 'the nearest of a tenant', 42, 'SELECT id FROM few WHERE tenant = 7 ORDER BY fp # 0 <~> 42 LIMIT 1' ],
	[ 'without a fingerprint', 'NULL', 'SELECT id FROM few WHERE fp IS NULL' ]);
for my $search (@searches)
{
	my ($what, $fp, $query) = @$search;
	answer("VACUUM few; CALL come_and_go($fp)");
	my ($bitmap_pages, $bitmap) = $query =~ /ORDER|LIMIT/ ? (0, 30000) : pages_of($by_bitmap, $query);
	my ($first, $second) = map { answer("$by_index EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) $query") } 1 .. 2;
	($first, $second) = map { pages_looked_at($_) } $first, $second;
	my (undef, $ids) = pages_of($by_index, $query);
	is("$bitmap, $ids", '30000, 30000', "$what: the row that is left is found");
	answer('VACUUM (INDEX_CLEANUP ON) few');
	my ($clean) = pages_of($by_index, $query);
	cmp_ok($second, '<=', $clean + 8, "$what: $first pages, then $second, after VACUUM $clean");
	# Which stood on 43 pages of the table.
	cmp_ok($first, '>', $second + 40, "$what: the first search met the dead rows");
}
is_sound($primary, 'few', 'few_fp', 'after all searches', 2);

# ------------------------------------------------------------------ what removes nothing
answer('CALL come_and_go(42)');
my $before = postings('few_fp');
pages_of($by_bitmap, 'SELECT id FROM few WHERE fp <~> 42 <= 3') for 1 .. 2;
is(postings('few_fp'), $before, 'a bitmap scan removes nothing');
# Rows that another session may still see.
my $old = open_session($primary);
answer('DELETE FROM few WHERE id > 20000; INSERT INTO few SELECT 20000 + i, 43, 7 FROM generate_series(1, 4000) i');
is($old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM few WHERE fp = 43'), 4000, 'a session sees rows');
answer('DELETE FROM few WHERE fp = 43');
$before = postings('few_fp');
is(answer("$by_index SELECT count(*) FROM few WHERE fp <~> 43 <= 0"), 0, 'that others do not see') for 1 .. 2;
is(postings('few_fp'), $before, 'no search removes them');
is($old->query_safe("$by_index SELECT count(*) FROM few WHERE fp <~> 43 <= 0"), 4000, 'and that session finds them by the index');
$old->query_safe('COMMIT');
answer("$by_index SELECT count(*) FROM few WHERE fp <~> 43 <= 0") for 1 .. 2;
cmp_ok(postings('few_fp'), '<', $before - 3500, 'when it has ended, a search removes them');
answer('VACUUM few');

# ------------------------------------------------------------------ the trigger's own searches
for my $case ([ 'the first row of a statement', '(1, 42)' ], [ 'a later row', '(1, 7), (2, 42)' ])
{
	my ($what, $rows) = @$case;
	answer(<<'SQL');
DROP TABLE IF EXISTS flagged;
CREATE TABLE flagged (id int, fp bigint, is_dup boolean);
INSERT INTO flagged SELECT i, hashint8extended(i, 1) FROM generate_series(1, 20000) i;
CREATE INDEX flagged_fp ON flagged USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON flagged
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'radius=3');
ALTER TABLE flagged DISABLE TRIGGER flag;
INSERT INTO flagged SELECT 20000 + i, 42 FROM generate_series(1, 8000) i;
INSERT INTO flagged SELECT 30000 + i, hashint8extended(i, 2) FROM generate_series(1, 300) i;
ALTER TABLE flagged ENABLE TRIGGER flag;
ANALYZE flagged;
DELETE FROM flagged WHERE fp = 42;
SQL
	cmp_ok(postings('flagged_fp'), '>', 28000, "$what: the dead rows have postings");
	answer("INSERT INTO flagged (id, fp) VALUES $rows");
	cmp_ok(postings('flagged_fp'), '<', 20400, "$what: the trigger's search removes them");
	is(answer('SELECT count(*) FROM flagged WHERE is_dup'), 0, "$what: and has found no duplicate");
}

# ------------------------------------------------------------------ an address that is used again
# A cursor has met dead rows. VACUUM frees their addresses, and rows with the same fingerprint take them. Then the cursor ends.
for my $end ('CLOSE c', 'COMMIT', 'FETCH ALL FROM c; CLOSE c')
{
	answer('TRUNCATE few; INSERT INTO few SELECT i, hashint8extended(i, 1), i % 100 FROM generate_series(1, 20000) i; CALL come_and_go(42)');
	answer('CREATE TABLE places AS SELECT ctid AS place FROM few WHERE id = 30000');
	my $reader = open_session($primary);
	is($reader->query_safe("$by_index BEGIN; DECLARE c CURSOR FOR SELECT id FROM few WHERE fp <~> 42 <= 3; FETCH 1 FROM c"),
		30000, "$end: a cursor stands behind the dead rows");
	# Which removes the line pointers that the cursor has found dead.
	answer('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) few');
	answer('INSERT INTO few SELECT 20000 + i, 42, 7 FROM generate_series(1, 6000) i');
	cmp_ok(answer('SELECT count(*) FROM few, places WHERE fp = 42 AND few.ctid < place'), '>', 5000, "$end: rows have taken their addresses");
	$reader->query_safe($end);
	$reader->quit;
	is(answer("$by_index SELECT count(*) FROM few WHERE fp <~> 42 <= 3"), 6001, "$end: the index finds them");
	is_sound($primary, 'few', 'few_fp', $end, 1);
	answer('DROP TABLE places');
}
answer('DROP TABLE few, flagged');

# ------------------------------------------------------------------ beside writers, VACUUM, a crash and a standby
answer(<<'SQL');
-- Some texts that many rows have, and their near-duplicates.
CREATE FUNCTION hot_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.05 THEN NULL WHEN random() < 0.8 THEN hashint8extended(floor(random() * 4)::bigint, 1)
		ELSE flip(hashint8extended(floor(random() * 4)::bigint, 1), 2) END
$$;
CREATE TABLE d (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint, tenant int DEFAULT any_tenant());
CREATE INDEX d_fp ON d USING simhash (fp);
CREATE INDEX d_scoped ON d USING simhash (tenant as_numbered, (fp # 0));
INSERT INTO d (fp) SELECT hot_fp() FROM generate_series(1, 3000);
CREATE TABLE misses (what text);
CREATE TABLE done (what text);
-- A random question by an index; what is wrong with its answer, or NULL.
CREATE FUNCTION look() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	q bigint := hashint8extended(floor(random() * 4)::bigint, 1);
	radius int := (ARRAY[0, 0, 2, 3, 8])[1 + floor(random() * 5)::int];
	real text := format('bit_count((fp # %L::bigint)::bit(64)) <= %s', q, radius);
	asked text;
	got text;
	want text;
BEGIN
	CASE floor(random() * 4)::int
	WHEN 0 THEN asked := 'fp IS NULL'; real := asked;
	WHEN 1 THEN asked := format('tenant = 1 AND fp # 0 <~> %L <= %s', q, radius); real := 'tenant = 1 AND ' || real;
	WHEN 2 THEN asked := format('fp <~> %L <= %s ORDER BY fp <~> %1$L', q, radius);
	ELSE asked := format('fp <~> %L <= %s', q, radius);
	END CASE;
	PERFORM read_by('table');
	EXECUTE 'SELECT md5(string_agg(id::text, '' '' ORDER BY id)) FROM d WHERE ' || real INTO want;
	PERFORM read_by('index');
	PERFORM set_config('enable_sort', 'off', true);
	EXECUTE format('SELECT md5(string_agg(id::text, '' '' ORDER BY id)) FROM (SELECT id FROM d WHERE %s) x', asked) INTO got;
	RETURN CASE WHEN got IS DISTINCT FROM want THEN asked END;
END $$;
SQL
$primary->backup('base');
# Images of all pages make much log: none is removed that the standby has not read.
answer("SELECT pg_create_physical_replication_slot('standby', true)");
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'");
$standby->start;

my %writes = (
	insert => "\\set n random(1, 300)\nINSERT INTO d (fp) SELECT hot_fp() FROM generate_series(1, :n);\n",
	delete => "\\set r random(0, 10)\nDELETE FROM d WHERE id IN (SELECT id FROM d WHERE id % 11 = :r FOR UPDATE SKIP LOCKED);\n",
	update => "\\set r random(0, 40)\nUPDATE d SET fp = hot_fp() WHERE id IN (SELECT id FROM d WHERE id % 41 = :r FOR UPDATE SKIP LOCKED);\n",
	rollback => "BEGIN;\nINSERT INTO d (fp) SELECT hot_fp() FROM generate_series(1, 50);\nROLLBACK;\n",
	vacuum => "VACUUM (INDEX_CLEANUP ON) d;\n");
my $look = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nINSERT INTO misses SELECT fault FROM look() fault WHERE fault IS NOT NULL;\n"
  . "INSERT INTO done VALUES ('look');\nCOMMIT;\n";
sub start_writers
{
	my ($seconds) = @_;
	return start_load($primary, [ (map { "$writes{$_}INSERT INTO done VALUES ('$_');\n" } sort keys %writes), ($look) x 4 ],
		clients => 6, seconds => $seconds);
}
my @faults;
my $looks = 0;
sub look_on_standby
{
	my ($status, $out, $err) = $standby->psql('postgres', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT look(); COMMIT');
	push @faults, $out . $err if "$status$out$err" ne '0';
	return $looks++;
}

my $seconds = soak_seconds() || 8;
my $load = start_writers($seconds);
my $end = time + $seconds / 2;
look_on_standby() while time < $end;
$primary->stop('immediate');
$load->{run}->finish;
$primary->start;
is_sound($primary, 'd', 'd_fp', 'after a crash', 2);
$load = start_writers(int($seconds / 2));
$end = time + $seconds / 2;
look_on_standby() while time < $end;
ok($load->{run}->finish, 'no session failed') or diag ${ $load->{err} };
none_failed($primary, $load, 'no transaction failed');
is(join("\n", @faults), '', 'the standby answers as its table says');
is(answer('SELECT what FROM misses LIMIT 5'), '', 'each answer is that of the table');
# However slow the machine is.
is(answer("SELECT string_agg(DISTINCT what, ' ' ORDER BY what) FROM done"),
	'delete insert look rollback update vacuum', 'sessions wrote, vacuumed and looked');
cmp_ok($looks, '>=', 5, "in $looks looks on the standby");

# A standby removes nothing itself, and gets what the primary removes.
# In a table of its own, whose pages are full: the server prunes no others.
answer('CREATE TABLE e AS SELECT 42::bigint AS fp FROM generate_series(1, 8000);
	INSERT INTO e SELECT hot_fp() FROM generate_series(1, 300)');
answer('CREATE INDEX e_fp ON e USING simhash (fp); DELETE FROM e WHERE fp = 42');
my $count = "$by_index SELECT count(*) FROM e WHERE fp <~> 42 <= 0";
my $rows_of = "SELECT rows FROM simhash_index_stats('e_fp')";
$primary->wait_for_catchup($standby);
$before = $standby->safe_psql('postgres', $rows_of);
is($standby->safe_psql('postgres', $count), 0, 'a search on the standby') for 1 .. 2;
is($standby->safe_psql('postgres', $rows_of), $before, 'removes nothing');
# The standby has told the primary that a query may still see the rows, and tells it each second that none does.
for (1 .. 60)
{
	answer($count) for 1 .. 2;
	last if answer($rows_of) < $before - 7500;
	select(undef, undef, undef, 0.5);
}
# A transaction that only searches does not wait until its WAL is written.
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
cmp_ok($standby->safe_psql('postgres', $rows_of), '<', $before - 7500, 'one on the primary removes postings there and here');
is($standby->safe_psql('postgres', $count), 0, 'and the standby goes on searching');
is_sound($primary, 'd', 'd_fp', 'at the end', 4);
for my $index (qw(d_fp d_scoped e_fp))
{
	is($standby->safe_psql('postgres', "SELECT * FROM simhash_index_verify('$index', true)"), '', "the standby's $index is sound");
}
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'and its pages are those of the primary');
$standby->stop;
$primary->stop;
done_testing();
