//! What this transaction remembers of the rows that it has answered: for a fingerprint, the key of
//! a row that has it and whose near rows were all united with it. A row that is stored beside it
//! joins its cluster.
//!
//! A row of another transaction counts as answered if it is committed. A row of this transaction
//! may be waiting for its trigger: only this memory shows that it was answered. It is forgotten
//! when a subtransaction is rolled back, whose rows and clusters are gone then.
//!
//! The transaction also remembers whether it has united clusters at all. A row that arrives unites
//! the clusters in which the rows near it are; one of these may have changed, and may still be in
//! the cluster of its old version.

use std::cell::RefCell;
use std::collections::HashMap;

use pgrx::pg_sys::Oid;

use simhash_pg::process::compat::local_transaction;
use simhash_pg::process::snapshot::is_current;
use simhash_pg::process::subtransaction::Moment;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::value::Value;

/// Maximum number of fingerprints that are remembered.
const MOST: usize = 16_384;

/// A table of clusters, a fingerprint, and a hash of the columns of `within=`.
type FingerprintInScope = (u32, i64, u64);

struct AnsweredRows {
    since: Moment,
    keys: HashMap<FingerprintInScope, KeptValue>,
}

thread_local! {
    /// The transaction that last united clusters, and their tables.
    static UNITED: RefCell<(u32, Vec<u32>)> = const { RefCell::new((0, Vec::new())) };
    static ANSWERED: RefCell<Option<AnsweredRows>> = const { RefCell::new(None) };
}

/// Returns whether this transaction has united clusters of this table.
pub fn has_united(clusters: Oid) -> bool {
    UNITED.with_borrow(|(transaction, tables)| {
        *transaction == local_transaction() && tables.contains(&clusters.to_u32())
    })
}

/// Remembers that this transaction has united clusters of this table.
pub fn note_united(clusters: Oid) {
    if has_united(clusters) {
        return;
    }
    UNITED.with_borrow_mut(|(transaction, tables)| {
        if *transaction != local_transaction() {
            (*transaction, *tables) = (local_transaction(), Vec::new());
        }
        tables.push(clusters.to_u32());
    });
}

/// Remembers that the row with this key was answered.
pub fn remember(clusters: Oid, fingerprint: i64, scope: u64, key: Value<'_>, key_type: &KeyType) {
    let kept = key_type.storage.keep(key);
    ANSWERED.with_borrow_mut(|rows| {
        let rows = rows.get_or_insert_with(AnsweredRows::new);
        if rows.since != Moment::now() || rows.keys.len() >= MOST {
            *rows = AnsweredRows::new();
        }
        let place = (clusters.to_u32(), fingerprint, scope);
        rows.keys.insert(place, kept);
    });
}

/// Shows the key of the row that was answered, and had this fingerprint and scope then.
pub fn with_key<R>(
    clusters: Oid,
    fingerprint: i64,
    scope: u64,
    show: impl FnOnce(Value<'_>) -> R,
) -> Option<R> {
    let kept = ANSWERED.with_borrow(|rows| {
        let rows = rows.as_ref().filter(|rows| rows.since == Moment::now())?;
        let place = (clusters.to_u32(), fingerprint, scope);
        rows.keys.get(&place).cloned()
    });
    kept.map(|kept| show(kept.value()))
}

/// Forgets all rows whose clusters are in this table: one of them may be gone.
pub fn forget(clusters: Oid) {
    ANSWERED.with_borrow_mut(|rows| {
        if let Some(rows) = rows {
            rows.keys.retain(|place, _| place.0 != clusters.to_u32());
        }
    });
}

pg_function! {
    /// simhash_catalog.is_of_others(xid) -> boolean
    fn simhash_is_of_others, pg_finfo_simhash_is_of_others(args) {
        let is_of_others = args.transaction_id(0).map(|writer| !is_current(writer));
        args.result(is_of_others)
    }
}

impl AnsweredRows {
    fn new() -> Self {
        Self {
            since: Moment::now(),
            keys: HashMap::new(),
        }
    }
}
