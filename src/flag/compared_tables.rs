//! The tables in which rows in progress are compared with a row before it is stored: where, and
//! within which radius. The flagging trigger enters each row there ([`crate::trigger::in_progress`])
//! before it searches.
//!
//! Several triggers may search the same rows: two with different WHEN clauses, or one on a
//! partition and one on the partitioned table above. Each finds rows for which only the other one
//! fired. So a trigger that fires enters the row for all of them. A partition has copies of the
//! triggers above it beside its own: its list of triggers names every table T that is searched when
//! one of its rows is stored, and for each T all triggers that search T. The widest radius among
//! these is that of all rows in T, in each partition of T. Triggers that do not fire count too,
//! since whether a trigger fires may differ by row, partition and session.
//!
//! With `within=` the place of a row in T also depends on its scope ([`simhash_trigger::scope`]): on
//! the columns that all triggers which search T name. Suppose that one of these triggers compares
//! two rows that are stored at the same time. They are near-duplicates, and equal in the columns
//! that this trigger names, which include the common ones. Equal values have the same hash, as a
//! trigger refuses a type whose hash function does not go with its equality, and a partition's
//! column has the type and the collation of T's. So both rows have the same scope in T. If one
//! trigger has no `within=`, there is no common column, and all rows of T have the same scope. The
//! columns are identified by their names, and taken in the order of the names, since partitions have
//! them at different positions. A row that is NULL in a common column is compared with nothing by a
//! trigger that searches T, so it is not entered there. A row that is NULL in another column of the
//! trigger that fires is not compared, and not entered: it counts as stored before the rows that it
//! might be compared with.
//!
//! `across=` has no part in a place: rows that are equal there wait for each other, and then do not find each other.
//!
//! Two rows that are being stored at the same time are entered by the same list of triggers. CREATE
//! TRIGGER and ENABLE TRIGGER lock the table and its partitions against writers until they commit;
//! ATTACH PARTITION, DETACH PARTITION and DROP TRIGGER lock the partition against all access. Once
//! they have their lock, each transaction that stored a row under the old list has ended. The next
//! transaction that opens the table processes the invalidation before it fires a trigger, and looks
//! up again what the session remembers of the trigger ([`super::flagged_table`]). A row that was
//! stored before its partition was attached is committed, so the search sees it. Places are made of
//! the table's OID and the column's position, so that renaming does not matter.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pgrx::pg_sys::Oid;

use super::source::Source;
use crate::trigger::hash_column::Scope;
use crate::trigger::in_progress::{Added, RowInProgress, enter, place_number, table_number};
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::table::{OpenTable, is_temporary};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::flag_options::parse;
use simhash_trigger::in_progress::{Compared, Key, Wait};

/// The tables in which rows are compared with a row, topmost first.
pub struct ComparedTables(Vec<ComparedTable>);

/// A table that triggers search by one column, or by what an index makes.
struct ComparedTable {
    table: Oid,
    /// Position of the column there, or the number of what the index makes.
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
    /// What is compared ([`Source::number`]).
    number: Option<u16>,
}

impl ComparedTables {
    /// Returns those for a row of the table that fired the trigger: of all its triggers that compare
    /// the same.
    pub fn new(call: &TriggerCall<'_>, source: &Source) -> Self {
        let mut tables = BTreeMap::new();
        for trigger in call.related_triggers() {
            let origin = trigger.origin;
            // A trigger whose arguments are refused lets no row pass.
            let Ok(options) = parse(&trigger.arguments) else {
                continue;
            };
            if let Ok(other) = Source::new(origin.table, &options, Some(origin.trigger))
                && options.lock
                && other.is_same(source)
            {
                let common =
                    (tables.entry(Reverse(origin.levels))).or_insert_with(|| CommonProperties {
                        table: origin.table,
                        radius: 0,
                        within: other.within.clone(),
                        number: other.number(&OpenTable::new(origin.table)),
                    });
                common.radius = other.radius.max(common.radius);
                (common.within).retain(|name| other.within.contains(name));
            }
        }
        // Others cannot store rows in a temporary table.
        let shared = tables
            .into_values()
            .filter(|common| !is_temporary(common.table));
        let compared = shared.filter_map(|common| {
            Some(ComparedTable {
                table: common.table,
                column: common.number?,
                radius: common.radius,
                scope: Scope::of_siblings(call, &common.within),
            })
        });
        Self(compared.collect())
    }

    /// Enters this hash of the new row, and of the old one if it is given, and waits for the
    /// transactions that have stored near-duplicates and not yet committed.
    pub fn enter(
        &self,
        call: &TriggerCall<'_>,
        hash: &Hash,
        old: Option<Hash>,
        key: Key,
        context: impl Fn(&Wait) -> String,
    ) -> Added {
        // A row without a scope is compared with none there.
        let compared = self.0.iter().flat_map(|compared| {
            let new = (hash.clone(), compared.scope.of_new(call));
            let old = (old.clone()).map(|old| (old, compared.scope.of_old(call)));
            let old = old.filter(|old| *old != new);
            let rows = [Some(new), old].into_iter().flatten();
            rows.filter_map(|(hash, scope)| Some(compared.row(hash, scope?)))
        });
        let row = RowInProgress {
            compared: compared.collect(),
            tables: &self
                .0
                .iter()
                .map(|compared| compared.table)
                .collect::<Vec<_>>(),
            key,
        };
        enter(row, context)
    }
}

impl ComparedTable {
    fn row(&self, hash: Hash, scope: u64) -> Compared {
        let (table, column) = (self.table, self.column);
        Compared {
            hash,
            place: place_number(table, column, scope),
            table: table_number(table, column),
            radius: self.radius,
        }
    }
}
