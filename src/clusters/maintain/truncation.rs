//! TRUNCATE: the entries of all rows that are gone leave the table of clusters at once.

use std::cell::RefCell;

use super::answered_rows;
use super::maintained::Maintained;
use super::members::delete_all_gone;
use super::regroup::Regroup;
use crate::trigger::call::{Known, remembered};
use simhash_pg::catalog::invalidation::Current;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::trigger::TriggerCall;

/// State that a session keeps for a trigger.
struct TruncateTrigger {
    maintained: Maintained,
    forget: SavedQuery,
    regroup: Regroup,
}

thread_local! {
    static KNOWN: Known<TruncateTrigger> = RefCell::default();
}

/// Answers a TRUNCATE, of the table or of one of its partitions.
pub fn maintain(call: &TriggerCall<'_>) {
    let trigger = remembered(&KNOWN, call, || TruncateTrigger::new(call));
    let maintained = &trigger.maintained;
    maintained.clusters.check_rights(call, true);
    maintained.claims.lock_whole();
    answered_rows::forget(maintained.clusters.oid);
    let ids = (trigger.forget).first_row(call.args(), &[], Sees::Latest);
    // After a TRUNCATE of a partition, rows of others are left, which the removed rows may have
    // connected.
    if let Some([Some(ids)]) = ids {
        trigger.regroup.run(call, maintained, ids);
    }
}

impl TruncateTrigger {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let (current, maintained) = Maintained::new(call);
        let trigger = Self {
            forget: SavedQuery::new(&delete_all_gone(&maintained.statement), &[], true),
            regroup: Regroup::new(&maintained),
            maintained,
        };
        (current, trigger)
    }
}
