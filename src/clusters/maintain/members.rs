//! The SQL texts of the queries about the members of given clusters: read them, delete entries
//! without a row, and rename. `regroup` and `truncation` run them. Clusters and keys are parameters
//! of array types, so that one plan serves any number of them.

use super::statement::Statement;
use crate::trigger::scope::Scope;

/// Returns a query whose result is one row. Columns: the keys of the members that are stored, in
/// order; their fingerprints; the numbers of their scopes, 0 without `within=` and NULL for a row
/// without a scope; the number of members that are not seen in the table. `$1` is an array of the
/// clusters' ids.
pub fn members(statement: &Statement, scope: &Scope) -> String {
    let Statement {
        clusters,
        rows,
        key,
        fp,
        key_type,
        equality,
        collate,
        ..
    } = statement;
    let has_key = equality.clause(&format!("r.{key}"), "c.key");
    let is_listed = equality.any_of("c.cluster_id", "$1");
    let (columns, is_set) = (scope.listed("r"), scope.are_set("r"));
    let named = scope.named("m");
    // With LIMIT, a member's row is looked up by its key, and other rows are not read.
    let member = format!(
        "member AS MATERIALIZED (
            SELECT c.key, r.* FROM (
                SELECT c.key::{key_type}{collate} AS key FROM {clusters} AS c WHERE {is_listed}
            ) AS c LEFT JOIN LATERAL (
                SELECT true AS stored, r.{fp}::pg_catalog.int8 AS fp, true{is_set} AS counts{columns}
                FROM {rows} AS r WHERE {has_key} LIMIT 1
            ) AS r ON true
        )"
    );
    let (scopes, number, of_scope) = match scope.is_everything() {
        true => (String::new(), "0::pg_catalog.int8", String::new()),
        false => (
            format!(
                ", scope AS MATERIALIZED (
                    SELECT m.*, pg_catalog.row_number() OVER () AS number
                    FROM (SELECT DISTINCT {} FROM member AS m WHERE m.counts) AS m
                )",
                &named[2..]
            ),
            "s.number",
            format!(
                " LEFT JOIN scope AS s ON true{}",
                scope.are_named_alike("m", "s")
            ),
        ),
    };
    format!(
        "WITH {member}{scopes}
        SELECT pg_catalog.array_agg(m.key ORDER BY m.key),
            pg_catalog.array_agg(m.fp ORDER BY m.key),
            pg_catalog.array_agg({number} ORDER BY m.key),
            (SELECT pg_catalog.count(*) FROM member WHERE stored IS NULL)
        FROM member AS m{of_scope} WHERE m.stored"
    )
}

/// Removes members of the clusters with the ids of the array `$1` from the table of clusters, if no
/// row has their key.
pub fn delete_gone(statement: &Statement) -> String {
    let Statement {
        clusters, equality, ..
    } = statement;
    let is_listed = equality.any_of("c.cluster_id", "$1");
    let is_gone = statement.is_gone();
    format!("DELETE FROM {clusters} AS c WHERE {is_listed} AND {is_gone}")
}

/// Removes all keys that no row has any more from the table of clusters. Returns the ids of their
/// clusters, as an array.
pub fn delete_all_gone(statement: &Statement) -> String {
    let Statement {
        clusters,
        key_type,
        collate,
        ..
    } = statement;
    let is_gone = statement.is_gone();
    format!(
        "WITH gone AS (
            DELETE FROM {clusters} AS c WHERE {is_gone}
            RETURNING c.cluster_id::{key_type}{collate} AS id
        )
        SELECT pg_catalog.array_agg(DISTINCT gone.id) FROM gone"
    )
}

/// Gives the entries with the keys of the array `$1` the names of the array `$2`. Entries that
/// already have that name are not updated.
pub fn rename(statement: &Statement) -> String {
    let Statement {
        clusters, equality, ..
    } = statement;
    let is_entry = equality.clause("c.key", "part.key");
    let is_named = equality.clause("c.cluster_id", "part.name");
    format!(
        "UPDATE {clusters} AS c SET cluster_id = part.name
        FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS part (key, name) WHERE {is_entry} AND NOT ({is_named})"
    )
}
