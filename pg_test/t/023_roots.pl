# Roots that grow while many sessions insert: each TRUNCATE makes an empty index, whose first pages fill
# and split under all sessions at once. Each tree is verified before the next TRUNCATE.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('roots');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, fp bigint, tenant int DEFAULT any_tenant());
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE INDEX t_scoped ON t USING simhash (tenant as_numbered, (fp # 0));
CREATE TABLE found (rows bigint, fault text);
SQL
my $rows = <<'SQL';
INSERT INTO t (fp) SELECT CASE WHEN random() < 0.3 THEN NULL ELSE (4711::bigint << 48) | floor(random() * 4294967296)::bigint END
	FROM generate_series(1, 60);
SQL
my $again = <<'SQL';
BEGIN;
LOCK TABLE t IN ACCESS EXCLUSIVE MODE;
INSERT INTO found SELECT count(*), (SELECT string_agg(fault, '; ')
	FROM unnest('{t_fp,t_scoped}'::regclass[]) i, simhash_index_verify(i, true)) FROM t;
TRUNCATE t;
COMMIT;
SQL
until_over(
	1,
	sub {
		my $load = start_load($node, [ ($rows) x 40, $again ], clients => 16, seconds => 4);
		ok($load->{run}->finish, 'no session failed') or diag ${ $load->{err} };
		is($node->safe_psql('postgres', 'SELECT fault FROM found WHERE fault IS NOT NULL LIMIT 3'), '', 'every tree was sound');
		note $node->safe_psql('postgres', "SELECT count(*) || ' trees of ' || round(avg(rows)) || ' rows' FROM found");
	});
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM found WHERE rows > 1500'), '>', 5, 'trees had grown');
is_sound($node, 't', 't_fp', 'the last one', 2);
$node->stop;
done_testing();
