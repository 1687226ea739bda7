//! What this transaction remembers of the rows that it has answered: for a fingerprint, the key of
//! a row that has it and whose near rows were all united with it. A row that is stored beside it
//! joins its cluster.
//!
//! A row of another transaction is settled if it is committed. A row of this transaction may be
//! waiting for its trigger: only this memory shows that it was answered. It is forgotten when a
//! subtransaction is rolled back, whose rows and clusters are gone then.
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
use simhash_pg::sql::key_type::{KeptKey, KeyType};
use simhash_pg::sql::value::Value;

/// Maximum number of fingerprints that are remembered.
const MOST: usize = 16_384;

/// A table of clusters, a fingerprint, and a hash of the columns of `within=`.
type Place = (u32, i64, u64);

struct Settled {
    since: Moment,
    keys: HashMap<Place, KeptKey>,
}

thread_local! {
    /// The transaction that last united clusters, and their tables.
    static UNITED: RefCell<(u32, Vec<u32>)> = const { RefCell::new((0, Vec::new())) };
    static SETTLED: RefCell<Option<Settled>> = const { RefCell::new(None) };
}

/// Returns whether this transaction has united clusters of this table.
pub fn has_united(clusters: Oid) -> bool {
    UNITED.with_borrow(|(transaction, tables)| {
        *transaction == local_transaction() && tables.contains(&clusters.to_u32())
    })
}

/// Remembers that this transaction has united clusters of this table.
pub fn unites(clusters: Oid) {
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
pub fn remember(clusters: Oid, fingerprint: i64, scope: u64, key: Value<'_>, of_type: &KeyType) {
    let kept = of_type.keep(key);
    SETTLED.with_borrow_mut(|settled| {
        let settled = settled.get_or_insert_with(Settled::new);
        if settled.since != Moment::now() || settled.keys.len() >= MOST {
            *settled = Settled::new();
        }
        let place = (clusters.to_u32(), fingerprint, scope);
        settled.keys.insert(place, kept);
    });
}

/// Shows the key of the row that was answered, and had this fingerprint and scope then.
pub fn known<R>(
    clusters: Oid,
    fingerprint: i64,
    scope: u64,
    of_type: &KeyType,
    show: impl FnOnce(Value<'_>) -> R,
) -> Option<R> {
    let kept = SETTLED.with_borrow(|settled| {
        let settled = settled.as_ref().filter(|s| s.since == Moment::now())?;
        let place = (clusters.to_u32(), fingerprint, scope);
        settled.keys.get(&place).cloned()
    });
    kept.map(|kept| show(of_type.kept(&kept)))
}

/// Forgets all rows whose clusters are in this table: one of them may be gone.
pub fn forget(clusters: Oid) {
    SETTLED.with_borrow_mut(|settled| {
        if let Some(settled) = settled {
            settled.keys.retain(|place, _| place.0 != clusters.to_u32());
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

impl Settled {
    fn new() -> Self {
        Self {
            since: Moment::now(),
            keys: HashMap::new(),
        }
    }
}
