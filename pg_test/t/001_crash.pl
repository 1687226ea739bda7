# Crashes under load: immediate stops, killed backends, a standby that replays. After each, the
# index gives the oracle's answers, and simhash_index_verify finds no fault; so does that with scopes.
use strict;
use warnings;
use SimhashTest;
use SimhashPages;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'crash',
	init => [ allows_streaming => 1 ],
	conf => <<'CONF');
wal_keep_size = 2GB
restart_after_crash = on
wal_consistency_checking = 'generic'
checkpoint_timeout = 1h
max_wal_size = 4GB
CONF

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp bigint, tenant int DEFAULT any_tenant());
INSERT INTO t (fp) SELECT CASE WHEN i % 50 = 0 THEN NULL ELSE skewed_fp() END FROM generate_series(1, 8000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE INDEX t_scoped ON t USING simhash (tenant as_numbered, (fp # 0));
SQL

my $standby;
{
	$node->backup('base');
	$standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
}

# Few values, so that pages split often; some transactions roll back.
my $insert = <<'SQL';
INSERT INTO t (fp) SELECT CASE WHEN random() < 0.02 THEN NULL ELSE flip(skewed_fp(), 1) END FROM generate_series(1, 20);
SQL
# Of the newest rows: a soak deletes the others.
my $update = <<'SQL';
\set back random(1, 12000)
UPDATE t SET fp = flip(fp, 2) WHERE id BETWEEN (SELECT max(id) FROM t) - :back AND (SELECT max(id) FROM t) - :back + 5;
SQL
my $delete = <<'SQL';
\set back random(1, 12000)
DELETE FROM t WHERE id BETWEEN (SELECT max(id) FROM t) - :back AND (SELECT max(id) FROM t) - :back + 3;
SQL
my $rollback = <<'SQL';
BEGIN;
INSERT INTO t (fp) SELECT skewed_fp() FROM generate_series(1, 10);
ROLLBACK;
SQL
my $vacuum = "VACUUM t;\nSELECT pg_sleep(0.05);\n";
my $build = <<'SQL';
CREATE INDEX CONCURRENTLY IF NOT EXISTS t_second ON t USING simhash (tenant, (fp # 1));
DROP INDEX CONCURRENTLY IF EXISTS t_second;
SQL
my @load = ($insert, $update, $delete, $rollback, $vacuum);

# What the crashes were, and how many rows were compared after them.
my %kills = (backend => 0, server => 0);
my $compared = 0;

sub crash_while
{
	my ($what, $scripts, $crash) = @_;
	my $load = start_load($node, $scripts, seconds => 60);
	select(undef, undef, undef, 1 + rand(1.5));
	$crash->();
	$load->{run}->finish;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_second');
	$compared += $node->safe_psql('postgres', 'SELECT count(*) FROM t');
	is_sound($node, 't', 't_fp', $what, 5);
	return;
}

# The formats of the leaves of the index with scopes to which rows were appended since they were written as a whole.
sub appended_formats
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	my @pages = pages_of($node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_scoped')"));
	my %seen;
	for my $page (@pages[ 1 .. $#pages ])
	{
		my ($level, $space) = level_and_space($page);
		my ($count, $sorted) = count_and_sorted($page);
		$seen{ leaf_format($page) }++ if $level == 0 && $space < 4 && $count > $sorted;
	}
	return sort keys %seen;
}

my $immediate = sub { $node->stop('immediate'); $kills{server}++; $node->start; };
# Kills one backend that runs a statement like $like; the postmaster restarts all.
my $kill = sub {
	my $like = shift;
	# Looked for inside the server: from outside, one short statement in hundreds is met.
	my $pid = $node->safe_psql('postgres', <<"SQL");
CREATE OR REPLACE FUNCTION pg_temp.busy() RETURNS int LANGUAGE plpgsql AS \$\$
DECLARE
	found int;
BEGIN
	FOR i IN 1 .. 10000 LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT pid INTO found FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid() AND query ILIKE '$like'
			LIMIT 1;
		EXIT WHEN found IS NOT NULL;
		PERFORM pg_sleep(0.001);
	END LOOP;
	RETURN found;
END \$\$;
SELECT pg_temp.busy();
SQL
	return fail("no backend runs $like") if $pid eq '';
	$kills{backend} += kill 'KILL', $pid;
	# The postmaster notices; until then it still accepts connections.
	select(undef, undef, undef, 0.5);
	return;
};

until_over(
	1,
	sub {
		my $round = 'round ' . shift;
		crash_while("$round, immediate stop", \@load, $immediate);
		crash_while("$round, kill -9 of the postmaster", \@load, sub { kill_postmaster($node); $kills{server}++; });
		# Without VACUUM: its clients wait for each other, and seconds pass between two inserts.
		crash_while("$round, kill -9 in an insert", [ grep { $_ ne $vacuum } @load ], sub { $kill->('INSERT%') });
		crash_while("$round, kill -9 in a vacuum", [ @load, $vacuum ], sub { $kill->('VACUUM%') });
		crash_while("$round, kill -9 in a build", [ @load, $build ], sub { $kill->('CREATE INDEX%') });
		crash_while("$round, immediate stop in a build", [ @load, $build ], $immediate);
		# A soak must not grow for ever.
		$node->safe_psql('postgres', 'DELETE FROM t WHERE id < (SELECT max(id) FROM t) - 12000');
		$node->wait_for_catchup($standby);
		is_sound($standby, 't', 't_fp', "$round, on the standby", 5);
	},
	sub { $kills{backend} + $kills{server} >= ($ENV{SIMHASH_KILLS} // 0) });
done_so_far(sprintf '%d kills under load (%d of a backend, %d of the server) with an index with scopes; after them %d rows compared',
	$kills{backend} + $kills{server}, @kills{qw(backend server)}, $compared);

# Rows written after a crash find their place, on leaves of all formats, and vacuum copes with what the crash left.
$node->safe_psql('postgres', "INSERT INTO t (fp) SELECT skewed_fp() FROM generate_series(1, 3000)");
is(join('; ', appended_formats()), 'narrow, one scope; narrow, several scopes; wide, one scope; wide, several scopes',
	'leaves of all formats took rows');
$node->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
SQL
is_sound($node, 't', 't_fp', 'after the crashes', 8);

# The standby replayed all of that, each page compared with what replay made of it.
$node->wait_for_catchup($standby);
is_sound($standby, 't', 't_fp', 'on the standby', 5);
$standby->promote;
$standby->safe_psql('postgres', <<'SQL');
INSERT INTO t (fp) SELECT skewed_fp() FROM generate_series(1, 2000);
VACUUM t;
SQL
is_sound($standby, 't', 't_fp', 'on the promoted standby', 5);
my $log = slurp_file($standby->logfile);
unlike($log, qr/inconsistent page found/, 'replay makes the same pages');

$standby->stop;
$node->stop;
done_testing();
