# Plans over a million skewed rows, judged by the pages that they look at: the plan that the server chooses, against those that
# it takes when kinds of scan are switched off or one of the indexes is away, and against reading the table. Skewed are the
# fingerprints (a fifth share a key, others are near each other) and the tenants (one has half of the rows, many have one).
use strict;
use warnings;
use List::Util qw(min);
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Pages cost about the same whether they are read in order or not: so a plan that looks at fewer is cheaper.
my $node = new_node('plans', conf => <<'CONF');
shared_buffers = 400MB
effective_cache_size = 2GB
random_page_cost = 1.1
max_parallel_workers_per_gather = 0
jit = off
maintenance_work_mem = 256MB
max_wal_size = 4GB
wal_level = minimal
max_wal_senders = 0
work_mem = 32MB
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE m AS SELECT i::bigint AS id,
	((CASE WHEN a & 7 < 2 THEN 4711 ELSE ((a >> 8) & 65535) * ((b >> 8) & 65535) >> 16 END) << 48) | ((a & b) & 281474976710655) AS fp,
	CASE WHEN b & 15 < 8 THEN 1 WHEN b & 15 < 12 THEN 1000 + (a >> 20 & 255)::int ELSE hashint8(i) END AS tenant
FROM generate_series(1, 1000000) i, LATERAL (SELECT hashint8extended(i, 1), hashint8extended(i, 2)) h (a, b);
CREATE INDEX m_fp ON m USING simhash (fp);
CREATE INDEX m_scoped ON m USING simhash (tenant, fp);
CREATE INDEX m_tenant ON m (tenant);
ALTER TABLE m ADD PRIMARY KEY (id);
VACUUM ANALYZE m;
SQL
my $table = $node->safe_psql('postgres', "SELECT relpages FROM pg_class WHERE relname = 'm'");

# Centres: of the hot key, of another one, of no row. Tenants: of half of the rows, of about 1,000, of one.
my ($hot, $rare) = map { $node->safe_psql('postgres',
	"SELECT fp FROM m WHERE (fp >> 48 = 4711) = $_ ORDER BY hashint8extended(id, 5) LIMIT 1") } 'true', 'false';
my %centres = (hot => $hot, rare => $rare, strange => -3);
my %tenants = (large => 1, middle => 1007,
	single => $node->safe_psql('postgres',
		'SELECT tenant FROM m WHERE id = (SELECT min(id) FROM m WHERE tenant <> 1 AND tenant NOT BETWEEN 1000 AND 1255)'));
my @queries;
for my $c (sort keys %centres)
{
	my $q = $centres{$c};
	push @queries, map { [ "$c, within $_", "fp <~> $q <= $_" ] } 0, 3, 8, 12, 16, 22;
	push @queries, map { [ "$c, $_ nearest", 'true', "fp <~> $q LIMIT $_" ] } 1, 10, 100;
	push @queries, [ "$c, ten nearest within 8", "fp <~> $q <= 8", "fp <~> $q LIMIT 10" ];
	# Where the key's index reads about as much, or more, or less.
	for my $below (300, 3000, 30_000, 100_000, 300_000)
	{
		push @queries, map { [ "$c, within $_, ids below $below", "fp <~> $q <= $_ AND id < $below" ] } 3, 8, 12;
	}
	for my $t (sort keys %tenants)
	{
		push @queries, map { [ "$c, tenant $t, within $_", "tenant = $tenants{$t} AND fp <~> $q <= $_" ] } 3, 8, 16;
		push @queries, map { [ "$c, tenant $t, $_ nearest", "tenant = $tenants{$t}", "fp <~> $q LIMIT $_" ] } 1, 10;
	}
	push @queries, [ "$c, twenty tenants, within 8", 'tenant = ANY (\'{' . join(',', 1000 .. 1019) . "}') AND fp <~> $q <= 8" ];
}

# Rows with all others, and within their tenants.
my $few = '(SELECT * FROM m WHERE id % 33333 = 7) a';
push @queries, map { [ "thirty rows with all, within $_", "a.fp <~> m.fp <= $_", undef, "$few, m" ],
	[ "thirty rows with their tenants, within $_", "a.tenant = m.tenant AND a.fp <~> m.fp <= $_", undef, "$few, m" ] } 3, 8;
push @queries, [ 'the nearest of thirty rows', 'true', undef,
	"$few, LATERAL (SELECT id FROM m b WHERE b.tenant = a.tenant AND b.id <> a.id ORDER BY b.fp <~> a.fp LIMIT 3) m" ];

# SQL that explains a query, after other statements, knowing its constants or not.
sub explained
{
	my ($query, $before, $generic) = @_;
	my ($what, $where, $order, $from) = @$query;
	my $sql = 'SELECT m.id FROM ' . ($from // 'm') . " WHERE $where" . ($order ? " ORDER BY $order" : '');
	my (@constants, @types);
	$sql =~ s/(<~> |tenant = )(-?\d+|ANY \(('[^']*')\))/push @types, $3 ? 'int[]' : $1 eq '<~> ' ? 'bigint' : 'int'; push @constants, $3 \/\/ $2; $1 . ($3 ? "ANY (\$" . @types . ')' : "\$" . @types)/ge if $generic;
	my $explain = 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)';
	my $run = @constants ? 'SET LOCAL plan_cache_mode = force_generic_plan; PREPARE asked (' . join(', ', @types)
		. ") AS $sql; $explain EXECUTE asked (" . join(', ', @constants) . '); DEALLOCATE asked;' : "$explain $sql;";
	return "BEGIN; $before $run ROLLBACK;\n\\echo next\n";
}

# The pages of each such plan, and what is read by what.
sub looked_at
{
	my $out = $node->safe_psql('postgres', join '', @_);
	return map { [ pages_looked_at(s/Planning:.*//sr), join ' and ', /(?:using|Bitmap Index Scan on|Seq Scan on) (\w+)/g ] } split /^next\n?/m,
		$out;
}

my @others = (map({ "SET LOCAL enable_$_ = off;" } qw(indexscan bitmapscan)), map({ "DROP INDEX $_;" } qw(m_fp m_scoped)),
	'ALTER TABLE m DROP CONSTRAINT m_pkey;');
my ($chosen_in_all, $best_in_all) = (0, 0);
for my $query (@queries)
{
	my $what = $query->[0];
	# A generic plan cannot know that a centre has a hot key.
	my @plans = (0, $what =~ /thirty|^hot.*ids/ ? () : 1);
	my @looked_at = looked_at(map({ explained($query, '', $_) } @plans), map { explained($query, $_, 0) } @others);
	my %others = map { $others[$_] => $looked_at[ @plans + $_ ] } 0 .. $#others;
	for my $generic (@plans)
	{
		my ($chosen, $by) = @{ $looked_at[$generic] };
		my $best = min($chosen, $what =~ /thirty/ ? () : $table, map { $_->[0] } values %others);
		# Prices are those of evenly spread fingerprints (docs/search.md): around the hot key a search reads more than they say. And
		# no statistics say that 7,000 rows lie within 12 bits of that centre: three are expected, so the index is taken where the
		# primary key would do with few ids (9 ms instead of 3).
		my $more = $what =~ /^hot, within 12, ids/ ? 6000 : $what =~ /^hot/ ? 600 : 150;
		cmp_ok($chosen, '<=', 2 * $best + $more,
			sprintf '%s%s: %d pages by %s, at best %d', $generic ? 'generic plan, ' : '', $what, $chosen, $by, $best)
		  or diag map { "$_ $others{$_}[0] by $others{$_}[1]\n" } sort keys %others;
		$chosen_in_all += $chosen, $best_in_all += $best unless $generic;
	}
}
cmp_ok($chosen_in_all, '<=', 1.25 * $best_in_all, "all queries: $chosen_in_all pages, at best $best_in_all");
$node->stop;
done_testing();
