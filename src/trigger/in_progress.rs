//! What this session has stored and not yet committed, for the sessions whose rows are compared with
//! it ([`simhash_trigger::in_progress`] says how they meet). The flagging trigger enters each row
//! here before it searches; the one that keeps clusters enters the rows of a statement when
//! it ends. What a session has entered goes with its transaction or subtransaction;
//! what a prepared transaction has entered stays until that one has ended.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use pgrx::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY;
use pgrx::pg_sys;

use simhash_pg::process::backend::{
    AsUser, check_for_interrupts, database, role_name, session_role,
};
use simhash_pg::process::error::{Error, log_limit};
use simhash_pg::process::shared_words::SharedWords;
use simhash_pg::process::transaction::{self, TransactionEvent, is_running, own_number};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::value::Value;
use simhash_trigger::in_progress::memory::{HEADER, Memory, Run};
use simhash_trigger::in_progress::{
    Compared, Entered, InProgress, Key, Search, Wait, Writer, pieces, place,
};

/// A row that is compared with others.
pub struct RowInProgress<'a> {
    /// Once for each table that is searched for it.
    pub compared: Vec<Compared>,
    /// The tables that are searched.
    pub tables: &'a [pg_sys::Oid],
    pub key: Key,
}

/// What [`enter`] has added.
pub struct Added {
    entered: Entered,
    /// Whether there was anyone to wait for.
    pub has_waited: bool,
}

/// What the running transaction has entered.
#[derive(Default)]
struct Session {
    /// How many rows were there when each subtransaction entered its first, ascending.
    began: Vec<(pg_sys::SubTransactionId, usize)>,
    /// Whether it has entered anything.
    has_entered: bool,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    /// Whether this session listens to the ends of its transactions, and has found out which ones
    /// were prepared before the server started.
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Number of the table, for [`Compared::table`].
pub fn table_number(table: pg_sys::Oid, column: u16) -> u32 {
    place(table_parts(table, column))
}

/// Number of the scope in a table, for [`Compared::place`].
pub fn place_number(table: pg_sys::Oid, column: u16, scope: u64) -> u32 {
    place(table_parts(table, column).into_iter().chain([scope]))
}

fn table_parts(table: pg_sys::Oid, column: u16) -> [u64; 3] {
    [database().into(), table.to_u32().into(), column.into()]
}

/// Enters a row, and waits for those who have stored rows near it and not yet committed.
/// `context` says, given the key of such a row, what this one waits for.
pub fn enter(row: RowInProgress<'_>, context: impl Fn(&Wait) -> String) -> Added {
    register_once();
    let by = writer();
    let entered = add(by, &row.compared, row.key);
    let mut has_waited = wait(&waits(&by, &row.compared, &entered), &context);
    has_waited |= wait_for_earlier(row.tables, &context);
    Added {
        entered,
        has_waited,
    }
}

/// Enters those of these rows that this transaction has not entered, before it waits for anyone.
pub fn enter_all(rows: &[Compared], context: impl Fn(&Wait) -> String) {
    register_once();
    let by = writer();
    let mut all_waits = Vec::new();
    for piece in pieces(&new_rows(by, rows)) {
        let entered = add(by, piece, Key::default());
        all_waits.extend(waits(&by, piece, &entered));
    }
    wait(&all_waits, context);
}

/// Enters rows as they are.
fn add(by: Writer, rows: &[Compared], key: Key) -> Entered {
    let mut shared = shared(SharedWords::lock());
    note_count_before(&mut shared);
    let entered = shared.enter(by, rows, key);
    drop(shared);
    log_if_whole(by, &entered);
    entered
}

/// Those for whom these rows wait, which are entered.
fn waits(by: &Writer, rows: &[Compared], entered: &Entered) -> Vec<Wait> {
    let mut search = Search::for_entered(by, rows, entered);
    while !shared(SharedWords::lock()).search(&mut search, is_running) {
        let_others_go();
    }
    search.waits
}

/// Between two calls of a search. Those who wait for the memory are awake by the time this returns: the
/// lock is not fair, and would be taken again before.
fn let_others_go() {
    check_for_interrupts();
    std::thread::sleep(Duration::from_micros(50));
}

/// Those of these rows that this transaction has not entered.
fn new_rows(by: Writer, rows: &[Compared]) -> Vec<Compared> {
    let is_new = |row: &&Compared| {
        check_for_interrupts();
        !shared(SharedWords::lock()).has_entered(by.slot, row)
    };
    rows.iter().filter(is_new).cloned().collect()
}

/// Enters those of these rows, of one piece, that this transaction has not entered, and returns whether it
/// has. It enters none if others have entered one that is near and not yet committed, for whom it waits
/// then, or if the number of [`ended`] is another than this one.
pub fn claim(rows: &[Compared], seen: u64, context: impl Fn(&Wait) -> String) -> bool {
    register_once();
    let by = writer();
    let rows = new_rows(by, rows);
    let mut search = Search::for_claim(&by, &rows);
    let entered = loop {
        let mut words = shared(SharedWords::lock());
        note_count_before(&mut words);
        if let Some(entered) = words.claim(by, &mut search, seen, is_running) {
            break entered;
        }
        drop(words);
        let_others_go();
    };
    entered.iter().for_each(|entered| log_if_whole(by, entered));
    wait(&search.waits, context);
    entered.is_some()
}

/// How many transactions with rows in progress have ended ([`InProgress::ended`]).
pub fn ended() -> u64 {
    shared(SharedWords::lock()).ended()
}

fn writer() -> Writer {
    Writer {
        slot: own_number(),
        transaction: transaction::top_xid(),
        subtransaction: transaction::current_xid(),
        role: session_role(),
    }
}

/// Notes how many rows are there, before more are entered: after an ERROR in the middle, these are
/// withdrawn.
fn note_count_before(shared: &mut InProgress<Shared>) {
    let before = shared.count(own_number());
    SESSION.with_borrow_mut(|session| session.note(transaction::subtransaction_id(), before));
}

/// Says when this transaction stores more rows than it enters.
fn log_if_whole(by: Writer, entered: &Entered) {
    if let Some(holder) = &entered.became_whole {
        log_limit(
            format!(
                "transaction {} stores too many rows to compare each with those of others",
                by.transaction
            ),
            format!(
                "Until it ends, all others that store rows in the same tables wait for it. Most of the memory for such rows, {} MB, \
                 is held by transaction {} of role \"{}\".",
                holder.bytes >> 20,
                holder.transaction,
                role_name(holder.role),
            ),
        );
    }
}

/// Waits for others. Returns whether there was anyone to wait for.
fn wait(waits: &[Wait], context: impl Fn(&Wait) -> String) -> bool {
    for wait in waits {
        transaction::wait_until_ended(wait.transaction, &context(wait));
    }
    !waits.is_empty()
}

/// Withdraws a row that is not stored after all, if nothing was entered after it that matters.
pub fn leave_out(added: &Added) {
    shared(SharedWords::lock()).leave_out(own_number(), &added.entered);
}

impl Session {
    /// Notes how many rows are there before the running subtransaction enters one. Those that began
    /// later have ended: what they have entered counts as entered by the running one, since it can be
    /// rolled back with that one only.
    fn note(&mut self, running: pg_sys::SubTransactionId, mut before: usize) {
        self.has_entered = true;
        while let Some(&(began, earlier)) = self.began.last()
            && began > running
        {
            before = earlier;
            self.began.pop();
        }
        if self.began.last().is_none_or(|(began, _)| *began < running) {
            self.began.push((running, before));
        }
    }

    /// Returns how many rows are left when a subtransaction is rolled back, if it has entered any.
    fn rolled_back(&mut self, ended: pg_sys::SubTransactionId) -> Option<usize> {
        let first = self.began.iter().position(|(began, _)| *began >= ended)?;
        let (_, left) = self.began[first];
        self.began.truncate(first);
        Some(left)
    }
}

fn on_end(ends: TransactionEvent) {
    SESSION.with_borrow_mut(|session| match ends {
        _ if !session.has_entered => {}
        TransactionEvent::Commits => {}
        TransactionEvent::RolledBack(ended) => {
            if let Some(left) = session.rolled_back(ended) {
                while !shared(SharedWords::lock()).withdraw(own_number(), left) {}
            }
        }
        // An ERROR after this aborts the transaction. Then the slot is given back as those of
        // prepared transactions that have ended: another one may have it already.
        TransactionEvent::Prepares => {
            let prepared = shared(SharedWords::lock()).prepare(own_number(), is_running);
            let [_, most] = transaction::slot_limits();
            // Without any the server says so next.
            if prepared.is_none() && most > 0 {
                too_many_prepared(most);
            }
        }
        TransactionEvent::Prepared => *session = Session::default(),
        TransactionEvent::Committed | TransactionEvent::Aborted => {
            while !shared(SharedWords::lock()).end(own_number()) {}
            *session = Session::default();
        }
    });
}

/// What a session does once.
fn register_once() {
    if REGISTERED.get() {
        return;
    }
    let is_known = shared(SharedWords::lock()).knows_earlier();
    if !is_known {
        let earlier = prepared_transactions();
        shared(SharedWords::lock()).set_earlier(&earlier);
    }
    transaction::on_end(on_end);
    REGISTERED.set(true);
}

// ---- transactions that were prepared before the server started

/// Returns the prepared transactions of the server.
fn prepared_transactions() -> Vec<u32> {
    let mut all = Vec::new();
    as_superuser(
        "SELECT transaction::pg_catalog.text::pg_catalog.int8 FROM pg_catalog.pg_prepared_xact()",
        &[],
        |transaction| all.push(transaction),
    );
    all
}

/// Waits for those of the transactions that were prepared before the server started that may have stored
/// rows in one of the tables. What they have stored is not known: memory was lost when the server
/// stopped. Returns whether there were any.
pub fn wait_for_earlier(tables: &[pg_sys::Oid], context: impl Fn(&Wait) -> String) -> bool {
    register_once();
    let earlier = shared(SharedWords::lock()).earlier(is_running);
    let mut has_waited = false;
    if earlier.is_empty() {
        return has_waited;
    }
    for table in tables {
        let mut writers = Vec::new();
        as_superuser(
            WRITERS,
            &[*table, database().into()].map(|oid| Some(Value::from(oid))),
            |transaction| {
                writers.push(transaction);
            },
        );
        for transaction in writers {
            if earlier.contains(&transaction) {
                let wait = Wait {
                    transaction,
                    key: Key::default(),
                };
                transaction::wait_until_ended(transaction, &context(&wait));
                has_waited = true;
            }
        }
    }
    has_waited
}

/// The prepared transactions that hold the lock of a writer on a table or on one that is part of it.
const WRITERS: &str = "\
    WITH RECURSIVE parts(relid) AS (SELECT $1::pg_catalog.oid \
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN parts \
    ON i.inhparent OPERATOR(pg_catalog.=) parts.relid) \
    SELECT own.transactionid::pg_catalog.text::pg_catalog.int8 \
    FROM pg_catalog.pg_lock_status() AS own JOIN pg_catalog.pg_lock_status() AS held \
    ON held.virtualtransaction OPERATOR(pg_catalog.=) own.virtualtransaction \
    WHERE own.pid IS NULL AND own.locktype OPERATOR(pg_catalog.=) 'transactionid' \
    AND held.pid IS NULL AND held.locktype OPERATOR(pg_catalog.=) 'relation' \
    AND held.mode OPERATOR(pg_catalog.=) 'RowExclusiveLock' \
    AND held.database OPERATOR(pg_catalog.=) $2 \
    AND held.relation OPERATOR(pg_catalog.=) ANY (SELECT relid FROM parts)";

/// Calls `found` with the numbers that a query of ours returns, which not every role may run.
fn as_superuser(sql: &str, parameters: &[Option<Value<'_>>], mut found: impl FnMut(u32)) {
    let _user = AsUser::switch(pg_sys::BOOTSTRAP_SUPERUSERID.into());
    for_each_row(sql, parameters, &mut |[number]| {
        found(number.map_or(0, |number| number.integer() as u32));
    });
}

/// Raises the server's ERROR, which comes too late for us.
fn too_many_prepared(most: usize) -> ! {
    Error::new(
        ERRCODE_OUT_OF_MEMORY,
        "maximum number of prepared transactions reached",
    )
    .hint(format!(
        "Increase \"max_prepared_transactions\" (currently {most})."
    ))
    .raise()
}

// ---- the shared memory

/// As [`simhash_trigger::in_progress`] uses it.
struct Shared(SharedWords);

fn shared(words: SharedWords) -> InProgress<Shared> {
    InProgress::new(Shared(words), transaction::slot_limits())
        .unwrap_or_else(|| Error::out_of_memory().raise())
}

#[allow(unsafe_code, reason = "runs are numbers in the shared memory")]
impl Memory for Shared {
    fn header(&mut self) -> &mut [u64; HEADER] {
        self.0.header()
    }

    fn allocate(&mut self, words: usize, zeros: usize) -> Option<Run> {
        self.0.allocate(words, zeros)
    }

    fn free(&mut self, run: Run) {
        // SAFETY: `InProgress` passes what `allocate` has returned, and forgets what it frees.
        unsafe { self.0.free(run) }
    }

    fn words(&mut self, run: Run) -> &mut [u64] {
        // SAFETY: as above.
        unsafe { self.0.words(run) }
    }
}
