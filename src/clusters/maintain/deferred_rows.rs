//! Rows of several scopes in one statement. Their locks are taken in one order, whatever the order
//! of the rows: each row's call is deferred until the statement has fired all its triggers, and by
//! then all scopes are known.
//!
//! The server does not report that moment. But a change made by a trigger function can leave its
//! own triggers to the surrounding statement, which fires them after those that it already has;
//! foreign keys work this way. On the first row, a deletion from an empty table is reported to the
//! server, and the trigger of that table answers all rows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use pgrx::PgSqlErrorCode::{
    ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use super::row;
use simhash_pg::catalog::lookup::table_in;
use simhash_pg::process::advisory_lock::{lock_until_commit, share_until_commit};
use simhash_pg::process::error::Error;
use simhash_pg::process::subtransaction::{self, Ends};
use simhash_pg::sql::deferred_calls::DeferredCalls;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::statement_end::fire_at_statement_end;
use simhash_pg::sql::trigger::{TriggerCall, depth};
use simhash_trigger::locks::CLUSTERS;

/// Rows of one statement that are still to be answered.
struct DeferredRows {
    calls: DeferredCalls,
    /// The locks of their scopes, each as the table of clusters and the number.
    locks: BTreeSet<(u32, u32)>,
    subtransaction: pg_sys::SubTransactionId,
    /// Nesting depth of the trigger functions: nested statements end one after the other.
    depth: i32,
}

thread_local! {
    /// Rows of the running transaction that are deferred.
    static ROWS: RefCell<Vec<DeferredRows>> = const { RefCell::new(Vec::new()) };
    /// Whether the callback for the ends of transactions is registered.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// Defers a row until its statement ends.
pub fn defer(call: &TriggerCall<'_>, clusters: pg_sys::Oid, numbers: [Option<u32>; 2]) {
    if !LISTENS.replace(true) {
        subtransaction::on_end(forget);
    }
    let (subtransaction, depth) = (subtransaction::current(), depth());
    let is_first = ROWS.with_borrow_mut(|rows| {
        // Rows that a nested statement has deferred are answered by now.
        let is_first = !rows
            .last()
            .is_some_and(|last| last.depth == depth && last.subtransaction == subtransaction);
        if is_first {
            rows.push(DeferredRows {
                calls: DeferredCalls::default(),
                locks: BTreeSet::new(),
                subtransaction,
                depth,
            });
        }
        if let Some(last) = rows.last_mut() {
            last.calls.add(call);
            let mut numbers = numbers.into_iter().flatten().peekable();
            // A row without a scope has no lock.
            let shared = numbers.peek().is_some().then_some(CLUSTERS);
            let locks = numbers.chain(shared);
            last.locks
                .extend(locks.map(|number| (clusters.to_u32(), number)));
        }
        is_first
    });
    if is_first {
        let Some(table) = table_in(c"simhash_catalog", c"statement_end") else {
            Error::new(
                ERRCODE_UNDEFINED_TABLE,
                "table simhash_catalog.statement_end of the extension does not exist",
            )
            .raise();
        };
        fire_at_statement_end(table);
    }
}

/// Forgets the rows of a subtransaction that is rolled back, and of those that began after it. No
/// row may be left when the transaction commits.
fn forget(ends: Ends) {
    match ends {
        Ends::RolledBack(ended) => {
            ROWS.with_borrow_mut(|rows| rows.retain(|row| row.subtransaction < ended));
        }
        Ends::Aborted => ROWS.set(Vec::new()),
        Ends::Committed | Ends::Prepared => {}
        Ends::Commits | Ends::Prepares if ROWS.with_borrow(Vec::is_empty) => {}
        Ends::Commits | Ends::Prepares => Error::new(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "trigger \"answer_rows\" of table simhash_catalog.statement_end was not fired",
        )
        .hint("ALTER TABLE simhash_catalog.statement_end ENABLE ALWAYS TRIGGER answer_rows;")
        .raise(),
    }
}

pg_function! {
    /// simhash_catalog.answer_rows() -> trigger
    fn simhash_answer_rows, pg_finfo_simhash_answer_rows(args) {
        let Some(call) = TriggerCall::from_arguments(args) else {
            Error::new(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, "function simhash_catalog.answer_rows must be fired by its own trigger").raise();
        };
        let depth = depth();
        let rows: Vec<DeferredRows> = ROWS
            .with_borrow_mut(|rows| rows.extract_if(.., |row| row.depth >= depth).collect());
        lock(&rows);
        for later in &rows {
            later.calls.make(args, row::answer);
        }
        call.skip()
    }
}

/// Takes the locks of all these rows in one order.
fn lock(rows: &[DeferredRows]) {
    let locks: BTreeSet<_> = rows.iter().flat_map(|later| &later.locks).collect();
    for (clusters, number) in locks {
        match *number {
            CLUSTERS => share_until_commit((*clusters).into(), *number),
            _ => lock_until_commit((*clusters).into(), *number),
        }
    }
}
