//! The queries of the two short ways, by which `answer` takes a row out of a cluster or puts it
//! into one without looking at the members: [`super`] says when they suffice. Each way finds what
//! is to be held, then writes it.

use super::queries::KeptQueries;
use crate::trigger::hash_column::{Radius, first_found};

/// How many of the rows with one fingerprint are looked at for one that is in a cluster. More may be
/// of other scopes, or not answered yet.
const LOOKED_AT: u32 = 32;
/// How many rows near a new version are looked at for clusters that it may join.
const NEAR: u32 = 8;
/// Up to this number of keys the short ways are tried: for many they cost what they save.
pub const MOST_SHORT_WAYS: usize = 256;

impl KeptQueries {
    /// The id of the cluster of a row that is equal to that of `noted.key` and is not noted itself, if
    /// that row only joins it: the rows near it are in that cluster. Else NULL; also for more than a few
    /// keys.
    pub(super) fn joined(&self) -> String {
        let Self {
            clusters,
            rows,
            key,
            fp,
            is_in_scope,
            has_text,
            scope_columns,
            text_column,
            equality,
            cast,
            ..
        } = self;
        let has_key = equality.clause(&format!("r.{key}"), "noted.key");
        let is_own = equality.clause("c.key", "noted.key");
        let is_named = equality.clause("c.cluster_id", "noted.key");
        let is_entry = equality.clause("c.key", &format!("equal.{key}"));
        let is_noted = self.is_given(&format!("r.{key}"));
        let is_equal = self.has_fingerprint("d.fp");
        let keeps_name = equality.clause("LEAST(noted.key, entry.id)", "entry.id");
        let id = format!(
            "(SELECT entry.id FROM (
                SELECT r.{fp} AS fp{scope_columns}{text_column}
                FROM {rows} AS r WHERE {has_key} LIMIT 1
            ) AS d CROSS JOIN LATERAL (
                SELECT r.{key} FROM {rows} AS r
                WHERE {is_equal}{is_in_scope}{has_text} AND NOT ({is_noted}) LIMIT {LOOKED_AT}
            ) AS equal CROSS JOIN LATERAL (
                SELECT c.cluster_id{cast} AS id FROM {clusters} AS c WHERE {is_entry} LIMIT 1
            ) AS entry
            WHERE (SELECT true FROM {clusters} AS c WHERE {is_own} LIMIT 1) IS NULL
            AND (SELECT true FROM {clusters} AS c WHERE {is_named} LIMIT 1) IS NULL AND {keeps_name}
            LIMIT 1)"
        );
        match self.of_one {
            true => id,
            false => format!(
                "CASE WHEN pg_catalog.cardinality($1) OPERATOR(pg_catalog.<=) {MOST_SHORT_WAYS} THEN {id} END"
            ),
        }
    }

    /// Finds whether a row other than that which `has_key` says is near `d`.
    pub(super) fn first_near(&self, has_key: &str) -> String {
        let Self {
            rows,
            fp,
            is_in_scope,
            ..
        } = self;
        let near = (self.hashes).near(&format!("r.{fp}"), "d.fp", Radius::Bits(self.radius));
        let one = |near: String| {
            format!("SELECT true FROM {rows} AS r WHERE {near}{is_in_scope} AND NOT ({has_key})")
        };
        let queries: Vec<String> = near.into_iter().map(one).collect();
        first_found(&queries, " LIMIT 1")
    }

    /// Adds the entries that two arrays of keys and ids give.
    pub fn join(&self) -> String {
        let clusters = &self.clusters;
        format!(
            "INSERT INTO {clusters} (key, cluster_id)
            SELECT n.key, n.id FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS n (key, id)
            ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id"
        )
    }

    /// Finds those of the keys whose rows had the fingerprints of the array `$2`, which has as many parts
    /// for each, and have left their cluster whole: two equal rows are left in it, which connect what the
    /// row connected. `$3` are all noted keys, and do not count. Finds the ids of these clusters too, and
    /// those of a few rows that are near the rows now: what a row joins next is held together with what it
    /// leaves.
    pub fn find_leaving(&self) -> String {
        let Self {
            clusters,
            rows,
            key,
            fp,
            scope_columns,
            equality,
            cast,
            ..
        } = self;
        let is_own = equality.clause("c.key", "n.key");
        let is_named = equality.clause("entry.id", "n.key");
        let is_entry = equality.clause("c.key", &format!("equal.{key}"));
        let is_member = equality.clause("c.cluster_id", "place.id");
        let is_place = equality.clause("place.id", "leaving.id");
        let is_other = format!("NOT ({})", equality.any_of(&format!("r.{key}"), "$3"));
        let is_equal = self.has_fingerprint("place.fp");
        let has_key = equality.clause(&format!("r.{key}"), "gone.key");
        let is_near_entry = equality.clause("c.key", "near.key");
        let is_near = self.is_near();
        let parts = "pg_catalog.cardinality($2) OPERATOR(pg_catalog./) pg_catalog.cardinality($1)";
        let noted = match self.hashes.is_in_parts() {
            false => "ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS n (key, fp)".to_owned(),
            true => format!(
                "(SELECT all_parts.key, ($2)[
                    (all_parts.n OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog.*) ({parts}) OPERATOR(pg_catalog.+) 1
                    : all_parts.n OPERATOR(pg_catalog.*) ({parts})
                ] AS fp FROM pg_catalog.unnest($1) WITH ORDINALITY AS all_parts (key, n)) AS n"
            ),
        };
        format!(
            "WITH leaving AS MATERIALIZED (
                SELECT n.key{cast} AS key, n.fp, entry.id
                FROM {noted}
                CROSS JOIN LATERAL (
                    SELECT c.cluster_id{cast} AS id FROM {clusters} AS c WHERE {is_own} LIMIT 1
                ) AS entry WHERE NOT ({is_named})
            ), place AS MATERIALIZED (SELECT DISTINCT fp, id FROM leaving), whole AS MATERIALIZED (
                SELECT place.fp, place.id FROM place CROSS JOIN LATERAL (
                    SELECT pg_catalog.count(*) AS left_in_it FROM (
                        SELECT FROM (
                            SELECT r.{key} FROM {rows} AS r WHERE {is_equal} AND {is_other} LIMIT {LOOKED_AT}
                        ) AS equal CROSS JOIN LATERAL (
                            SELECT FROM {clusters} AS c WHERE {is_entry} AND {is_member} LIMIT 1
                        ) AS entry LIMIT 2
                    ) AS two
                ) AS counted WHERE counted.left_in_it OPERATOR(pg_catalog.=) 2
            ), gone AS MATERIALIZED (
                SELECT leaving.key, leaving.id FROM leaving
                JOIN whole AS place ON {is_place} AND place.fp OPERATOR(pg_catalog.=) leaving.fp
            )
            SELECT pg_catalog.array_agg(gone.key), (SELECT pg_catalog.array_agg(held.id) FROM (
                SELECT gone.id FROM gone
                UNION SELECT COALESCE(entry.id, near.key) FROM gone CROSS JOIN LATERAL (
                    SELECT r.{fp} AS fp{scope_columns} FROM {rows} AS r WHERE {has_key} LIMIT 1
                ) AS d CROSS JOIN LATERAL (
                    SELECT r.{key}{cast} AS key FROM {rows} AS r WHERE {is_near} LIMIT {NEAR}
                ) AS near LEFT JOIN LATERAL (
                    SELECT c.cluster_id{cast} AS id FROM {clusters} AS c WHERE {is_near_entry} LIMIT 1
                ) AS entry ON true
            ) AS held) FROM gone"
        )
    }

    /// Removes the entries with these keys.
    pub fn leave(&self) -> String {
        let is_given = self.equality.any_of("c.key", "$1");
        format!("DELETE FROM {} AS c WHERE {is_given}", self.clusters)
    }

    /// The condition that row `r` has this fingerprint. It is written as a distance, which the index
    /// on fingerprints serves.
    fn has_fingerprint(&self, fingerprint: &str) -> String {
        (self.hashes).is_near(&format!("r.{}", self.fp), fingerprint, 0)
    }
}
