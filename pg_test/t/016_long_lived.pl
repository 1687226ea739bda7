# Sessions and snapshots older than what they look at: a directory behind which thousands of leaves
# were split, rows that VACUUM removed although a snapshot could see them (old_snapshot_threshold), an
# index younger than the snapshot of the transaction that verifies it. And a verification that reports
# 400,000 faults.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('long_lived');

# A session knows the leaves; then another files 100,000 equal fingerprints: 150 leaves in each space.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint, fp bigint);
INSERT INTO t SELECT i, random_fp() FROM generate_series(1, 8000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
SQL
{
	my ($reader, $writer) = (open_session($node), open_session($node));
	$writer->query_safe('INSERT INTO t SELECT i + 10000, random_fp() FROM generate_series(1, 500) i');
	$reader->query_safe(<<'SQL');
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(*) FROM generate_series(1, 500) i, LATERAL (SELECT 1 FROM t WHERE t.fp <~> hashint8extended(i, 5) <= 3) x
SQL
	$node->safe_psql('postgres', 'INSERT INTO t SELECT i + 20000, 77 FROM generate_series(1, 100000) i');
	my $explain = 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)';
	my $pages = sub { return pages_looked_at($_[0]->query_safe("$explain $_[1]")); };
	my $read = $pages->($reader, 'SELECT id FROM t WHERE fp <~> 78 <= 0');
	my $written = $pages->($writer, 'INSERT INTO t VALUES (0, 79)');
	cmp_ok($read, '<', 60, 'a search does not walk past all leaves that were added');
	cmp_ok($written, '<', 160, 'nor does an insert, with leaves locked');
	is_sound($node, 't', 't_fp', 'after them', 2);
	$_->quit for $reader, $writer;
}

# Row versions of a broken HOT chain are not in the index, nor visible to those who may use it.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE h (id bigint, fp bigint) WITH (fillfactor = 50);
INSERT INTO h SELECT i, random_fp() FROM generate_series(1, 500) i;
SQL
{
	my $old = open_session($node);
	$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM h');
	$node->safe_psql('postgres', 'UPDATE h SET fp = fp # 1 WHERE id % 7 = 0');
	$node->safe_psql('postgres', 'CREATE INDEX h_fp ON h USING simhash (fp)');
	is($node->safe_psql('postgres', "SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'h_fp'::regclass"), 't',
		'a broken HOT chain was met');
	is($old->query_safe("SELECT * FROM simhash_index_verify('h_fp', true)"), '', 'an index younger than the snapshot is judged as of now');
	$old->quit;
}

# Faults are handed out as they are found: 200,000 of them took 85 MB.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION changing(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE TABLE many AS SELECT random_fp() AS fp FROM generate_series(1, 200000);
CREATE INDEX many_fp ON many USING simhash (changing(fp));
CREATE OR REPLACE FUNCTION changing(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 # 1';
SQL
SKIP:
{
	skip 'no /proc', 2 unless -r '/proc/self/status';
	my $session = open_session($node);
	my $peak = sub { $session->query_safe("SELECT pg_read_file('/proc/self/status')") =~ /^VmPeak:\s+(\d+)/m; $1 };
	$session->query_safe("SELECT count(*) FROM simhash_index_verify('t_fp', true)");
	my $before = $peak->();
	is($session->query_safe("SELECT count(*) FROM simhash_index_verify('many_fp', true)"), 400000,
		'every row is missing, and another one is filed in its place');
	cmp_ok($peak->() - $before, '<', 40_000, 'and that takes little memory (kB)');
	$session->quit;
}

# A partitioned index has no pages.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parted (fp bigint) PARTITION BY HASH (fp);
CREATE INDEX parted_fp ON parted USING simhash (fp);
SQL
for my $call ("simhash_index_stats('parted_fp')", "simhash_index_verify('parted_fp', true)")
{
	my ($status, $out, $err) = $node->psql('postgres', "SELECT $call");
	like($err, qr/"parted_fp" is a partitioned index/, $call);
}

# The server measures the age in minutes, so this takes three and a half of them.
SKIP:
{
	skip 'takes minutes: set PG_TEST_EXTRA to old_snapshot', 5 unless ($ENV{PG_TEST_EXTRA} // '') =~ /\bold_snapshot\b/;
	$node->append_conf('postgresql.conf', 'old_snapshot_threshold = 1min');
	$node->restart;
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE o (id bigint, fp bigint);
INSERT INTO o SELECT i, i FROM generate_series(1, 20000) i;
CREATE INDEX o_fp ON o USING simhash (fp);
VACUUM ANALYZE o;
SQL
	my %off = ('index scan' => 'bitmapscan', 'bitmap scan' => 'indexscan', 'nearest' => 'bitmapscan');
	my %query = map { $_ => 'SELECT count(*) FROM o WHERE fp <~> 7 <= 0' } keys %off;
	$query{nearest} = 'SELECT fp FROM o ORDER BY fp <~> 7 LIMIT 1';
	my %session = map { $_ => open_session($node) } keys %off;
	$_->set_query_timer_restart for values %session;
	$session{$_}->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; SET enable_$off{$_} = off;
		SELECT 1") for keys %off;
	sleep 2;
	$node->safe_psql('postgres', 'DELETE FROM o WHERE id <= 3000');
	for (1 .. 190)
	{
		sleep 1;
		$node->safe_psql('postgres', "INSERT INTO o VALUES ($_ + 30000, -1)");
	}
	$node->safe_psql('postgres', 'VACUUM o');
	is($node->safe_psql('postgres', "SELECT rows < 18000 FROM simhash_index_stats('o_fp')"), 't', 'VACUUM took rows that old snapshots see');
	for my $name (sort keys %off)
	{
		$session{$name}->query($query{$name});
		my $err = $session{$name}{stderr};
		like($err, qr/snapshot too old/, "$name: no answer without them");
	}
	is_sound($node, 'o', 'o_fp', 'new snapshots', 2);
}
$node->stop;
done_testing();
