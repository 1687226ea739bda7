//! Rows that a trigger has judged and that are not stored yet, because others' BEFORE triggers fire after it
//! and may store rows too. No search finds them. `judgement` remembers each and compares what is stored
//! meanwhile with it. A row is remembered only while the executor processes it, in memory that the executor
//! resets before the next one.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use pgrx::pg_sys::Oid;

use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::trigger::depth;
use simhash_pg::sql::value::Value;

struct Unstored {
    /// The trigger that CREATE TRIGGER made, not a partition's copy.
    trigger: Oid,
    /// What triggers store has a greater one.
    depth: i32,
    row: KeptValue,
}

thread_local! {
    /// Those of all running statements.
    static UNSTORED: RefCell<Vec<Weak<Unstored>>> = const { RefCell::new(Vec::new()) };
}

/// Remembers a row, of the type of the table that is searched.
pub fn remember(trigger: Oid, row: Value<'_>) {
    let row = row.keep();
    let unstored = Rc::new(Unstored {
        trigger,
        depth: depth(),
        row,
    });
    UNSTORED.with_borrow_mut(|all| {
        all.retain(|one| one.strong_count() > 0);
        all.push(Rc::downgrade(&unstored));
    });
    MemoryContext::current().keep(unstored);
}

/// Calls `f` with each row for which the triggers are running that store the new one.
pub fn for_each(trigger: Oid, mut f: impl FnMut(Value<'_>)) {
    let all: Vec<_> = UNSTORED.with_borrow(|all| all.iter().filter_map(Weak::upgrade).collect());
    for unstored in all.iter() {
        if unstored.trigger == trigger && unstored.depth < depth() {
            f(unstored.row.value());
        }
    }
}
