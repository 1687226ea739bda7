//! Rows that an UPDATE moves to another partition. The trigger is called twice for such a row: with
//! an UPDATE where it was, and with an INSERT where it goes to, once the old version is deleted.
//! The first call compares the row with others; the second must not. It would clear a mark that a
//! user has set, and a row that it left out would be lost, since the old version is gone.
//!
//! The second call does not come when another trigger leaves the row out on arrival. Then the next
//! row that the statement inserts is another one: in a MERGE, or in a query around an UPDATE. So a
//! row is remembered only while the executor processes it, in memory that the executor resets
//! before the next row.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::{Rc, Weak};

use pgrx::pg_sys::Oid;

use crate::trigger::hash_column::Image;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::trigger::{TriggerCall, VersionAddress};

/// An UPDATE that a trigger has compared.
struct ComparedUpdate {
    /// The statement's memory. A nested statement has its own.
    statement: MemoryContext,
    /// The trigger that CREATE TRIGGER made, not a partition's copy.
    trigger: Oid,
    old: VersionAddress,
    /// Hash of what was compared ([`content`]).
    content: u64,
}

thread_local! {
    /// The last UPDATE that each trigger compared in each running statement.
    static COMPARED: RefCell<Vec<Weak<ComparedUpdate>>> = const { RefCell::new(Vec::new()) };
}

/// Returns a hash of what the trigger compares.
pub fn content(
    hash: Option<&simhash_hamming::parts::Hash>,
    text: Option<&[u8]>,
    scope: &[Image<'_>],
) -> u64 {
    let mut hasher = DefaultHasher::new();
    (hash, text, scope).hash(&mut hasher);
    hasher.finish()
}

/// Remembers an UPDATE, in case it moves the row.
pub fn remember(call: &TriggerCall<'_>, statement: MemoryContext, trigger: Oid, content: u64) {
    let Some(old) = call.old_address() else {
        return;
    };
    remove(statement, trigger);
    let compared = Rc::new(ComparedUpdate {
        statement,
        trigger,
        old,
        content,
    });
    COMPARED.with_borrow_mut(|all| all.push(Rc::downgrade(&compared)));
    MemoryContext::current().keep(compared);
}

/// Returns the content that was compared, if this INSERT is the second half of the UPDATE that was
/// remembered last; None if it stores another row.
pub fn arrival(statement: MemoryContext, trigger: Oid) -> Option<u64> {
    let compared = remove(statement, trigger)?;
    compared.old.has_moved_away().then_some(compared.content)
}

fn remove(statement: MemoryContext, trigger: Oid) -> Option<Rc<ComparedUpdate>> {
    COMPARED.with_borrow_mut(|all| {
        all.retain(|compared| compared.strong_count() > 0);
        let if_of_trigger = |compared: &Weak<ComparedUpdate>| {
            let compared = compared.upgrade()?;
            (compared.statement == statement && compared.trigger == trigger).then_some(compared)
        };
        let (place, compared) =
            (all.iter().enumerate()).find_map(|(i, j)| Some((i, if_of_trigger(j)?)))?;
        all.swap_remove(place);
        Some(compared)
    })
}
