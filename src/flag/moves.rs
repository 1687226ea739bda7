//! Rows that an UPDATE moves to another partition. The trigger is called twice for such a row: with
//! an UPDATE where it was, and with an INSERT where it goes to, once the old version is deleted.
//! The first call judges; the second must leave it at that. It would take away a mark that was set
//! by hand, and a row that it refuses or leaves out would be lost: the old version is gone.
//!
//! The second call does not come when another trigger leaves the row out on arrival. What is
//! inserted next is another row then: in a MERGE, or by a query around an UPDATE. So a row is
//! remembered only as long as the executor works on it, in memory that it empties before the next
//! one.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::{Rc, Weak};

use pgrx::pg_sys::Oid;

use crate::pg::sql::call_site::Memory;
use crate::pg::sql::trigger::{TriggerCall, VersionAddress};

/// An UPDATE that a trigger has judged.
struct Judged {
    /// Of the statement: another one that runs inside of it has another memory.
    statement: Memory,
    /// The one that CREATE TRIGGER made.
    trigger: Oid,
    old: VersionAddress,
    /// Of what was judged.
    content: u64,
}

thread_local! {
    /// The last one of each trigger in each running statement.
    static JUDGED: RefCell<Vec<Weak<Judged>>> = const { RefCell::new(Vec::new()) };
}

/// What near-duplicates are told by.
pub fn content(fingerprint: Option<i64>, text: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (fingerprint, text).hash(&mut hasher);
    hasher.finish()
}

/// Remembers an UPDATE, in case that it moves the row.
pub fn remember(call: &TriggerCall<'_>, statement: Memory, trigger: Oid, content: u64) {
    let Some(old) = call.old_place() else {
        return;
    };
    take(statement, trigger);
    let judged = Rc::new(Judged {
        statement,
        trigger,
        old,
        content,
    });
    JUDGED.with_borrow_mut(|all| all.push(Rc::downgrade(&judged)));
    Memory::current().keep(judged);
}

/// The content that was judged, if this INSERT is the second half of the UPDATE that was remembered
/// last.
pub fn arrival(statement: Memory, trigger: Oid) -> Option<u64> {
    let judged = take(statement, trigger)?;
    judged.old.has_moved_away().then_some(judged.content)
}

fn take(statement: Memory, trigger: Oid) -> Option<Rc<Judged>> {
    JUDGED.with_borrow_mut(|all| {
        all.retain(|judged| judged.strong_count() > 0);
        let of_trigger = |judged: &Weak<Judged>| {
            let judged = judged.upgrade()?;
            (judged.statement == statement && judged.trigger == trigger).then_some(judged)
        };
        let (place, judged) =
            (all.iter().enumerate()).find_map(|(i, j)| Some((i, of_trigger(j)?)))?;
        all.swap_remove(place);
        Some(judged)
    })
}
