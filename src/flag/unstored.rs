//! Rows that a trigger has judged and that are not stored yet, because others' BEFORE triggers fire after it
//! and may store rows too. No search finds them: `judgement` remembers each here, and asks whether what is
//! stored meanwhile is near it. A row is remembered only while the executor processes it, in memory that
//! the executor resets before the next one.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use pgrx::PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION;
use pgrx::pg_sys::Oid;

use super::search_query::Candidates;
use super::trigger::FlagState;
use crate::trigger::hash_column;
use simhash_hamming::parts::Hash;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::trigger::{TriggerCall, depth};
use simhash_pg::sql::value::Value;

struct Unstored {
    /// The trigger that CREATE TRIGGER made, not a partition's copy.
    trigger: Oid,
    /// What triggers store has a greater one.
    depth: i32,
    /// Its type is that of the table that is searched.
    row: KeptValue,
}

thread_local! {
    /// Those of all running statements.
    static UNSTORED: RefCell<Vec<Weak<Unstored>>> = const { RefCell::new(Vec::new()) };
}

impl FlagState {
    /// Remembers the new row as it is stored if it has no near-duplicate.
    pub fn remember_unstored(&self, call: &TriggerCall<'_>, hash: &Hash) {
        let mut changes = Vec::new();
        if let Some(fingerprint) = &self.table.columns.fingerprint {
            changes.push((fingerprint, Some(hash_column::value(hash))));
        }
        self.mark(&mut changes, None);
        let row = call.new_row(self.table.searched, &changes, &self.generated);
        let unstored = Rc::new(Unstored {
            trigger: self.table.origin,
            depth: depth(),
            row: row.keep(),
        });
        UNSTORED.with_borrow_mut(|all| {
            all.retain(|one| one.strong_count() > 0);
            all.push(Rc::downgrade(&unstored));
        });
        MemoryContext::current().keep(unstored);
    }

    /// Raises the ERROR for a row that a trigger stores while one near it is about to be stored: neither
    /// finds the other.
    pub fn refuse_beside_unstored<'a>(
        &self,
        call: &TriggerCall<'a>,
        hash: Option<&Hash>,
        scope: &[Option<Value<'a>>],
    ) {
        let all: Vec<_> =
            UNSTORED.with_borrow(|all| all.iter().filter_map(Weak::upgrade).collect());
        let outer = |one: &&Rc<Unstored>| one.trigger == self.table.origin && one.depth < depth();
        for unstored in all.iter().filter(outer) {
            let search = self.new_search(call, hash, scope, (None, Candidates::All));
            if !search.is_near(unstored.row.value()) {
                continue;
            }
            let name = &self.table.name;
            let message = format!(
                "a trigger stores a near-duplicate of the row of \"{name}\" for which it fires"
            );
            let trigger = name_to_utf8(call.trigger_name().to_bytes());
            Error::new(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION, message)
                .hint(format!(
                    "Triggers fire in the order of their names: let its name sort before \"{trigger}\", \
                     or make it an AFTER trigger."
                ))
                .raise();
        }
    }
}
