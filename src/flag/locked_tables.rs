//! The tables in which a flagging trigger locks the fingerprint of a row before it searches.
//! [`simhash_trigger::locks`] has the numbers of the locks.
//!
//! Several triggers may search the same rows: two with different WHEN clauses, or one on a
//! partition and one on the partitioned table above. Each finds rows for which only the other one
//! fired. So a trigger that fires takes the locks of all of them. A partition has copies of the
//! triggers above it beside its own: its list of triggers names every table T that is searched when
//! one of its rows is stored, and for each T all triggers that search T. The widest radius among
//! these decides which locks stand for a fingerprint in T, so they are the same for each row in
//! each partition of T. Triggers that do not fire count too, since whether a trigger fires may
//! differ by row, partition and session.
//!
//! With `within=` the locks in T also depend on the scope ([`simhash_trigger::locks`]): on the
//! columns that all triggers which search T name. Suppose that one of these triggers compares two
//! rows that are stored at the same time. They are near-duplicates, and equal in the columns that
//! this trigger names, which include the common ones. Equal values have the same hash, as a trigger
//! refuses a type whose hash function does not go with its equality, and a partition's column has
//! the type and the collation of T's. So both rows have the same scope in T, and share a lock
//! there. If one trigger has no `within=`, there is no common column, and all rows of T have the
//! same scope. The columns are identified by their names, and taken in the order of the names,
//! since partitions have them at different positions. A row that is NULL in a common column is
//! compared with nothing by a trigger that searches T, so it needs no lock there. A row that is
//! NULL in another column of the trigger that fires is not compared, and takes no lock: it counts as
//! stored before the rows that it might be compared with.
//!
//! Two rows that are being stored at the same time are locked by the same list of triggers. CREATE
//! TRIGGER and ENABLE TRIGGER lock the table and its partitions against writers until they commit;
//! ATTACH PARTITION, DETACH PARTITION and DROP TRIGGER lock the partition against all access. Once
//! they have their lock, each transaction that stored a row under the old list has ended. The next
//! transaction that opens the table processes the invalidation before it fires a trigger, and looks
//! up again what the session remembers of the trigger ([`super::flagged_table`]). A row that was
//! stored before its partition was attached is committed, so the search sees it. Locks are named by
//! the table's OID and the column's position, so that renaming does not matter.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pgrx::pg_sys::Oid;

use crate::trigger::scope::Scope;
use simhash_pg::catalog::table::{OpenTable, column};
use simhash_pg::process::advisory_lock::lock_all_until_commit;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::flag_options::parse;
use simhash_trigger::locks::lock_numbers;

/// The tables in which a fingerprint is locked, topmost first.
pub struct FlagLocks(Vec<LockedTable>);

/// A table that triggers search by one column.
struct LockedTable {
    table: Oid,
    /// Position of the column there.
    column: u16,
    /// The widest radius of those triggers, in bits.
    radius: u32,
    /// The columns that all of those triggers name in `within=`.
    scope: Scope,
}

/// Properties that the triggers that search a table have in common.
struct CommonProperties {
    table: Oid,
    radius: u32,
    within: Vec<String>,
}

impl FlagLocks {
    /// Returns the locks of a row of the table that fired the trigger, for all its triggers that
    /// compare the column of that name.
    pub fn new(call: &TriggerCall<'_>, fingerprint: &str) -> Self {
        let mut tables = BTreeMap::new();
        for trigger in call.related_triggers() {
            // A trigger whose arguments are refused lets no row pass.
            if let Ok(options) = parse(&trigger.arguments)
                && options.lock
                && options.fingerprint == fingerprint
            {
                let origin = trigger.origin;
                let common =
                    (tables.entry(Reverse(origin.levels))).or_insert_with(|| CommonProperties {
                        table: origin.table,
                        radius: 0,
                        within: options.within.clone(),
                    });
                common.radius = options.radius.max(common.radius);
                (common.within).retain(|name| options.within.contains(name));
            }
        }
        let locked = tables.into_values().filter_map(|common| {
            let column = column(OpenTable::new(common.table).rel(), fingerprint)?;
            Some(LockedTable {
                table: common.table,
                column: column.number() as u16,
                radius: common.radius,
                scope: Scope::for_locks(call, &common.within),
            })
        });
        Self(locked.collect())
    }

    /// Locks what this fingerprint of the new row shares with its near-duplicates until the
    /// transaction ends, and waits for other transactions that hold one of these locks.
    pub fn take(&self, call: &TriggerCall<'_>, fingerprint: i64) {
        for locked in &self.0 {
            // A row without a scope is compared with none there.
            let Some(scope) = locked.scope.of_new(call) else {
                continue;
            };
            let (radius, column) = (locked.radius, locked.column);
            let numbers = lock_numbers(fingerprint as u64, scope, radius, column);
            lock_all_until_commit(locked.table, numbers);
        }
    }
}
