//! In which tables a flagging trigger locks the fingerprint of a row before it searches. The
//! numbers are those of [`crate::trigger::locks`].
//!
//! A row is seen not only by the search of the trigger that is fired for it: of two triggers with
//! different WHEN clauses, or one on a partition and one on the partitioned table above, each finds
//! rows that the other one has judged. So whichever is fired locks for all of them. The triggers of
//! a partition are copies of those above, and its own: its list names every table T that is
//! searched when one of its rows is stored, and for each T all triggers that search it. The widest
//! radius among those decides which locks stand for a fingerprint in T, so it is the same for each
//! row in each partition of T. A trigger that is not fired counts as well: whether it is may differ
//! by row, partition and session.
//!
//! Two rows that are being stored at once are locked by the same list of triggers. CREATE TRIGGER
//! and ENABLE TRIGGER lock the table and its partitions against writers until they commit, ATTACH
//! PARTITION, DETACH PARTITION and DROP TRIGGER the partition against everybody. A transaction that
//! stored a row under the old list has ended then, and the next one that opens the table is told of
//! the change before it fires a trigger: what a session remembers of a trigger
//! ([`super::flagged_table`]) is found out anew. A row that was stored before its partition was
//! attached is committed, and seen. Names play no part, so that renaming does not matter.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pgrx::pg_sys::Oid;

use super::options::parse;
use crate::pg::catalog::table::{Opened, column};
use crate::pg::process::advisory_lock::lock_until_commit;
use crate::pg::sql::trigger::TriggerCall;
use crate::trigger::locks::numbers;

/// The tables in which a fingerprint is locked, topmost first.
pub struct FlagLocks(Vec<Searched>);

/// A table that triggers search by one column.
struct Searched {
    table: Oid,
    /// Position of the column there.
    column: u16,
    /// The widest.
    radius: u32,
}

impl FlagLocks {
    /// For the rows of the table that fired the trigger, by the column of that name.
    pub fn new(call: &TriggerCall<'_>, fingerprint: &str) -> Self {
        let mut radii = BTreeMap::new();
        for sibling in call.siblings() {
            // Where arguments cannot be read, no row passes the trigger.
            if let Ok(options) = parse(&sibling.arguments)
                && options.lock
                && options.fingerprint == fingerprint
            {
                let origin = sibling.origin;
                let (_, widest) = radii
                    .entry(Reverse(origin.levels))
                    .or_insert((origin.table, 0));
                *widest = options.radius.max(*widest);
            }
        }
        let searched = radii.into_values().filter_map(|(table, radius)| {
            let column = column(Opened::new(table).rel(), fingerprint)?.number() as u16;
            Some(Searched {
                table,
                column,
                radius,
            })
        });
        Self(searched.collect())
    }

    /// Waits for other transactions that have locked what this fingerprint shares with its
    /// near-duplicates, and locks it until this one ends.
    pub fn take(&self, fingerprint: i64) {
        for searched in &self.0 {
            for number in numbers(fingerprint as u64, searched.radius, searched.column) {
                lock_until_commit(searched.table, number);
            }
        }
    }
}
