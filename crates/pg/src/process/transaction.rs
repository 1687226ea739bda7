//! Transactions and their numbers: the running one, whether others run, and waiting for the end of
//! one. The triggers wait for transactions that have stored near rows.

use pgrx::pg_sys;

pub use super::compat::own_number;
use super::error_context::with_line;

/// The running transaction, which gets a number if it has none.
pub fn top() -> u32 {
    // SAFETY: in a transaction.
    unsafe { pg_sys::GetTopTransactionId() }.into_inner()
}

/// The running subtransaction, or the transaction itself, which gets a number if it has none.
pub fn current() -> u32 {
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
pub fn most() -> [usize; 2] {
    // SAFETY: read variables that the server sets when it starts.
    unsafe { [pg_sys::MaxBackends, pg_sys::max_prepared_xacts].map(|most| most as usize) }
}
