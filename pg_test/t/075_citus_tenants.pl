# Tables distributed by tenant on Citus: an exclusion constraint and the flagging trigger with within= see all rows of a tenant, since
# these are in one shard, whichever nodes sessions write through; a tenant's searches ask one shard; shards that move, split and
# are rebalanced under load stay sound; partitioned tables, too.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use SimhashCitus;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

need_citus();
my ($coordinator, @workers) = new_citus(3, conf => "deadlock_timeout = 50ms\n");
my @nodes = ($coordinator, @workers);
my $host = $coordinator->host;

# Rows of one of 25 families, and of other ones every tenth of a second: two rows of a family are within two bits of each other.
# Sessions of all nodes make rows, so the numbers of rows come from no sequence.
answer($coordinator, <<'SQL');
CREATE FUNCTION pick(n bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT floor(random() * n)::bigint';
CREATE FUNCTION passing_family() RETURNS bigint LANGUAGE sql VOLATILE AS
	'SELECT pick(25) + 25 * floor(extract(epoch FROM clock_timestamp()) * 10)::bigint';
CREATE FUNCTION member_of(family bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
	'SELECT hashint8extended(family, 3) # (1::bigint << pick(63)::int)';
CREATE TABLE guarded (tenant int, id bigint, family bigint, fp bigint, PRIMARY KEY (tenant, id),
	EXCLUDE USING simhash (tenant WITH =, fp WITH ~=));
CREATE TABLE flagged (tenant int, id bigint, family bigint, fp bigint, dup bigint, PRIMARY KEY (tenant, id));
CREATE INDEX ON flagged USING simhash (tenant, fp);
CREATE TABLE unlocked (LIKE flagged INCLUDING ALL);
SELECT create_distributed_table(name, 'tenant') FROM unnest('{guarded,flagged,unlocked}'::text[]) name;
SQL
sub trigger_on
{
	my ($table, $more) = @_;
	return "CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON $table FOR EACH ROW"
	  . " EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id', 'within=tenant'" . ($more // '') . ')';
}
like(refusal($coordinator, trigger_on('flagged')), qr/ERROR:  triggers are not supported/,
	'Citus takes a trigger on a distributed table where its setting allows that');
answer($coordinator, 'SET citus.enable_unsafe_triggers = on; ' . trigger_on('flagged') . '; ' . trigger_on('unlocked', ", 'lock=off'"));

# A row of one of 8 tenants; the pause makes transactions overlap between their check and their commit. Written as VALUES, since
# Citus reports all errors of INSERT ... SELECT as XX000.
sub insert
{
	my ($table, $conflict) = @_;
	return "BEGIN;\nSELECT passing_family() AS f \\gset\nINSERT INTO $table VALUES (1 + pick(8), pick(1::bigint << 50), :f, member_of(:f))"
	  . ($conflict // '') . ";\nSELECT pg_sleep(0.002);\nCOMMIT;\n";
}

# 16 sessions of all nodes run the script for some seconds.
sub race
{
	my ($what, $script, $seconds, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $race = run_sessions($coordinator, $script, sessions => 16, seconds => $seconds + int(soak_seconds() / 8),
		isolation => 'read committed', nodes => \@nodes, %options);
	is($race->{errors}, '', "$what: no session failed, and no transaction for another reason than concurrency");
	cmp_ok($race->{done}, '>=', 16, "$what: $race->{done} transactions done, $race->{sent_back} sent back");
	return $race->{sent_back};
}

# What brute force finds in a table's rows, brought here: pairs within 3 bits of one tenant and of several, of rows that satisfy
# $condition.
sub pairs_left
{
	my ($table, $condition) = @_;
	return split /\|/, answer($coordinator, <<"SQL");
CREATE TEMP TABLE here AS SELECT * FROM $table WHERE $condition;
SELECT count(*) FILTER (WHERE a.tenant = b.tenant), count(*) FILTER (WHERE a.tenant <> b.tenant)
FROM here a JOIN here b ON (a.tenant, a.id) < (b.tenant, b.id) AND bit_count((a.fp # b.fp)::bit(64)) <= 3
SQL
}

sub constraint_held
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($own, $others) = pairs_left('guarded', 'true');
	is($own, 0, "$what: no two rows of a tenant are within 3 bits");
	return cmp_ok($others, '>', 0, "$what: those of other tenants are let in ($others pairs)");
}

# The rows of one family in one tenant are near-duplicates of each other: one of them is the original.
sub flags_right
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($own, $others) = pairs_left('flagged', 'dup IS NULL');
	is($own, 0, "$what: no two originals of a tenant are within 3 bits");
	cmp_ok($others, '>', 0, "$what: those of other tenants are both originals ($others pairs)");
	return is(answer($coordinator, <<'SQL'), '0|0|t', "$what: each group has one original, and each duplicate names a near row of its tenant");
CREATE TEMP TABLE here AS SELECT * FROM flagged;
SELECT (SELECT count(*) FROM (SELECT FROM here GROUP BY tenant, family HAVING count(*) FILTER (WHERE dup IS NULL) <> 1) g),
	count(*) FILTER (WHERE (bit_count((d.fp # o.fp)::bit(64)) <= 3) IS NOT TRUE), count(*) > 0
FROM here d LEFT JOIN here o ON o.tenant = d.tenant AND o.id = d.dup WHERE d.dup IS NOT NULL
SQL
}

# ---------------------------------------------------------------- sessions of all nodes
cmp_ok(race('constraint', insert('guarded'), 3, also => '23P01'), '>', 0, 'constraint: some rows are refused');
constraint_held('constraint');
race('lock=off', insert('unlocked'), 2);
cmp_ok((pairs_left('unlocked', 'dup IS NULL'))[0], '>', 0, 'lock=off: near-duplicates of a tenant pass, so the test can see them');
answer($coordinator, 'DROP TABLE unlocked');
is(race('trigger', insert('flagged'), 3), 0, 'trigger: nothing to retry');
flags_right('trigger');
# Several rows go to several shards in one transaction, where sessions may wait for each other in a circle.
my $several =
	"INSERT INTO %s (tenant, id, family, fp) SELECT 1 + pick(8), pick(1::bigint << 50), f, member_of(f)
		FROM generate_series(1, 4), passing_family() f;\n";
race('constraint, several shards', sprintf($several, 'guarded') =~ s/;$/ ON CONFLICT DO NOTHING;/r, 2);
constraint_held('constraint, several shards');
race('trigger, several shards', sprintf($several, 'flagged'), 2, sessions => 8);
flags_right('trigger, several shards');

# ---------------------------------------------------------------- a tenant's searches
answer($coordinator,
	"TRUNCATE guarded; INSERT INTO flagged SELECT 7, i, -i, hashint8extended(i / 2, 5) FROM generate_series(1, 5000) i; ANALYZE flagged");
my ($q) = answer($coordinator, 'SELECT fp FROM flagged WHERE tenant = 7 AND id = 100');
my $near = 'FROM flagged WHERE tenant = 7 AND fp <~> %s <= 3';
for my $search ("SELECT id " . sprintf($near, $q), "SELECT id FROM flagged WHERE tenant = 7 ORDER BY fp <~> $q LIMIT 3")
{
	my $plan = plan_on($coordinator, $search);
	like($plan, qr/Task Count: 1$/m, "one shard is asked: $search");
	like($plan, qr/Index Cond: \(\(?tenant = 7\)?/, 'by its index, for the tenant');
	like($plan, qr/\(fp <(?:@|~>)/, 'and the fingerprint');
}
is(answer($workers[1], 'SELECT count(*), sum(id) ' . sprintf($near, $q)),
	answer($coordinator, "SELECT count(*), sum(id) FROM flagged WHERE tenant = 7 AND bit_count((fp # $q)::bit(64)) <= 3"),
	'and answered, asked of a worker');

# ---------------------------------------------------------------- shards move, split and are rebalanced while sessions write
my @loads = map {
	my $node = $_;
	start_load($node, [ map { insert($_, ' ON CONFLICT DO NOTHING') } qw(guarded flagged) ], clients => 2, seconds => 6)
} @nodes[ 0 .. 2 ];
my ($shard, $from) = place_of_shard($coordinator, 'flagged', 'true');
my ($to) = grep { $_ != $from } map { $_->port } @workers;
answer($coordinator, "SELECT citus_move_shard_placement($shard, '$host', $from, '$host', $to, 'force_logical')");
is((place_of_shard($coordinator, 'flagged', "shardid = $shard"))[1], $to, 'a shard has moved, with that of the other table');
# By logical replication that needs Citus' own output plugin, which some minors of the server must be told to trust.
my $own_shard = answer($coordinator, "SELECT isolate_tenant_to_new_shard('flagged', 7, 'CASCADE', shard_transfer_mode => 'block_writes')");
is(answer($coordinator, "SELECT get_shard_id_for_distribution_column('flagged', 7)"), $own_shard, 'a tenant has got a shard of its own');
answer($coordinator, "SELECT rebalance_table_shards('flagged', threshold => 0, shard_transfer_mode => 'force_logical')");
for my $load (@loads)
{
	ok($load->{run}->finish, 'the load has run') or diag ${ $load->{err} };
}
my $shards = answer($coordinator, "SELECT count(*) FROM citus_shards WHERE table_name = 'flagged'::regclass");
cmp_ok($shards, '>', 6, "the tables have $shards shards now");
shards_are_sound($coordinator, $_, $shards, "$_ after moves") for qw(guarded flagged);
constraint_held('after moves');
answer($coordinator, 'DELETE FROM flagged WHERE family < 0');
flags_right('after moves');
race('afterwards, constraint', insert('guarded'), 1, also => '23P01');
constraint_held('afterwards');
race('afterwards, trigger', insert('flagged'), 1);
flags_right('afterwards');

# ---------------------------------------------------------------- a table that has rows and the trigger already
answer($coordinator, <<"SQL");
SET citus.enable_unsafe_triggers = on;
DROP TABLE flagged;
CREATE TABLE flagged (tenant int, id bigint, family bigint, fp bigint, dup bigint, PRIMARY KEY (tenant, id));
CREATE INDEX ON flagged USING simhash (tenant, fp);
INSERT INTO flagged (tenant, id, family, fp) SELECT i % 5, i, i / 50, hashint8extended(i / 50, 5) FROM generate_series(1, 1000) i;
${\ trigger_on('flagged')};
SELECT create_distributed_table('flagged', 'tenant');
SQL
is(answer($coordinator, 'SELECT count(*), count(dup) > 0 FROM flagged'), '1000|t',
	'create_distributed_table copies rows through the trigger');
flags_right('rows that were there');
answer($coordinator, 'INSERT INTO flagged SELECT 3, 5000, 4, hashint8extended(4, 5)');
is(answer($coordinator, 'SELECT dup IS NOT NULL FROM flagged WHERE id = 5000'), 't', 'rows that come later are flagged');

# ---------------------------------------------------------------- partitions by time
answer($coordinator, <<'SQL');
CREATE TABLE event (tenant int, id bigint, at date, fp bigint) PARTITION BY RANGE (at);
CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE INDEX ON event USING simhash (tenant, fp);
SELECT create_distributed_table('event', 'tenant', colocate_with => 'none');
CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE event_here AS SELECT i % 20 AS tenant, i AS id, date '2026-01-01' + i % 59 AS at, hashint8extended(i / 30, 1) AS fp
	FROM generate_series(1, 20000) i;
INSERT INTO event SELECT * FROM event_here;
ANALYZE event;
SQL
$q = answer($coordinator, 'SELECT fp FROM event_here WHERE id = 12345');
my $plan = plan_on($coordinator, "SELECT id FROM event WHERE tenant = 7 AND fp <~> $q <= 3");
like($plan, qr/Task Count: 1$/m, 'a tenant of a partitioned table: one shard of each partition, in one task');
is(scalar(() = $plan =~ /Index Cond: \(\(tenant = 7\) AND \(fp <@/g), 2, 'each by its index');
for my $filter ('tenant = 7', "at >= '2026-02-10'", 'true')
{
	same($coordinator, "SELECT count(*), sum(id) FROM event WHERE $filter AND fp <~> $q <= 3",
		"SELECT count(*), sum(id) FROM event_here WHERE $filter AND bit_count((fp # $q)::bit(64)) <= 3", "the answer where $filter");
	same($coordinator, "SELECT array_agg(d) FROM (SELECT fp <~> $q AS d FROM event WHERE $filter ORDER BY 1 LIMIT 50) x",
		"SELECT array_agg(d) FROM (SELECT bit_count((fp # $q)::bit(64)) AS d FROM event_here WHERE $filter ORDER BY 1 LIMIT 50) x",
		"the nearest where $filter");
}
shards_are_sound($coordinator, $_, 6, $_) for qw(event_1 event_2);

stop_citus(@nodes);
done_testing();
