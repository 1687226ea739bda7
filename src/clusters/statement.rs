//! The statements of `simhash_maintain_clusters()`, as SQL text.

use pgrx::PgSqlErrorCode::{
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use super::assign_options::AssignOptions;
use crate::pg::catalog::table::{self, Column, quoted};
use crate::pg::process::error::raise;
use crate::pg::sql::key_type::{self, Equality, KeyType};
use crate::pg::sql::trigger::TriggerCall;
use crate::trigger::call::refuse;
use crate::trigger::scope::Scope;

/// The trigger function.
pub const NAME: &str = "simhash_maintain_clusters";

/// What is asked about a row: `$1` is its key, `$2` its fingerprint, the others are what it has in
/// the columns of its scope.
pub struct Statement {
    /// The types of the parameters.
    pub types: Vec<pg_sys::Oid>,
    /// The table.
    rows: String,
    /// Its key column.
    key: String,
    /// Its fingerprint column.
    fp: String,
    /// The conditions for rows of the scope, each after AND; their columns are those of the table
    /// in the nearest FROM.
    in_scope: String,
    /// The table with the condition for rows near the new one.
    near: String,
    /// The equality of the key's type.
    equality: Equality,
    /// COLLATE with the default collation of the key's type, or nothing. simhash_clusters compares
    /// keys in it, whatever collation a column has.
    collate: String,
    /// The type of arrays of keys.
    pub array_type: pg_sys::Oid,
}

impl Statement {
    pub fn new(
        call: &TriggerCall<'_>,
        options: &AssignOptions,
        column: &Column,
        scope: &Scope,
    ) -> Self {
        let (key, fp) = (quoted(&options.key), quoted(&options.fingerprint));
        let of_type =
            KeyType::new(column.storage.type_id).unwrap_or_else(|| no_order(call, column));
        let Some(array_type) = of_type.array_type() else {
            let name = table::type_name(column.storage.type_id);
            let message = format!("{NAME} cannot look up keys of type {name}");
            refuse(call, ERRCODE_FEATURE_NOT_SUPPORTED, message, None);
        };
        let equality = of_type.equality().unwrap_or_else(|| no_order(call, column));
        let collation = of_type.collation();
        let rows = found(table::qualified_name(call.origin().table), "table");
        let same = equality.clause(&key, "$1");
        let mut types = vec![column.storage.type_id, pg_sys::INT8OID];
        let in_scope = scope.conditions("", &mut types);
        Statement {
            types,
            // A domain over bigint is cast to it, so that no overloaded function fits better. Every
            // role may use this function: a user who inserts needs no rights on the schema of the
            // extension.
            near: format!(
                "{rows} WHERE simhash_catalog.distance({fp}::pg_catalog.int8, $2) \
                 OPERATOR(pg_catalog.<=) {} AND NOT ({same}){in_scope}",
                options.radius
            ),
            in_scope,
            fp,
            rows,
            key,
            equality,
            collate: collation.map_or(String::new(), |name| format!(" COLLATE {name}")),
            array_type,
        }
    }

    pub fn is_stored(&self) -> String {
        let Statement {
            rows,
            key,
            fp,
            in_scope,
            ..
        } = self;
        let same = self.equality.clause(key, "$1");
        // Equal fingerprints as a distance of 0: the index on the fingerprint serves where the key
        // has no index.
        format!(
            "SELECT FROM {rows} WHERE {same} \
             AND simhash_catalog.distance({fp}::pg_catalog.int8, $2) OPERATOR(pg_catalog.<=) 0{in_scope} \
             LIMIT 1"
        )
    }

    pub fn any_near(&self) -> String {
        format!("SELECT FROM {} LIMIT 1", self.near)
    }

    pub fn joining(&self, clusters: &str) -> String {
        let Statement {
            key, near, collate, ..
        } = self;
        let is_there = self.equality.clause("c.key", "near.key");
        format!(
            "SELECT pg_catalog.array_agg(near.key)
            FROM (SELECT {key}{collate} AS key FROM {near}) AS near
            WHERE NOT EXISTS (
                SELECT FROM (SELECT key{collate} AS key FROM {clusters}) AS c WHERE {is_there}
            )"
        )
    }

    /// Its `$1` is an array of keys.
    pub fn lacking(&self) -> String {
        let Statement { rows, key, .. } = self;
        let is_there = self.equality.clause(&format!("r.{key}"), "joining.key");
        format!(
            "SELECT FROM pg_catalog.unnest($1) AS joining (key)
            WHERE NOT EXISTS (SELECT FROM {rows} AS r WHERE {is_there}) LIMIT 1"
        )
    }

    /// Puts the row, the rows near it and the clusters of them all into one cluster, named after
    /// its smallest key. Entries that name this cluster already are not updated: a row that joins a
    /// large cluster must not lock and log all of it.
    pub fn unite(&self, clusters: &str) -> String {
        let Statement {
            equality, collate, ..
        } = self;
        let keys = self.keys();
        let is_near = equality.among("key", "key", "FROM near");
        let of_theirs = format!("FROM {clusters} WHERE {is_near}");
        let is_old = equality.among("cluster_id", "cluster_id", &of_theirs);
        let has_smallest = equality.clause("old.cluster_id", "smallest.key");
        format!(
            "WITH near AS MATERIALIZED (
                {keys}
            ), old AS MATERIALIZED (
                SELECT key{collate} AS key, cluster_id{collate} AS cluster_id
                FROM {clusters} WHERE {is_old}
            ), smallest AS MATERIALIZED (
                (SELECT key FROM near ORDER BY key LIMIT 1)
                UNION ALL
                (SELECT key FROM old ORDER BY key LIMIT 1)
                ORDER BY key LIMIT 1
            ), apart AS MATERIALIZED (
                SELECT key FROM near EXCEPT SELECT key FROM old
                UNION ALL
                SELECT old.key FROM old CROSS JOIN smallest WHERE ({has_smallest}) IS NOT TRUE
            )
            INSERT INTO {clusters} AS c (key, cluster_id)
            SELECT apart.key, smallest.key FROM apart CROSS JOIN smallest
            ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id"
        )
    }

    /// Is the row in a cluster, or is a cluster of other rows named after it?
    pub fn is_taken(&self, clusters: &str) -> String {
        let is = |column| self.equality.clause(column, "$1");
        let (own, named) = (is("key"), is("cluster_id"));
        format!(
            "SELECT FROM {clusters} WHERE {own} UNION ALL SELECT FROM {clusters} WHERE {named} LIMIT 1"
        )
    }

    /// Has a cluster of the row, or of a row near it, a member in another scope?
    pub fn has_strangers(&self, clusters: &str) -> String {
        let members = self.members(clusters, &self.keys());
        format!("WITH {members} SELECT FROM member WHERE strange LIMIT 1")
    }

    /// Divides the clusters of the row, and with `near` those of the rows near it, into what is of
    /// its scope and what is not. Each part is named after its smallest key.
    pub fn divide(&self, clusters: &str, near: bool) -> String {
        let keys = match near {
            true => self.keys(),
            false => format!("SELECT $1{} AS key", self.collate),
        };
        let members = self.members(clusters, &keys);
        let same = self.equality.clause("c.key", "part.key");
        let is_named = self.equality.clause("c.cluster_id", "part.name");
        format!(
            "WITH {members}, part AS MATERIALIZED (
                SELECT key, pg_catalog.first_value(key)
                    OVER (PARTITION BY cluster_id, strange ORDER BY key) AS name FROM member
            )
            UPDATE {clusters} AS c SET cluster_id = part.name FROM part
            WHERE {same} AND NOT ({is_named})"
        )
    }

    /// The keys of the row and of those near it, as `key`.
    fn keys(&self) -> String {
        let Statement {
            key, near, collate, ..
        } = self;
        format!("SELECT {key}{collate} AS key FROM {near} UNION ALL SELECT $1{collate}")
    }

    /// The members of the clusters in which these keys are, or which are named after one of them.
    /// Strange is a row that is in another scope. Of a key without a row nothing is known.
    fn members(&self, clusters: &str, keys: &str) -> String {
        let Statement {
            rows,
            key,
            in_scope,
            equality,
            collate,
            ..
        } = self;
        let is_near = equality.among("key", "key", "FROM near");
        let of_theirs = format!("FROM {clusters} WHERE {is_near}");
        let is_with_them = equality.among("c.cluster_id", "cluster_id", &of_theirs);
        let is_named = equality.among("c.cluster_id", "key", "FROM near");
        let is_other = format!("NOT ({})", equality.clause("c.key", "$1"));
        let is_there = equality.clause(&format!("r.{key}"), "c.key");
        // With LIMIT a member's row is looked up by its key: other rows are not read.
        format!(
            "near AS MATERIALIZED ({keys}), member AS MATERIALIZED (
                SELECT c.key{collate} AS key, c.cluster_id{collate} AS cluster_id,
                    {is_other} AND elsewhere.found IS NOT NULL AS strange
                FROM {clusters} AS c LEFT JOIN LATERAL (
                    SELECT true AS found FROM {rows} AS r
                    WHERE {is_there} AND (true{in_scope}) IS NOT TRUE LIMIT 1
                ) AS elsewhere ON true
                WHERE {is_with_them} OR {is_named}
            )"
        )
    }
}

/// A name that was looked up; an ERROR when its table was dropped in the meantime.
pub fn found(name: Option<String>, what: &str) -> String {
    name.unwrap_or_else(|| {
        raise(
            ERRCODE_UNDEFINED_TABLE,
            format!("the {what} of {NAME} does not exist"),
        )
    })
}

fn no_order(call: &TriggerCall<'_>, column: &Column) -> ! {
    let message = key_type::no_order(column.storage.type_id);
    refuse(call, ERRCODE_UNDEFINED_FUNCTION, message, None)
}
