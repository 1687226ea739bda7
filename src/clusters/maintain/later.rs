//! Rows of several scopes in one statement. Their locks are taken in one order, whatever the order of
//! the rows: each row's call is put off until the statement has fired all its triggers, and by then
//! all scopes are known.
//!
//! The server tells nobody that. But what a trigger function changes can leave its own triggers to the
//! statement around it, which fires them once it has fired those it has: so do foreign keys. The
//! first row says that rows of an empty table were deleted, whose trigger answers all rows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use pgrx::PgSqlErrorCode::{ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_UNDEFINED_TABLE};
use pgrx::pg_sys;

use super::row;
use simhash_pg::catalog::lookup::table_in;
use simhash_pg::process::advisory_lock::{lock_until_commit, share_until_commit};
use simhash_pg::process::compat::local_transaction;
use simhash_pg::process::error::raise;
use simhash_pg::process::subtransaction;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::later_calls::LaterCalls;
use simhash_pg::sql::statement_end::fire_at_statement_end;
use simhash_pg::sql::trigger::{TriggerCall, depth};
use simhash_trigger::locks::CLUSTERS;

/// Rows that are still to be answered, of one trigger and one statement.
struct Later {
    calls: LaterCalls,
    clusters: pg_sys::Oid,
    /// The locks of their scopes.
    numbers: BTreeSet<u32>,
    transaction: u32,
    subtransaction: pg_sys::SubTransactionId,
    /// Of the trigger functions that ran: statements inside of each other end one after the other.
    depth: i32,
}

thread_local! {
    static ROWS: RefCell<Vec<Later>> = const { RefCell::new(Vec::new()) };
    /// Is it listened for subtransactions that are rolled back?
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// Puts a row off until its statement ends.
pub fn put_off(call: &TriggerCall<'_>, clusters: pg_sys::Oid, numbers: [Option<u32>; 2]) {
    let new = Later {
        calls: LaterCalls::like(call),
        clusters,
        numbers: BTreeSet::new(),
        transaction: local_transaction(),
        subtransaction: subtransaction::current(),
        depth: depth(),
    };
    let is_first = ROWS.with_borrow_mut(|rows| {
        // All are of one transaction. Those of one that has failed are left.
        if rows
            .last()
            .is_some_and(|last| last.transaction != new.transaction)
        {
            rows.clear();
        }
        // What a statement inside of this one has put off is answered by now.
        let is_first = rows.last().is_none_or(|last| last.depth != new.depth);
        if is_first || !rows.last().is_some_and(|last| last.takes(call, &new)) {
            rows.push(new);
        }
        if let Some(last) = rows.last_mut() {
            last.calls.add(call);
            last.numbers.extend(numbers.into_iter().flatten());
        }
        is_first
    });
    if is_first {
        if !LISTENS.replace(true) {
            subtransaction::on_rollback(forget);
        }
        let Some(table) = table_in(c"simhash_catalog", c"statement_end") else {
            raise(
                ERRCODE_UNDEFINED_TABLE,
                "table simhash_catalog.statement_end of the extension does not exist",
            );
        };
        fire_at_statement_end(table);
    }
}

impl Later {
    /// Does the row of a call belong to these, for which `new` would be made?
    fn takes(&self, call: &TriggerCall<'_>, new: &Self) -> bool {
        self.clusters == new.clusters
            && self.subtransaction == new.subtransaction
            && self.calls.are_like(call)
    }
}

/// Forgets the rows of a subtransaction that is rolled back, and of those that began after it.
fn forget(ended: pg_sys::SubTransactionId) {
    ROWS.with_borrow_mut(|rows| rows.retain(|row| row.subtransaction < ended));
}

pg_function! {
    /// simhash_catalog.answer_rows() -> trigger
    fn simhash_answer_rows, pg_finfo_simhash_answer_rows(args) {
        let Some(call) = TriggerCall::from_arguments(args) else {
            raise(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "function simhash_catalog.answer_rows must be fired by its own trigger",
            );
        };
        let (depth, transaction) = (depth(), local_transaction());
        let rows: Vec<Later> = ROWS.with_borrow_mut(|rows| {
            rows.extract_if(.., |row| row.depth >= depth && row.transaction == transaction)
                .collect()
        });
        lock(&rows);
        for later in &rows {
            later.calls.make(args, row::answer);
        }
        call.skip()
    }
}

/// Takes the locks of all these rows in one order. A row without a scope has none.
fn lock(rows: &[Later]) {
    let mut locks = BTreeSet::new();
    for later in rows.iter().filter(|later| !later.numbers.is_empty()) {
        let numbers = later.numbers.iter().copied().chain([CLUSTERS]);
        locks.extend(numbers.map(|number| (later.clusters.to_u32(), number)));
    }
    for (clusters, number) in locks {
        match number {
            CLUSTERS => share_until_commit(clusters.into(), number),
            _ => lock_until_commit(clusters.into(), number),
        }
    }
}
