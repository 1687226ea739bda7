//! Work that the statement can do without: damage that it meets is not the statement's error.

use pgrx::PgSqlErrorCode as Code;
use pgrx::PgTryBuilder;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use std::panic::AssertUnwindSafe;

/// What reading a damaged or foreign file raises: our own reports, and the server's.
const DAMAGE: [Code; 5] = [
    Code::ERRCODE_INDEX_CORRUPTED,
    Code::ERRCODE_DATA_CORRUPTED,
    Code::ERRCODE_FEATURE_NOT_SUPPORTED,
    Code::ERRCODE_IO_ERROR,
    Code::ERRCODE_UNDEFINED_FILE,
];

/// The result of `work`, which only reads; None if it meets damage, or if the process cannot try.
/// Other errors, a cancel among them, are raised as usual.
///
/// An ERROR can be caught only by rolling back a subtransaction. Without an error it is rolled back
/// too: to release it would advance the command counter. It writes nothing and gets no id.
pub fn unless_damaged<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: the planner or executor runs in a transaction; context, owner and counter are put
    // back as they were, as procedural languages do.
    unsafe {
        if pg_sys::IsInParallelMode() {
            return None;
        }
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let holdoff = pg_sys::InterruptHoldoffCount;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::CurrentMemoryContext = context;
        let outcome = PgTryBuilder::new(AssertUnwindSafe(|| Ok(work())))
            .catch_others(|error| Err(Box::new(error)))
            .execute();
        // The server's own errors reset the counter before they are caught; the rollback, which
        // releases the locks on pages, expects that.
        pg_sys::InterruptHoldoffCount = holdoff;
        pg_sys::RollbackAndReleaseCurrentSubTransaction();
        pg_sys::CurrentMemoryContext = context;
        pg_sys::CurrentResourceOwner = owner;
        match outcome {
            Ok(result) => Some(result),
            Err(error) if is_damage(&error) => None,
            Err(error) => error.rethrow(),
        }
    }
}

fn is_damage(error: &CaughtError) -> bool {
    match error {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
            DAMAGE.contains(&report.sql_error_code())
        }
        CaughtError::RustPanic { .. } => false,
    }
}
