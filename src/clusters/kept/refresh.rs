//! `simhash_refresh_clusters`: brings a table of clusters up to date with the rows that are
//! committed now. Users and schedulers call it from SQL. One refresh runs at a time, and none in a
//! transaction that keeps an older snapshot.

use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_INVALID_PARAMETER_VALUE,
    ERRCODE_INVALID_TRANSACTION_STATE, ERRCODE_LOCK_NOT_AVAILABLE,
    ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, ERRCODE_UNDEFINED_OBJECT,
};
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::Oid;

use super::claims::CLUSTERS;
use super::cluster_table::refuse_row_security;
use super::kept_table::{KeptTable, renamed};
use super::queries::KeptQueries;
use super::triggers::{KeptTrigger, triggers_of};
use crate::pairs::arguments::required;
use simhash_pg::catalog::lookup::{DELETE, INSERT, SELECT, UPDATE, has_row_security, may};
use simhash_pg::catalog::table_name;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::refuse_read_only;
use simhash_pg::process::error::Error;
use simhash_pg::process::transaction::with_latest;
use simhash_pg::process::transaction::{
    isolation_level, keeps_its_snapshot, lock_until_commit, try_lock_until_commit,
};
use simhash_pg::spi::saved_query::{SavedQuery, Visibility};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::value::Value;

const NAME: &str = "simhash_refresh_clusters";
/// All rows are searched if there is more than one note for this number of rows.
const ROWS_PER_NOTE: i64 = 30;

pg_function!(simhash_refresh_clusters);
/// `simhash_refresh_clusters(clusters regclass, nowait boolean) -> bigint`
fn simhash_refresh_clusters(args: &Args) -> Datum {
    let clusters = required(args.get::<Oid>(0), NAME, "clusters");
    let nowait = required(args.get::<bool>(1), NAME, "nowait");
    refuse_read_only(c"simhash_refresh_clusters()");
    refuse_old_snapshot();
    let kept = kept_table(clusters);
    check_rights(&kept);
    lock(clusters, nowait);
    args.result(Some(with_latest(|| refresh(args, &kept))))
}

/// Brings the clusters up to date with what the active snapshot shows. Returns the number of
/// entries that were changed.
fn refresh(args: &Args, kept: &KeptTable) -> i64 {
    let queries = KeptQueries::new(kept);
    let mut activity = Activity::new(NAME);
    let (sql, prefers_indexes) = match count_notes(args, kept, &queries) {
        Some((0, false)) => return 0,
        Some((count, false)) => {
            activity.count_searches("searching near rows that changed", count as u64);
            (queries.answer_notes(), true)
        }
        _ => {
            activity.begin("finding and writing all clusters");
            (queries.compute_all(), false)
        }
    };
    let query = SavedQuery::new(&sql, &[], prefers_indexes);
    let changed = query.first_row(args, &[], Visibility::Active);
    changed.map_or(0, |[changed]| integer(changed))
}

/// Returns the number of notes, and whether all rows are to be searched; None without a table of
/// notes.
fn count_notes(args: &Args, kept: &KeptTable, queries: &KeptQueries) -> Option<(i64, bool)> {
    kept.notes?;
    let query = SavedQuery::new(&queries.count(kept.relation), &[], false);
    let [count, all, rows] = query.first_row(args, &[], Visibility::Active)?.map(integer);
    let is_large = count.saturating_mul(ROWS_PER_NOTE) > rows || !queries.hashes.has_index();
    Some((count, count > 0 && (all != 0 || is_large)))
}

/// A value that is an integer or a boolean; 0 for NULL.
fn integer(value: Option<Value<'_>>) -> i64 {
    value.map_or(0, |value| value.integer())
}

/// Returns the kept table, as its triggers describe it.
pub fn kept_table(clusters: Oid) -> KeptTable {
    let triggers = triggers_of(clusters);
    let mut notes = triggers.iter().filter(|t| t.options.notes.is_some());
    let Some(first) = notes.next().or(triggers.first()) else {
        let name = table_name::shown(clusters);
        let message = format!("no trigger keeps the clusters of table \"{name}\"");
        Error::new(ERRCODE_UNDEFINED_OBJECT, message)
            .hint("Call simhash_keep_clusters first.")
            .raise();
    };
    let renamed = |t: &KeptTrigger| renamed(t.relation, t.named, clusters);
    if let Some([message, hint]) = triggers.iter().find_map(renamed) {
        Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint(hint)
            .raise();
    }
    let differs = |t: &&KeptTrigger| t.relation != first.relation || t.options != first.options;
    if let Some(other) = triggers.iter().find(differs) {
        let message = format!(
            "triggers \"{}\" and \"{}\" keep the clusters of table \"{}\" differently",
            first.name,
            other.name,
            table_name::shown(clusters)
        );
        let hint = "Drop one of them, or have it write to another table of clusters.";
        Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message)
            .hint(hint)
            .raise();
    }
    KeptTable::find(
        first.relation,
        clusters,
        first.function,
        first.options.clone(),
    )
    .unwrap_or_else(|error| error.raise())
}

/// Refuses a transaction that keeps its snapshot: it does not see what was committed afterwards.
fn refuse_old_snapshot() {
    if keeps_its_snapshot() {
        let message = format!(
            "{NAME} cannot run in a transaction of isolation level {}",
            isolation_level()
        );
        let hint = "It must see what is committed by now: use READ COMMITTED.";
        Error::new(ERRCODE_INVALID_TRANSACTION_STATE, message)
            .hint(hint)
            .raise();
    }
}

/// Raises an ERROR unless the current user may do all that a refresh does, and sees all rows.
fn check_rights(kept: &KeptTable) {
    let mut needed = vec![(kept.clusters, vec![SELECT, INSERT, UPDATE, DELETE])];
    needed.extend(kept.notes.map(|notes| (notes, vec![SELECT, DELETE])));
    for (table, rights) in &needed {
        if !rights.iter().all(|right| may(*table, *right, &[])) {
            let name = table_name::shown(*table);
            let message = format!("permission denied for table {name}");
            let hint = format!(
                "{NAME} needs SELECT, INSERT, UPDATE and DELETE on the table of clusters, \
                 and SELECT and DELETE on that of notes."
            );
            Error::new(ERRCODE_INSUFFICIENT_PRIVILEGE, message)
                .hint(hint)
                .raise();
        }
    }
    needed.extend(kept.decisions.map(|decisions| (decisions, vec![SELECT])));
    let mut tables = (needed.iter().map(|(table, _)| *table)).chain([kept.relation]);
    if let Some(table) = tables.find(|table| has_row_security(*table)) {
        refuse_row_security(table).raise();
    }
}

/// Raises an ERROR unless the current user may change the clusters. Asked before a lock: writers would wait behind
/// somebody who may not change anything.
pub fn require_update(clusters: Oid) {
    if !may(clusters, UPDATE, &[]) {
        let message = format!(
            "permission denied for table {}",
            table_name::shown(clusters)
        );
        Error::new(ERRCODE_INSUFFICIENT_PRIVILEGE, message).raise();
    }
}

/// Locks the clusters: one refresh runs at a time, and none beside a trigger that keeps the
/// clusters at once.
pub fn lock(clusters: Oid, nowait: bool) {
    if !nowait {
        return lock_until_commit(clusters, CLUSTERS);
    }
    if !try_lock_until_commit(clusters, CLUSTERS) {
        let name = table_name::shown(clusters);
        Error::new(
            ERRCODE_LOCK_NOT_AVAILABLE,
            format!("another transaction is changing the clusters of table \"{name}\""),
        )
        .raise();
    }
}
