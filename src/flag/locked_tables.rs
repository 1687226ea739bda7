//! The tables in which a flagging trigger locks the fingerprint of a row before it searches.
//! [`crate::trigger::locks`] has the numbers of the locks.
//!
//! Several triggers may search the same rows: two with different WHEN clauses, or one on a
//! partition and one on the partitioned table above. Each finds rows for which only the other one
//! fired. So a trigger that fires takes the locks of all of them. A partition has copies of the
//! triggers above it beside its own: its list of triggers names every table T that is searched when
//! one of its rows is stored, and for each T all triggers that search T. The widest radius among
//! these decides which locks stand for a fingerprint in T, so they are the same for each row in
//! each partition of T. Triggers that do not fire count too: whether one does may differ by row,
//! partition and session.
//!
//! Two rows that are being stored at once are locked by the same list of triggers. CREATE TRIGGER
//! and ENABLE TRIGGER lock the table and its partitions against writers until they commit; ATTACH
//! PARTITION, DETACH PARTITION and DROP TRIGGER lock the partition against all access. By then each
//! transaction that stored a row under the old list has ended. The next transaction that opens the
//! table processes the invalidation before it fires a trigger, and looks up anew what the session
//! remembers of the trigger ([`super::flagged_table`]). A row that was stored before its partition
//! was attached is committed, so the search sees it. Locks are named by the table's OID and the
//! column's position, so that renaming does not matter.

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
    /// The widest of those triggers, in bits.
    radius: u32,
}

impl FlagLocks {
    /// The locks of a row of the table that fired the trigger, for all its triggers that compare
    /// the column of that name.
    pub fn new(call: &TriggerCall<'_>, fingerprint: &str) -> Self {
        let mut radii = BTreeMap::new();
        for sibling in call.siblings() {
            // A trigger whose arguments are refused lets no row pass.
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

    /// Locks what this fingerprint shares with its near-duplicates until the transaction ends, and
    /// waits for other transactions that hold one of these locks.
    pub fn take(&self, fingerprint: i64) {
        for searched in &self.0 {
            for number in numbers(fingerprint as u64, searched.radius, searched.column) {
                lock_until_commit(searched.table, number);
            }
        }
    }
}
