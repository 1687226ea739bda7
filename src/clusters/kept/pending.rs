//! The rows that a statement has changed, whose clusters are brought up to date when it has fired all
//! its triggers. `trigger` notes them here. No row is left when a transaction commits: one that is
//! rolled back takes its notes along.
//!
//! The server does not report the end of a statement. But a change made by a trigger function can
//! leave its own triggers to the surrounding statement, which fires them after those that it already
//! has; foreign keys work this way. On the first row, a deletion from an empty table is reported to
//! the server, and the trigger of that table answers all rows.

use pgrx::pg_sys::Datum;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{
    ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use super::answer::AtOnce;
use simhash_pg::catalog::lookup::table_in;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::reserve;
use simhash_pg::process::transaction::{self, TransactionEvent};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::trigger::{TriggerCall, depth, fire_at_statement_end};
use simhash_trigger::in_progress::Compared;

/// Rows of a kept table that one statement has changed.
struct PendingRows {
    at_once: Rc<AtOnce>,
    noted: Vec<KeptValue>,
    /// The old and the new versions, as rows in progress.
    compared: Vec<Compared>,
}

/// What one statement has changed.
struct Pending {
    tables: Vec<PendingRows>,
    subtransaction: pg_sys::SubTransactionId,
    /// Nesting depth of the trigger functions: nested statements end one after the other.
    depth: i32,
}

thread_local! {
    /// The statements of the running transaction whose rows are still to be answered.
    static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) };
    /// Whether the callback for the ends of transactions is registered.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// Notes rows until their statement ends.
pub fn note_pending(at_once: &Rc<AtOnce>, noted: Vec<KeptValue>, compared: Vec<Compared>) {
    if !LISTENS.replace(true) {
        transaction::on_end(forget);
    }
    let (subtransaction, depth) = (transaction::subtransaction_id(), depth());
    let is_first = PENDING.with_borrow_mut(|pending| {
        // Rows that a nested statement has noted are answered by now.
        let is_first = !pending
            .last()
            .is_some_and(|last| last.depth == depth && last.subtransaction == subtransaction);
        if is_first {
            pending.push(Pending {
                tables: Vec::new(),
                subtransaction,
                depth,
            });
        }
        if let Some(last) = pending.last_mut() {
            last.add(at_once, noted, compared);
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

impl Pending {
    fn add(&mut self, at_once: &Rc<AtOnce>, noted: Vec<KeptValue>, compared: Vec<Compared>) {
        // Partitions have triggers of their own, which keep one table of clusters.
        let place = |at_once: &AtOnce| (at_once.kept.relation, at_once.kept.clusters);
        let same = (self.tables.iter_mut()).find(|rows| place(&rows.at_once) == place(at_once));
        match same {
            Some(rows) => {
                reserve(&mut rows.noted, noted.len());
                rows.noted.extend(noted);
                reserve(&mut rows.compared, compared.len());
                rows.compared.extend(compared);
            }
            None => self.tables.push(PendingRows {
                at_once: Rc::clone(at_once),
                noted,
                compared,
            }),
        }
    }
}

/// Forgets the rows of a subtransaction that is rolled back, and of those that began after it. No
/// row may be left when the transaction commits.
fn forget(ends: TransactionEvent) {
    match ends {
        TransactionEvent::RolledBack(ended) => {
            PENDING.with_borrow_mut(|pending| pending.retain(|of| of.subtransaction < ended));
        }
        TransactionEvent::Aborted => PENDING.set(Vec::new()),
        TransactionEvent::Committed | TransactionEvent::Prepared => {}
        TransactionEvent::Commits | TransactionEvent::Prepares
            if PENDING.with_borrow(Vec::is_empty) => {}
        TransactionEvent::Commits | TransactionEvent::Prepares => Error::new(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "trigger \"answer_rows\" of table simhash_catalog.statement_end was not fired",
        )
        .hint("ALTER TABLE simhash_catalog.statement_end ENABLE ALWAYS TRIGGER answer_rows;")
        .raise(),
    }
}

pg_function!(simhash_answer_rows);
/// simhash_catalog.answer_rows() -> trigger
fn simhash_answer_rows(args: &Args) -> Datum {
    let Some(call) = TriggerCall::from_arguments(args) else {
        Error::new(
            ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
            "function simhash_catalog.answer_rows must be fired by its own trigger",
        )
        .raise();
    };
    let depth = depth();
    let ended: Vec<Pending> =
        PENDING.with_borrow_mut(|pending| pending.extract_if(.., |of| of.depth >= depth).collect());
    let mut tables: Vec<PendingRows> = ended.into_iter().flat_map(|of| of.tables).collect();
    // All statements lock several tables of clusters in one order.
    tables.sort_by_key(|rows| rows.at_once.kept.clusters.to_u32());
    for rows in tables {
        rows.at_once
            .answer(args, &rows.noted, &each_once(rows.compared));
    }
    call.skip()
}

fn each_once(mut rows: Vec<Compared>) -> Vec<Compared> {
    rows.sort_unstable_by(|a, b| (a.place, &a.hash).cmp(&(b.place, &b.hash)));
    rows.dedup_by(|a, b| (a.place, &a.hash) == (b.place, &b.hash));
    rows
}
