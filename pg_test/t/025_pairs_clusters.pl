# All pairs and clusters between sessions: cancels in every phase, temp_file_limit, progress, clusters
# kept current by many sessions at once.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('pairs', conf => "max_wal_size = 2GB\nlog_temp_files = 0\ntemp_file_limit = 1GB\nmax_prepared_transactions = 2\n");
# A fifth of the rows share one block, so that every phase takes a while.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp bigint);
INSERT INTO t (fp) SELECT CASE WHEN i % 5 = 0 THEN random_fp() & ((1::bigint << 48) - 1) ELSE random_fp() END
FROM generate_series(1, 200000) i;
CREATE TABLE equal AS SELECT i AS id, 42::bigint AS fp FROM generate_series(1, 30000) i;
CREATE VIEW copied AS SELECT id * 20 + i AS id, fp FROM t, generate_series(0, 19) i;
CREATE VIEW halves AS SELECT id, fp, id % 2 AS half FROM t;
CREATE VIEW even AS SELECT id, fp FROM t WHERE id % 2 = 0;
CREATE VIEW odd AS SELECT id, fp FROM t WHERE id % 2 = 1;
SQL

sub temporary_files
{
	my @files = glob($node->data_dir . '/base/pgsql_tmp/*');
	return scalar @files;
}

# The most memory that a process has had, in kB.
sub peak_memory
{
	my ($pid) = @_;
	return -r "/proc/$pid/status" ? (slurp_file("/proc/$pid/status") =~ /VmHWM:\s+(\d+) kB/)[0] : 0;
}

my %call = (
	'pairs' => "SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 8)",
	'clusters' => "SELECT count(*) FROM simhash_clusters('t', 'id', 'fp', 8)",
	'the radius report' => "SELECT * FROM simhash_radius_report('copied', 'id', 'fp', max_radius => 3, sample => 100)",
	'pairs of two relations' => "SELECT count(*) FROM simhash_pairs_between('even', 'id', 'fp', 't', 'id', 'fp', 9)",
	'pairs within' => "SELECT count(*) FROM simhash_pairs('halves', 'id', 'fp', 9, '{half}')",
	'pairs of equal rows' => "SELECT count(*) FROM simhash_pairs('equal', 'id', 'fp', 0)");
for my $what (sort keys %call)
{
	my $stopped = 0;
	my $slowest = 0;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	# 64 kB: in files; otherwise in memory.
	for my $memory ('64kB', '64MB')
	{
		for my $timeout (3, 10, 30)
		{
			my $start = processor_seconds($pid);
			$session->query("SET work_mem = '$memory'; SET statement_timeout = $timeout;\n$call{$what}");
			my $late = processor_seconds($pid) - $start - $timeout / 1000;
			$slowest = $late if $late > $slowest;
			$stopped++ if $session->{stderr} =~ /canceling statement due to statement timeout/;
			$session->{stderr} = '';
		}
	}
	$session->quit;
	cmp_ok($stopped, '>=', 6, "$what: stop in the middle");
	cmp_ok($slowest, '<', 3, "$what: stop soon");
}
is(temporary_files(), 0, 'no temporary file is left');

# Connected rows do not take all pairs of equal ones, which would be 4.5 x 10^10 here.
$node->safe_psql('postgres', 'CREATE TABLE mass AS SELECT i AS id, (42 # (1 << (i % 2)))::bigint AS fp FROM generate_series(1, 300000) i');
for my $memory ('64kB', '64MB')
{
	is($node->safe_psql('postgres', <<"SQL"), "300000|300000", "a mass of equal rows in $memory");
SET work_mem = '$memory'; SET statement_timeout = '60s';
SELECT count(*), max(size) FROM simhash_clusters('mass', 'id', 'fp');
SQL
}

# They are counts to the report: 2,000 sampled rows have 3 x 10^8 equal ones.
is($node->safe_psql('postgres', <<'SQL'), "0|t|t\n2|t|t", 'a radius report on a mass of equal rows');
SET work_mem = '512kB';
SELECT distance, pairs BETWEEN 22e9 AND 23e9, cardinality(low_example) = 2 FROM simhash_radius_report('mass', 'id', 'fp', max_radius => 2)
	WHERE distance <> 1;
SQL

# Nor where they are of several values that no division tells apart.
$node->safe_psql('postgres', 'CREATE TABLE masses AS SELECT i AS id, hashint8extended(i % 16, 1) AS fp FROM generate_series(1, 200000) i');
for my $memory ('64kB', '64MB')
{
	is($node->safe_psql('postgres', <<"SQL"), '200000', "masses of equal rows in $memory");
SET work_mem = '$memory'; SET statement_timeout = '20s';
SELECT count(*) FROM simhash_clusters('masses', 'id', 'fp', 15);
SQL
}

# A cancel takes effect while rows with pairs are sorted and grouped: a call that another session cancels as
# soon as that phase begins ends in a part of the processor time that the phase takes.
$node->safe_psql('postgres',
	"CREATE TABLE twins AS SELECT md5(i::text) AS id, hashint8extended(i / 2, 1) AS fp FROM generate_series(1, 300000) i");
$node->safe_psql('postgres', <<'SQL');
-- As the sub of that name.
CREATE FUNCTION processor_seconds(pid int) RETURNS float8 LANGUAGE sql RETURN (
	SELECT (field[14]::float8 + field[15]::float8) / 100 FROM string_to_array(pg_read_file('/proc/' || pid || '/stat'), ' ') AS field);
SQL
sub grouping
{
	my ($cancel) = @_;
	my $caller = $node->background_psql('postgres', on_error_stop => 0);
	my $watcher = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $caller->query_safe("SET work_mem = '64MB'; SELECT pg_backend_pid()");
	$caller->query_until(qr/started/,
		"\\echo started\nSELECT count(*) FROM simhash_clusters('twins', key_type => NULL::text, columns => 'fp', key => 'id', radius => 0, method => 'star');\n");
	my $seconds = $watcher->query_safe(<<"SQL");
DO \$\$
DECLARE
	begun float8;
BEGIN
	LOOP
		PERFORM pg_stat_clear_snapshot();
		IF begun IS NULL THEN
			IF (SELECT query ~ '^/. simhash_clusters: grouping ' FROM pg_stat_activity WHERE pid = $pid) THEN
				IF $cancel THEN
					PERFORM pg_cancel_backend($pid);
				END IF;
				begun := processor_seconds($pid);
			END IF;
		ELSIF (SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid) THEN
			PERFORM set_config('test.seconds', (processor_seconds($pid) - begun)::text, false);
			EXIT;
		END IF;
	END LOOP;
END \$\$;
SELECT current_setting('test.seconds');
SQL
	my $answer = $caller->query('');
	$answer .= $caller->{stderr};
	$caller->{stderr} = '';
	$_->quit for ($caller, $watcher);
	return ($seconds, $answer);
}
my ($whole, $answer) = grouping('false');
like($answer, qr/^299998$/m, 'grouping without a cancel');
(my $rest, $answer) = grouping('true');
like($answer, qr/canceling statement due to user request/, 'grouping is cancelled');
cmp_ok($rest, '<', $whole / 2, "grouping stops soon: $rest of $whole s");

# What does not fit in work_mem goes to temporary files, within temp_file_limit. (The server's message has
# the name of the setting in quotes from PostgreSQL 16 on.)
my ($status, $out, $err) = $node->psql('postgres',
	"SET work_mem = '1MB'; SET temp_file_limit = '4MB'; SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 0)");
like($err, qr/temporary file size exceeds "?temp_file_limit"? \(4096kB\)/, 'temp_file_limit is kept');
is(temporary_files(), 0, 'and leaves no file');
my $in_files = $node->safe_psql('postgres', "SET work_mem = '1MB'; SELECT count(*), sum(a), sum(b) FROM simhash_pairs('t', 'id', 'fp', 3)");
my $in_memory = $node->safe_psql('postgres',
	"SET work_mem = '64MB'; SELECT count(*), sum(a), sum(b) FROM simhash_pairs('t', 'id', 'fp', 3)");
is($in_files, $in_memory, 'files and memory find the same');
like(slurp_file($node->logfile), qr/temporary file: path/, 'files were used');

# Pairs of a clustering that work_mem does not hold: all numbers of 14 bits, of which each is near 469 others
# (46 MB of pairs), and with texts those of 11 bits. Files and memory group alike; memory stays in bounds.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE dense AS SELECT i AS id, hashint8extended(i, 1) AS place, i::bigint AS fp, 'row ' || i % 7 AS body
	FROM generate_series(0, 16383) i;
CREATE INDEX ON dense (place);
CREATE VIEW less_dense AS SELECT * FROM dense WHERE id < 2048;
SQL
for my $case ([ 'dense', '', '1MB', 12000 ], [ 'less_dense', ", 'body', 0.5", '64kB', 8000 ])
{
	my ($table, $text, $memory, $most) = @$case;
	for my $method ('star', 'leader', 'components')
	{
		my $grouped =
			"SELECT count(*), count(DISTINCT cluster_id), sum(hashint8extended(key, representative))
				FROM simhash_clusters('$table', 'place', 'fp', 3, '$method'$text)";
		my $session = $node->background_psql('postgres');
		my $pid = $session->query_safe("SET jit = off; SET work_mem = '$memory'; SELECT pg_backend_pid()");
		# What is loaded at the first call.
		$session->query_safe("SELECT count(*) FROM simhash_clusters('$table', 'place', 'fp', 0, '$method'$text)");
		my $before = peak_memory($pid);
		my $in_files = $session->query_safe($grouped);
		my $more = peak_memory($pid) - $before;
		$session->quit;
		my $in_memory = $node->safe_psql('postgres', "SET work_mem = '256MB'; $grouped");
		is($in_files, $in_memory, "$table by $method: files and memory group alike");
		cmp_ok($more, '<', $most, "$table by $method: in $more kB more") if -r '/proc/self/status';
	}
}
(undef, undef, $err) = $node->psql('postgres',
	"SET work_mem = '1MB'; SET temp_file_limit = '4MB'; SELECT count(*) FROM simhash_clusters('dense', 'place', 'fp', 3, 'star')");
like($err, qr/temporary file size exceeds "?temp_file_limit"? \(4096kB\)/, 'pairs of a clustering: temp_file_limit is kept');
is(temporary_files(), 0, 'pairs of a clustering: no file is left');
# The same of two relations and of rows that are equal in a column: the pairs of the whole table say what they are.
($status, $out, $err) = $node->psql('postgres',
	"SET work_mem = '1MB'; SET temp_file_limit = '4MB'; SELECT count(*) FROM simhash_pairs_between('even', 'id', 'fp', 't', 'id', 'fp', 0)");
like($err, qr/temporary file size exceeds "?temp_file_limit"? \(4096kB\)/, 'two relations: temp_file_limit is kept');
is(temporary_files(), 0, 'and leaves no file');
for my $memory ('256kB', '64MB')
{
	is($node->safe_psql('postgres', <<"SQL"), "t|t|t\nt|t|t", "two relations, and columns, in $memory");
SET work_mem = '$memory';
CREATE TEMP TABLE p AS SELECT * FROM simhash_pairs('t', 'id', 'fp', 7);
SELECT count(*) > 10, count(*) = (SELECT count(*) FROM p WHERE (a + b) % 2 = 1),
	sum(a::numeric * b * distance) = (SELECT sum(a::numeric * b * distance) FROM p WHERE (a + b) % 2 = 1)
FROM simhash_pairs_between('even', 'id', 'fp', 'odd', 'id', 'fp', 7);
SELECT count(*) > 10, count(*) = (SELECT count(*) FROM p WHERE (a + b) % 2 = 0),
	sum(a::numeric * b * distance) = (SELECT sum(a::numeric * b * distance) FROM p WHERE (a + b) % 2 = 0)
FROM simhash_pairs('halves', 'id', 'fp', 7, '{half}');
SQL
}

# A million rows and a million others, near each other: as many pairs as the table of both has across, and no more
# memory than work_mem, but for the result (1 MB) and buffers.
SKIP:
{
	skip 'no /proc', 1 unless -r '/proc/self/status';
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE million AS SELECT i AS id, i % 2 AS side,
	hashint8extended(i / 2, 1) # CASE WHEN i % 40 < 2 THEN 1::bigint << (i / 7 % 64)::int ELSE hashint8extended(i, 2) END AS fp
FROM generate_series(1, 2000000::bigint) i;
CREATE VIEW side_0 AS SELECT id, fp FROM million WHERE side = 0;
CREATE VIEW side_1 AS SELECT id, fp FROM million WHERE side = 1;
SQL
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe("SET jit = off; SELECT pg_backend_pid()");
	my $peak = sub { (slurp_file("/proc/$pid/status") =~ /VmHWM:\s+(\d+) kB/)[0] };
	# Everything that is loaded, and all shared buffers, once before.
	$session->query_safe("SELECT sum(id + fp % 2) FROM million;
		SELECT count(*) FROM simhash_pairs_between('side_0', 'id', 'fp', 'even', 'id', 'fp', 0)");
	for my $megabytes (8, 64)
	{
		my $before = $peak->();
		my $across = $session->query_safe("SET work_mem = '${megabytes}MB';
			SELECT count(*), sum(a::numeric * b * (distance + 1)) FROM simhash_pairs_between('side_0', 'id', 'fp', 'side_1', 'id', 'fp')");
		my $more = $peak->() - $before;
		cmp_ok($more, '<', ($megabytes + 8) * 1024, "two relations of a million rows in $megabytes MB: $more kB more");
		is($across, $session->query_safe('SELECT count(*), sum(a::numeric * b * (distance + 1))
			FROM simhash_pairs(\'million\', \'id\', \'fp\') WHERE (a + b) % 2 = 1'), 'as many pairs as across one');
		like($across, qr/^\d{5}\|/, 'some tens of thousands');
	}
	$session->quit;
}

# Out of memory is an ERROR, and the backend lives on, whichever phase it strikes: the limit of a backend's
# address space is raised bit by bit.
SKIP:
{
	skip 'no prlimit or no /proc', 1 unless limits_memory();
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE texts AS SELECT i AS id, i::text AS name, hashint8extended(i / 4, 1) AS fp, repeat(md5((i / 4)::text), 3) AS body
FROM generate_series(1, 60000) i;
CREATE INDEX ON texts (id);
CREATE TABLE few_texts AS SELECT * FROM texts LIMIT 50;
CREATE INDEX ON few_texts (id);
SQL
	my %call = (
		'star' => "SELECT count(*) FROM simhash_clusters('texts', 'id', 'fp', 0, 'star')",
		'components' => "SELECT count(*) FROM simhash_clusters('texts', 'id', 'fp', 0)",
		'keys by reference' => "SELECT count(*) FROM simhash_clusters('texts', key_type => NULL::text, columns => 'fp', key => 'name', radius => 0, method => 'leader')",
		'texts' => "SELECT count(*) FROM simhash_clusters('texts', 'id', 'fp', 0, text => 'body')",
		'the radius report' => "SELECT count(*) FROM simhash_radius_report('texts', 'id', 'fp', 'body', 2, 20000)",
		'pairs' => "SELECT count(*) FROM simhash_pairs('texts', key_type => NULL::text, columns => 'fp', key => 'name', radius => 0)",
		'pairs of two relations' => "SELECT count(*)
			FROM simhash_pairs_between('texts', key_type_a => NULL::text, columns_a => 'fp', relation_b => 'texts', key_type_b => NULL::text, columns_b => 'fp', key_a => 'name', key_b => 'name', radius => 0)");
	for my $what (sort keys %call)
	{
		my $right = $node->safe_psql('postgres', $call{$what});
		# A backend of its own: the C library keeps what an earlier call has freed, and lets this one have it.
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		# The compiler's library would be loaded, and ends the process when memory is short.
		my $pid = $session->query_safe("SET jit = off; SET work_mem = '1GB'; SELECT pg_backend_pid()");
		# Once on a few rows without a limit: what is loaded at the first call is there.
		$session->query_safe($call{$what} =~ s/\b(?=texts\b)/few_/gr);
		my ($errors, $others, $megabytes, $answer) = short_of_memory($session, $pid, $call{$what}, $right);
		is($others, '', "$what: out of memory $errors times, right with $megabytes MB more");
		is($answer, $right, "$what: right in the end");
		cmp_ok($errors, '>', 0, "$what: memory was short");
		is($session->query_safe('SELECT pg_backend_pid()'), $pid, "$what: the backend is still the same");
		$session->quit;
	}
}

# Nor do the keys by which texts are looked up: 8,192 rows are one cluster, whose pairs lie in all chunks of
# rows, so that some 500 times 256 keys of 700 bytes are asked for.
SKIP:
{
	skip 'no /proc', 1 unless -r '/proc/self/status';
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long_keys AS SELECT repeat(md5(i::text), 22) AS key, i::bigint AS fp, 'the same text'::text AS body
	FROM generate_series(0, 8191) i;
CREATE UNIQUE INDEX ON long_keys (key);
ANALYZE long_keys;
SQL
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe("SET jit = off; SELECT pg_backend_pid()");
	my $clusters =
		sub { "SELECT count(*), count(DISTINCT cluster_id) FROM simhash_clusters('long_keys', key_type => NULL::text, columns => 'fp', key => 'key', radius => 1, method => 'star'$_[0])" };
	my $plain = $session->query_safe($clusters->(''));
	my $before = peak_memory($pid);
	is($session->query_safe($clusters->(", text => 'body'")), $plain, 'clusters by long keys, with equal texts');
	my $more = peak_memory($pid) - $before;
	cmp_ok($more, '<', 20000, "and $more kB more");
	$session->quit;
}

# Others see how far a call is.
my $session = $node->background_psql('postgres', on_error_stop => 0);
# One long call: how far it is shows after half a second.
$session->query_until(qr/started/, "\\echo started\nSELECT 'watched', count(*) FROM simhash_pairs('t', 'id', 'fp', 13);\n");
ok($node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '/* simhash_pairs: % */ SELECT ''watched''%'"),
	'progress is shown');
$node->safe_psql('postgres',
	"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%''watched''%' AND pid <> pg_backend_pid()");
$session->quit;

# Whoever writes such a text, however large its numbers, is no harm to who watches.
my $liar = $node->background_psql('postgres');
$liar->query_until(qr/started/, "\\echo started\n/* simhash_pairs: lying: " . '9' x 30 . " */ SELECT pg_sleep(600);\n");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%lying%' AND pid <> pg_backend_pid()"),
	'a text with a number that is too large');
is($node->safe_psql('postgres', 'SELECT count(*) FROM simhash_progress()'), '0', 'is no progress');
$node->safe_psql('postgres',
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%lying%' AND pid <> pg_backend_pid()");
eval { $liar->quit };

# A search of a plain table ends when it is asked to, and shows how far it is. Every two rows are within 2 bits of each other.
$node->safe_psql('postgres',
	"CREATE TABLE many AS SELECT i AS id, hashint8extended(i / 2, 3) # (1::bigint << i % 64) AS fp FROM generate_series(1, 600000) i");
# Before a first group of them is compared, too, which takes a minute within 20 bits.
for my $asked (['pg_cancel_backend(pid)', '64MB', 12], ['pg_terminate_backend(pid)', '4MB', 20])
{
	my ($end, $memory, $radius) = @$asked;
	my $caller = $node->background_psql('postgres', on_error_stop => 0);
	$caller->query_until(qr/started/,
		"SET work_mem = '$memory';\n\\echo started\nSELECT 'asked', count(*) FROM simhash_pairs('many', 'id', 'fp', $radius);\n");
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM simhash_progress()
		WHERE doing = 'comparing fingerprints' AND done BETWEEN 0 AND total AND running BETWEEN '0' AND '10 s'"), "progress is shown: $end");
	is($node->safe_psql('postgres', 'SELECT datname, function, total FROM simhash_progress()'), 'postgres|simhash_pairs|100', 'of one call');
	$node->safe_psql('postgres', "SELECT $end FROM simhash_progress()");
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity
		WHERE query LIKE '%''asked''%' AND state = 'active' AND pid <> pg_backend_pid()"), 'it ends');
	is($caller->query('SELECT 1'), '1', 'the session goes on') if $end =~ /cancel/;
	eval { $caller->quit };
}
is($node->safe_psql('postgres', "SELECT count(*) FROM simhash_pairs('many', 'id', 'fp', 5)"), '299999', 'all pairs are found');

# An ERROR within a search, caught in a block: the transaction goes on.
{
	my ($status, $out, $err) = $node->psql('postgres', <<'SQL');
BEGIN;
INSERT INTO many VALUES (NULL, 5);
DO $$
BEGIN
	PERFORM count(*) FROM simhash_pairs('many', 'id', 'fp', 5);
	RAISE EXCEPTION 'a NULL key was not noticed';
EXCEPTION WHEN null_value_not_allowed THEN
	DELETE FROM many WHERE id IS NULL;
END $$;
SELECT count(*) FROM simhash_pairs('many', 'id', 'fp', 5);
COMMIT;
SQL
	is($err, '', 'an ERROR of a search is caught in a block');
	is($out, '299999', 'and the next search finds all pairs');
}

# A plain table is read without a query; a view is not, nor is a table that a query reads through an index.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wide AS SELECT i AS id, i::bigint AS fp, repeat(md5(i::text), 40) AS body FROM generate_series(1, 2000) i;
ALTER TABLE wide ALTER body SET STORAGE PLAIN;
UPDATE wide SET body = body || '!';
CREATE INDEX ON wide (fp, id);
VACUUM (ANALYZE) wide;
SQL
for my $case ([ 't', undef ], [ 'even', 'Seq Scan on t' ], [ 'wide', 'Index Only Scan using wide_fp_id_idx' ])
{
	my ($relation, $plan) = @$case;
	for my $function ('pairs', 'clusters')
	{
		(undef, undef, $err) = $node->psql('postgres', <<"SQL");
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET client_min_messages = log;
SELECT count(*) FROM simhash_$function('$relation', 'id', 'fp', 0);
SQL
		like($err, qr/Function Scan on simhash_$function/, "$function of $relation: the query is logged");
		$plan ? like($err, qr/$plan/, "$function of $relation: read by a query")
			: unlike($err, qr/Scan on t\b/, "$function of $relation: read without one");
	}
}

# All blocks are read, and each once.
my $blocks = $node->safe_psql('postgres', "SELECT pg_relation_size('many') / 8192");
my $explained = $node->safe_psql('postgres', <<'SQL');
EXPLAIN (ANALYZE, BUFFERS, TIMING off, COSTS off, SUMMARY off) SELECT count(*) FROM simhash_pairs('many', 'id', 'fp', 1);
SQL
my $read = 0;
$read += $1 while $explained =~ /^Aggregate.*?\n  Buffers: shared(?: hit=(\d+))/sg;
$read += $1 while $explained =~ /^Aggregate.*?\n  Buffers: shared(?: hit=\d+)? read=(\d+)/sg;
cmp_ok($read, '>=', $blocks, "$read blocks are read");
cmp_ok($read, '<', $blocks + 500, 'and each once');

# Without an index the trigger reads tables; its plan, which index scans are preferred for, is not compiled.
(undef, undef, $err) = $node->psql('postgres', <<'SQL');
CREATE TABLE plain (id int PRIMARY KEY, fp bigint);
CREATE TABLE plain_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON plain FOR EACH ROW
EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=plain_cluster', 'key=id', 'fingerprint=fp');
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on;
SET client_min_messages = log;
SET jit = on;
INSERT INTO plain VALUES (1, 1), (2, 1), (3, 1);
SQL
like($err, qr/Seq Scan on plain r.*INSERT INTO "public"."plain_cluster"/s,
	'the trigger reads tables without an index');
unlike($err, qr/JIT:/, 'and compiles nothing for it');

# Clusters kept current by eight sessions that insert rows near each other, some of which roll back: row by
# row, and at the end of the transaction.
my $live = sub {
	my ($trigger, $timing) = @_;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS live CASCADE;
DROP TABLE IF EXISTS live_cluster;
CREATE TABLE live (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp bigint);
CREATE INDEX live_fp ON live USING simhash (fp);
CREATE TABLE live_cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
CREATE INDEX ON live_cluster (cluster_id);
CREATE $trigger assign AFTER INSERT OR UPDATE OR DELETE ON live $timing FOR EACH ROW
EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=live_cluster', 'key=id', 'fingerprint=fp');
SQL
};
# Entries of the table of clusters that a full computation does not have, and the other way round.
my $drift = <<'SQL';
SELECT count(*) FROM live_cluster l
FULL JOIN simhash_clusters('live', 'id', 'fp', 3, 'components') c ON (l.key, l.cluster_id) = (c.key, c.cluster_id)
WHERE l.key IS NULL OR c.key IS NULL
SQL
my @deferred = ('CONSTRAINT TRIGGER', 'DEFERRABLE INITIALLY DEFERRED');
my @scripts = map { <<"SQL" } ('COMMIT', 'ROLLBACK');
\\set n random(1, 60)
\\set bits random(0, 4)
BEGIN;
INSERT INTO live (fp) VALUES (flip(hashint8extended(:n, 0), :bits));
$_;
SQL
my $old_snapshot = <<'SQL';
\set n random(1, 60)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM live;
INSERT INTO live (fp) VALUES (flip(hashint8extended(:n, 0), 2));
COMMIT;
SQL
for my $case ([ 'row by row', 'TRIGGER', '' ], [ 'deferred', @deferred ])
{
	my ($what, @how) = @$case;
	$live->(@how);
	my $load = start_load($node, [ @scripts, $old_snapshot ], clients => 8, seconds => 4);
	$load->{run}->finish;
	is(${ $load->{err} } =~ /ERROR/ ? ${ $load->{err} } : '', '', "$what: no insert fails");
	none_failed($node, $load, "$what: and none is sent back");
	my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM live_cluster');
	cmp_ok($rows, '>', 50, "$what: $rows rows in clusters");
	is($node->safe_psql('postgres', $drift), 0, "$what: clusters are those of a full computation");
}

# A transaction that keeps its snapshot joins near rows that are younger, whether they are in a cluster or not.
for my $case ([ 'at once', 'TRIGGER', '' ], [ 'deferred', @deferred ])
{
	my ($what, @how) = @$case;
	$live->(@how);
	$node->safe_psql('postgres', 'INSERT INTO live (fp) VALUES (-1)');
	for my $level ('REPEATABLE READ', 'SERIALIZABLE')
	{
		my $old = $node->background_psql('postgres', on_error_stop => 0);
		my $insert = sub {
			$old->query("INSERT INTO live (fp) VALUES ($_[0]); COMMIT");
			my $err = $old->{stderr};
			$old->{stderr} = '';
			return $err;
		};
		$old->query_safe("\\set VERBOSITY verbose\nBEGIN ISOLATION LEVEL $level; SELECT count(*) FROM live");
		$node->safe_psql('postgres', 'TRUNCATE live_cluster; DELETE FROM live; INSERT INTO live (fp) VALUES (0)');
		unlike($insert->(1), qr/ERROR/, "$what: $level: a younger row is joined");
		is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT cluster_id) FROM live_cluster'), '2|1',
			"$what: $level: clusters are right");
		$old->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM live");
		$node->safe_psql('postgres', 'INSERT INTO live (fp) VALUES (3)');
		is($insert->(3), '', "$what: $level: a younger row that is in a cluster is joined");
		is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT cluster_id) FROM live_cluster'), '4|1',
			"$what: $level: and clusters are right");
		$old->quit;
	}
}

# A transaction that is prepared has written its clusters, and holds the lock of the table. After a restart others wait for it.
$live->(@deferred);
$node->safe_psql('postgres', <<'SQL');
INSERT INTO live (fp) VALUES (0), (-1);
BEGIN;
INSERT INTO live (fp) VALUES (1), (-2);
DELETE FROM live WHERE id = 1;
PREPARE TRANSACTION 'clusters';
SQL
is($node->safe_psql('postgres', 'SELECT count(*) FROM live_cluster'), 0, 'prepared: nothing is visible yet');
$node->restart;
my $waits = $node->background_psql('postgres');
$waits->query_until(qr/waiting/, "\\echo waiting\nINSERT INTO live (fp) VALUES (3);\n");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype IN ('transactionid', 'advisory') AND NOT granted"),
	'prepared: another insert waits');
$node->safe_psql('postgres', "COMMIT PREPARED 'clusters'");
$waits->quit;
is($node->safe_psql('postgres', "SELECT key, cluster_id FROM live_cluster ORDER BY key"), "2|2\n3|3\n4|2\n5|3",
	'prepared: clusters are there');
is($node->safe_psql('postgres', $drift), 0, 'prepared: clusters are those of a full computation');
$node->safe_psql('postgres', "BEGIN; INSERT INTO live (fp) VALUES (3); PREPARE TRANSACTION 'away'; ROLLBACK PREPARED 'away'");
is($node->safe_psql('postgres', $drift), 0, 'prepared and rolled back: no cluster is left');

$node->stop;
done_testing();
