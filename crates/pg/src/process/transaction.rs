//! Transactions and their numbers: the running one, whether others run, and waiting for the end of
//! one; the running subtransaction, and listeners that are called when one ends; snapshots of what is committed
//! now; the advisory locks of the extension, which are held until the transaction ends and have a class that no
//! lock of a user has. The triggers and the refresh of clusters call it.

pub use crate::process::compat::own_number;
use crate::process::error::with_line;
use pgrx::{pg_guard, pg_sys};
use std::cell::RefCell;
use std::ffi::c_void;

/// The number of the running transaction, which gets one if it has none.
pub fn top_xid() -> u32 {
    // SAFETY: in a transaction.
    unsafe { pg_sys::GetTopTransactionId() }.into_inner()
}

/// The transaction number of the running subtransaction, or of the transaction itself, which gets one if it has none.
pub fn current_xid() -> u32 {
    // SAFETY: in a transaction.
    unsafe { pg_sys::GetCurrentTransactionId() }.into_inner()
}

/// Returns whether a transaction runs or is prepared.
pub fn is_running(transaction: u32) -> bool {
    // SAFETY: reads what the server shares.
    unsafe { pg_sys::TransactionIdIsInProgress(pg_sys::TransactionId::from_inner(transaction)) }
}

/// Waits until another transaction or subtransaction has ended. One that was released ends with its
/// transaction. An ERROR meanwhile, as that of a deadlock, has this line in its CONTEXT.
pub fn wait_until_ended(transaction: u32, context: &str) {
    let transaction = pg_sys::TransactionId::from_inner(transaction);
    // SAFETY: another transaction's number; without a tuple the server adds no line of its own.
    with_line(context, || unsafe {
        pg_sys::XactLockTableWait(
            transaction,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            pg_sys::XLTW_Oper::XLTW_None,
        );
    });
}

/// How many sessions the server may have at a time, and how many prepared transactions.
pub fn slot_limits() -> [usize; 2] {
    // SAFETY: read variables that the server sets when it starts.
    unsafe { [pg_sys::MaxBackends, pg_sys::max_prepared_xacts].map(|most| most as usize) }
}

/// Runs `f` with an active snapshot of its own: what is committed now, whatever the isolation
/// level, and all that this transaction has done before. Reads under the active snapshot see that.
pub fn with_latest<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: in a transaction; pushes and pops in pairs, and after an ERROR the server pops it.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
        let result = f();
        pg_sys::PopActiveSnapshot();
        result
    }
}

thread_local! {
    static LISTENERS: RefCell<Vec<fn(TransactionEvent)>> = const { RefCell::new(Vec::new()) };
}

/// The number of the running subtransaction within its transaction: those that begin later have greater ones.
pub fn subtransaction_id() -> pg_sys::SubTransactionId {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetCurrentSubTransactionId() }
}

/// The end of a transaction or of a part of it.
#[derive(Clone, Copy)]
pub enum TransactionEvent {
    /// The subtransaction is rolled back, and with it all that began later.
    RolledBack(pg_sys::SubTransactionId),
    /// The transaction is rolled back.
    Aborted,
    /// It is about to commit: an ERROR still aborts it.
    Commits,
    /// All new snapshots show what it has stored.
    Committed,
    /// It is about to be prepared: an ERROR still aborts it.
    Prepares,
    /// PREPARE TRANSACTION has detached it from the session.
    Prepared,
}

/// Calls `listener` from now on at each end. It must raise no ERROR, except when the transaction
/// commits or prepares.
pub fn on_end(listener: fn(TransactionEvent)) {
    let is_first = LISTENERS.with_borrow_mut(|all| {
        all.push(listener);
        all.len() == 1
    });
    if is_first {
        // SAFETY: registered once in a process; the functions are static.
        unsafe {
            pg_sys::RegisterSubXactCallback(Some(on_subtransaction), std::ptr::null_mut());
            pg_sys::RegisterXactCallback(Some(on_transaction), std::ptr::null_mut());
        }
    }
}

fn notify(ends: TransactionEvent) {
    LISTENERS.with_borrow(|all| all.iter().for_each(|listener| listener(ends)));
}

#[pg_guard]
unsafe extern "C-unwind" fn on_subtransaction(
    event: pg_sys::SubXactEvent::Type,
    ended: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        notify(TransactionEvent::RolledBack(ended));
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn on_transaction(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_PRE_COMMIT => notify(TransactionEvent::Commits),
        pg_sys::XactEvent::XACT_EVENT_COMMIT => notify(TransactionEvent::Committed),
        pg_sys::XactEvent::XACT_EVENT_PRE_PREPARE => notify(TransactionEvent::Prepares),
        pg_sys::XactEvent::XACT_EVENT_PREPARE => notify(TransactionEvent::Prepared),
        pg_sys::XactEvent::XACT_EVENT_ABORT => notify(TransactionEvent::Aborted),
        _ => {}
    }
}

/// The class (`objsubid` in pg_locks) of our locks. PostgreSQL's own advisory lock functions use 1
/// and 2, so ours never collide with a user's.
const CLASS: u16 = 0x5348;

/// Takes lock `number` of the table, and holds it until the transaction ends. Waits while another
/// transaction holds it, shared or not.
pub fn lock_until_commit(table: pg_sys::Oid, number: u32) {
    lock(table, number, pg_sys::ExclusiveLock);
}

/// As [`lock_until_commit`], but does not wait: false if another transaction holds it.
pub fn try_lock_until_commit(table: pg_sys::Oid, number: u32) -> bool {
    acquire(table, number, pg_sys::ExclusiveLock, true)
        != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// As [`lock_until_commit`], beside other transactions that share the lock.
pub fn share_until_commit(table: pg_sys::Oid, number: u32) {
    lock(table, number, pg_sys::ShareLock);
}

fn lock(table: pg_sys::Oid, number: u32, mode: u32) {
    acquire(table, number, mode, false);
}

fn acquire(
    table: pg_sys::Oid,
    number: u32,
    mode: u32,
    nowait: bool,
) -> pg_sys::LockAcquireResult::Type {
    // SAFETY: reads a variable of the backend; the tag is a complete one of the advisory kind.
    unsafe {
        let tag = pg_sys::LOCKTAG {
            locktag_field1: pg_sys::MyDatabaseId.to_u32(),
            locktag_field2: table.to_u32(),
            locktag_field3: number,
            locktag_field4: CLASS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        };
        pg_sys::LockAcquire(&tag, mode as i32, false, nowait)
    }
}

/// Returns whether this transaction uses its first snapshot to its end (REPEATABLE READ and above).
pub fn keeps_its_snapshot() -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Returns whether the isolation level is SERIALIZABLE.
pub(crate) fn is_serializable() -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// The isolation level of this transaction.
pub fn isolation_level() -> &'static str {
    // SAFETY: reads a variable of the backend.
    match unsafe { pg_sys::XactIsoLevel } as u32 {
        pg_sys::XACT_SERIALIZABLE => "serializable",
        pg_sys::XACT_REPEATABLE_READ => "repeatable read",
        _ => "read committed",
    }
}
