//! `simhash_maintain_clusters()`: an AFTER INSERT OR UPDATE row trigger that keeps a table of
//! clusters current. Clusters only grow and unite here: one that an UPDATE or DELETE divides stays
//! whole until the table is computed anew.

use std::cell::{OnceCell, RefCell};

use pgrx::PgSqlErrorCode::{
    ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_FEATURE_NOT_SUPPORTED,
    ERRCODE_NULL_VALUE_NOT_ALLOWED, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use super::assign_options::parse;
use super::cluster_table::{ClusterTable, Clustered};
use crate::pg::catalog::invalidation::{Current, watch};
use crate::pg::catalog::lookup::equality_types;
use crate::pg::catalog::table::{self, Column};
use crate::pg::process::advisory_lock::{keeps_its_snapshot, lock_until_commit};
use crate::pg::process::error::raise;
use crate::pg::spi::saved_query::{SavedQuery, Sees};
use crate::pg::sql::fmgr::pg_function;
use crate::pg::sql::key_type::{self, Equality, KeyType};
use crate::pg::sql::trigger::{Event, TriggerCall};
use crate::pg::sql::value::Value;
use crate::trigger::call::{
    Known, accepted, column, missed_near_duplicate, refuse, remembered, typed_column,
};
use crate::trigger::locks::CLUSTERS;

const NAME: &str = "simhash_maintain_clusters";

pg_function! {
    /// `simhash_maintain_clusters() -> trigger`
    fn simhash_maintain_clusters, pg_finfo_simhash_maintain_clusters(args) {
        match TriggerCall::of(args) {
            Some(call)
                if call.is_after_row() && matches!(call.event(), Event::Insert | Event::Update) =>
            {
                assign(&call);
                call.unchanged()
            }
            _ => raise(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                format!("function {NAME} must be fired AFTER INSERT OR UPDATE FOR EACH ROW"),
            ),
        }
    }
}

/// What a session remembers of a trigger.
struct Assigner {
    key_name: String,
    key: Column,
    fingerprint: Column,
    clusters: ClusterTable,
    /// Is there a row with this key and this fingerprint?
    is_stored: SavedQuery,
    /// Is any row near?
    any_near: SavedQuery,
    unite: SavedQuery,
    statement: Statement,
    clusters_name: String,
    /// Made when first needed.
    references: OnceCell<References>,
}

/// Queries for clusters that reference the rows, in a transaction that keeps its snapshot: the
/// server looks the references up in that snapshot.
struct References {
    /// The keys of near rows that are in no cluster yet, as an array.
    joining: SavedQuery,
    /// Is one of those keys without a row?
    lacking: SavedQuery,
}

impl References {
    /// Would the clusters reference a near row that was committed after the snapshot?
    fn fail(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
        let joining = self.joining.first_row(call.args(), row, Sees::Latest);
        let Some([Some(keys)]) = joining else {
            return false;
        };
        let keys = [Some(keys)];
        let lacking = (self.lacking).first_row::<0>(call.args(), &keys, Sees::Usual);
        lacking.is_some()
    }
}

thread_local! {
    static KNOWN: Known<Assigner> = RefCell::default();
}

impl Assigner {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let options = accepted(call, parse(&call.arguments()));
        let key = column(call, &options.key, "the key");
        let fp = &options.fingerprint;
        let fingerprint = typed_column(call, fp, "the fingerprint", &[pg_sys::INT8OID]);
        let clustered = Clustered {
            call,
            table: call.origin().table,
            key_name: &options.key,
            key: &key,
        };
        let clusters = clustered.find(&options.clusters);
        // Watched before they are read, so that no change in between is missed.
        let current = watch(&[call.relation().oid(), clustered.table, clusters]);
        current.watch_types(&equality_types(key.storage.type_id));
        let statement = Statement::new(
            call,
            table::quoted(&options.key),
            table::quoted(fp),
            &key,
            options.radius,
        );
        let checked = clustered.check(clusters);
        let clusters_name = found(table::qualified_name(clusters), "table of clusters");
        let (types, indexes) = (&statement.types, true);
        let [is_stored, any_near, unite] = SavedQuery::all(
            [
                (&statement.is_stored(table::quoted(fp)), types),
                (&statement.any_near(), types),
                (&statement.unite(&clusters_name), types),
            ],
            indexes,
        );
        let assigner = Assigner {
            is_stored,
            any_near,
            unite,
            statement,
            clusters_name,
            references: OnceCell::new(),
            key_name: options.key,
            key,
            fingerprint,
            clusters: checked,
        };
        (current, assigner)
    }

    fn references(&self) -> &References {
        self.references.get_or_init(|| {
            let (statement, indexes) = (&self.statement, true);
            let joining = statement.joining(&self.clusters_name);
            let [joining, lacking] = SavedQuery::all(
                [
                    (&joining, &statement.types),
                    (&statement.lacking(), &[statement.array_type]),
                ],
                indexes,
            );
            References { joining, lacking }
        })
    }
}

fn assign(call: &TriggerCall<'_>) {
    let assigner = remembered(&KNOWN, call, || Assigner::new(call));
    let Some(fingerprint) = call.new_value(&assigner.fingerprint) else {
        return;
    };
    let Some(key) = call.new_value(&assigner.key) else {
        let (column, table) = (&assigner.key_name, call.relation().name());
        let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
        refuse(call, ERRCODE_NULL_VALUE_NOT_ALLOWED, message, None);
    };
    let row = [Some(key), Some(fingerprint)];
    let run = |query: &SavedQuery| query.first_row::<0>(call.args(), &row, Sees::Latest);
    // When a deferred trigger runs, or one after another trigger, the row may have been deleted or
    // updated. A new fingerprint fires the trigger for itself, but a change of other columns need
    // not (UPDATE OF): the row counts if one with its key and its fingerprint is stored.
    if !call.new_row_is_live() && run(&assigner.is_stored).is_none() {
        return;
    }
    assigner.clusters.check_rights(call);
    // Until this transaction ends no other one changes the clusters: each sees what the one before
    // it stored, whatever its isolation level.
    lock_until_commit(assigner.clusters.oid, CLUSTERS);
    // Most rows have no near row.
    if run(&assigner.any_near).is_none() {
        return;
    }
    if keeps_its_snapshot()
        && assigner.clusters.references
        && assigner.references().fail(call, &row)
    {
        missed_near_duplicate(&call.relation().name());
    }
    run(&assigner.unite);
}

/// What is asked about a row, `$1` being its key and `$2` its fingerprint.
struct Statement {
    /// The types of `$1` and `$2`.
    types: [pg_sys::Oid; 2],
    /// The table.
    rows: String,
    /// Its key column.
    key: String,
    /// The table with the condition for rows near the new one.
    near: String,
    /// The equality of the key's type.
    equality: Equality,
    /// COLLATE with the default collation of the key's type, or nothing. simhash_clusters compares
    /// keys in it, whatever collation a column has.
    collate: String,
    /// The type of arrays of keys.
    array_type: pg_sys::Oid,
}

impl Statement {
    fn new(call: &TriggerCall<'_>, key: String, fp: String, column: &Column, radius: u32) -> Self {
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
        Statement {
            types: [column.storage.type_id, pg_sys::INT8OID],
            // A domain over bigint is cast to it, so that no overloaded function fits better. Every
            // role may use this function: a user who inserts needs no rights on the schema of the
            // extension.
            near: format!(
                "{rows} WHERE simhash_catalog.distance({fp}::pg_catalog.int8, $2) \
                 OPERATOR(pg_catalog.<=) {radius} AND NOT ({same})"
            ),
            rows,
            key,
            equality,
            collate: collation.map_or(String::new(), |name| format!(" COLLATE {name}")),
            array_type,
        }
    }

    fn is_stored(&self, fp: String) -> String {
        let Statement { rows, key, .. } = self;
        let same = self.equality.clause(key, "$1");
        // Equal fingerprints as a distance of 0: the index on the fingerprint serves where the key
        // has no index.
        format!(
            "SELECT FROM {rows} WHERE {same} \
             AND simhash_catalog.distance({fp}::pg_catalog.int8, $2) OPERATOR(pg_catalog.<=) 0 \
             LIMIT 1"
        )
    }

    fn any_near(&self) -> String {
        format!("SELECT FROM {} LIMIT 1", self.near)
    }

    fn joining(&self, clusters: &str) -> String {
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
    fn lacking(&self) -> String {
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
    fn unite(&self, clusters: &str) -> String {
        let Statement {
            key,
            near,
            equality,
            collate,
            ..
        } = self;
        let is_near = equality.among("key", "key", "FROM near");
        let of_theirs = format!("FROM {clusters} WHERE {is_near}");
        let is_old = equality.among("cluster_id", "cluster_id", &of_theirs);
        let has_smallest = equality.clause("old.cluster_id", "smallest.key");
        format!(
            "WITH near AS MATERIALIZED (
                SELECT {key}{collate} AS key FROM {near} UNION ALL SELECT $1{collate}
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
}

/// A name that was looked up; an ERROR when its table was dropped in the meantime.
fn found(name: Option<String>, what: &str) -> String {
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
