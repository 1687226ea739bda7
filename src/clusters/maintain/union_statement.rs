//! The queries about what the new rows of a statement unite, as SQL text: where they have near rows,
//! their pairs, the clusters in which these are.

use super::batch_statement::BatchStatement;
use super::statement::Statement;

/// The fewest new rows that are many, and the most rows of the table, with them, for each of them: to
/// look a new row up costs about as much as to read ten rows and compare them.
const LEAST: u32 = 1_000;
const SHARE: u32 = 11;
/// The most bytes of the table's file for each new row.
const BYTES: u32 = 2 * 8192;

impl BatchStatement<'_> {
    /// Which clusters the new rows unite. One row: the nodes, which are the ids of clusters and the
    /// keys that are in none, in order; which of them are such keys; which are such ids; and pairs of
    /// nodes, by their numbers from 1. With `settled`, a row beside an equal one of another
    /// transaction joins that one's cluster, and what else is near is not looked at.
    pub fn unions(&self, settled: bool) -> Option<String> {
        let [new, place] = self.places()?;
        let (pair, edge) = (self.pairs(settled), self.edges());
        let equality = &self.of.statement.equality;
        let [one, other] = ["one", "other"]
            .map(|side| equality.clause(&format!("{side}.key"), &format!("edge.{side}")));
        Some(format!(
            "WITH new AS MATERIALIZED ({new}), place AS MATERIALIZED ({place}),
            {pair}, edge AS MATERIALIZED ({edge}), node AS MATERIALIZED (
                SELECT key, pg_catalog.bool_or(is_free) AS is_key,
                    pg_catalog.bool_or(NOT is_free) AS is_id,
                    pg_catalog.row_number() OVER (ORDER BY key) AS number
                FROM (
                    SELECT one AS key, one_is_free AS is_free FROM edge
                    UNION ALL SELECT other, other_is_free FROM edge
                ) AS node GROUP BY key
            )
            SELECT (SELECT pg_catalog.array_agg(key ORDER BY number) FROM node),
                (SELECT pg_catalog.array_agg(is_key ORDER BY number) FROM node),
                (SELECT pg_catalog.array_agg(is_id ORDER BY number) FROM node),
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
        let named = self.of.scopes.scope.named("n");
        let is_near = self.is_near("f", self.of.options.radius);
        let is_itself = equality.clause(&format!("r.{key}"), "f.key");
        let place = format!(
            "SELECT f.* FROM (
                SELECT (pg_catalog.array_agg(n.key))[1] AS key, n.fp{named},
                    pg_catalog.count(*) AS copies
                FROM new AS n GROUP BY n.fp{named}
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
            key,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let scope = &self.of.scopes.scope;
        let (named, same_scope) = (scope.named("n"), scope.are_named_alike("n", "f"));
        let (is_stored, is_as_stored) = (
            equality.clause(&format!("r.{key}"), "n.key"),
            self.is_as("n"),
        );
        let is_near = self.is_near("f", self.of.options.radius);
        let is_itself = equality.clause(&format!("r.{key}"), "f.key");
        let is_first = equality.clause("n.key", "f.key");
        let settled = self.settled(settled);
        format!(
            "candidate AS MATERIALIZED (
                SELECT n.key, n.fp{named} FROM place AS f
                JOIN new AS n ON n.fp OPERATOR(pg_catalog.=) f.fp{same_scope}
            ), arrived AS MATERIALIZED (
                SELECT n.* FROM candidate AS n WHERE (
                    SELECT true FROM {rows} AS r WHERE {is_stored} AND {is_as_stored} LIMIT 1
                )
            ), first AS MATERIALIZED (
                SELECT (pg_catalog.array_agg(n.key ORDER BY n.key))[1] AS key, n.fp{named}
                FROM arrived AS n GROUP BY n.fp{named}
            ), pair AS MATERIALIZED (
                SELECT f.key AS one, n.key AS other FROM first AS f
                JOIN arrived AS n ON n.fp OPERATOR(pg_catalog.=) f.fp{same_scope}
                WHERE NOT ({is_first})
                UNION ALL
                SELECT f.key, near.key FROM first AS f
                LEFT JOIN LATERAL ({settled}) AS settled ON true CROSS JOIN LATERAL (
                    SELECT settled.key WHERE settled.key IS NOT NULL
                    UNION ALL
                    SELECT r.{key}::{key_type}{collate} FROM {rows} AS r
                    WHERE settled.key IS NULL AND {is_near} AND NOT ({is_itself})
                ) AS near
            )"
        )
    }

    /// The key of a row that is as the first of a place, of another transaction, and in a cluster;
    /// of none where that is not asked for.
    fn settled(&self, asked: bool) -> String {
        let Statement {
            rows,
            key,
            key_type,
            collate,
            ..
        } = &self.of.statement;
        if !asked {
            return format!("SELECT NULL::{key_type}{collate} AS key WHERE false");
        }
        let (is_equal, of_theirs) = (self.is_near("f", 0), self.entry("theirs", "equal.key"));
        format!(
            "SELECT equal.key FROM (
                SELECT r.{key}::{key_type}{collate} AS key, r.xmin
                FROM {rows} AS r WHERE {is_equal} LIMIT 8
            ) AS equal CROSS JOIN {of_theirs}
            WHERE simhash_catalog.is_of_others(equal.xmin) LIMIT 1"
        )
    }

    /// The pairs, with the id of the cluster in place of a key that is in one.
    fn edges(&self) -> String {
        let (of_one, of_other) = (
            self.entry("of_one", "pair.one"),
            self.entry("of_other", "pair.other"),
        );
        format!(
            "SELECT DISTINCT
                COALESCE(of_one.id, pair.one) AS one, of_one.id IS NULL AS one_is_free,
                COALESCE(of_other.id, pair.other) AS other, of_other.id IS NULL AS other_is_free
            FROM pair LEFT JOIN {of_one} ON true LEFT JOIN {of_other} ON true"
        )
    }

    /// Has the statement stored many rows, and the table not many more? Returns a row if so. A file
    /// that is long for them, of dead rows or free pages, would cost more to read than the index.
    pub fn is_large(&self) -> Option<String> {
        let (new, rows) = (self.new.as_ref()?, &self.of.statement.rows);
        let table = self.of.table.to_u32();
        Some(format!(
            "SELECT FROM (SELECT pg_catalog.count(*) AS rows FROM {new}) AS new
            WHERE new.rows OPERATOR(pg_catalog.>=) {LEAST}
            AND pg_catalog.pg_relation_size({table}::pg_catalog.regclass) OPERATOR(pg_catalog.<=) (new.rows OPERATOR(pg_catalog.*) {BYTES})
            AND (
                SELECT true FROM {rows} OFFSET new.rows OPERATOR(pg_catalog.*) {SHARE} LIMIT 1
            ) IS NULL"
        ))
    }

    /// The rows of the table that are compared with others, as a FROM item. Their keys are set.
    pub fn counting_rows(&self) -> String {
        let Statement { rows, key, fp, .. } = &self.of.statement;
        let scope = &self.of.scopes.scope;
        if scope.is_everything() {
            return rows.clone();
        }
        let (columns, is_set) = (scope.columns("r"), scope.are_set("r"));
        format!("(SELECT r.{key}, r.{fp}{columns} FROM {rows} AS r WHERE true{is_set}) AS r")
    }

    /// The fingerprints of the new rows.
    pub fn new_fingerprints(&self) -> Option<String> {
        let new = self.changed(self.new.as_ref()?, None);
        Some(format!("SELECT n.fp FROM ({new}) AS n"))
    }

    /// As [`BatchStatement::unions`], of the rows with the keys of the array `$1`, of which those with
    /// the same number in the array `$2` are connected.
    pub fn unions_of_connected(&self) -> String {
        let collate = &self.of.statement.collate;
        let of_part = self.entry("of_part", "part.key");
        format!(
            "WITH part AS MATERIALIZED (
                SELECT part.number, COALESCE(of_part.id, part.key) AS key, of_part.id IS NULL AS is_free
                FROM (
                    SELECT part.key{collate} AS key, part.number
                    FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS part (key, number)
                ) AS part LEFT JOIN {of_part} ON true
            ), ranked AS MATERIALIZED (
                SELECT part.*, pg_catalog.dense_rank() OVER (ORDER BY part.key) AS rank FROM part
            ), node AS MATERIALIZED (
                SELECT key, rank, pg_catalog.bool_or(is_free) AS is_key,
                    pg_catalog.bool_or(NOT is_free) AS is_id
                FROM ranked GROUP BY key, rank
            )
            SELECT (SELECT pg_catalog.array_agg(key ORDER BY rank) FROM node),
                (SELECT pg_catalog.array_agg(is_key ORDER BY rank) FROM node),
                (SELECT pg_catalog.array_agg(is_id ORDER BY rank) FROM node),
                pg_catalog.array_agg(pair.first), pg_catalog.array_agg(pair.rank)
            FROM (
                SELECT pg_catalog.min(rank) OVER (PARTITION BY number) AS first, rank FROM ranked
            ) AS pair"
        )
    }
}
