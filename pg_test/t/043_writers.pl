# Rows in progress: a session that stores a row waits for those who have stored a near one and not yet committed, and for nothing
# else. Unlike rows never wait, however many a transaction stores; near rows are not missed, whatever the transactions do: savepoints
# and exceptions, prepared transactions, MERGE, COPY, moves between partitions, each mode and isolation level, sessions that are
# killed or cancelled, a server that is restarted. 050_flag.pl has more races, 051_within.pl those with within=.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 16;
# Waits of more than a millisecond are in the server's log; its shared memory is in files of its own.
my $node = new_node('writers', conf => <<'CONF');
deadlock_timeout = 1ms
log_lock_waits = on
max_prepared_transactions = 40
dynamic_shared_memory_type = mmap
restart_after_crash = on
CONF

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION pick(n int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT floor(random() * n)::int';
-- One of some families of near-duplicates, and other ones every tenth of a second: the first members of a family often arrive
-- at the same time, as long as the load goes on.
CREATE FUNCTION passing_fp(families int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT hashint8extended(pick(families) + families * floor(extract(epoch FROM clock_timestamp()) * 10)::bigint, 3) # (1::bigint << pick(63))
$$;
CREATE SEQUENCE unlike;
CREATE FUNCTION unlike_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT hashint8extended(nextval('unlike'), 7) $$;
SET check_function_bodies = off;
-- Pairs of rows of a tenant that are near-duplicates, by counting bits, both without a mark.
CREATE FUNCTION missed(k int) RETURNS bigint LANGUAGE sql STABLE AS $$
	WITH originals AS MATERIALIZED (SELECT id, tenant, fp FROM race WHERE is_dup IS NOT TRUE)
	SELECT count(*) FROM originals a JOIN originals b ON a.tenant = b.tenant AND a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= k
$$;
-- Rows whose marks contradict each other, or that point at a row that is too far or not there.
CREATE FUNCTION contradictions(k int) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT count(*) FROM race a LEFT JOIN race o ON a.dup = o.id AND a.tenant = o.tenant
	WHERE a.is_dup IS DISTINCT FROM (a.dup IS NOT NULL) OR a.is_dup AND (o.id IS NULL OR bit_count((a.fp # o.fp)::bit(64)) > k)
$$;
SQL
create_waits($node);

my $marks = "'flag=is_dup', 'duplicate_of=dup', ";

# The table race, with a trigger of these arguments; $partitions => in how many partitions.
sub fresh_table
{
	my ($arguments, $partitions) = @_;
	my ($key, $partitioned) = $partitions ? ('(part, id)', 'PARTITION BY LIST (part)') : ('(id)', '');
	$node->safe_psql('postgres', join "\n", 'SET client_min_messages = warning; DROP TABLE IF EXISTS race;', <<"SQL",
CREATE SEQUENCE IF NOT EXISTS race_id;
ALTER SEQUENCE race_id RESTART;
CREATE TABLE race (id bigint DEFAULT nextval('race_id'), tenant int DEFAULT 1, fp bigint, is_dup boolean, dup bigint, part int DEFAULT 0,
	PRIMARY KEY $key)
	$partitioned;
CREATE INDEX race_fp ON race USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON race
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=id', $arguments);
SQL
		map { "CREATE TABLE race_$_ PARTITION OF race FOR VALUES IN ($_);" } 0 .. ($partitions // 0) - 1);
	return;
}

# How often a process has waited for a transaction for more than a millisecond, since the log was this long.
sub waits_since
{
	my ($length) = @_;
	my @waits = substr(slurp_file($node->logfile), $length) =~ /still waiting for ShareLock on transaction/g;
	return scalar @waits;
}

# The sums of all races, for the last line.
my %all = (transactions => 0, pairs => 0, missed => 0, sent_back => 0);

# 16 sessions run the script until that number of transactions is done, or for some seconds in a soak. Returns how many were sent
# back (or savepoints of them), and how many waits there were.
sub race
{
	my ($what, $script, $transactions, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $length = -s $node->logfile;
	my $race = run_sessions($node, $script, sessions => $sessions, isolation => 'read committed', transactions => $transactions,
		seconds => int(soak_seconds() / 25), %options);
	is($race->{errors}, '', "$what: no session failed, and no transaction for another reason than concurrency");
	my $waits = waits_since($length);
	cmp_ok($race->{begun}, '>=', $sessions,
		"$what: $race->{begun} transactions, $race->{sent_back} errors that ask for another try, $waits waits");
	$all{transactions} += $race->{begun};
	$all{sent_back} += $race->{sent_back};
	return ($race->{sent_back}, $waits, $race->{done});
}

# Of all pairs of near rows, one is marked; returns how many pairs there are. Without marks no such pair is stored at all.
sub nothing_missed
{
	my ($what, $k, $marked) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($rows, $pairs, $missed, $contradictions) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT (SELECT count(*) FROM race), (SELECT count(*)
	FROM race a JOIN race b ON a.fp <~> b.fp <= $k AND a.tenant = b.tenant AND a.id < b.id),
	missed($k), contradictions($k)
SQL
	note "$what: $rows rows, $pairs near pairs, $missed missed";
	is($missed, 0, "$what: no near-duplicates among the originals");
	is($contradictions, 0, "$what: each duplicate points at a row within $k") if $marked;
	$all{pairs} += $pairs;
	$all{missed} += $missed;
	return $pairs;
}

# ---------------------------------------------------------------- two sessions

my ($first, $second, $third) = map { open_session($node) } 1 .. 3;
$_->query_safe('SET client_min_messages = error') for $first, $second, $third;
my %pid = map { $_ => $_->query_safe('SELECT pg_backend_pid()') } $first, $second, $third;

sub insert
{
	my ($id, $fp, $table) = @_;
	return "INSERT INTO " . ($table // 'race') . " (id, fp) VALUES ($id, $fp);";
}

# Whether a third session would wait if it stored such a row.
sub others_wait
{
	my ($fp, $table) = @_;
	return $third->query_safe('SELECT waits($$' . insert(999, $fp, $table) . '$$)');
}

# Starts a statement; whether it then waits for a transaction.
sub starts_waiting
{
	my ($session, $sql) = @_;
	start_statement($session, $sql);
	return waits_for($node, $pid{$session}, 'transactionid');
}

fresh_table("$marks 'radius=3'");
# Crosswise: a deadlock, whose message names both rows.
$first->query_safe('BEGIN;' . insert(1, 0));
$second->query_safe('BEGIN;' . insert(2, -1));
ok(starts_waiting($second, insert(4, 1)), 'crosswise: the second session waits for the first');
$first->query(insert(3, -2));
my $errors = $first->{stderr} . finish_statement($second);
$first->{stderr} = '';
like($errors, qr/ERROR:  deadlock detected/, 'crosswise: one of two sessions is sent back');
like($errors,
	qr/CONTEXT:  (?:waiting for [^\n]*\n)?while comparing the row with "id" = (?:4 in "race" with the uncommitted row with "id" = 1|3 in "race" with the uncommitted row with "id" = 2)$/m,
	'crosswise: the error names both rows');
$first->query('ROLLBACK');
$second->query('ROLLBACK');
$_->{stderr} = '' for $first, $second;

# The first has stored a, the second waits with b near it. What the first stores near b then is compared with b by the second: it goes on.
$first->query_safe('BEGIN;' . insert(1, 0));
ok(starts_waiting($second, insert(2, 3)), 'a row that waits already: the second session waits');
$first->query(insert(3, 1));
$first->query('COMMIT');
is($first->{stderr} . finish_statement($second), '', 'a row that waits already: no deadlock');
is($node->safe_psql('postgres', 'SELECT id, dup IS NOT NULL FROM race ORDER BY id'), "1|f\n2|t\n3|t",
	'a row that waits already: all but one are marked');

# A savepoint that is rolled back takes its rows along: who waits for one goes on at once, and the rows that come after it wait.
$first->query_safe('TRUNCATE race; BEGIN;' . insert(1, -1) . 'SAVEPOINT s;' . insert(2, 0));
ok(starts_waiting($second, 'BEGIN;' . insert(3, 1)), 'a savepoint: the second session waits');
$first->query_safe('ROLLBACK TO s');
is(finish_statement($second), '', 'a savepoint that is rolled back: the second session goes on while the first is open');
is(others_wait(-2), 't', 'a savepoint that is rolled back: rows from before it stay in progress');
ok(starts_waiting($first, insert(4, 0)), 'a savepoint that is rolled back: the first waits for what the second has stored meanwhile');
$second->query_safe('COMMIT');
is(finish_statement($first), '', 'a savepoint that is rolled back: no deadlock after it');
$first->query_safe('COMMIT');
is($node->safe_psql('postgres', 'SELECT id, dup FROM race ORDER BY id'), "1|\n3|\n4|3",
	'a savepoint that is rolled back: what comes after it sees the other row');
# Savepoints within it: those that were released go with it, also when it stores rows after them.
for my $case (
	[ 'a released savepoint', 'SAVEPOINT s; SAVEPOINT t;' . insert(2, 0) . 'RELEASE t;' ],
	[ 'a released savepoint, and a row after it', 'SAVEPOINT s; SAVEPOINT t;' . insert(2, 0) . 'RELEASE t;' . insert(5, 'unlike_fp()') ],
	[ 'two released savepoints', 'SAVEPOINT s; SAVEPOINT t; SAVEPOINT u;' . insert(2, 0) . 'RELEASE u;' . insert(5, 'unlike_fp()')
		. 'RELEASE t;' . insert(6, 'unlike_fp()') ],
	[ 'an exception block',
		"SAVEPOINT s; DO \$\$ BEGIN BEGIN @{[insert(2, 0)]} EXCEPTION WHEN division_by_zero THEN NULL; END; @{[insert(5, 'unlike_fp()')]} END \$\$;" ])
{
	my ($what, $rows) = @$case;
	$first->query_safe("TRUNCATE race; BEGIN; $rows");
	is(others_wait(1), 't', "$what: its row is in progress");
	$first->query_safe('ROLLBACK TO s');
	is(others_wait(1), 'f', "$what: no more when it is rolled back");
	$second->query_safe('BEGIN;' . insert(3, 1));
	ok(starts_waiting($first, insert(4, 0) . 'COMMIT'), "$what: then the transaction waits for a row that came meanwhile");
	$second->query_safe('COMMIT');
	is(finish_statement($first), '', "$what: and goes on");
	is($node->safe_psql('postgres', 'SELECT id, dup FROM race ORDER BY id'), "3|\n4|3", "$what: no near-duplicate is missed");
}

# Rows of a transaction that has ended are none of the next one's.
for my $end ('ROLLBACK', 'COMMIT')
{
	$first->query_safe('TRUNCATE race; BEGIN;' . insert(2, 0) . "$end; DELETE FROM race; BEGIN");
	is(others_wait(1), 'f', "$end: the row is not in progress any more");
	$second->query_safe('BEGIN;' . insert(3, 1));
	ok(starts_waiting($first, insert(4, 0)), "$end: the next transaction waits for a row that came meanwhile");
	$second->query_safe('COMMIT');
	finish_statement($first);
	$first->query_safe('COMMIT');
	is($node->safe_psql('postgres', 'SELECT id, dup FROM race ORDER BY id'), "3|\n4|3", "$end: no near-duplicate is missed");
}

# A row that is left out is not in progress.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE skipping (id bigint PRIMARY KEY, fp bigint);
CREATE INDEX ON skipping USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON skipping FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
INSERT INTO skipping VALUES (1, 0);
SQL
$first->query_safe('BEGIN;' . insert(2, -1, 'skipping') . insert(3, 3, 'skipping'));
is(others_wait(31, 'skipping'), 'f', 'mode=skip: nobody waits for a row that is left out');
is(others_wait(-2, 'skipping'), 't', 'mode=skip: but for one that is stored');
$first->query_safe('COMMIT');
is($node->safe_psql('postgres', 'SELECT id FROM skipping ORDER BY id'), "1\n2", 'mode=skip: it is left out');
# But while another session waits for it: that one is compared with what the transaction stores then.
$third->query_safe('TRUNCATE skipping; BEGIN;' . insert(1, 0, 'skipping'));
ok(starts_waiting($first, 'BEGIN;' . insert(2, 3, 'skipping')), 'mode=skip: a row waits');
ok(starts_waiting($second, insert(3, 31, 'skipping')), 'mode=skip: another one waits for it');
$third->query_safe('COMMIT');
is(finish_statement($first), '', 'mode=skip: the first of them is left out');
$first->query(insert(4, 30, 'skipping'));
$first->query('COMMIT');
is($first->{stderr} . finish_statement($second), '', 'mode=skip: and what the transaction stores then does not wait for the other one');
is($node->safe_psql('postgres', 'SELECT id FROM skipping ORDER BY id'), "1\n4", 'mode=skip: which sees it');

# A session that ends, or whose statement is cancelled while it waits, takes its rows along.
$first->query_safe('TRUNCATE race; BEGIN;' . insert(1, 0));
ok(starts_waiting($second, insert(2, 1)), 'a session that is ended: another waits for it');
$third->query_safe("SELECT pg_terminate_backend($pid{$first})");
is(finish_statement($second), '', 'a session that is ended: the other one goes on');
is($node->safe_psql('postgres', 'SELECT id, dup FROM race'), '2|', 'a session that is ended: its row is not there');
eval { $first->quit };
$first = open_session($node);
$pid{$first} = $first->query_safe('SELECT pg_backend_pid()');
for my $case ([ 'statement_timeout', "SET LOCAL statement_timeout = '50ms';" ], [ 'lock_timeout', "SET LOCAL lock_timeout = '50ms';" ],
	[ 'pg_cancel_backend', '' ])
{
	my ($what, $set) = @$case;
	$first->query_safe('TRUNCATE race; BEGIN;' . insert(1, 0));
	$second->query_safe("BEGIN; SAVEPOINT s; $set");
	# 3 is near 0 and 31, which are not near each other.
	start_statement($second, insert(2, 3));
	if ($set eq '')
	{
		waits_for($node, $pid{$second}, 'transactionid');
		is(others_wait(31), 't', "$what: the row that waits is in progress");
		$third->query_safe("SELECT pg_cancel_backend($pid{$second})");
	}
	like(finish_statement($second),
		qr/ERROR:  canceling statement.*CONTEXT:  (?:waiting for [^\n]*\n)?while comparing the row with "id" = 2 in "race" with the uncommitted row with "id" = 1$/ms,
		"$what: the statement ends, and its error names both rows");
	is(others_wait(31), 'f', "$what: its row is not in progress any more");
	$second->query_safe('ROLLBACK TO s; RESET statement_timeout; RESET lock_timeout;' . insert(3, 31));
	is(others_wait(31), 't', "$what: the transaction goes on");
	$_->query_safe('COMMIT') for $first, $second;
	is($node->safe_psql('postgres', 'SELECT id, dup FROM race ORDER BY id'), "1|\n3|", "$what: what was cancelled is not there");
}

# ---------------------------------------------------------------- prepared transactions

my $first_prepared = 'BEGIN;' . insert(1, 0) . insert(1, 0, 'parted_1') . "PREPARE TRANSACTION 'first'";
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE other (id bigint PRIMARY KEY, fp bigint, is_dup boolean);
CREATE INDEX ON other USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup');
CREATE TABLE parted (id bigint, fp bigint, is_dup boolean) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (10000);
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup');
SQL
for my $case ([ undef, 'COMMIT' ], [ undef, 'ROLLBACK' ], [ 'fast', 'COMMIT' ], [ 'immediate', 'COMMIT' ], [ 'immediate', 'ROLLBACK' ])
{
	my ($mode, $end) = @$case;
	my $what = 'a prepared transaction' . ($mode ? ", a restart ($mode)," : '') . " and $end PREPARED";
	$first->query_safe("TRUNCATE race, parted; $first_prepared");
	# The session goes on.
	$first->query_safe('BEGIN;' . insert(1, 'unlike_fp()', 'other') . 'ROLLBACK');
	if ($mode)
	{
		$node->stop($mode);
		eval { $_->quit } for $first, $second, $third;
		$node->start;
		($first, $second, $third) = map { open_session($node) } 1 .. 3;
		%pid = map { $_ => $_->query_safe('SELECT pg_backend_pid()') } $first, $second, $third;
	}
	is(others_wait(1), 't', "$what: a near row waits");
	# After a restart it is not known what the transaction has stored.
	is(others_wait(-1), $mode ? 't' : 'f', "$what: an unlike row of the table waits only if the server has restarted");
	is(others_wait(1, 'parted'), 't', "$what: a near row in another partition waits");
	is(others_wait(0, 'other'), 'f', "$what: a row of another table does not wait");
	ok(starts_waiting($second, insert(2, 1)), "$what: a session waits");
	$first->query_safe("$end PREPARED 'first'");
	is(finish_statement($second), '', "$what: it goes on");
	is($node->safe_psql('postgres', 'SELECT id, dup FROM race ORDER BY id'), $end eq 'COMMIT' ? "1|\n2|1" : '2|',
		"$what: and sees what is there");
	is(others_wait(-1), 'f', "$what: nobody waits any more");
}
# PREPARE TRANSACTION that fails: the row is withdrawn, and the session goes on.
$first->query_safe("TRUNCATE race, parted; $first_prepared");
$first->query('BEGIN;' . insert(2, -1) . "PREPARE TRANSACTION 'first'");
like($first->{stderr}, qr/ERROR:  transaction identifier "first" is already in use/, 'a name that is in use');
is(others_wait(-2), 'f', 'a name that is in use: the row is withdrawn');
is(others_wait(1), 't', 'a name that is in use: that of the other transaction is not');
$first->{stderr} = '';
$node->safe_psql('postgres', join ' ', map { 'BEGIN;' . insert($_, "hashint8extended($_, 9)") . "PREPARE TRANSACTION 'p$_';" } 2 .. 40);
$first->query('BEGIN;' . insert(41, -1) . "PREPARE TRANSACTION 'p41'");
like($first->{stderr}, qr/ERROR:  maximum number of prepared transactions reached/, 'too many prepared transactions');
is(others_wait(-2), 'f', 'too many prepared transactions: the row is withdrawn');
$first->{stderr} = '';
is($first->query_safe('SELECT count(*) FROM generate_series(2, 40) i
	WHERE waits(format($$INSERT INTO race (id, fp) VALUES (99, hashint8extended(%s, 9))$$, i))'), 39,
	'all prepared transactions are waited for');
$node->safe_psql('postgres', join ' ', "ROLLBACK PREPARED 'first';", map { "ROLLBACK PREPARED 'p$_';" } 2 .. 40);
is(others_wait(1), 'f', 'and none that has ended');

# ---------------------------------------------------------------- the stored row changes meanwhile

# A stored row that is being edited is waited for, since the new row may not be near it any more.
fresh_table("'mode=conflict', 'radius=3'");
$first->query_safe(insert(1, 0) . 'BEGIN; UPDATE race SET fp = -1 WHERE id = 1;');
ok(starts_waiting($second, 'INSERT INTO race (id, fp) VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET part = race.part + 1;'),
	'mode=conflict: an edit of the row that is near is waited for');
$first->query_safe('COMMIT');
finish_statement($second);
is($node->safe_psql('postgres', 'SELECT id, fp, part FROM race ORDER BY id'), "1|-1|0\n2|1|0", 'mode=conflict: then the row is new');
# One that gets another key is waited for, since the new row would be stored beside it, with its old key.
$first->query_safe('BEGIN; UPDATE race SET id = 100 WHERE id = 2;');
ok(starts_waiting($second, 'INSERT INTO race (id, fp) VALUES (3, 0) ON CONFLICT (id) DO UPDATE SET part = race.part + 1;'),
	'mode=conflict: another key of the row that is near is waited for');
$first->query_safe('COMMIT');
finish_statement($second);
is($node->safe_psql('postgres', 'SELECT id, fp, part FROM race ORDER BY id'), "1|-1|0\n100|1|1",
	'mode=conflict: then its new key is taken');
# In a transaction that keeps its snapshot a mark that is not true any more is an error to retry.
fresh_table("$marks 'radius=3'");
$first->query_safe(insert(1, 0) . insert(2, -1) . 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM race;');
$second->query_safe('UPDATE race SET fp = -2 WHERE id = 1');
start_statement($first, insert(3, 1));
like(finish_statement($first), qr/could not serialize access/, 'repeatable read: a mark that names a row which is marked by now');
$first->query_safe('ROLLBACK');
$node->safe_psql('postgres', 'TRUNCATE race');

# ---------------------------------------------------------------- memory

# The bytes of the memory that the server's processes share.
sub shared_bytes
{
	my $bytes = 0;
	$bytes += -s $_ // 0 for glob $node->data_dir . '/pg_dynshmem/mmap.*';
	return $bytes;
}

# Transactions of 64 rows take no more memory, however many there are at a time.
my @writers = map { open_session($node) } 1 .. 15;
my $rows = sub { "BEGIN; INSERT INTO race (id, fp) SELECT nextval('race_id'), unlike_fp() FROM generate_series(1, $_[0])" };
$_->query_safe("BEGIN; INSERT INTO race (id, fp) VALUES (nextval('race_id'), unlike_fp()); ROLLBACK") for @writers;
my $before = shared_bytes();
cmp_ok($before, '>', 0, "memory: $before bytes at first");
$_->query_safe($rows->(64)) for @writers;
is(shared_bytes(), $before, 'memory: 15 transactions of 64 rows take no more');
$_->query_safe('ROLLBACK') for @writers;
$_->query_safe($rows->(2000)) for @writers;
my $now = shared_bytes();
cmp_ok($now, '>', $before, "memory: 15 transactions of 2,000 rows take more, $now bytes");
$_->query_safe('ROLLBACK') for @writers;
# The server keeps what they took for the next ones.
$_->query_safe($rows->(2000)) for @writers;
is(shared_bytes(), $now, 'memory: which is used again');
$_->query_safe('ROLLBACK') for @writers;
$_->quit for @writers;

# Beyond the bound of a transaction, the table counts instead of rows. Four triggers on a tree have each row compared in four tables,
# so that it counts as four; in a soak it is a million rows of one table.
my $levels = soak_seconds() ? 1 : 4;
my $count = soak_seconds() ? 1_300_000 : 300_000;
my ($tree, $of) = ('', 'deep');
for my $level (1 .. $levels)
{
	my $name = $level == 1 ? 'deep (id int, fp bigint, is_dup boolean)' : "deep_$level PARTITION OF $of DEFAULT";
	$of = $level == 1 ? 'deep' : "deep_$level";
	my ($partitioned, $when) = $level < $levels ? ('PARTITION BY LIST (id)', 'WHEN (false)') : ('', '');
	$tree .= "CREATE TABLE $name $partitioned; CREATE TRIGGER flag_$level BEFORE INSERT ON $of FOR EACH ROW $when"
	  . " EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'radius=0');";
}
my $path = $node->basedir . '/many.copy';
$node->safe_psql('postgres',
	"$tree CREATE INDEX ON $of USING simhash (fp); COPY (SELECT i, hashint8extended(i, 11) FROM generate_series(1, $count) i) TO '$path'");
my $length = -s $node->logfile;
my $start = time;
$first->query_safe("BEGIN; COPY deep (id, fp) FROM '$path'");
note "a COPY of $count rows, each in $levels tables, took " . (time - $start) . ' s';
$now = shared_bytes();
cmp_ok($now, '<=', (96 << 20) + $before, "memory: then $now bytes, within the bound");
like(substr(slurp_file($node->logfile), $length), qr/LOG:  transaction \d+ stores too many rows to compare each with those of others/,
	'the log says so');
is(others_wait('hashint8extended(5, 11)', 'deep'), 't', 'beyond the bound: a near row waits');
is(others_wait("hashint8extended($count, 11)", 'deep'), 't', 'beyond the bound: also for a row that is not entered');
is(others_wait('hashint8extended(-5, 11)', 'deep'), 't', 'beyond the bound: an unlike row waits, too');
is(others_wait('hashint8extended(-5, 11)'), 'f', 'beyond the bound: one of another table does not');
ok(starts_waiting($second, insert(-1, "hashint8extended($count, 11)", 'deep')), 'beyond the bound: a session waits');
$first->query_safe('COMMIT');
is(finish_statement($second), '', 'beyond the bound: it goes on after the commit');
is($node->safe_psql('postgres', 'SELECT is_dup FROM deep WHERE id = -1'), 't', 'beyond the bound: and sees the row');
is(others_wait('hashint8extended(-5, 11)', 'deep'), 'f', 'beyond the bound: then nobody waits');
$first->query_safe("DELETE FROM deep; BEGIN; COPY deep (id, fp) FROM '$path' WHERE id <= $count / 10; ROLLBACK");
is(shared_bytes(), $now, 'memory: what it took is used again');
$_->quit for $first, $second, $third;
$node->safe_psql('postgres', 'DROP TABLE deep');

# ---------------------------------------------------------------- unlike rows

# They never wait, and no transaction is sent back.
my $unlike = 'INSERT INTO race (tenant, fp) SELECT 1 + pick(8), unlike_fp() FROM generate_series(1, %d);' . "\n";
my $one_unlike = "INSERT INTO race (tenant, fp) VALUES (1 + pick(8), unlike_fp());\n";
my $long = "BEGIN;\n" . $one_unlike x 5 . "SELECT pick(2) = 0 AS more \\gset\n\\if :more\n" . $one_unlike x 15 . "\\endif\nCOMMIT;\n";
for my $radius (3, 8, 10)
{
	fresh_table("$marks 'radius=$radius', 'within=tenant'");
	for my $case ([ 'statements of 10 rows', sprintf($unlike, 10), 640 ], [ 'statements of 100 rows', sprintf($unlike, 100), 80 ],
		[ 'transactions of 5 to 20 statements', $long, 320 ])
	{
		my ($what, $script, $transactions) = @$case;
		my ($sent_back, $waits) = race("unlike rows, radius $radius, $what", $script, $transactions);
		is($sent_back, 0, "unlike rows, radius $radius, $what: none is sent back");
		is($waits, 0, "unlike rows, radius $radius, $what: none waits");
	}
}

# ---------------------------------------------------------------- near rows

# Near rows crosswise, in all that a transaction can do. The pause makes transactions overlap.
sub pair { my ($families) = @_; return "INSERT INTO race (fp) VALUES (passing_fp($families)), (passing_fp($families));\n"; }
my $pause = "SELECT pg_sleep(0.002);\n";
my $savepoints = "BEGIN;\n" . pair(300) . "SAVEPOINT a;\n" . pair(300) . "ROLLBACK TO a;\n" . pair(300) . "SAVEPOINT b;\n"
	. pair(300) . "RELEASE b;\n"
  . "SAVEPOINT c;\nSAVEPOINT d;\n" . pair(300) . "RELEASE d;\n" . pair(300) . "ROLLBACK TO c;\n" . pair(300) . $pause . "COMMIT;\n";
for my $level ('read committed', 'repeatable read', 'serializable')
{
	fresh_table("$marks 'radius=3'");
	my (undef, $waits) = race("savepoints, $level", $savepoints, 400, isolation => $level);
	cmp_ok($waits, '>', 0, "savepoints, $level: near rows wait, so that the log shows it");
	nothing_missed("savepoints, $level", 3, 1);
}
fresh_table("$marks 'radius=8'");
race('exception blocks', <<'SQL', 500);
DO $$ BEGIN
	FOR i IN 1 .. 4 LOOP
		BEGIN
			BEGIN
				INSERT INTO race (fp) VALUES (passing_fp(200));
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			INSERT INTO race (fp) VALUES (passing_fp(200));
			IF random() < 0.5 THEN RAISE EXCEPTION 'undone'; END IF;
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
	END LOOP;
	PERFORM pg_sleep(0.002);
END $$;
SQL
nothing_missed('exception blocks', 8, 1);

fresh_table("$marks 'radius=3'");
race('MERGE',
	"BEGIN;\nMERGE INTO race USING (SELECT passing_fp(50) AS fp
		FROM generate_series(1, 2)) s ON race.id = -1 WHEN NOT MATCHED THEN INSERT (fp) VALUES (s.fp);\n"
	. "$pause COMMIT;\n", 800);
nothing_missed('MERGE, new rows', 3, 1);
# With a flag alone: with the key of the original beside it a row that others are marked with stays unmarked.
fresh_table("'flag=is_dup', 'radius=3'");
race('MERGE', "BEGIN;\nMERGE INTO race USING (SELECT 1 + pick(600) AS id, passing_fp(50) AS fp) s ON race.id = s.id\n"
	. "\tWHEN MATCHED THEN UPDATE SET fp = s.fp WHEN NOT MATCHED THEN INSERT (id, fp) VALUES (s.id, s.fp);\n$pause COMMIT;\n",
	1500, also => '23505');
nothing_missed('MERGE, changes', 3);

fresh_table("$marks 'radius=3'");
my $files = $node->basedir . '/copy_';
$node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN
	FOR i IN 0 .. 199 LOOP
		EXECUTE format('COPY (SELECT hashint8extended(pick(1500), 5) # (1::bigint << pick(63)) FROM generate_series(1, 8)) TO %L', '$files' || i);
	END LOOP;
END \$\$
SQL
race('COPY', "SELECT '$files' || pick(200) AS path \\gset\nBEGIN;\nCOPY race (fp) FROM :'path';\n$pause COMMIT;\n", 500);
nothing_missed('COPY', 3, 1);

fresh_table("$marks 'radius=3'", 4);
race('moves', "BEGIN;\nINSERT INTO race (fp, part) VALUES (passing_fp(50), pick(4)), (passing_fp(50), pick(4));\n"
	. "SAVEPOINT a;\nUPDATE race SET part = (SELECT pick(4)) WHERE id = (SELECT 1 + pick(500));\nSELECT pick(2) = 0 AS undo \\gset\n\\if :undo\nROLLBACK TO a;\n\\endif\n"
	. "INSERT INTO race (fp, part) VALUES (passing_fp(50), pick(4));\n$pause COMMIT;\n", 600);
nothing_missed('moves', 3, 1);

for my $mode ('reject', 'skip')
{
	fresh_table("'mode=$mode', 'radius=3'");
	race("mode=$mode, savepoints", $savepoints, 400, also => '23P01');
	is(nothing_missed("mode=$mode, savepoints", 3), 0, "mode=$mode: no near rows are stored");
	fresh_table("'mode=$mode', 'radius=8'");
	race("mode=$mode, statements", "BEGIN;\n" . pair(200) . pair(200) . $pause . "COMMIT;\n", 600, also => '23P01',
		isolation => 'repeatable read');
	is(nothing_missed("mode=$mode, statements", 8), 0, "mode=$mode: no near rows are stored");
}

# Prepared transactions, which another session commits or rolls back.
fresh_table("$marks 'radius=3'");
$node->safe_psql('postgres', 'CREATE SEQUENCE gid; CREATE TABLE over (n int)');
my $ender = $node->basedir . '/ender.sql';
open my $fh, '>', $ender or die "$ender: $!";
print $fh <<'SQL' for 1 .. 200 * (60 + soak_seconds());
SELECT format(CASE WHEN random() < 0.3 THEN 'ROLLBACK PREPARED %L' ELSE 'COMMIT PREPARED %L' END, gid) FROM pg_prepared_xacts \gexec
SELECT (SELECT count(*) FROM over) > 0 AND NOT EXISTS (SELECT FROM pg_prepared_xacts) AS over FROM pg_sleep(0.002) \gset
\if :over
\q
\endif
SQL
close $fh;
my $ended = IPC::Run::start([ 'psql', '-X', '-q', '-f', $ender, '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \my $ender_out,
	'2>', \my $ender_err);
race('prepared', "SELECT 'g' || nextval('gid') AS gid \\gset\nBEGIN;\n" . pair(100) . "SAVEPOINT a;\n" . pair(100)
	. "ROLLBACK TO a;\n" . pair(100)
	. "PREPARE TRANSACTION :'gid';\n", 600);
$node->safe_psql('postgres', 'INSERT INTO over VALUES (1)');
$ended->finish;
# PREPARE TRANSACTION shows it a little before it lets go of it.
is(join('', grep { !/ERROR:  prepared transaction with identifier "g\d+" is busy$/ } split /^/, $ender_err), '',
	'prepared: another session has ended them all');
nothing_missed('prepared', 3, 1);

# ---------------------------------------------------------------- get or create

fresh_table("'mode=conflict', 'radius=3'");
my $get_or_create =
	"BEGIN;\nINSERT INTO race (fp) VALUES (passing_fp(20)) ON CONFLICT (id) DO UPDATE SET part = race.part + 1 RETURNING id \\gset\n$pause COMMIT;\n";
my (undef, undef, $done) = race('mode=conflict', $get_or_create, 2000);
nothing_missed('mode=conflict', 3);
# Each call has stored a row or changed one; without a row \gset would have been an error.
my ($calls, $rows) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*) + sum(part), count(*) FROM race');
is($calls, $done, "mode=conflict: $calls calls have returned one of $rows rows");
# How many of them depends on how fast the machine is: families pass.
cmp_ok($rows, '<', $calls - 100, 'mode=conflict: some of them one that was there');

# Many at once: each input has a row, also where two of a batch are near, and one call in all is told that it is new.
fresh_table("'mode=conflict', 'radius=3'");
$node->safe_psql('postgres', q{
	CREATE TABLE told (id int, is_new boolean);
	CREATE FUNCTION remember(bigint, OUT id int, OUT is_new boolean) LANGUAGE sql AS $$
		INSERT INTO race (fp) VALUES ($1) ON CONFLICT (id) DO UPDATE SET part = race.part + 1 RETURNING race.id, race.xmax = 0 $$});
my (undef, undef, $batches) = race('many at once',
	"INSERT INTO told SELECT r.* FROM generate_series(1, 5) i, LATERAL (SELECT passing_fp(20) + 0 * i) b (fp), LATERAL remember(b.fp) r;\n", 1000);
nothing_missed('many at once', 3);
is($node->safe_psql('postgres', 'SELECT count(*), (SELECT count(*) + sum(part) FROM race) FROM told'), 5 * $batches . '|' . 5 * $batches,
	'many at once: a row for each input');
is($node->safe_psql('postgres', 'SELECT count(*) FROM race FULL JOIN (SELECT id, count(*) FILTER (WHERE is_new) AS n FROM told GROUP BY id) t USING (id)
	WHERE n IS DISTINCT FROM 1'), 0, 'many at once: each is new once');

# The same of texts, compared by the index on them.
$node->safe_psql('postgres', q{
	CREATE TABLE note (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, seen int DEFAULT 1);
	CREATE INDEX ON note USING simhash (body);
	CREATE TRIGGER once BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('mode=conflict');
	CREATE FUNCTION passing_text(families int) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT CASE pick(3) WHEN 0 THEN upper(t) WHEN 1 THEN t || '!' ELSE t END FROM (SELECT 'Please call ' || translate(
			md5((pick(families) + families * floor(extract(epoch FROM clock_timestamp()) * 10)::bigint)::text), '0123456789', 'ghijklmnop')
			|| ' about the lamp in the yard') p (t) $$});
(undef, undef, $done) = race('texts', "BEGIN;\nINSERT INTO note (body) VALUES (passing_text(20)) ON CONFLICT (id) DO UPDATE "
	. "SET seen = note.seen + 1 RETURNING id \\gset\n$pause COMMIT;\n", 2000);
is($node->safe_psql('postgres', 'SELECT sum(seen) FROM note'), $done, 'texts: each call has returned a row');
is($node->safe_psql('postgres', q(SELECT count(*) - count(DISTINCT lower(rtrim(body, '!'))) FROM note)), 0, 'texts: no near-duplicates are stored');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM note'), '<', $done - 100, 'texts: some of them were there');

# ---------------------------------------------------------------- a backend that is killed

fresh_table("$marks 'radius=3'");
my $load = start_load($node, [ "BEGIN;\nINSERT INTO race (fp) VALUES (passing_fp(25));\nSELECT pg_sleep(0.002);\nCOMMIT;\n" ],
	clients => 16, seconds => 60);
my $killed = open_session($node);
my $killed_pid = $killed->query_safe('SELECT pg_backend_pid()');
$killed->query_safe('BEGIN;' . insert(-1, 0));
is($node->safe_psql('postgres', 'SELECT waits($$' . insert(-2, 1) . '$$)'), 't', 'a row of the session that will be killed is in progress');
ok(kill_backend($node, 'SELECT pg_sleep%'), 'a backend is killed while its row is in progress');
eval { $load->{run}->finish };
eval { $killed->quit };
is($node->safe_psql('postgres', 'SELECT waits($$' . insert(-2, 1) . '$$)'), 'f', 'nothing stays in progress after it');
my ($sent_back) = race('after a backend was killed', "BEGIN;\nINSERT INTO race (fp) VALUES (passing_fp(25));\n$pause COMMIT;\n", 1000);
is($sent_back, 0, 'after a backend was killed: nothing to retry');
nothing_missed('after a backend was killed', 3, 1);

done_so_far("$all{transactions} transactions, $all{pairs} near pairs, $all{missed} missed, $all{sent_back} errors that ask for another try");
$node->stop;
done_testing();
