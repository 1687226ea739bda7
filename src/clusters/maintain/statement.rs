//! The SQL texts of the queries about one row. `departure`, `arrival` and `members` build their
//! saved queries from them. Tables, functions and operators in a text are qualified, so that the
//! search_path of a session changes nothing.

use pgrx::PgSqlErrorCode::{ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_UNDEFINED_TABLE};
use pgrx::pg_sys;

use super::trigger::NAME;
use crate::trigger::scope::Scope;
use simhash_pg::catalog::table::{self, Column, quoted};
use simhash_pg::process::error::Error;
use simhash_pg::sql::key_type::{self, Equality, KeyType};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::cluster_options::MaintainOptions;

/// Parts of the queries about a row: `$1` is its key, `$2` its fingerprint, and the other
/// parameters are its values in the columns of its scope.
pub struct Statement {
    /// The types of the parameters.
    pub types: Vec<pg_sys::Oid>,
    /// The table of clusters.
    pub clusters: String,
    /// The table.
    pub rows: String,
    /// Its key column.
    pub key: String,
    /// Its fingerprint column.
    pub fp: String,
    /// The type of keys as SQL text; for a domain, its base type.
    pub key_type: String,
    /// The conditions for rows of the scope, each after AND; their columns are those of the table
    /// in the nearest FROM.
    in_scope: String,
    /// The table with the condition for rows near the new one.
    near: String,
    /// The condition for rows with its fingerprint.
    equal: String,
    /// The equality of the key's type.
    pub equality: Equality,
    /// COLLATE with the default collation of the key's type, or nothing. simhash_clusters compares
    /// keys in it, whatever collation a column has.
    pub collate: String,
    /// The type of arrays of keys; for a domain, of its base type.
    pub array_type: pg_sys::Oid,
}

impl Statement {
    pub fn new(
        call: &TriggerCall<'_>,
        options: &MaintainOptions,
        column: &Column,
        scope: &Scope,
        [table, clusters]: [pg_sys::Oid; 2],
    ) -> (Self, KeyType) {
        let (key, fp) = (quoted(&options.key), quoted(&options.fingerprint));
        let key_order =
            KeyType::new(column.storage.type_id).unwrap_or_else(|| no_order(call, column));
        let array_type = KeyType::new(column.base_type()).and_then(|base| base.array_type());
        let Some(array_type) = array_type else {
            let name = table::type_name(column.storage.type_id);
            let message = format!("{NAME} cannot look up keys of type {name}");
            call.raise(Error::new(ERRCODE_FEATURE_NOT_SUPPORTED, message));
        };
        let equality = key_order
            .equality()
            .unwrap_or_else(|| no_order(call, column));
        let collation = key_order.collation();
        let rows = require_name(table::qualified_name(table), "table");
        let same = equality.clause(&key, "$1");
        let mut types = vec![column.storage.type_id, pg_sys::INT8OID];
        let in_scope = scope.conditions("", &mut types);
        let statement = Statement {
            types,
            // A domain over bigint is cast to it, so that no overloaded function fits better. Every
            // role may use this function: a user who inserts needs no rights on the schema of the
            // extension.
            near: format!(
                "{rows} WHERE simhash_catalog.distance({fp}::pg_catalog.int8, $2) \
                 OPERATOR(pg_catalog.<=) {} AND NOT ({same}){in_scope}",
                options.radius
            ),
            equal: format!(
                "simhash_catalog.distance({fp}::pg_catalog.int8, $2) OPERATOR(pg_catalog.<=) 0{in_scope}"
            ),
            in_scope,
            fp,
            clusters: require_name(table::qualified_name(clusters), "table of clusters"),
            key_type: table::qualified_type_name(column.base_type()),
            rows,
            key,
            equality,
            collate: collation.map_or(String::new(), |name| format!(" COLLATE {name}")),
            array_type,
        };
        (statement, key_order)
    }

    /// Tests whether there is a row with this key and this fingerprint, of this scope.
    pub fn is_stored(&self) -> String {
        let Statement {
            rows, key, equal, ..
        } = self;
        let same = self.equality.clause(key, "$1");
        // Equal fingerprints are written as a distance of 0: the index on the fingerprint serves
        // where the key has no index.
        format!("SELECT FROM {rows} WHERE {same} AND {equal} LIMIT 1")
    }

    pub fn any_near(&self) -> String {
        format!("SELECT FROM {} LIMIT 1", self.near)
    }

    /// Puts the row, the rows near it and the clusters of them all into one cluster, named after
    /// its smallest key. Entries that name this cluster already are not updated: a row that joins a
    /// large cluster must not lock and log all of it.
    pub fn unite(&self) -> String {
        let Statement {
            clusters,
            equality,
            collate,
            ..
        } = self;
        let keys = self.keys();
        let is_near = equality.among("key", "key", "FROM near");
        let of_near = format!("FROM {clusters} WHERE {is_near}");
        let is_old = equality.among("cluster_id", "cluster_id", &of_near);
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

    /// Tests whether the row is in a cluster, or a cluster of other rows is named after it. Finds the
    /// id of that cluster and the row's key, as an array.
    pub fn own_ids(&self) -> String {
        let Statement {
            clusters,
            key_type,
            collate,
            ..
        } = self;
        let is = |column| self.equality.clause(column, "$1");
        let (own, named) = (is("key"), is("cluster_id"));
        let id = format!("cluster_id::{key_type}{collate} AS id");
        format!(
            "SELECT ARRAY[found.id, $1::{key_type}{collate}] FROM (
                SELECT {id} FROM {clusters} WHERE {own}
                UNION ALL SELECT {id} FROM {clusters} WHERE {named}
            ) AS found LIMIT 1"
        )
    }

    /// Finds what [`Self::unite`] changes, as an array: the ids of the clusters of the row and of
    /// those near it, and the keys of those that are in no cluster.
    pub fn to_unite(&self) -> String {
        self.ids_of(&self.keys())
    }

    /// Finds the same for a few of the rows near it.
    pub fn a_few_to_unite(&self) -> String {
        let Statement {
            key, near, collate, ..
        } = self;
        self.ids_of(&format!("SELECT {key}{collate} AS key FROM {near} LIMIT 8"))
    }

    fn ids_of(&self, keys: &str) -> String {
        let Statement {
            clusters,
            equality,
            collate,
            key_type,
            ..
        } = self;
        let is_near = equality.clause("c.key", "near.key");
        format!(
            "SELECT pg_catalog.array_agg(ids.id) FROM (
                SELECT DISTINCT COALESCE(entry.id, near.key::{key_type}){collate} AS id
                FROM ({keys}) AS near LEFT JOIN LATERAL (
                    SELECT c.cluster_id::{key_type} AS id FROM {clusters} AS c
                    WHERE {is_near} LIMIT 1
                ) AS entry ON true
            ) AS ids"
        )
    }

    /// Finds the ids of the cluster of the row and of those that are named after it, as an array,
    /// if one of them has a member in another scope.
    pub fn own_ids_across_scopes(&self) -> String {
        self.across_scopes(&format!("SELECT $1{} AS key", self.collate))
    }

    /// Finds the same for the row and those near it.
    pub fn ids_across_scopes(&self) -> String {
        self.across_scopes(&self.keys())
    }

    fn across_scopes(&self, keys: &str) -> String {
        let Statement {
            key_type, collate, ..
        } = self;
        let members = self.members(keys);
        format!(
            "WITH {members}
            SELECT pg_catalog.array_agg(DISTINCT member.cluster_id::{key_type}{collate})
            FROM member HAVING pg_catalog.bool_or(in_other_scope)"
        )
    }

    /// Tests whether a row with this fingerprint is stored.
    pub fn has_equal_row(&self) -> String {
        format!("SELECT FROM {} WHERE {} LIMIT 1", self.rows, self.equal)
    }

    /// Finds the ids of the clusters of the row, and of those near it, and its key, after which a
    /// cluster may be named, as an array.
    pub fn ids(&self) -> String {
        let Statement {
            clusters,
            equality,
            collate,
            key_type,
            ..
        } = self;
        let keys = self.keys();
        let is_near = equality.among("key", "key", &format!("FROM ({keys}) AS near"));
        format!(
            "SELECT pg_catalog.array_agg(ids.id) FROM (
                SELECT cluster_id::{key_type}{collate} AS id FROM {clusters} WHERE {is_near}
                UNION SELECT $1::{key_type}{collate}
            ) AS ids"
        )
    }

    /// Tests whether a row has the key.
    pub fn has_key(&self) -> String {
        let Statement { rows, key, .. } = self;
        format!(
            "SELECT FROM {rows} WHERE {} LIMIT 1",
            self.equality.clause(key, "$1")
        )
    }

    /// Removes the key from the table of clusters.
    pub fn forget(&self) -> String {
        let is_entry = self.equality.clause("key", "$1");
        format!("DELETE FROM {} WHERE {is_entry}", self.clusters)
    }

    /// Returns the condition that no row has the key of an entry.
    pub fn is_gone(&self) -> String {
        let Statement {
            rows,
            key,
            equality,
            collate,
            ..
        } = self;
        let has_key = equality.clause(&format!("r.{key}"), &format!("(SELECT c.key{collate})"));
        format!("(SELECT true FROM {rows} AS r WHERE {has_key} LIMIT 1) IS NULL")
    }

    /// Makes the row a cluster of its own.
    pub fn leave(&self) -> String {
        let (clusters, is) = (&self.clusters, self.equality.clause("key", "$1"));
        let is_alone = self.equality.clause("cluster_id", "key");
        format!("UPDATE {clusters} SET cluster_id = key WHERE {is} AND NOT ({is_alone})")
    }

    /// Tests whether a cluster of other rows is named after the row.
    pub fn names_cluster(&self) -> String {
        format!(
            "SELECT FROM {} AS c WHERE {} LIMIT 1",
            self.clusters,
            self.is_other_member()
        )
    }

    /// Names such a cluster after the smallest key that a row has.
    pub fn rename(&self) -> String {
        let Statement {
            clusters,
            rows,
            key,
            equality,
            collate,
            ..
        } = self;
        let is_other_member = self.is_other_member();
        let has_key = equality.clause(&format!("r.{key}"), "member.key");
        format!(
            "UPDATE {clusters} AS c SET cluster_id = smallest.key FROM (
                SELECT member.key FROM (
                    SELECT c.key{collate} AS key FROM {clusters} AS c WHERE {is_other_member}
                ) AS member
                CROSS JOIN LATERAL (SELECT FROM {rows} AS r WHERE {has_key} LIMIT 1) AS stored
                ORDER BY member.key LIMIT 1
            ) AS smallest WHERE {is_other_member}"
        )
    }

    fn is_other_member(&self) -> String {
        let is = |column| self.equality.clause(column, "$1");
        format!("{} AND NOT ({})", is("c.cluster_id"), is("c.key"))
    }

    /// Puts the row into the cluster of an equal one, of the table `leaf` alone, that this
    /// transaction has not written, or leaves it there.
    pub fn join_answered(&self, leaf: &str) -> String {
        // Few rows are looked at: the transaction remembers its own (`answered_rows`).
        self.join(&format!(
            "SELECT key FROM (
                SELECT {}{} AS key, xmin FROM ONLY {leaf} WHERE {} LIMIT 8
            ) AS equal WHERE simhash_catalog.is_of_others(xmin)",
            self.key, self.collate, self.equal
        ))
    }

    /// Does the same with the row whose key is the last parameter, if it is still stored and equal.
    pub fn join_remembered(&self) -> String {
        let Statement {
            rows,
            key,
            equal,
            collate,
            ..
        } = self;
        let parameter = format!("${}", self.types.len() + 1);
        let is_remembered = self.equality.clause(key, &parameter);
        let is_itself = self.equality.clause(key, "$1");
        self.join(&format!(
            "SELECT {key}{collate} AS key FROM {rows} \
             WHERE {is_remembered} AND {equal} AND NOT ({is_itself}) LIMIT 1"
        ))
    }

    /// Returns the id of the cluster, as an array. Does nothing in two cases: if the row has a smaller key, which would rename the cluster, and
    /// if the row is in a cluster with others, since the two would have to be united.
    fn join(&self, equal: &str) -> String {
        let Statement {
            clusters,
            equality,
            collate,
            key_type,
            ..
        } = self;
        let is_theirs = equality.clause("c.key", "equal.key");
        let is_own = equality.clause("key", "$1");
        let least = format!("LEAST(found.id{collate}, $1{collate})");
        let is_smaller = equality.clause(&least, "found.id");
        let is_same_cluster = equality.clause("own.id", "found.id");
        let is_own_name = equality.clause("own.id", "$1");
        let is_other_member = self.is_other_member();
        format!(
            "WITH found AS MATERIALIZED (
                SELECT theirs.id FROM ({equal}) AS equal CROSS JOIN LATERAL (
                    SELECT c.cluster_id::{key_type} AS id FROM {clusters} AS c
                    WHERE {is_theirs} LIMIT 1
                ) AS theirs LIMIT 1
            ), own AS MATERIALIZED (
                SELECT cluster_id::{key_type} AS id FROM {clusters} WHERE {is_own} LIMIT 1
            ), joined AS (
                INSERT INTO {clusters} AS c (key, cluster_id) SELECT $1, found.id FROM found
                WHERE {is_smaller} AND NOT EXISTS (SELECT FROM own WHERE NOT ({is_own_name}))
                AND (SELECT true FROM {clusters} AS c WHERE {is_other_member} LIMIT 1) IS NULL
                ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id
                RETURNING c.cluster_id::{key_type} AS id
            )
            SELECT ARRAY[ids.id] FROM (
                SELECT joined.id FROM joined
                UNION ALL SELECT found.id FROM found CROSS JOIN own WHERE {is_same_cluster}
            ) AS ids LIMIT 1"
        )
    }

    /// Finds the keys of the row and of those near it, as `key`.
    fn keys(&self) -> String {
        let Statement {
            key, near, collate, ..
        } = self;
        format!("SELECT {key}{collate} AS key FROM {near} UNION ALL SELECT $1{collate}")
    }

    /// Finds the members of the clusters in which these keys are, or which are named after one of
    /// them. A member is `in_other_scope` if its row is. Nothing is known of a key
    /// without a row.
    fn members(&self, keys: &str) -> String {
        let Statement {
            clusters,
            rows,
            key,
            in_scope,
            equality,
            collate,
            ..
        } = self;
        let is_near = equality.among("key", "key", "FROM near");
        let of_near = format!("FROM {clusters} WHERE {is_near}");
        let is_with_near = equality.among("c.cluster_id", "cluster_id", &of_near);
        let is_named = equality.among("c.cluster_id", "key", "FROM near");
        let is_other = format!("NOT ({})", equality.clause("c.key", "$1"));
        let has_key = equality.clause(&format!("r.{key}"), "c.key");
        // With LIMIT, a member's row is looked up by its key, and other rows are not read.
        format!(
            "near AS MATERIALIZED ({keys}), member AS MATERIALIZED (
                SELECT c.key{collate} AS key, c.cluster_id{collate} AS cluster_id,
                    {is_other} AND other.found IS NOT NULL AS in_other_scope
                FROM {clusters} AS c LEFT JOIN LATERAL (
                    SELECT true AS found FROM {rows} AS r
                    WHERE {has_key} AND (true{in_scope}) IS NOT TRUE LIMIT 1
                ) AS other ON true
                WHERE {is_with_near} OR {is_named}
            )"
        )
    }
}

/// Returns a name that was looked up; raises an ERROR when its table was dropped in the meantime.
pub fn require_name(name: Option<String>, what: &str) -> String {
    name.unwrap_or_else(|| {
        Error::new(
            ERRCODE_UNDEFINED_TABLE,
            format!("the {what} of {NAME} does not exist"),
        )
        .raise()
    })
}

fn no_order(call: &TriggerCall<'_>, column: &Column) -> ! {
    call.raise(key_type::no_order(column.storage.type_id))
}
