//! `simhash_maintain_clusters()`: an AFTER INSERT OR UPDATE row trigger that keeps a table of
//! clusters current. Clusters only grow and unite here: one that an UPDATE or DELETE divides stays
//! whole until the table is computed anew.

use std::cell::{OnceCell, RefCell};

use pgrx::PgSqlErrorCode::{
    ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_NULL_VALUE_NOT_ALLOWED,
};
use pgrx::pg_sys;

use super::assign_options::parse;
use super::cluster_table::{ClusterTable, Clustered};
use super::scopes::Scopes;
use super::statement::{NAME, Statement, found};
use crate::pg::catalog::invalidation::{Current, watch};
use crate::pg::catalog::lookup::equality_types;
use crate::pg::catalog::table::{self, Column};
use crate::pg::process::advisory_lock::keeps_its_snapshot;
use crate::pg::process::error::raise;
use crate::pg::spi::saved_query::{SavedQuery, Sees};
use crate::pg::sql::fmgr::pg_function;
use crate::pg::sql::trigger::{Event, TriggerCall};
use crate::pg::sql::value::Value;
use crate::trigger::call::{
    Known, accepted, column, missed_near_duplicate, refuse, remembered, typed_column,
};
use crate::trigger::scope::Scope;

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
    scopes: Scopes,
    /// Is there a row with this key and this fingerprint, of this scope?
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
        let scope = Scope::new(call, &options.within);
        scope.watch(&current);
        let statement = Statement::new(call, &options, &key, &scope);
        let checked = clustered.check(clusters);
        let clusters_name = found(table::qualified_name(clusters), "table of clusters");
        let scopes = Scopes::new(call, &options, scope, clusters, &clusters_name, &statement);
        let (types, indexes) = (&*statement.types, true);
        let [is_stored, any_near, unite] = SavedQuery::all(
            [
                (&statement.is_stored(), types),
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
            scopes,
        };
        (current, assigner)
    }

    fn references(&self) -> &References {
        self.references.get_or_init(|| {
            let (statement, indexes) = (&self.statement, true);
            let joining = statement.joining(&self.clusters_name);
            let [joining, lacking] = SavedQuery::all(
                [
                    (&joining, &*statement.types),
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
    let scopes = &assigner.scopes;
    let held = scopes.leave(call, &assigner.key, &assigner.clusters);
    let fingerprint = call.new_value(&assigner.fingerprint);
    let (Some(fingerprint), Some(scope)) = (fingerprint, scopes.scope.values(call)) else {
        return;
    };
    let Some(key) = call.new_value(&assigner.key) else {
        let (column, table) = (&assigner.key_name, call.relation().name());
        let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
        refuse(call, ERRCODE_NULL_VALUE_NOT_ALLOWED, message, None);
    };
    let mut row = vec![Some(key), Some(fingerprint)];
    row.extend(scope.into_iter().map(Some));
    let run = |query: &SavedQuery| query.first_row::<0>(call.args(), &row, Sees::Latest);
    // When a deferred trigger runs, or one after another trigger, the row may have been deleted or
    // updated. A new fingerprint fires the trigger for itself, but a change of other columns need
    // not (UPDATE OF): the row counts if one with its key and its fingerprint is stored.
    if !call.new_row_is_live() && run(&assigner.is_stored).is_none() {
        return;
    }
    assigner.clusters.check_rights(call);
    scopes.lock(call, held);
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
    scopes.divide(call, &row);
    run(&assigner.unite);
}
