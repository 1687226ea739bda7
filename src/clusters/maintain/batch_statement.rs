//! The queries about a statement, as SQL text: what it has changed, what its old rows leave, what is
//! written. They read its transition tables, whose columns are those of the table.
//! [`super::union_statement`] has those about what its new rows unite.

use super::maintained::Maintained;
use super::statement::Statement;
use simhash_pg::catalog::table::quoted;

/// The queries of one call.
pub struct BatchStatement<'m> {
    pub(super) of: &'m Maintained,
    /// The transition tables, as SQL text.
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl<'m> BatchStatement<'m> {
    pub fn new(of: &'m Maintained, [old, new]: [Option<String>; 2]) -> Self {
        let name = |name: Option<String>| name.map(|name| quoted(&name));
        let (old, new) = (name(old), name(new));
        Self { of, old, new }
    }

    /// Has the statement changed anything that counts for clusters?
    pub fn has_changed(&self) -> Option<String> {
        let Statement { key, equality, .. } = &self.of.statement;
        let same_key = equality.clause(&format!("u.{key}"), &format!("t.{key}"));
        let changed = match (&self.old, &self.new) {
            (Some(old), None) => format!("SELECT FROM {old}"),
            (None, Some(new)) => format!("SELECT FROM {new}"),
            (old, new) => {
                let (old, new) = (old.as_deref()?, new.as_deref()?);
                format!(
                    "SELECT FROM ({}) AS gone UNION ALL SELECT FROM ({}) AS come \
                     UNION ALL SELECT FROM {old} AS t \
                     WHERE NOT EXISTS (SELECT FROM {new} AS u WHERE {same_key})",
                    self.changed(old, Some(new)),
                    self.changed(new, Some(old))
                )
            }
        };
        Some(format!("{changed} LIMIT 1"))
    }

    /// Has a row that is to be compared no key?
    pub fn lacks_key(&self) -> Option<String> {
        let Statement { key, fp, .. } = &self.of.statement;
        let is_set = self.of.scopes.scope.are_set("t");
        let new = self.new.as_ref()?;
        Some(format!(
            "SELECT FROM {new} AS t WHERE t.{key} IS NULL AND t.{fp} IS NOT NULL{is_set} LIMIT 1"
        ))
    }

    /// The rows of `table` that were compared with others, without those that are in `other` as they
    /// are here. Columns: key, fp, and those of the scope, named.
    pub(super) fn changed(&self, table: &str, other: Option<&str>) -> String {
        let Statement {
            key,
            fp,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let scope = &self.of.scopes.scope;
        let (columns, is_set) = (scope.listed("t"), scope.are_set("t"));
        let unchanged = other.map_or(String::new(), |other| {
            let same_key = equality.clause(&format!("u.{key}"), &format!("t.{key}"));
            let same_scope = scope.have_one_scope("u", "t");
            format!(
                " AND NOT EXISTS (SELECT FROM {other} AS u WHERE {same_key} \
                 AND u.{fp}::pg_catalog.int8 OPERATOR(pg_catalog.=) t.{fp}::pg_catalog.int8{same_scope})"
            )
        });
        format!(
            "SELECT t.{key}::{key_type}{collate} AS key, t.{fp}::pg_catalog.int8 AS fp{columns} \
             FROM {table} AS t \
             WHERE t.{key} IS NOT NULL AND t.{fp} IS NOT NULL{is_set}{unchanged}"
        )
    }

    /// The condition that row `r` of the table is within `radius` bits of row `other`, which has
    /// columns fp and those of the scope, named.
    pub(super) fn is_near(&self, other: &str, radius: u32) -> String {
        let fp = &self.of.statement.fp;
        let same_scope = self.of.scopes.scope.has_scope_of("r", other);
        format!(
            "simhash_catalog.distance(r.{fp}::pg_catalog.int8, {other}.fp) \
             OPERATOR(pg_catalog.<=) {radius}{same_scope}"
        )
    }

    /// The same for a row that is found by its key: the index on the fingerprint is not to be used.
    pub(super) fn is_as(&self, other: &str) -> String {
        let fp = &self.of.statement.fp;
        let same_scope = self.of.scopes.scope.has_scope_of("r", other);
        format!("r.{fp}::pg_catalog.int8 OPERATOR(pg_catalog.=) {other}.fp{same_scope}")
    }

    /// The id of the cluster in which a key is: the FROM item `name`, with a column id.
    pub(super) fn entry(&self, name: &str, key: &str) -> String {
        let Statement {
            clusters,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let is_entry = equality.clause("c.key", key);
        format!(
            "LATERAL (SELECT c.cluster_id::{key_type}{collate} AS id \
             FROM {clusters} AS c WHERE {is_entry} LIMIT 1) AS {name}"
        )
    }

    /// The ids of the clusters that the old rows may have held together, as an array; also of those
    /// that are named after one of them, or that an entry with a new key is in. And the keys of the
    /// other old rows, which are stored as the statement has left them. With `united`, all old rows
    /// are taken to have held clusters together ([`super::settled::has_united`]).
    pub fn ids(&self, united: bool) -> Option<String> {
        let Statement {
            rows,
            clusters,
            key,
            key_type,
            equality,
            collate,
            ..
        } = &self.of.statement;
        let (old, torn) = (self.old.as_ref()?, self.torn(united)?);
        let is_near = self.is_near("d", self.of.options.radius);
        let named = self.of.scopes.scope.named("t");
        let is_heir = format!(
            "{} AND NOT ({})",
            equality.clause("c.cluster_id", "g.key"),
            equality.clause("c.key", "g.key")
        );
        let is_torn = equality.clause("t.key", "g.key");
        let of_torn = self.entry("entry", "t.key");
        let of_near = self.entry("entry", "near.key");
        let arrived = self.new.as_ref().map_or(String::new(), |new| {
            let was = equality.clause(&format!("o.{key}"), "t.key");
            format!(
                "UNION SELECT entry.id FROM (SELECT {key}::{key_type}{collate} AS key FROM {new}) AS t \
                 CROSS JOIN {of_torn} WHERE NOT EXISTS (SELECT FROM {old} AS o WHERE {was})"
            )
        });
        Some(format!(
            "WITH {torn}
            SELECT pg_catalog.array_agg(ids.id), (
                SELECT pg_catalog.array_agg(g.key) FROM simhash_gone AS g
                WHERE NOT EXISTS (SELECT FROM simhash_torn AS t WHERE {is_torn})
            ) FROM (
                SELECT entry.id FROM simhash_torn AS t CROSS JOIN {of_torn}
                UNION
                SELECT g.key FROM simhash_gone AS g WHERE (
                    SELECT true FROM {clusters} AS c WHERE {is_heir} LIMIT 1
                )
                UNION
                SELECT entry.id FROM (SELECT DISTINCT t.fp{named} FROM simhash_torn AS t) AS d
                CROSS JOIN LATERAL (
                    SELECT r.{key}::{key_type}{collate} AS key FROM {rows} AS r WHERE {is_near}
                ) AS near CROSS JOIN {of_near}
                {arrived}
            ) AS ids"
        ))
    }

    /// The old rows that have gone or changed, as simhash_gone; and simhash_torn, those of them
    /// without which rows may not be connected any more: no equal row is left, or the key is stored
    /// otherwise than the statement has left it.
    fn torn(&self, united: bool) -> Option<String> {
        let Statement {
            rows,
            key,
            fp,
            equality,
            ..
        } = &self.of.statement;
        let scope = &self.of.scopes.scope;
        let gone = self.changed(self.old.as_ref()?, self.new.as_deref());
        let gone = format!("simhash_gone AS MATERIALIZED ({gone})");
        if united {
            return Some(format!(
                "{gone}, simhash_torn AS MATERIALIZED (SELECT * FROM simhash_gone)"
            ));
        }
        let (is_equal, named) = (self.is_near("g", 0), scope.named("g"));
        let is_lost = scope.are_named_alike("g", "l");
        let is_stored = equality.clause(&format!("r.{key}"), "g.key");
        let columns = scope.listed("r");
        let as_left = self.new.as_ref().map_or("false".to_owned(), |new| {
            let same_key = equality.clause(&format!("r.{key}"), "s.key");
            let as_stored = self.is_as("s");
            format!("EXISTS (SELECT FROM {new} AS r WHERE {same_key} AND {as_stored})")
        });
        let is_followed = equality.clause("f.key", "g.key");
        Some(format!(
            "{gone}, simhash_lost AS MATERIALIZED (
                SELECT g.* FROM (SELECT DISTINCT g.fp{named} FROM simhash_gone AS g) AS g
                WHERE (SELECT true FROM {rows} AS r WHERE {is_equal} LIMIT 1) IS NULL
            ), simhash_stored AS MATERIALIZED (
                SELECT g.key, stored.* FROM simhash_gone AS g CROSS JOIN LATERAL (
                    SELECT r.{fp}::pg_catalog.int8 AS fp{columns}
                    FROM {rows} AS r WHERE {is_stored} LIMIT 1
                ) AS stored
            ), simhash_torn AS MATERIALIZED (
                SELECT g.* FROM simhash_gone AS g
                JOIN simhash_lost AS l ON g.fp OPERATOR(pg_catalog.=) l.fp{is_lost}
                UNION ALL
                SELECT g.* FROM simhash_gone AS g
                JOIN (SELECT s.key FROM simhash_stored AS s WHERE NOT {as_left}) AS f
                ON {is_followed}
            )"
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
            "DELETE FROM {clusters} AS c USING (SELECT {key}{collate} AS key FROM {old}) AS o \
             WHERE {is_entry} AND (SELECT true FROM {rows} AS r WHERE {is_there} LIMIT 1) IS NULL"
        ))
    }

    /// Makes the rows with the keys of the array `$1` clusters of their own.
    pub fn leave(&self) -> String {
        let Statement {
            clusters, equality, ..
        } = &self.of.statement;
        let is_entry = equality.any_of("key", "$1");
        let is_alone = equality.clause("cluster_id", "key");
        format!("UPDATE {clusters} SET cluster_id = key WHERE {is_entry} AND NOT ({is_alone})")
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
