//! TRUNCATE: the entries of all rows that are gone leave the table of clusters at once.

use std::cell::RefCell;

use super::answered;
use super::maintained::Maintained;
use super::members::all_gone;
use super::regroup::Regroup;
use crate::trigger::call::{Known, remembered};
use simhash_pg::catalog::invalidation::Current;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::trigger::TriggerCall;

/// State that a session keeps for a trigger.
struct TruncateTrigger {
    of: Maintained,
    forget: SavedQuery,
    regroup: Regroup,
}

thread_local! {
    static KNOWN: Known<TruncateTrigger> = RefCell::default();
}

/// Answers a TRUNCATE, of the table or of one of its partitions.
pub fn maintain(call: &TriggerCall<'_>) {
    let trigger = remembered(&KNOWN, call, || TruncateTrigger::new(call));
    let of = &trigger.of;
    of.clusters.check_rights(call, true);
    of.scopes.lock_whole();
    answered::forget(of.clusters.oid);
    let ids = (trigger.forget).first_row(call.args(), &[], Sees::Latest);
    // After a TRUNCATE of a partition, rows of others are left, which the removed rows may have
    // connected.
    if let Some([Some(ids)]) = ids {
        trigger.regroup.run(call, of, ids);
    }
}

impl TruncateTrigger {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let (current, of) = Maintained::new(call);
        let trigger = Self {
            forget: SavedQuery::new(&all_gone(&of.statement), &[], true),
            regroup: Regroup::new(&of),
            of,
        };
        (current, trigger)
    }
}
