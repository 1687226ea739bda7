//! Error reports in PostgreSQL's style: lower case, no full stop, the offending value, a hint. Their
//! text may hold what users wrote: each part is made fit for the database's encoding here.

use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};

use super::encoding::reportable;

/// Raises an ERROR; never returns.
#[track_caller]
pub fn raise(code: PgSqlErrorCode, message: impl Into<String>) -> ! {
    report(code, message.into(), None, None)
}

/// Raises an ERROR with a HINT; never returns.
#[track_caller]
pub fn raise_with_hint(
    code: PgSqlErrorCode,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> ! {
    report(code, message.into(), None, Some(hint.into()))
}

/// Raises an ERROR with every optional part; never returns.
#[track_caller]
pub fn report(
    code: PgSqlErrorCode,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
) -> ! {
    let mut report = pg_sys::panic::ErrorReport::new(code, reportable(message), "simhash_dedup");
    if let Some(detail) = detail {
        report = report.set_detail(reportable(detail));
    }
    if let Some(hint) = hint {
        report = report.set_hint(reportable(hint));
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}

/// Sends a WARNING with a HINT.
pub fn warn(message: impl Into<String>, hint: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_WARNING;
    pg_sys::panic::ErrorReport::new(code, reportable(message.into()), "simhash_dedup")
        .set_hint(reportable(hint.into()))
        .report(PgLogLevel::WARNING);
}
