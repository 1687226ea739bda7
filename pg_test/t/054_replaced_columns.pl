# Extensions may put something else in the place of a column when a query is planned, for users who must not see it. A table
# that is read without the executor must not show them the column. The test compiles such an extension.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $headers = `$config --includedir-server`);
plan skip_all => 'no C compiler, or no headers of the server' unless -e "$headers/postgres.h" && `cc --version`;
my $source = "$PostgreSQL::Test::Utils::tmp_check/replace.c";
(my $library = $source) =~ s/c$/so/;
append_to_file($source, <<'C');
#include "postgres.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"
PG_MODULE_MAGIC;
static Node *replaced(Node *node, void *table)
{
	if (node != NULL && IsA(node, Var) && castNode(Var, node)->varattno == 2)
		return (Node *) makeConst(INT8OID, -1, InvalidOid, 8, Int64GetDatum(0), false, FLOAT8PASSBYVAL);
	return expression_tree_mutator(node, replaced, table);
}
#if PG_VERSION_NUM >= 190000
#define MORE , explained
static PlannedStmt *plan(Query *query, const char *text, int options, ParamListInfo parameters, ExplainState *explained)
#else
#define MORE
static PlannedStmt *plan(Query *query, const char *text, int options, ParamListInfo parameters)
#endif
{
	ListCell *cell;
	foreach(cell, query->rtable)
	{
		RangeTblEntry *entry = lfirst(cell);
		if (entry->rtekind == RTE_RELATION && strcmp(get_rel_name(entry->relid), "secret") == 0)
			query->targetList = (List *) replaced((Node *) query->targetList, NULL);
	}
	return standard_planner(query, text, options, parameters MORE);
}
void _PG_init(void);
void _PG_init(void) { planner_hook = plan; }
C
is(system('cc', '-shared', '-fPIC', '-w', "-I$headers", '-o', $library, $source), 0, 'the extension is compiled');

my $node = new_node('replaced');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE secret (id int, fp bigint);
INSERT INTO secret SELECT i, i * 1000003::bigint << 20 FROM generate_series(1, 40) AS i;
CREATE TABLE secret_key (fp bigint, id int);
INSERT INTO secret_key SELECT 0, i FROM generate_series(1, 3) AS i;
ANALYZE;
SQL
for my $workers (0, 2) {
	my $of = sub {
		my ($query) = @_;
		return $node->safe_psql('postgres',
			"SET max_parallel_workers_per_gather = $workers; SET min_parallel_table_scan_size = 0; LOAD '$library'; $query");
	};
	is($of->('SELECT DISTINCT fp FROM secret'), '0', "the column is replaced, $workers workers");
	is($of->(q{SELECT count(*) FROM simhash_pairs('secret', 'id', 'fp', 0)}), '780', 'pairs see what takes its place');
	is($of->(q{SELECT count(*), count(DISTINCT cluster_id) FROM simhash_clusters('secret', 'id', 'fp', 0)}), '40|1', 'so do clusters');
	is($of->(q{SELECT count(*) FROM simhash_pairs_between('secret', 'id', 'fp', 'secret_key', 'id', 'fp', 0)}), '120',
		'so do pairs of two tables');
	is($of->(q{ALTER TABLE secret_key RENAME TO secret_; ALTER TABLE secret RENAME TO secret_key; ALTER TABLE secret_ RENAME TO secret;
		SELECT DISTINCT a, b FROM simhash_pairs('secret', 'id', 'fp', 0); ALTER TABLE secret RENAME TO secret_;
			ALTER TABLE secret_key RENAME TO secret; ALTER TABLE secret_ RENAME TO secret_key}),
		'0|0', 'a key is replaced too');
}
$node->stop;
done_testing();
