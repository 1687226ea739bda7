# Which scans keep VACUUM off the leaf that they read. The check of an exclusion constraint looks at rows
# under a snapshot that sees a new row at a reused address like any other: so it holds the leaf until it has
# seen the rows. A query's snapshot does not see such a row, so a query holds nothing.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('pins');
my $vacuum = 'VACUUM (INDEX_CLEANUP ON, PARALLEL 0)';
sub answer { return $node->safe_psql('postgres', "SET statement_timeout = '30s'; $_[0]"); }

# ------------------------------------------------------------------ a check between two rows
# The check stops at row 1, with the leaf's matches copied out and, in one of the two cases, more of them to come.
create_gate($node);
answer(<<'SQL');
CREATE TABLE apart (id int, fp bigint);
INSERT INTO apart VALUES (1, 1);
-- Several leaves, the first of which holds nothing dead; and the dead rows are on other pages of the
-- table than row 1, on which the check holds a pin too.
INSERT INTO apart SELECT i, hashint8extended(i, 1) FROM generate_series(2, 3000) i;
ALTER TABLE apart ADD EXCLUDE USING simhash (at_gate(fp) WITH ~=);
SQL
for my $case ([ 'one match', 'SELECT 1', 3000 ], [ 'two matches', 'INSERT INTO apart VALUES (3001, 14)', 2900 ])
{
	my ($what, $before, $dead) = @$case;
	answer($before);
	answer("DELETE FROM apart WHERE id > $dead - 50 AND id <= $dead AND fp < 0");
	my $held = hold_vacuum($node, 'apart', 'INSERT INTO apart VALUES (0, 0)', $what);
	select(undef, undef, undef, 0.3);
	ok(waits_for($node, $held->{pid}, $FOR_PIN), "$what: and goes on waiting");
	my ($check, $end) = open_gate($held);
	like($check, qr/conflicting key value violates exclusion constraint/, "$what: the check ends");
	is($end, '', "$what: and VACUUM with it");
}

# A check that has ended holds nothing, whatever its transaction does.
my $session = open_session($node);
$session->query_safe('BEGIN; INSERT INTO apart VALUES (3002, -1)');
answer('DELETE FROM apart WHERE id > 2700 AND id <= 2800');
is(answer("$vacuum apart"), '', 'VACUUM passes a transaction that has checked its row');
$session->query_safe('COMMIT');
is(answer("SELECT * FROM broken_invariants('apart_at_gate_excl')"), '', 'the index is sound after the checks');

# ------------------------------------------------------------------ a query between two rows
# Its dead matches go while it is open, and rows from far away take their places.
answer(<<'SQL');
CREATE TABLE seen (id int, fp bigint);
INSERT INTO seen VALUES (1, 0);
INSERT INTO seen SELECT i, hashint8extended(i, 1) FROM generate_series(2, 500) i;
INSERT INTO seen SELECT i, 1 FROM generate_series(501, 900) i;
INSERT INTO seen VALUES (901, 2);
CREATE INDEX seen_fp ON seen USING simhash (fp);
CREATE TABLE places AS SELECT ctid AS place FROM seen WHERE fp = 1;
DELETE FROM seen WHERE fp = 1;
SQL
$session->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN; DECLARE c CURSOR FOR SELECT id FROM seen
	WHERE fp <~> 0 <= 3');
is($session->query_safe('FETCH 1 FROM c'), 1, 'a query hands out its first row');
is(answer("$vacuum seen"), '', 'VACUUM passes it');
answer('INSERT INTO seen SELECT i, -1 FROM generate_series(1001, 1400) i');
cmp_ok(answer('SELECT count(*) FROM seen JOIN places ON seen.ctid = place WHERE fp = -1'), '>', 300,
	'other rows take the places of dead ones');
is($session->query_safe('FETCH ALL FROM c'), 901, 'and the query does not return them');
$session->query_safe('COMMIT');
$session->quit;
is_sound($node, 'seen', 'seen_fp', 'after the query', 2);
$node->stop;
done_testing();
