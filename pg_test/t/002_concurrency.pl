# Sessions that insert, update, delete, vacuum and read at once, over keys so hot that pages split
# all the time. Readers must never miss a row of a set that no session changes.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('concurrency');

# Rows with kind 'fixed' stay. All rows are within 16 random bits of each other's low half, so
# three of the four key spaces see few keys.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp bigint, kind text NOT NULL DEFAULT 'moving',
	tenant int DEFAULT any_tenant())
WITH (vacuum_truncate = off);    -- else each VACUUM waits 5 s for those that wait for it
CREATE FUNCTION hot_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT (4711::bigint << 48) | (floor(random() * 3)::bigint << 32) | floor(random() * 65536)::bigint
$$;
INSERT INTO t (fp, kind) SELECT hot_fp(), 'fixed' FROM generate_series(1, 600);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE INDEX t_scoped ON t USING simhash (tenant as_numbered, (fp # 0));
CREATE TABLE fixed AS SELECT id, fp, tenant FROM t;
CREATE TABLE misses (what text);
CREATE SEQUENCE looks;
-- Every search for a fixed row finds it, and every fixed row within k, once.
CREATE FUNCTION look() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c record;
	k int;
	got bigint[];
	want bigint[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true),
		set_config('enable_indexscan', CASE WHEN random() < 0.5 THEN 'on' ELSE 'off' END, true);
	SELECT * INTO c FROM fixed WHERE id = 1 + floor(random() * 600)::int;
	k := floor(random() * 6)::int;
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM t WHERE fp <~> $1 <= $2 AND kind = ''fixed''' INTO got USING c.fp, k;
	SELECT array_agg(id ORDER BY id) INTO want FROM fixed WHERE bit_count((fp # c.fp)::bit(64)) <= k;
	IF got IS DISTINCT FROM want THEN
		INSERT INTO misses VALUES (format('k %s around %s: %s instead of %s', k, c.fp, got, want));
	END IF;
	-- The same in its tenant, by the index with scopes.
	EXECUTE format('SELECT array_agg(id ORDER BY id) FROM t WHERE tenant %s AND fp # 0 <~> $1 <= $2 AND kind = ''fixed''',
		coalesce('= ' || c.tenant, 'IS NULL')) INTO got USING c.fp, k + 8;
	SELECT array_agg(id ORDER BY id) INTO want FROM fixed
	WHERE bit_count((fp # c.fp)::bit(64)) <= k + 8 AND tenant IS NOT DISTINCT FROM c.tenant;
	IF got IS DISTINCT FROM want THEN
		INSERT INTO misses VALUES (format('tenant %s k %s around %s: %s instead of %s', c.tenant, k + 8, c.fp, got, want));
	END IF;
	PERFORM set_config('enable_indexscan', 'on', true);
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM
		(SELECT id, kind FROM t ORDER BY fp <~> $1 LIMIT 200000) x WHERE kind = ''fixed''' INTO got USING c.fp;
	IF cardinality(got) IS DISTINCT FROM 600 THEN
		INSERT INTO misses VALUES (format('nearest of %s: %s fixed rows instead of 600', c.fp, cardinality(got)));
	END IF;
	PERFORM nextval('looks');
END $$;
SQL

# How often look() has run to its end.
sub looks { return $node->safe_psql('postgres', 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM looks'); }

my $insert = "INSERT INTO t (fp) SELECT hot_fp() FROM generate_series(1, 15);\n";
my $update = <<'SQL';
UPDATE t SET fp = hot_fp(), tenant = any_tenant() WHERE id IN (SELECT id FROM t
	WHERE kind = 'moving' ORDER BY random() LIMIT 5 FOR UPDATE SKIP LOCKED);
SQL
my $delete = <<'SQL';
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE kind = 'moving' ORDER BY random() LIMIT 8 FOR UPDATE SKIP LOCKED);
SQL
my $vacuum = "VACUUM t;\n";
my $look = "SELECT look();\n";
my $rollback = "BEGIN;\nINSERT INTO t (fp) SELECT hot_fp() FROM generate_series(1, 5);\nROLLBACK;\n";

my $load = start_load(
	$node,
	[ $insert, $insert, $update, $delete, $vacuum, $rollback, ($look) x 4 ],
	clients => 10,
	transactions => 3500);
my $ok = $load->{run}->finish;
ok($ok, 'no session failed') or diag ${ $load->{err} };
none_failed($node, $load, 'no transaction failed');
note ${ $load->{out} };
is($node->safe_psql('postgres', 'SELECT what FROM misses LIMIT 5'), '', 'readers missed nothing');
my $looks = looks();
cmp_ok($looks, '>=', 20, "in $looks looks");
is_sound($node, 't', 't_fp', 'after the load', 10);

$node->safe_psql('postgres', "DELETE FROM t WHERE kind = 'moving'");
$node->safe_psql('postgres', 'VACUUM t');
is_sound($node, 't', 't_fp', 'after deleting what moved', 10);

# REINDEX CONCURRENTLY while others write.
$load = start_load($node, [ $insert, $update, $delete, $rollback, $look ], clients => 6, seconds => 4);
$node->safe_psql('postgres', "REINDEX INDEX CONCURRENTLY $_") for qw(t_fp t_scoped t_fp t_scoped);
ok($load->{run}->finish, 'no session failed beside REINDEX CONCURRENTLY') or diag ${ $load->{err} };
is($node->safe_psql('postgres', 'SELECT what FROM misses LIMIT 5'), '', 'readers missed nothing beside it');
cmp_ok(looks(), '>', $looks, 'and they looked');
is_sound($node, 't', 't_fp', 'after REINDEX CONCURRENTLY', 10);

# Sessions that exclude near-duplicates, in all of a table or per tenant: whatever they race for, no pair within 3 is
# left. In the table with tenants rows of different tenants are such pairs, and rows without a tenant.
my @tables = (
	[ 'apart', '', '' ],
	[ 'late', '', 'DEFERRABLE INITIALLY DEFERRED' ],
	[ 'apart_by_tenant', 'tenant WITH =, ', '' ],
	[ 'late_by_tenant', 'tenant WITH =, ', 'DEFERRABLE INITIALLY DEFERRED' ]);
for (@tables)
{
	my ($table, $scope, $when) = @$_;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id bigint GENERATED ALWAYS AS IDENTITY, tenant int, fp bigint, CONSTRAINT ${table}_fp
	EXCLUDE USING simhash (${scope}fp WITH ~=) $when);
SQL
}
sub no_pair_is_left
{
	my ($table, $scope, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $pairs = "SELECT count(*) FROM $table a, $table b WHERE a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 3";
	is($node->safe_psql('postgres', $pairs . ($scope ? ' AND a.tenant = b.tenant' : '')), 0, "$table, $what: no pair within 3 is left");
	cmp_ok($node->safe_psql('postgres', "$pairs AND a.tenant <> b.tenant"), '>', 0,
		"$table, $what: there are pairs of different tenants") if $scope;
	cmp_ok($node->safe_psql('postgres', "$pairs AND a.tenant IS NULL AND b.tenant IS NULL"), '>', 0,
		"$table, $what: and pairs without a tenant") if $scope;
	is_sound($node, $table, "${table}_fp", "$table, $what", 2);
	return;
}

my $race = <<'SQL';
INSERT INTO %s (tenant, fp)
	SELECT nullif(floor(random() * 5)::int, 0), floor(random() * 64)::bigint * 85 # (1::bigint << floor(random() * 64)::int)
		ON CONFLICT DO NOTHING;
SQL
# ON CONFLICT needs a constraint that is checked at once.
my @at_once = grep { $_->[2] eq '' } @tables;
$load = start_load($node, [ map { sprintf $race, $_->[0] } @at_once ], clients => 16, transactions => 10_000);
ok($load->{run}->finish, 'no session failed in the race') or diag ${ $load->{err} };
for (@at_once)
{
	my ($table, $scope) = @$_;
	no_pair_is_left($table, $scope, 'after the race');
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM $table"), '>', 1, "$table: it let others in");
}

# The same with several rows in a transaction, so that sessions wait for each other in a circle; checked
# with each row or at commit; and half of them roll back. Sessions that lose end with one of two errors.
$node->safe_psql('postgres', <<'SQL');
ALTER SYSTEM SET deadlock_timeout = '20ms';
SELECT pg_reload_conf();
CREATE TABLE ends (tab text, what text);
CREATE FUNCTION near_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT floor(random() * 60)::bigint * 1000003 # (1::bigint << floor(random() * 64)::int)
$$;
CREATE PROCEDURE try_rows(tab text) LANGUAGE plpgsql AS $$
DECLARE
	state text := 'in';
BEGIN
	BEGIN
		FOR i IN 1 .. 3 LOOP
			EXECUTE format('INSERT INTO %I (tenant, fp) VALUES (nullif(floor(random() * 4)::int, 0), near_fp())', tab);
			PERFORM pg_sleep(random() * 0.004);
		END LOOP;
		SET CONSTRAINTS ALL IMMEDIATE;
		IF random() < 0.4 THEN RAISE SQLSTATE 'UNDO0'; END IF;
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	INSERT INTO ends VALUES (tab, state);
END $$;
SQL
$node->safe_psql('postgres', "TRUNCATE $_->[0]") for @at_once;
$load = start_load($node, [ map { "CALL try_rows('$_->[0]');\nDELETE FROM $_->[0] WHERE random() < 0.005;\n" } @tables ], clients => 16,
	transactions => 5000);
ok($load->{run}->finish, 'no session failed in the race of several rows') or diag ${ $load->{err} };
for (@tables)
{
	my ($table, $scope) = @$_;
	note $node->safe_psql('postgres', "SELECT what, count(*) FROM ends WHERE tab = '$table' GROUP BY 1 ORDER BY 1");
	is($node->safe_psql('postgres', "SELECT DISTINCT what FROM ends WHERE tab = '$table' AND what NOT IN ('in', 'UNDO0', '23P01', '40P01')"),
		'', "$table: got in, rolled back, was refused or broke a deadlock, and nothing else");
	is($node->safe_psql('postgres',
		"SELECT count(*) > 0, count(*) FILTER (WHERE what = '23P01') > 0 FROM ends WHERE tab = '$table' AND what IN ('in', '23P01')"),
		't|t', "$table: some got in and some were refused");
	no_pair_is_left($table, $scope, 'several rows at a time');
}

$node->stop;
done_testing();
