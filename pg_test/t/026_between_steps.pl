# No other session may act between two steps of an insert. The test holds an insert there by stopping a
# reader (SIGSTOP) while it reads the leaf: inserts into that leaf wait, other readers do not.
use strict;
use warnings;
use SimhashTest;
use SimhashPages;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'processes cannot be stopped here' if $windows_os;

my $node = new_node('between_steps');
sub answer { return $node->safe_psql('postgres', "SET statement_timeout = '30s'; $_[0]"); }

# A session with the process id of its backend.
sub session
{
	my $session = open_session($node);
	$session->{pid} = $session->query_safe('SELECT pg_backend_pid()');
	return $session;
}

# Calls $attempt while a reader is stopped, until $attempt says that it was caught in the leaf, which the
# reader is much of its time. $query reads the leaf once for each of many i; $prepare is run before each
# attempt, $after when the reader has gone. False if that never succeeded.
sub beside_stopped_reader
{
	my ($query, $prepare, $attempt, $after) = @_;
	for (1 .. 50)
	{
		$prepare->();
		my $reader = session();
		$reader->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0');
		start_statement($reader, "SELECT count(($query)) FROM (SELECT a.attnum AS i FROM pg_attribute a, pg_attribute b, pg_attribute c) x");
		# A cancel that comes before the query would be lost, and the query would run for years.
		$node->poll_query_until('postgres', "SELECT state = 'active' AND query LIKE 'SELECT count%' FROM pg_stat_activity WHERE pid = $reader->{pid}")
			or die 'the reader has not begun';
		select(undef, undef, undef, 0.05 + rand(0.01));
		kill 'STOP', $reader->{pid};
		my $caught = $attempt->();
		kill 'CONT', $reader->{pid};
		answer("SELECT pg_cancel_backend($reader->{pid})");
		finish_statement($reader);
		$reader->quit;
		$after->($caught);
		return 1 if $caught;
	}
	return 0;
}

# ------------------------------------------------------------------ serializable
# Each reads what the other will write. The server looks for conflicting scans before the insert; the scan
# of $second begins after that look and ends before the row is filed, so only a later look can tell.
answer(<<'SQL');
CREATE TABLE t (id int, fp bigint);
-- The first match of the stopped reader, far from the page of the table that takes the new row.
INSERT INTO t VALUES (0, 0);
INSERT INTO t SELECT i, hashint8extended(i, 1) FROM generate_series(1, 600) i;
CREATE INDEX t_fp ON t USING simhash (fp);
SQL
my ($first, $second) = map { session() } 1 .. 2;
$_->query_safe('SET enable_seqscan = off; SET default_transaction_isolation = serializable') for $first, $second;
my $count = 'SELECT count(*) FROM t WHERE fp <~> %d <= 0';
my ($skew, $refused) = ('', 0);
ok(beside_stopped_reader(
	'SELECT id FROM t WHERE fp <~> i <= 64 AND id > -i LIMIT 1',
	sub {
		$first->query_safe('BEGIN; ' . sprintf $count, 1000);
	},
	sub {
		start_statement($first, 'INSERT INTO t VALUES (601, 2000)');
		return 0 unless waits_for($node, $first->{pid}, $FOR_CONTENT);
		$skew = $second->query_safe('BEGIN; ' . sprintf $count, 2000);
		return 1;
	},
	sub {
		my ($caught) = @_;
		my $err = finish_statement($first);
		return $first->query('ROLLBACK') unless $caught;
		$err .= $_->query($_ == $first ? 'COMMIT' : 'INSERT INTO t VALUES (602, 1000); COMMIT') // '' for $first, $second;
		$err .= $_->{stderr} for $first, $second;
		$refused = () = $err =~ /could not serialize access/g;
		note $err;
		$_->{stderr} = '' for $first, $second;
	}), 'an insert was caught before its row was filed');
is($skew, 0, 'the other session has not seen the row');
is($refused, 1, 'one of the two is refused');
is(answer('SELECT count(*) FROM t WHERE fp IN (1000, 2000)'), 1, 'and the other alone took place');

# ------------------------------------------------------------------ a root that grows
# An insert that waits for the root has read already that it is the root. Meanwhile another session splits
# it, a new root grows, and the old one fills again: now the waiting insert has to split it, and put
# the new page under a root that it does not know.
answer(<<'SQL');
CREATE TABLE g (id bigint, fp bigint);
CREATE INDEX g_fp ON g USING simhash (fp);
SQL
sub pages { return answer("SELECT pages FROM simhash_index_stats('g_fp')"); }
my $half = int($wide_leaf / 2);
ok(beside_stopped_reader(
	'SELECT id FROM g WHERE fp <~> i <= 64 AND id > -i LIMIT 1',
	sub {
		answer("TRUNCATE g; INSERT INTO g SELECT i, i << 50 FROM generate_series(0::bigint, $wide_leaf - 1) i");
		pages() == 6 or die 'a root has split already';
	},
	sub {
		start_statement($first, 'INSERT INTO g VALUES (1000, 3)');
		return 0 unless waits_for($node, $first->{pid}, $FOR_CONTENT);
		kill 'STOP', $first->{pid};
		return 1;
	},
	sub {
		my ($caught) = @_;
		if ($caught)
		{
			# Into the upper half, then as many into the lower half as it has room for.
			answer("INSERT INTO g VALUES (1001, ($wide_leaf - 1)::bigint << 50 | 1)");
			cmp_ok(pages(), '>=', 12, 'the roots have split and grown');
			answer("INSERT INTO g SELECT 2000 + i, (i % $half << 50) + 1 + i / $half FROM generate_series(0::bigint, $wide_leaf - $half - 1) i");
			kill 'CONT', $first->{pid};
		}
		is(finish_statement($first), '', 'the insert ends');
	}), 'an insert was caught before a root');
is_sound($node, 'g', 'g_fp', 'an old root that splits', 2);

$_->quit for $first, $second;
$node->stop;
done_testing();
