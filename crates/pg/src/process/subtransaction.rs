//! Until when something holds that is known of the running transaction's own rows.

use std::cell::Cell;
use std::ffi::c_void;

use pgrx::{pg_guard, pg_sys};

use super::compat::local_transaction;

thread_local! {
    /// How many subtransactions were rolled back; None before they are counted.
    static ROLLED_BACK: Cell<Option<u64>> = const { Cell::new(None) };
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
    _ended: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        ROLLED_BACK.set(ROLLED_BACK.get().map(|count| count + 1));
    }
}
