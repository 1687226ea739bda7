//! The running subtransaction, and listeners that are called when a transaction or a subtransaction
//! ends.

use std::cell::RefCell;
use std::ffi::c_void;

use pgrx::{pg_guard, pg_sys};

thread_local! {
    static LISTENERS: RefCell<Vec<fn(Ends)>> = const { RefCell::new(Vec::new()) };
}

/// The running subtransaction. Those that begin later have greater numbers, until the transaction
/// ends.
pub fn current() -> pg_sys::SubTransactionId {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetCurrentSubTransactionId() }
}

/// The end of a transaction or of a part of it.
#[derive(Clone, Copy)]
pub enum Ends {
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
pub fn on_end(listener: fn(Ends)) {
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

fn notify(ends: Ends) {
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
        notify(Ends::RolledBack(ended));
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn on_transaction(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_PRE_COMMIT => notify(Ends::Commits),
        pg_sys::XactEvent::XACT_EVENT_COMMIT => notify(Ends::Committed),
        pg_sys::XactEvent::XACT_EVENT_PRE_PREPARE => notify(Ends::Prepares),
        pg_sys::XactEvent::XACT_EVENT_PREPARE => notify(Ends::Prepared),
        pg_sys::XactEvent::XACT_EVENT_ABORT => notify(Ends::Aborted),
        _ => {}
    }
}
