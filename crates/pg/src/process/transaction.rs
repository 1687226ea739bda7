//! Transactions and their numbers: the running one, whether others run, and waiting for the end of
//! one; what the active snapshot shows, and snapshots of what is committed now. The triggers wait for
//! transactions that have stored near rows, and the refresh of clusters runs under [`with_latest`].

use pgrx::pg_sys;

pub use super::compat::own_number;
use super::error::with_line;

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
