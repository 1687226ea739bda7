//! The rows of a statement, whose calls are deferred until it has fired all its triggers. By then
//! all of them are known, and are entered as rows in progress before the first is answered: a
//! statement waits for others before it holds a cluster, whatever the order of its rows.
//!
//! The server does not report that moment. But a change made by a trigger function can leave its
//! own triggers to the surrounding statement, which fires them after those that it already has;
//! foreign keys work this way. On the first row, a deletion from an empty table is reported to the
//! server, and the trigger of that table answers all rows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use pgrx::PgSqlErrorCode::{
    ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use super::claims::ClaimedTables;
use super::row;
use crate::trigger::in_progress::is_alone;
use simhash_pg::catalog::lookup::table_in;
use simhash_pg::process::error::Error;
use simhash_pg::process::subtransaction::{self, Ends};
use simhash_pg::sql::deferred_calls::DeferredCalls;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::statement_end::fire_at_statement_end;
use simhash_pg::sql::trigger::{TriggerCall, depth};
use simhash_trigger::in_progress::Compared;

/// Up to this number of rows, a statement holds clusters of all of them before it answers the first.
const FEW: usize = 1024;

/// Rows of one statement that are still to be answered.
struct DeferredRows {
    calls: DeferredCalls,
    /// What they are as rows in progress.
    in_progress: InProgressOf,
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
pub fn defer(
    call: &TriggerCall<'_>,
    tables: ClaimedTables,
    in_progress: impl Iterator<Item = Compared>,
) {
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
                in_progress: InProgressOf::new(),
                subtransaction,
                depth,
            });
        }
        if let Some(last) = rows.last_mut() {
            last.calls.add(call);
            last.in_progress
                .entry(tables)
                .or_default()
                .extend(in_progress);
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
        let mut rows: Vec<DeferredRows> = ROWS
            .with_borrow_mut(|rows| rows.extract_if(.., |row| row.depth >= depth).collect());
        enter(&mut rows);
        let count = rows.iter().map(|later| later.calls.len()).sum();
        if (2..=FEW).contains(&count) && !is_alone() {
            hold_clusters(args, &rows);
        }
        for later in &rows {
            later.calls.make(args, row::answer);
        }
        call.skip()
    }
}

/// Rows in progress of each table of clusters, in any order and repeated.
type InProgressOf = BTreeMap<ClaimedTables, Vec<Compared>>;

/// Enters all these rows.
fn enter(rows: &mut [DeferredRows]) {
    let mut all = InProgressOf::new();
    for later in rows {
        for (tables, rows) in &mut later.in_progress {
            all.entry(*tables).or_default().append(rows);
        }
    }
    for (tables, rows) in all {
        tables.enter(&each_once(rows));
    }
}

/// Holds the clusters that these rows are likely to change, all at once. Each row holds what it
/// changes in any case: this is for statements that would do so in different order, and deadlock.
fn hold_clusters(args: &Args, rows: &[DeferredRows]) {
    let mut has_waited = true;
    while has_waited {
        let mut all = InProgressOf::new();
        for later in rows {
            later.calls.make(args, |call| {
                if let Some((tables, clusters)) = row::likely_clusters(call) {
                    all.entry(tables).or_default().extend(clusters);
                }
            });
        }
        has_waited =
            (all.into_iter()).any(|(tables, clusters)| tables.has_waited_for(&each_once(clusters)));
    }
}

fn each_once(mut rows: Vec<Compared>) -> Vec<Compared> {
    let place = |row: &Compared| (row.place, row.fingerprint);
    rows.sort_unstable_by_key(place);
    rows.dedup_by_key(|row| place(row));
    rows
}
