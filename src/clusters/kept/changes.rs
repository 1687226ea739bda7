//! What an answer writes, as SQL text: entries, their lasting ids, and the log. `entries` and `queries` call it with
//! the tables `old`, the entries before, and `fresh`, the clusters after, both whole clusters. All is
//! written by one statement under the locks of the entries, so log and ids are as right as these are.

use super::entries::Entries;

impl Entries {
    /// The common end of the queries: writes what differs in the clusters `fresh` from the entries `old`, which
    /// `found` has found. Returns how many have changed.
    pub(super) fn write_changes(&self, found: &str, fresh: &str) -> String {
        let Self {
            clusters, equality, ..
        } = self;
        let is_gone = equality.among(
            "c.key",
            "key",
            "FROM (SELECT key FROM old EXCEPT SELECT key FROM fresh) AS gone",
        );
        let is_entry = equality.clause("old.key", "fresh.key");
        let is_same = equality.clause("old.cluster_id", "fresh.cluster_id");
        let (ids, log) = (self.lasting_ids(), self.log());
        let [column, id, source, is_as_before, set, begun] = match self.has_ids {
            false => ["", "", "fresh", "", "", ""],
            true => [
                ", lasting_id",
                ", fresh.id",
                "(SELECT * FROM named WHERE NOT is_written) AS fresh",
                " AND old.lasting_id OPERATOR(pg_catalog.=) fresh.id",
                ", lasting_id = excluded.lasting_id",
                " OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM begun)",
            ],
        };
        format!(
            "WITH {found}, {fresh}, {ids}{log}gone AS (
                DELETE FROM {clusters} AS c WHERE {is_gone} RETURNING true
            ), written AS (
                INSERT INTO {clusters} AS c (key, cluster_id{column})
                SELECT fresh.key, fresh.cluster_id{id} FROM {source} LEFT JOIN old ON {is_entry}
                WHERE ({is_same}{is_as_before}) IS NOT TRUE
                ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id{set} RETURNING true
            )
            SELECT (SELECT pg_catalog.count(*) FROM gone)
                OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM written){begun}"
        )
    }

    /// The table `named`, as `fresh` with the lasting `id` of each cluster. The heir of an old id is the cluster
    /// with most of its rows, of several that with the smallest key; a cluster has the oldest id that it
    /// inherits. The first row of a cluster that inherits none is written here, with an id by the table's
    /// default.
    fn lasting_ids(&self) -> String {
        let (clusters, cast, equality) = (&self.clusters, &self.cast, &self.equality);
        if !self.has_ids {
            return String::new();
        }
        let is_entry = equality.clause("old.key", "fresh.key");
        let is_first = equality.clause("fresh.key", "fresh.cluster_id");
        let is_of =
            |table: &str| equality.clause(&format!("{table}.cluster_id"), "fresh.cluster_id");
        let [inherits, is_begun] = ["inherited", "begun"].map(is_of);
        format!(
            "heir AS MATERIALIZED (
                SELECT DISTINCT ON (old.lasting_id) old.lasting_id AS id, fresh.cluster_id
                FROM old JOIN fresh ON {is_entry} WHERE old.lasting_id IS NOT NULL
                GROUP BY old.lasting_id, fresh.cluster_id
                ORDER BY old.lasting_id, pg_catalog.count(*) DESC, fresh.cluster_id
            ), inherited AS MATERIALIZED (
                SELECT cluster_id, pg_catalog.min(id) AS id FROM (
                    SELECT cluster_id, id FROM heir
                    UNION ALL SELECT cluster_id, lasting_id FROM fresh WHERE lasting_id IS NOT NULL
                ) AS ids GROUP BY cluster_id
            ), begun AS (
                INSERT INTO {clusters} AS c (key, cluster_id)
                SELECT fresh.key, fresh.cluster_id FROM fresh LEFT JOIN inherited ON {inherits}
                WHERE inherited.id IS NULL AND {is_first} ORDER BY fresh.key
                ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id, lasting_id = excluded.lasting_id
                RETURNING c.cluster_id{cast} AS cluster_id, c.lasting_id AS id
            ), named AS MATERIALIZED (
                SELECT fresh.key, fresh.cluster_id, COALESCE(inherited.id, begun.id) AS id,
                    inherited.id IS NULL AND {is_first} AS is_written
                FROM fresh LEFT JOIN inherited ON {inherits} LEFT JOIN begun ON {is_begun}
            ), "
        )
    }

    /// Writes the log, one line for all rows that have gone from one id to another, 0 where they are in no
    /// cluster. Its decision is one about two rows that says what has come true of them.
    fn log(&self) -> String {
        let (Some(log), true) = (&self.log, self.has_ids) else {
            return String::new();
        };
        let equality = &self.equality;
        let is_entry = equality.clause("old.key", "named.key");
        let inherits = equality.clause("inherited.cluster_id", "heir.cluster_id");
        let decision = (self.decisions.as_ref()).map_or("NULL".to_owned(), |decisions| {
            let moved = "FROM change WHERE from_id OPERATOR(pg_catalog.<>) to_id";
            let [is_a, is_b] = ["a", "b"].map(|x| equality.clause(&format!("{x}.key"), &format!("d.{x}")));
            let [a_moved, b_moved] = ["a", "b"].map(|x| equality.among(&format!("d.{x}"), "key", moved));
            let [a_is_of, b_is_of] = ["a", "b"].map(|x| {
                format!(
                    "{x}.from_id OPERATOR(pg_catalog.=) line.from_id AND {x}.to_id OPERATOR(pg_catalog.=) line.to_id"
                )
            });
            let [before, after] = ["from_id", "to_id"].map(|id| {
                format!("(a.{id} OPERATOR(pg_catalog.=) b.{id} AND a.{id} OPERATOR(pg_catalog.<>) 0)")
            });
            format!(
                "(SELECT ARRAY[d.a, d.b] FROM {decisions} AS d
                JOIN change AS a ON {is_a} JOIN change AS b ON {is_b}
                WHERE ({a_moved} OR {b_moved}) AND ({a_is_of} OR {b_is_of})
                AND d.same OPERATOR(pg_catalog.=) {after} AND d.same OPERATOR(pg_catalog.<>) {before} ORDER BY d.a, d.b LIMIT 1)"
            )
        });
        format!(
            "change AS MATERIALIZED (
                SELECT COALESCE(old.key, named.key) AS key, COALESCE(old.lasting_id, 0) AS from_id,
                    COALESCE(named.id, 0) AS to_id
                FROM old FULL JOIN named ON {is_entry}
            ), line AS MATERIALIZED (
                SELECT from_id, to_id, pg_catalog.array_agg(key ORDER BY key) AS keys
                FROM change WHERE from_id OPERATOR(pg_catalog.<>) to_id GROUP BY from_id, to_id
            ), logged AS (
                INSERT INTO {log} (event, keys, from_id, to_id, decision)
                SELECT CASE
                    WHEN from_id OPERATOR(pg_catalog.=) 0 THEN 'joined'
                    WHEN to_id OPERATOR(pg_catalog.=) 0 THEN 'left'
                    WHEN ROW (from_id, to_id) OPERATOR(pg_catalog.=) ANY (
                        SELECT heir.id, inherited.id FROM heir JOIN inherited ON {inherits}
                    ) THEN 'merged' ELSE 'split' END,
                    keys, CASE WHEN from_id OPERATOR(pg_catalog.<>) 0 THEN from_id END,
                    CASE WHEN to_id OPERATOR(pg_catalog.<>) 0 THEN to_id END, {decision}
                FROM line ORDER BY line.to_id, line.from_id
            ), "
        )
    }
}
