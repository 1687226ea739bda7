//! Work that the statement can do without: damage that it meets is not the statement's error.

use pgrx::PgSqlErrorCode as Code;
use pgrx::PgTryBuilder;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use std::panic::AssertUnwindSafe;

/// Error codes that the server raises for a page or a file that it cannot read.
const DAMAGE: [Code; 4] = [
    Code::ERRCODE_DATA_CORRUPTED,
    Code::ERRCODE_INDEX_CORRUPTED,
    Code::ERRCODE_IO_ERROR,
    Code::ERRCODE_UNDEFINED_FILE,
];

/// The result of `work`, which writes nothing and keeps nothing open; None if it meets damage, or
/// if the process cannot try. Other errors, a cancel among them, are raised as usual.
///
/// An ERROR can be caught only by rolling back a subtransaction. A parallel operation allows none;
/// on a standby, a recovery conflict would end the session and not the statement.
pub fn unless_damaged<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: called within a transaction; memory context and resource owner are put back as they
    // were, as procedural languages do.
    unsafe {
        if pg_sys::IsInParallelMode() || pg_sys::RecoveryInProgress() {
            return None;
        }
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::CurrentMemoryContext = context;
        let outcome = PgTryBuilder::new(AssertUnwindSafe(|| Ok(work())))
            .catch_others(|error| Err(Caught::new(error)))
            .execute();
        match outcome {
            Ok(_) => pg_sys::ReleaseCurrentSubTransaction(),
            Err(_) => pg_sys::RollbackAndReleaseCurrentSubTransaction(),
        }
        pg_sys::CurrentMemoryContext = context;
        pg_sys::CurrentResourceOwner = owner;
        match outcome {
            Ok(result) => Some(result),
            Err(error) if error.is_damage => None,
            Err(error) => error.rethrow(),
        }
    }
}

/// An error that was caught. The server forgets its own errors once they are caught, so one of
/// those is kept as a copy, with all of its fields.
struct Caught {
    is_damage: bool,
    source: ErrorSource,
}

enum ErrorSource {
    Server(*mut pg_sys::ErrorData),
    Rust(Box<CaughtError>),
}

impl Caught {
    /// In a handler, while the server still has the error.
    fn new(error: CaughtError) -> Self {
        let is_damage = match &error {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
                DAMAGE.contains(&report.sql_error_code())
            }
            CaughtError::RustPanic { .. } => false,
        };
        let source = match error {
            // SAFETY: the error is on the server's stack; the copy is made in the memory context of
            // the caller of `unless_damaged`.
            CaughtError::PostgresError(_) => {
                ErrorSource::Server(unsafe { pg_sys::CopyErrorData() })
            }
            other => ErrorSource::Rust(Box::new(other)),
        };
        Self { is_damage, source }
    }

    #[allow(
        unreachable_code,
        reason = "not on every major the bindings say that ReThrowError does not return"
    )]
    fn rethrow(self) -> ! {
        match self.source {
            ErrorSource::Server(error) => {
                // SAFETY: a copy made by the server; its memory context is still there.
                unsafe { pg_sys::ReThrowError(error) };
                unreachable!("ReThrowError returned")
            }
            ErrorSource::Rust(error) => error.rethrow(),
        }
    }
}
