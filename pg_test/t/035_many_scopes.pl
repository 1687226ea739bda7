# Lists of many scopes beside inserts, deletes, updates, VACUUM and splits, on the primary and on a standby: each answer is
# that of reading the whole table under the same snapshot.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $primary = new_node('primary', init => [ allows_streaming => 1 ], conf => <<'CONF');
jit = off
max_parallel_workers_per_gather = 0
hot_standby_feedback = on
wal_receiver_status_interval = 1s
max_standby_streaming_delay = 60s
wal_keep_size = 1GB
CONF
$primary->safe_psql('postgres', <<'SQL');
-- Two large tenants, some that lie apart, and many small ones; the parts are few.
CREATE FUNCTION some_tenant() RETURNS int LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.35 THEN 500 WHEN random() < 0.3 THEN 501 WHEN random() < 0.3 THEN 1000 + floor(random() * 5)::int * 7
		ELSE floor(random() * 4000)::int END
$$;
CREATE FUNCTION some_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.05 THEN NULL WHEN random() < 0.5 THEN flip(hashint8extended(floor(random() * 20)::bigint, 1), 2) ELSE random_fp() END
$$;
CREATE TABLE d (id bigint GENERATED ALWAYS AS IDENTITY, tenant int DEFAULT some_tenant(), part int DEFAULT floor(random() * 30)::int, fp bigint DEFAULT some_fp());
INSERT INTO d (tenant) SELECT some_tenant() FROM generate_series(1, 20000);
CREATE INDEX d_one ON d USING simhash (tenant as_numbered, fp);
CREATE INDEX d_two ON d USING simhash (tenant, part, fp);
VACUUM ANALYZE d;
CREATE TABLE misses (what text);
-- What was done, and when.
CREATE TABLE done (what text, at timestamptz DEFAULT clock_timestamp());

-- A random question by an index; what is wrong with its answer, or NULL.
CREATE FUNCTION look() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	long int := (ARRAY[1, 2, 3, 10, 100, 2000, 12000])[1 + floor(random() * 7)::int];
	low int := (ARRAY[0, 400, 490, 995, -3000])[1 + floor(random() * 5)::int];
	spread float8 := 1 + random();
	list int[] := ARRAY(SELECT low + floor(random() * long * spread)::int FROM generate_series(1, long))
		|| (ARRAY[500, 501])[:floor(random() * 3)::int] || CASE WHEN random() < 0.3 THEN '{NULL,NULL}'::int[] END;
	parts int[] := ARRAY(SELECT floor(random() * 30)::int FROM generate_series(1, (ARRAY[1, 3, 20, 60])[1 + floor(random() * 4)::int]));
	q bigint := hashint8extended(floor(random() * 25)::bigint, 1);
	real text := format('bit_count((fp # %L::bigint)::bit(64))', q);
	radius int := (ARRAY[0, 2, 3, 5, 8, 12, 16, 24, 64])[1 + floor(random() * 9)::int];
	rows int := (ARRAY[1, 10, 200, 3000, 100000])[1 + floor(random() * 5)::int];
	two boolean := random() < 0.5;
	kind int := floor(random() * 5)::int;
	by_index text := format('tenant = ANY (%L::int[])', list) || CASE WHEN two THEN format(' AND part = ANY (%L::int[])', parts) ELSE '' END;
	by_table text := format('tenant IN (SELECT unnest(%L::int[]))', list) || CASE WHEN two THEN format(' AND part IN (SELECT unnest(%L::int[]))', parts) ELSE '' END;
	asked text;
	got text;
	want text;
BEGIN
	PERFORM set_config('work_mem', (ARRAY['64kB', '200kB', '4MB'])[1 + floor(random() * 3)::int], true);
	IF kind = 0 THEN
		asked := format('SELECT (SELECT count(DISTINCT i) FROM unnest(ids) i) || d FROM (SELECT array_agg(id) AS ids, '' '' || md5(string_agg(coalesce(d::text, ''-''), '' '')) AS d
			FROM (SELECT id, fp <~> %L AS d FROM d WHERE %s ORDER BY fp <~> %1$L LIMIT %3$s) x) y', q, by_index, rows);
		want := format('SELECT count(*) || '' '' || md5(string_agg(coalesce(d::text, ''-''), '' ''))
			FROM (SELECT %s AS d FROM d WHERE %s ORDER BY d LIMIT %s) x', real, by_table, rows);
	ELSE
		asked := 'SELECT count(*) || '' '' || coalesce(sum(hashint8extended(id, 0)), 0) FROM d WHERE ';
		want := asked || by_table || CASE kind WHEN 1 THEN ' AND fp IS NULL' WHEN 2 THEN '' ELSE format(' AND %s <= %s', real, radius) END;
		asked := asked || by_index || CASE kind WHEN 1 THEN ' AND fp IS NULL' WHEN 2 THEN '' ELSE format(' AND fp <~> %L <= %s', q, radius) END;
	END IF;
	PERFORM read_by('table');
	EXECUTE want INTO want;
	PERFORM read_by(CASE WHEN kind > 0 AND random() < 0.5 THEN 'bitmap' ELSE 'index' END);
	PERFORM set_config('enable_sort', 'off', true);
	IF plan_of(asked) !~ 'd_(one|two)' THEN
		RETURN 'no index: ' || left(asked, 300);
	END IF;
	EXECUTE asked INTO got;
	RETURN CASE WHEN got IS DISTINCT FROM want THEN format('%s instead of %s: %s', got, want, left(asked, 300)) END;
END $$;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $seconds = soak_seconds() || 8;
my $pages = $primary->safe_psql('postgres', "SELECT pg_relation_size('d_one') / 8192");
my %writes = (
	insert => "\\set n random(1, 1000)\nINSERT INTO d (tenant) SELECT some_tenant() FROM generate_series(1, :n);\n",
	delete => "\\set r random(0, 70)\nDELETE FROM d WHERE id IN (SELECT id FROM d WHERE id % 71 = :r FOR UPDATE SKIP LOCKED);\n",
	update => "\\set r random(0, 96)\nUPDATE d SET tenant = some_tenant() WHERE id IN (SELECT id FROM d WHERE id % 97 = :r FOR UPDATE SKIP LOCKED);\n",
	vacuum => "VACUUM d;\n");
my $look = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nINSERT INTO misses SELECT fault FROM look() fault WHERE fault IS NOT NULL;\n"
  . "INSERT INTO done VALUES ('look');\nCOMMIT;\n";
my $load = start_load($primary, [ (map { "$writes{$_}INSERT INTO done VALUES ('$_');\n" } sort keys %writes), ($look) x 4 ],
	clients => 6, seconds => $seconds);
my ($looks, $end, @faults) = (0, time + $seconds);
while (time < $end)
{
	my ($status, $out, $err) = $standby->psql('postgres', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT look(); COMMIT');
	push @faults, $out . $err if "$status$out$err" ne '0';
	$looks++;
}
is(join("\n", @faults), '', 'the standby answers as its table says');
cmp_ok($looks, '>=', 10, "$looks looks on the standby");
ok($load->{run}->finish, 'no session failed') or diag ${ $load->{err} };
none_failed($primary, $load, 'no transaction failed');
is($primary->safe_psql('postgres', 'SELECT what FROM misses LIMIT 5'), '', 'each answer is that of the table');
note $primary->safe_psql('postgres', 'SELECT what, count(*) FROM done GROUP BY 1 ORDER BY 1');
is($primary->safe_psql('postgres', "SELECT string_agg(what, ' ' ORDER BY what) FROM (SELECT what FROM done GROUP BY what
	HAVING count(*) >= 5 AND max(at) > (SELECT max(at) FROM done) - interval '5 s') x"),
	'delete insert look update vacuum', 'sessions wrote, vacuumed and looked up to the end');
cmp_ok($primary->safe_psql('postgres', "SELECT pg_relation_size('d_one') / 8192"), '>', 1.1 * $pages, "leaves were split: there were $pages pages");
$primary->wait_for_catchup($standby);
for my $node ($primary, $standby)
{
	is($node->safe_psql('postgres', "SELECT * FROM simhash_index_verify('d_one', true) UNION ALL SELECT * FROM simhash_index_verify('d_two', true)"),
		'', $node->name . ': the indexes are sound');
}

$standby->stop;
$primary->stop;
done_testing();
