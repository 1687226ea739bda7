//! What people judge about whole clusters: `simhash_judge_cluster`, `simhash_undo_merge`, and
//! `simhash_unjudged_clusters`, which are left to judge. Verdicts are rows of the table of decisions, which its
//! trigger answers; that a cluster was looked at stands in its entries, `judged_at`: rows of one such time were
//! looked at together, whatever became of their clusters since.

use pgrx::PgSqlErrorCode::{
    ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
};
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::{self, Oid};

use super::entries::{Entries, Tables};
use super::refresh::{lock, require_update};
use crate::pairs::arguments::required;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::catalog::table_name;
use simhash_pg::process::error::Error;
use simhash_pg::spi::saved_query::{SavedQuery, Visibility};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

pg_function!(simhash_judge_cluster);
/// simhash_judge_cluster(clusters regclass, lasting_id bigint, same boolean, size bigint) -> bigint: how many
/// decisions have changed
fn simhash_judge_cluster(args: &Args) -> Datum {
    const NAME: &str = "simhash_judge_cluster";
    let clusters = required(args.get::<Oid>(0), NAME, "clusters");
    let id = required(args.get::<i64>(1), NAME, "lasting_id");
    let (same, size) = (args.get::<bool>(2), args.get::<i64>(3));
    let entries = locked(clusters);
    let found = count(args, &entries.mark(), id);
    if found == 0 || size.is_some_and(|size| size != found) {
        let table = table_name::shown(clusters);
        let message = format!("cluster {id} of table \"{table}\" has {found} rows");
        Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("It has changed: look at it again.")
            .raise();
    }
    let pairs = same.map(|same| (entries.pairs_of_cluster(same), same));
    args.result(Some(
        pairs.map_or(0, |pairs| decide(args, &entries, pairs, id)),
    ))
}

pg_function!(simhash_undo_merge);
/// simhash_undo_merge(clusters regclass, nr bigint) -> bigint: the same
fn simhash_undo_merge(args: &Args) -> Datum {
    const NAME: &str = "simhash_undo_merge";
    let clusters = required(args.get::<Oid>(0), NAME, "clusters");
    let nr = required(args.get::<i64>(1), NAME, "nr");
    let entries = locked(clusters);
    let pairs = entries.pairs_of_merge();
    let pairs = pairs.unwrap_or_else(|| missing(&entries.tables, "log"));
    args.result(Some(decide(args, &entries, (pairs, false), nr)))
}

pg_function!(simhash_unjudged_clusters);
/// simhash_unjudged_clusters(clusters regclass) -> SETOF (lasting_id bigint, size bigint)
fn simhash_unjudged_clusters(args: &Args) -> Datum {
    let mut rows = RowsOut::begin(args);
    let clusters = required(args.get::<Oid>(0), "simhash_unjudged_clusters", "clusters");
    let query = SavedQuery::new(&Entries::of(clusters).unjudged(), &[], false);
    query.for_each_row::<2>(&[], &mut |row| {
        rows.push(row.map(|value| value.map(|value| ResultValue::from(value.integer()))));
    });
    args.null()
}

/// Finds the clusters, and locks them until the transaction ends, so that no row joins one meanwhile. A TRUNCATE of the
/// decisions locks these first, so they are locked first here too.
fn locked(clusters: Oid) -> Entries {
    let entries = Entries::of(clusters);
    require_update(clusters);
    (entries.tables.decisions.into_iter()).for_each(OpenTable::lock);
    lock(clusters, false);
    entries
}

/// Writes what is said of pairs, and returns how many decisions have changed.
fn decide(args: &Args, entries: &Entries, (pairs, same): (String, bool), of: i64) -> i64 {
    let decide = entries.decide(&pairs, same);
    let decide = decide.unwrap_or_else(|| missing(&entries.tables, "decisions"));
    count(args, &decide, of)
}

fn missing(tables: &Tables, argument: &str) -> ! {
    let table = table_name::shown(tables.clusters);
    let [drop, keep] = match tables.are_records {
        true => ["simhash_drop_records", "simhash_keep_records"],
        false => [
            "simhash_drop_clusters with triggers_only",
            "simhash_keep_clusters",
        ],
    };
    let message = format!("clusters of table \"{table}\" are kept without \"{argument}\"");
    Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message)
        .hint(format!(
            "Call {drop}, then {keep} with {argument} => '...'."
        ))
        .raise()
}

fn count(args: &Args, sql: &str, number: i64) -> i64 {
    let query = SavedQuery::new(sql, &[pg_sys::INT8OID], true);
    let found = query.first_row(args, &[Some(Value::from(number))], Visibility::Latest);
    let Some([Some(count)]) = found else {
        return 0;
    };
    count.integer()
}

impl Entries {
    /// Notes that somebody has looked at cluster `$1`, and returns how many rows it has.
    fn mark(&self) -> String {
        format!(
            "WITH marked AS (
                UPDATE {} AS c SET judged_at = d.now FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS d
                WHERE c.lasting_id OPERATOR(pg_catalog.=) $1 RETURNING true
            ) SELECT pg_catalog.count(*) FROM marked",
            self.clusters
        )
    }

    /// The pairs that a verdict about cluster `$1` is about: all, if it says that they differ; if it says
    /// that they are the same, those of the smallest key.
    fn pairs_of_cluster(&self, same: bool) -> String {
        let Self { clusters, cast, .. } = self;
        let other = match same {
            true => "x.cluster_id",
            false => "y.key",
        };
        let join = match same {
            true => String::new(),
            false => {
                format!(" JOIN {clusters} AS y ON y.lasting_id OPERATOR(pg_catalog.=) x.lasting_id")
            }
        };
        format!(
            "SELECT x.key{cast} AS a, {other}{cast} AS b FROM {clusters} AS x{join}
            WHERE x.lasting_id OPERATOR(pg_catalog.=) $1"
        )
    }

    /// The pairs that line `$1` of the log has put together: a row that came, and one that was there.
    fn pairs_of_merge(&self) -> Option<String> {
        let (rows, key, cast, equality) = (&self.rows, &self.key, &self.cast, &self.equality);
        let log = self.log.as_ref()?;
        let [is_a, is_b] =
            ["came", "was"].map(|x| equality.clause(&format!("r.{key}"), &format!("{x}.key")));
        Some(format!(
            "SELECT came.key{cast} AS a, was.key{cast} AS b FROM {log} AS merge
            CROSS JOIN LATERAL pg_catalog.unnest(merge.keys) AS came (key)
            CROSS JOIN LATERAL (
                SELECT DISTINCT ON (m.key) m.key, l.to_id FROM {log} AS l CROSS JOIN LATERAL pg_catalog.unnest(l.keys) AS m (key)
                WHERE l.nr OPERATOR(pg_catalog.<) $1 ORDER BY m.key, l.nr DESC
            ) AS was
            WHERE merge.nr OPERATOR(pg_catalog.=) $1 AND was.to_id OPERATOR(pg_catalog.=) merge.to_id
            AND EXISTS (SELECT FROM {rows} AS r WHERE {is_a}) AND EXISTS (SELECT FROM {rows} AS r WHERE {is_b})"
        ))
    }

    /// Decides about pairs, each once, whichever row stands first in the table. Returns how many decisions
    /// have changed.
    fn decide(&self, pairs: &str, same: bool) -> Option<String> {
        let equality = &self.equality;
        let decisions = self.decisions.as_ref()?;
        let is_itself = equality.clause("given.a", "given.b");
        let [is_a, is_b, is_b_first, is_a_last] = [("a", "a"), ("b", "b"), ("a", "b"), ("b", "a")]
            .map(|(d, p)| equality.clause(&format!("d.{d}"), &format!("p.{p}")));
        Some(format!(
            "WITH pair AS MATERIALIZED (
                SELECT DISTINCT LEAST(given.a, given.b) AS a, GREATEST(given.a, given.b) AS b
                FROM ({pairs}) AS given WHERE NOT ({is_itself})
            ), changed AS (
                UPDATE {decisions} AS d SET same = {same}
                FROM (SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair) AS p
                WHERE {is_a} AND {is_b} AND d.same OPERATOR(pg_catalog.<>) {same} RETURNING true
            ), added AS (
                INSERT INTO {decisions} (a, b, same) SELECT p.a, p.b, {same} FROM pair AS p
                WHERE NOT EXISTS (SELECT FROM {decisions} AS d WHERE {is_a} AND {is_b})
                AND NOT EXISTS (SELECT FROM {decisions} AS d WHERE {is_b_first} AND {is_a_last})
                ON CONFLICT DO NOTHING RETURNING true
            )
            SELECT (SELECT pg_catalog.count(*) FROM changed)
                OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM added)"
        ))
    }

    /// Finds the clusters that have rows which nobody has looked at together, or judged the same.
    fn unjudged(&self) -> String {
        let (clusters, cast, equality) = (&self.clusters, &self.cast, &self.equality);
        let is_entry = equality.clause("judged.key", "c.key");
        let decided = self.decisions.as_ref().map_or(String::new(), |decisions| {
            format!(" UNION ALL SELECT d.a{cast}, d.b{cast} FROM {decisions} AS d WHERE d.same")
        });
        format!(
            "WITH link AS (
                SELECT c.key{cast} AS a, pg_catalog.first_value(c.key{cast}) OVER (PARTITION BY c.judged_at) AS b
                FROM {clusters} AS c WHERE c.judged_at IS NOT NULL{decided}
            ), judged AS MATERIALIZED (
                SELECT f.key{cast} AS key, f.cluster_id{cast} AS part
                FROM (SELECT pg_catalog.array_agg(a) AS a, pg_catalog.array_agg(b) AS b FROM link) AS links
                CROSS JOIN LATERAL simhash_catalog.components(links.a, links.b) AS f
            )
            SELECT c.lasting_id, pg_catalog.count(*) FROM {clusters} AS c LEFT JOIN judged ON {is_entry}
            GROUP BY c.lasting_id
            HAVING pg_catalog.count(judged.key) OPERATOR(pg_catalog.<) pg_catalog.count(*)
            OR pg_catalog.count(DISTINCT judged.part) OPERATOR(pg_catalog.>) 1
            ORDER BY 2 DESC, 1"
        )
    }
}
