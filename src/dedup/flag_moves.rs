//! Rows that an UPDATE moves to another partition. The trigger is called twice for such a row: with an
//! UPDATE where it was, and with an INSERT where it goes to, once the old version is deleted. The first
//! call judges; the second must leave it at that. It would take away a mark that was set by hand, and a
//! row that it refuses or leaves out would be lost: the old version is gone.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash, Hasher};

use pgrx::pg_sys::Oid;

use crate::pg::call_site::Memory;
use crate::pg::trigger::{Place, TriggerCall};

/// An UPDATE that a trigger has judged.
struct Judged {
    /// Of the statement: another one, also one that runs inside of it, has another memory.
    memory: Memory,
    /// The partitioned table on which the trigger was created, and the trigger's name there.
    searched: Oid,
    trigger: CString,
    old: Place,
    /// Of what was judged.
    content: u64,
}

thread_local! {
    /// The last one of each trigger in each running statement.
    static JUDGED: RefCell<Vec<Judged>> = const { RefCell::new(Vec::new()) };
}

/// What near-duplicates are told by.
pub fn content(fingerprint: Option<i64>, text: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (fingerprint, text).hash(&mut hasher);
    hasher.finish()
}

/// Remembers an UPDATE, in case that it moves the row.
pub fn remember(call: &TriggerCall<'_>, memory: Memory, searched: Oid, content: u64) {
    let Some(old) = call.old_place() else {
        return;
    };
    take(call.trigger_name(), memory, searched);
    let judged = Judged {
        memory,
        searched,
        trigger: call.trigger_name().to_owned(),
        old,
        content,
    };
    JUDGED.with_borrow_mut(|all| all.push(judged));
}

/// The content that was judged, if this INSERT is the second half of the UPDATE that was remembered last.
pub fn arrival(call: &TriggerCall<'_>, memory: Memory, searched: Oid) -> Option<u64> {
    let judged = take(call.trigger_name(), memory, searched)?;
    judged.old.has_moved_away().then_some(judged.content)
}

fn take(trigger: &CStr, memory: Memory, searched: Oid) -> Option<Judged> {
    JUDGED.with_borrow_mut(|all| {
        let place = all.iter().position(|judged| {
            judged.memory == memory && judged.searched == searched && *judged.trigger == *trigger
        })?;
        Some(all.swap_remove(place))
    })
}

/// Forgets what was remembered in a statement.
pub fn forget(memory: Memory) {
    JUDGED.with_borrow_mut(|all| all.retain(|judged| judged.memory != memory));
}
