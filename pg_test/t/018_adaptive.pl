# What a search reads: it leaves out a hot key that the session has counted, and does not read subtrees whose prefix is
# too far away. The answers are the same, even when the counts are absurd. What a session remembers costs nothing in
# its first query, and never more memory than its setting.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('adaptive', conf => "jit = off\nmax_parallel_workers_per_gather = 0\n");
my $hot = 4711 << 48;
$node->safe_psql('postgres', <<"SQL");
-- Nine tenths of the rows share the key of block 0.
CREATE TABLE t AS SELECT i::bigint AS id, CASE WHEN i % 10 = 0 THEN hashint8extended(i, 1)
	ELSE $hot | (hashint8extended(i, 1) & 281474976710655) END AS fp FROM generate_series(1, 40000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
VACUUM ANALYZE;
SQL

# Pages of the index and of the table that one search reads in a session.
sub pages_read
{
	my ($session, $condition, $table) = @_;
	$table //= 't';
	my $plan = $session->query_safe(<<"SQL");
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM $table WHERE $condition;
RESET enable_seqscan; RESET enable_bitmapscan;
SQL
	$plan =~ /Index Cond/ or die $plan;
	return pages_looked_at($plan);
}

# Enough searches for keys to be worth counting.
sub warm
{
	my ($session, $table) = @_;
	return $session->query_safe(<<"SQL");
SET enable_seqscan = off; SET enable_bitmapscan = off;
DO \$\$ BEGIN FOR i IN 1 .. 400 LOOP PERFORM id FROM $table WHERE fp <~> (i::bigint * 998244353 * 1000003) <= 3; END LOOP; END \$\$;
RESET enable_seqscan; RESET enable_bitmapscan;
SQL
}

my $knows = open_session($node);
my $ignorant = open_session($node);
$ignorant->query_safe('SET simhash_dedup.directory_cache = 0');
warm($_, 't') for $knows, $ignorant;

# ------------------------------------------------------------------ what is read
my $pages = $node->safe_psql('postgres', "SELECT pg_relation_size('t_fp') / 8192");
my $q = $hot | 0x123456789abc;
for my $k (3, 4, 6)
{
	my ($with, $without) = map { pages_read($_, "fp <~> $q <= $k") } $knows, $ignorant;
	note "within $k: $with pages with counts, $without without, of $pages";
	cmp_ok($with, '<=', 0.7 * $without, "within $k of a hot key: it is not read by those who know");
}
# Below one key all leaves have longer prefixes: of the 60 leaves of the hot key few can hold a match.
my $narrow = pages_read($ignorant, "fp <~> $q <= 0");
cmp_ok($narrow, '<=', 5, "an exact search reads one leaf of the hot key ($narrow)");
my $one = pages_read($ignorant, "fp <~> $q <= 1");
cmp_ok($one, '<=', 30, "a search within 1 bit reads few of the hot key's leaves ($one)");
# Rows in other corners: the query's key is empty, and so are its neighbours.
cmp_ok(pages_read($knows, 'fp <~> 81985529216486895 <= 3'), '<=', 12, 'a rare key costs a leaf in each space');

# ------------------------------------------------------------------ scopes
# Four tenants with some 75 leaves each in a key space, below several pages. None is read as a whole.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE tenants AS SELECT i::bigint AS id, i % 4 AS tenant, hashint8extended(i, 1) AS fp FROM generate_series(1, 30000) i;
CREATE INDEX tenants_fp ON tenants USING simhash (tenant, fp) WITH (fillfactor = 10);
VACUUM ANALYZE tenants;
SQL
for my $tenant (0 .. 3)
{
	my $session = open_session($node);
	my $read = pages_read($session, "tenant = $tenant AND fp <~> 81985529216486895 <= 3", 'tenants');
	cmp_ok($read, '<=', 40, "a search for tenant $tenant reads few of the tenant's leaves ($read pages)");
	$session->quit;
}

# ------------------------------------------------------------------ absurd counts
# The session has counted rows that are gone, and none of those that were inserted since.
for my $new ('hashint8extended(i, 7) & 281474976710655', 'hashint8extended(i, 7) | (-281474976710656)',
	'(hashint8extended(i, 7) << 16) | 4711', '77')
{
	$node->safe_psql('postgres', "DELETE FROM t; INSERT INTO t SELECT i, $new FROM generate_series(1, 3000) i");
	$node->safe_psql('postgres', 'VACUUM t');
	session_agrees($knows, 't', "counts of rows that are gone, rows of $new", 2);
}
is_sound($node, 't', 't_fp', 'after that', 2);

# ------------------------------------------------------------------ memory
# What a process has of its own, in kB.
sub own_memory
{
	my ($session) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	open my $status, '<', "/proc/$pid/status" or return 0;
	my ($kilobytes) = join('', <$status>) =~ /^RssAnon:\s+(\d+) kB/m;
	return $kilobytes // 0;
}
SKIP:
{
	skip 'the system does not tell the memory of a process', 10 unless own_memory($knows);
	my $count = 12;
	# 75 leaves in each key space: the least that are counted are 64.
	$node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN FOR i IN 1 .. $count LOOP
	EXECUTE format('CREATE TABLE m%s AS SELECT i::bigint AS id, hashint8extended(i, %s) AS fp FROM generate_series(1, 40000) i', i, i);
	EXECUTE format('CREATE INDEX m%s_fp ON m%s USING simhash (fp)', i, i);
END LOOP; END \$\$;
SQL
	# In each session first searches of the smallest index, which load the library and the catalogs.
	my $grows = sub {
		my ($settings, @work) = @_;
		my $session = open_session($node);
		$session->query_safe("CREATE TEMP TABLE small (id bigint, fp bigint); CREATE INDEX ON small USING simhash (fp); $settings");
		warm($session, 'small');
		$session->query_safe("SET enable_seqscan = off; SELECT id FROM m$_ WHERE fp <~> 1 <= 0; RESET enable_seqscan") for 1 .. $count;
		my $before = own_memory($session);
		$_->($session) for @work;
		my $grown = own_memory($session) - $before;
		$session->quit;
		return $grown;
	};
	my $first = sub { shift->query_safe('SET enable_seqscan = off; SELECT id FROM m1 WHERE fp <~> 1 <= 3; RESET enable_seqscan') };
	my $one = sub { warm(shift, 'm1') };
	my $all = sub { my $session = shift; warm($session, "m$_") for 1 .. $count; };
	# The counts of an index take 256 kB.
	my $grown = $grows->('', $first);
	cmp_ok($grown, '<', 100, "the first query of a session counts nothing ($grown kB)");
	$grown = $grows->('', $one);
	cmp_ok($grown, '>', 200, "many queries do ($grown kB)");
	# The larger the index, the later.
	$node->safe_psql('postgres',
		'CREATE TABLE large AS SELECT i::bigint AS id, hashint8extended(i, 3) AS fp FROM generate_series(1, 400000) i;
			CREATE INDEX large_fp ON large USING simhash (fp)');
	my $some = sub { warm(shift, 'large') };
	my $few = $grows->('', sub {
		my $session = shift;
		$session->query_safe('SET enable_seqscan = off; SELECT id FROM large WHERE fp <~> 1 <= 3; RESET enable_seqscan');
	});
	cmp_ok($few, '<', 200, "a query of a larger index counts nothing ($few kB)");
	$grown = $grows->('', $some);
	cmp_ok($grown, '>', 200, "many do ($grown kB)");
	$grown = $grows->('', $all);
	cmp_ok($grown, '>', 200 * $count, "so it is with each of $count indexes ($grown kB)");
	$grown = $grows->("SET simhash_dedup.directory_cache = '1MB'", $all, $all);
	cmp_ok($grown, '<', 1500, "a limit of 1 MB is kept ($grown kB)");
	$grown = $grows->("SET simhash_dedup.directory_cache = '200kB'", $all);
	cmp_ok($grown, '<', 300, "with less than one index takes nothing is counted ($grown kB)");
	$grown = $grows->('SET simhash_dedup.directory_cache = 0', $all);
	cmp_ok($grown, '<', 300, "nor with 0 ($grown kB)");
	# A lower setting frees at the next search what is too much. (With another limit than 0, what stays may keep the C
	# library from returning what is freed.)
	my $lower =
		sub { shift->query_safe('SET simhash_dedup.directory_cache = 0; SET enable_seqscan = off; SELECT id FROM m1 WHERE fp <~> 1 <= 3') };
	$grown = $grows->('', $all, $lower);
	cmp_ok($grown, '<', 100 * $count, "a limit lowered to 0 frees what was counted ($grown kB)");
	is_sound($node, 'm1', 'm1_fp', 'one of many', 1);
}

$_->quit for $knows, $ignorant;
$node->stop;
done_testing();
