//! The queries about a statement, as SQL text. They read its transition tables, whose columns are
//! those of the table.

use super::maintained::Maintained;
use super::statement::Statement;
use crate::pg::catalog::table::quoted;

/// The queries of one call.
pub struct BatchStatement<'m> {
    of: &'m Maintained,
    /// The transition tables, as SQL text.
    old: Option<String>,
    new: Option<String>,
}

impl<'m> BatchStatement<'m> {
    pub fn new(of: &'m Maintained, [old, new]: [Option<String>; 2]) -> Self {
        let name = |name: Option<String>| name.map(|name| quoted(&name));
        let (old, new) = (name(old), name(new));
        Self { of, old, new }
    }

    /// Has a row that is to be compared no key?
    pub fn lacks_key(&self) -> Option<String> {
        let Statement { key, fp, .. } = &self.of.statement;
        let is_set = self.of.scopes.scope.are_set("t.");
        let new = self.new.as_ref()?;
        Some(format!(
            "SELECT FROM {new} AS t WHERE t.{key} IS NULL AND t.{fp} IS NOT NULL{is_set} LIMIT 1"
        ))
    }

    /// The rows of `table` that were compared with others, without those that are in `other` as they
    /// are here. Columns: key, fp, and those of the scope.
    fn changed(&self, table: &str, other: Option<&str>) -> String {
        let Statement {
            key,
            fp,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let scope = &self.of.scopes.scope;
        let (columns, is_set) = (scope.listed("t."), scope.are_set("t."));
        let unchanged = other.map_or(String::new(), |other| {
            let same_key = equality.clause(&format!("u.{key}"), &format!("t.{key}"));
            let same_scope = scope.matches("u.", "t.");
            format!(
                " AND NOT EXISTS (SELECT FROM {other} AS u WHERE {same_key} \
                 AND u.{fp}::pg_catalog.int8 OPERATOR(pg_catalog.=) t.{fp}::pg_catalog.int8{same_scope})"
            )
        });
        format!(
            "SELECT t.{key}::{key_type}{collate} AS key, t.{fp}::pg_catalog.int8 AS fp{columns} FROM {table} AS t \
             WHERE t.{key} IS NOT NULL AND t.{fp} IS NOT NULL{is_set}{unchanged}"
        )
    }

    /// The condition that row `r` of the table is within `radius` bits of row `other`, which has
    /// columns fp and those of the scope.
    fn is_near(&self, other: &str, radius: u32) -> String {
        let fp = &self.of.statement.fp;
        let same_scope = self.of.scopes.scope.matches("r.", &format!("{other}."));
        format!(
            "simhash_catalog.distance(r.{fp}::pg_catalog.int8, {other}.fp) \
             OPERATOR(pg_catalog.<=) {radius}{same_scope}"
        )
    }

    /// The ids of the clusters that the old rows may have held together, as an array; also of those
    /// that are named after one of them, or that an entry with a new key is in.
    pub fn ids(&self) -> Option<String> {
        let Statement {
            rows,
            clusters,
            key,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let gone = self.changed(self.old.as_ref()?, self.new.as_deref());
        let (is_equal, is_near) = (
            self.is_near("g", 0),
            self.is_near("d", self.of.options.radius),
        );
        let columns = self.of.scopes.scope.listed("");
        let id = format!("c.cluster_id::{key_type}{collate} AS id");
        let is_entry = equality.clause("c.key", "g.key");
        let is_named = equality.clause("c.cluster_id", "g.key");
        let is_of_near = equality.clause("c.key", "near.key");
        let arrived = self.new.as_ref().map_or(String::new(), |new| {
            let is_entry = equality.clause("c.key", "t.key");
            let was = equality.clause(&format!("o.{key}"), "t.key");
            let old = self.old.as_deref().unwrap_or_default();
            format!(
                "UNION SELECT {id} FROM (SELECT {key}{collate} AS key FROM {new}) AS t \
                 JOIN {clusters} AS c ON {is_entry} \
                 WHERE NOT EXISTS (SELECT FROM {old} AS o WHERE {was})"
            )
        });
        Some(format!(
            "WITH gone AS MATERIALIZED ({gone}), torn AS MATERIALIZED (
                SELECT g.* FROM gone AS g
                WHERE (SELECT true FROM {rows} AS r WHERE {is_equal} LIMIT 1) IS NULL
            )
            SELECT pg_catalog.array_agg(ids.id) FROM (
                SELECT {id} FROM torn AS g JOIN {clusters} AS c ON {is_entry}
                UNION
                SELECT {id} FROM gone AS g JOIN {clusters} AS c ON {is_named} AND NOT ({is_entry})
                UNION
                SELECT {id} FROM (SELECT DISTINCT fp{columns} FROM torn) AS d
                CROSS JOIN LATERAL (
                    SELECT r.{key}{collate} AS key FROM {rows} AS r WHERE {is_near}
                ) AS near
                JOIN {clusters} AS c ON {is_of_near}
                {arrived}
            ) AS ids"
        ))
    }

    /// Takes the keys that no row has any more out of the table of clusters.
    pub fn forget(&self) -> Option<String> {
        let Statement {
            rows,
            clusters,
            key,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let old = self.old.as_ref()?;
        let is_entry = equality.clause("c.key", "o.key");
        let is_there = equality.clause(&format!("r.{key}"), "o.key");
        Some(format!(
            "DELETE FROM {clusters} AS c USING (SELECT {key}{collate} AS key FROM {old}) AS o WHERE {is_entry} \
             AND (SELECT true FROM {rows} AS r WHERE {is_there} LIMIT 1) IS NULL"
        ))
    }

    /// Makes the old rows that have changed clusters of their own.
    pub fn leave(&self) -> Option<String> {
        let Statement {
            clusters, equality, ..
        } = &self.of.statement;
        let gone = self.changed(self.old.as_ref()?, Some(self.new.as_ref()?));
        let is_entry = equality.clause("c.key", "g.key");
        let is_alone = equality.clause("c.cluster_id", "c.key");
        Some(format!(
            "UPDATE {clusters} AS c SET cluster_id = c.key FROM ({gone}) AS g \
             WHERE {is_entry} AND NOT ({is_alone})"
        ))
    }

    /// Which clusters the new rows unite. One row: the nodes, which are the ids of clusters and the
    /// keys that are in none, in order; which of them are such keys; and pairs of nodes, by their
    /// numbers from 0. With `settled`, a row beside an equal one of another transaction joins that
    /// one's cluster, and what else is near is not looked at.
    pub fn unions(&self, settled: bool) -> Option<String> {
        let [new, place] = self.places()?;
        let pair = self.pairs(settled);
        let edge = self.edges();
        let equality = &self.of.statement.equality;
        let [one, other] = ["one", "other"]
            .map(|side| equality.clause(&format!("{side}.key"), &format!("edge.{side}")));
        Some(format!(
            "WITH new AS MATERIALIZED ({new}), place AS MATERIALIZED ({place}),
            {pair}, edge AS MATERIALIZED ({edge}), node AS MATERIALIZED (
                SELECT key, pg_catalog.bool_and(is_free) AS is_free,
                    pg_catalog.row_number() OVER (ORDER BY key) AS number
                FROM (
                    SELECT one AS key, one_is_free AS is_free FROM edge
                    UNION ALL SELECT other, other_is_free FROM edge
                ) AS node GROUP BY key
            )
            SELECT (SELECT pg_catalog.array_agg(key ORDER BY number) FROM node),
                (SELECT pg_catalog.array_agg(is_free ORDER BY number) FROM node),
                pg_catalog.array_agg(one.number), pg_catalog.array_agg(other.number)
            FROM edge JOIN node AS one ON {one} JOIN node AS other ON {other}"
        ))
    }

    /// The new rows; and their fingerprints, by scope, beside which there is a row.
    fn places(&self) -> Option<[String; 2]> {
        let Statement {
            rows,
            key,
            equality,
            ..
        } = &self.of.statement;
        let new = self.changed(self.new.as_ref()?, self.old.as_deref());
        let columns = self.of.scopes.scope.listed("");
        let is_near = self.is_near("f", self.of.options.radius);
        let is_itself = equality.clause(&format!("r.{key}"), "f.key");
        let place = format!(
            "SELECT f.* FROM (
                SELECT (pg_catalog.array_agg(key))[1] AS key, fp{columns},
                    pg_catalog.count(*) AS copies
                FROM new GROUP BY fp{columns}
            ) AS f
            WHERE f.copies OPERATOR(pg_catalog.>) 1 OR (
                SELECT true FROM {rows} AS r WHERE {is_near} AND NOT ({is_itself}) LIMIT 1
            )"
        );
        Some([new, place])
    }

    /// The rows of the places that are still stored, as `arrived`; the first of each place; and the
    /// pairs of keys, as `pair`.
    fn pairs(&self, settled: bool) -> String {
        let Statement {
            rows,
            clusters,
            key,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let scope = &self.of.scopes.scope;
        let (columns, same_scope) = (scope.listed("n."), scope.matches("n.", "f."));
        let (is_stored, is_equal) = (
            equality.clause(&format!("r.{key}"), "n.key"),
            self.is_near("n", 0),
        );
        let (is_near, is_settled) = (
            self.is_near("f", self.of.options.radius),
            self.is_near("f", 0),
        );
        let is_itself = equality.clause(&format!("r.{key}"), "f.key");
        let is_first = equality.clause("n.key", "f.key");
        let is_theirs = equality.clause("c.key", "equal.key");
        let looks = if settled { "true" } else { "false" };
        let grouped = scope.listed("");
        format!(
            "candidate AS MATERIALIZED (
                SELECT n.key, n.fp{columns} FROM place AS f
                JOIN new AS n ON n.fp OPERATOR(pg_catalog.=) f.fp{same_scope}
            ), arrived AS MATERIALIZED (
                SELECT n.* FROM candidate AS n WHERE (
                    SELECT true FROM {rows} AS r WHERE {is_stored} AND {is_equal} LIMIT 1
                )
            ), first AS MATERIALIZED (
                SELECT (pg_catalog.array_agg(key ORDER BY key))[1] AS key, fp{grouped}
                FROM arrived GROUP BY fp{grouped}
            ), pair AS MATERIALIZED (
                SELECT f.key AS one, n.key AS other FROM first AS f
                JOIN arrived AS n ON n.fp OPERATOR(pg_catalog.=) f.fp{same_scope}
                WHERE NOT ({is_first})
                UNION ALL
                SELECT f.key, near.key FROM first AS f LEFT JOIN LATERAL (
                    SELECT equal.key FROM (
                        SELECT r.{key}::{key_type}{collate} AS key, r.xmin FROM {rows} AS r WHERE {is_settled} LIMIT 8
                    ) AS equal
                    WHERE {looks} AND simhash_catalog.is_of_others(equal.xmin)
                    AND (SELECT true FROM {clusters} AS c WHERE {is_theirs} LIMIT 1) LIMIT 1
                ) AS settled ON true CROSS JOIN LATERAL (
                    SELECT settled.key WHERE settled.key IS NOT NULL
                    UNION ALL
                    SELECT r.{key}::{key_type}{collate} FROM {rows} AS r
                    WHERE settled.key IS NULL AND {is_near} AND NOT ({is_itself})
                ) AS near
            )"
        )
    }

    /// The pairs, with the id of the cluster in place of a key that is in one.
    fn edges(&self) -> String {
        let Statement {
            clusters,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let entry = |side: &str| {
            let is_entry = equality.clause("c.key", &format!("pair.{side}"));
            format!(
                "LEFT JOIN LATERAL (SELECT c.cluster_id::{key_type}{collate} AS id \
                 FROM {clusters} AS c WHERE {is_entry} LIMIT 1) AS of_{side} ON true"
            )
        };
        let (of_one, of_other) = (entry("one"), entry("other"));
        format!(
            "SELECT DISTINCT
                COALESCE(of_one.id, pair.one) AS one, of_one.id IS NULL AS one_is_free,
                COALESCE(of_other.id, pair.other) AS other, of_other.id IS NULL AS other_is_free
            FROM pair {of_one} {of_other}"
        )
    }

    /// Gives the clusters with the ids of the array `$1` the names of the array `$2`.
    pub fn unite(&self) -> String {
        let Statement {
            clusters, equality, ..
        } = &self.of.statement;
        let is_member = equality.clause("c.cluster_id", "part.id");
        let is_named = equality.clause("part.id", "part.name");
        format!(
            "UPDATE {clusters} AS c SET cluster_id = part.name
            FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS part (id, name) WHERE {is_member} AND NOT ({is_named})"
        )
    }

    /// Puts the keys of the array `$1` into the clusters of the array `$2`.
    pub fn join(&self) -> String {
        format!(
            "INSERT INTO {} AS c (key, cluster_id)
            SELECT part.key, part.name FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS part (key, name)
            ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id",
            self.of.statement.clusters
        )
    }

    /// Takes the keys of all rows that are gone out of the table of clusters, after TRUNCATE.
    /// Returns the ids of their clusters, as an array.
    pub fn forget_all(&self) -> String {
        let Statement {
            rows,
            clusters,
            key,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let is_there = equality.clause(&format!("r.{key}"), &format!("(SELECT c.key{collate})"));
        format!(
            "WITH gone AS (
                DELETE FROM {clusters} AS c
                WHERE (SELECT true FROM {rows} AS r WHERE {is_there} LIMIT 1) IS NULL
                RETURNING c.cluster_id::{key_type}{collate} AS id
            )
            SELECT pg_catalog.array_agg(DISTINCT gone.id) FROM gone"
        )
    }
}
