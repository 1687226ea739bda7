//! Until when something holds that is known of the running transaction's own rows, and what a
//! subtransaction takes along when it is rolled back.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use pgrx::{pg_guard, pg_sys};

use super::compat::local_transaction;

thread_local! {
    /// How many subtransactions were rolled back; None before they are counted.
    static ROLLED_BACK: Cell<Option<u64>> = const { Cell::new(None) };
    static LISTENERS: RefCell<Vec<fn(pg_sys::SubTransactionId)>> = const { RefCell::new(Vec::new()) };
}

/// The running subtransaction. Those that begin later have greater numbers, until the transaction
/// ends.
pub fn current() -> pg_sys::SubTransactionId {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetCurrentSubTransactionId() }
}

/// Calls `listener` from now on with each subtransaction that is rolled back, and with it all that
/// began later. It must not call the server.
pub fn on_rollback(listener: fn(pg_sys::SubTransactionId)) {
    // The count registers the callback.
    Moment::now();
    LISTENERS.with_borrow_mut(|all| all.push(listener));
}

/// A moment of a transaction. What was true of its own rows at one moment is true at another of the
/// same, unless the transaction has changed them meanwhile: nothing was rolled back in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    transaction: u32,
    rolled_back: u64,
}

impl Moment {
    pub fn now() -> Self {
        let rolled_back = ROLLED_BACK.get().unwrap_or_else(|| {
            // SAFETY: registered once in a process; the function is static.
            unsafe { pg_sys::RegisterSubXactCallback(Some(count), std::ptr::null_mut()) };
            ROLLED_BACK.set(Some(0));
            0
        });
        Self {
            transaction: local_transaction(),
            rolled_back,
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn count(
    event: pg_sys::SubXactEvent::Type,
    ended: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        ROLLED_BACK.set(ROLLED_BACK.get().map(|count| count + 1));
        LISTENERS.with_borrow(|all| all.iter().for_each(|listener| listener(ended)));
    }
}
