//! Error reports in PostgreSQL's style: lower case, no full stop, the offending value, a hint.
//! Their text may quote user data, so each part is made valid in the database's encoding here.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

use super::error_context::name_constraint;
use super::reportable::reportable;

/// Replaces the panic hook of pgrx, which captures a backtrace where RUST_BACKTRACE is set and
/// sends it to the client as an error's DETAIL. Called once, when the library is loaded.
pub fn keep_backtraces_in_the_log() {
    // Below the hook of pgrx lies that of the standard library, which writes to the server log.
    drop(std::panic::take_hook());
    let log = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // An error report unwinds as a panic too, but its payload is not text.
        if panic.payload_as_str().is_some() {
            log(panic);
        }
    }));
}

/// An ERROR as the user sees it, made where the fault is found. An error type of another crate
/// becomes one of these in one place, `src/errors.rs`.
#[derive(Debug)]
#[must_use = "an error does nothing before it is raised"]
pub struct Error {
    /// The SQLSTATE.
    pub code: PgSqlErrorCode,
    /// The primary message.
    pub message: String,
    /// The DETAIL, in whole sentences.
    pub detail: Option<String>,
    /// The HINT, in whole sentences.
    pub hint: Option<String>,
    /// Schema, table and constraint, as programs read them.
    pub constraint: Option<[String; 3]>,
}

impl Error {
    /// An error without DETAIL and HINT.
    pub fn new(code: PgSqlErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            constraint: None,
        }
    }

    /// Returns the error out_of_memory.
    pub fn out_of_memory() -> Self {
        Self::new(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory")
    }

    /// Returns the error index_corrupted.
    pub fn index_corrupted(message: String) -> Self {
        Self::new(PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED, message).hint("Rebuild it with REINDEX.")
    }

    /// Returns the error serialization_failure.
    pub fn not_serializable(why: &str) -> Self {
        Self::new(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!("could not serialize access: {why}"),
        )
        .hint("The transaction might succeed if retried.")
    }

    /// Sets the DETAIL.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Sets the HINT.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the constraint of a table that a row violates.
    pub fn constraint(mut self, schema: &str, table: &str, name: &str) -> Self {
        self.constraint = Some([schema, table, name].map(str::to_owned));
        self
    }

    /// Puts a sentence in front of the DETAIL.
    pub(crate) fn about(mut self, sentence: String) -> Self {
        self.detail = Some(match self.detail {
            Some(detail) => format!("{sentence} {detail}"),
            None => sentence,
        });
        self
    }

    /// Raises the ERROR; never returns.
    #[track_caller]
    pub fn raise(self) -> ! {
        let message = reportable(self.message);
        let mut report = ErrorReport::new(self.code, message, "simhash_dedup");
        if let Some(detail) = self.detail {
            report = report.set_detail(reportable(detail));
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(reportable(hint));
        }
        if let Some(names) = self.constraint {
            name_constraint(names.map(reportable));
        }
        report.report(PgLogLevel::ERROR);
        unreachable!("an ERROR report does not return")
    }
}

/// Sends a WARNING with a HINT.
pub fn warn(message: impl Into<String>, hint: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_WARNING;
    ErrorReport::new(code, reportable(message.into()), "simhash_dedup")
        .set_hint(reportable(hint.into()))
        .report(PgLogLevel::WARNING);
}

/// Sends a NOTICE.
pub fn notice(message: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    ErrorReport::new(code, reportable(message.into()), "simhash_dedup").report(PgLogLevel::NOTICE);
}

/// Writes to the server log that an operation goes on beyond a limit.
pub fn log_limit(message: impl Into<String>, detail: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    ErrorReport::new(code, reportable(message.into()), "simhash_dedup")
        .set_detail(reportable(detail.into()))
        .report(PgLogLevel::LOG);
}
