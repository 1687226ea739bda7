//! The errors of the pure modules, reported to SQL.

#![forbid(unsafe_code)]

use pgrx::PgSqlErrorCode;

use simhash_fingerprint::{Class, Error};
use simhash_pg::process::error::report;

/// Returns the SQLSTATE of an error.
pub fn sqlstate(error: &Error) -> PgSqlErrorCode {
    match error.class() {
        Class::InvalidValue => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        Class::InvalidText => PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        Class::UndefinedColumn => PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
        Class::NotSupported => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        Class::OutOfMemory => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        Class::BitLength => PgSqlErrorCode::ERRCODE_STRING_DATA_LENGTH_MISMATCH,
        Class::LengthMismatch => PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR,
    }
}

/// Raises the ERROR; never returns.
#[track_caller]
pub fn raise(error: &Error) -> ! {
    report(
        sqlstate(error),
        error.to_string(),
        error.detail(),
        error.hint(),
    )
}

/// Returns the value, or raises the ERROR.
#[track_caller]
pub fn or_raise<T>(result: Result<T, Error>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => raise(&error),
    }
}
