//! What an error of a crate that knows no server is to the user: its SQLSTATE, and the index or
//! table in which it was met. Each of these crates has one error type, and nothing else maps it.

#![forbid(unsafe_code)]

use pgrx::PgSqlErrorCode::*;

use simhash_fingerprint::Class;
use simhash_hamming::page::meta::FORMAT_VERSION;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::error::Error;
use simhash_trigger::arguments::Refused;

/// An error of a crate that knows no server.
pub trait ToError {
    fn to_error(&self) -> Error;
}

/// Returns the value, or raises the ERROR.
#[track_caller]
pub fn or_raise<T>(result: Result<T, impl ToError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => error.to_error().raise(),
    }
}

impl ToError for simhash_fingerprint::Error {
    fn to_error(&self) -> Error {
        let code = match self.class() {
            Class::InvalidValue => ERRCODE_INVALID_PARAMETER_VALUE,
            Class::InvalidText => ERRCODE_INVALID_TEXT_REPRESENTATION,
            Class::UndefinedColumn => ERRCODE_UNDEFINED_COLUMN,
            Class::NotSupported => ERRCODE_FEATURE_NOT_SUPPORTED,
            Class::OutOfMemory => ERRCODE_OUT_OF_MEMORY,
            Class::OutOfRange => ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            Class::DataLength => ERRCODE_STRING_DATA_LENGTH_MISMATCH,
            Class::ProgramLimit => ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Class::ArrayElement => ERRCODE_ARRAY_ELEMENT_ERROR,
        };
        Error {
            detail: self.detail(),
            hint: self.hint(),
            ..Error::new(code, self.to_string())
        }
    }
}

impl ToError for simhash_trigger::Error {
    fn to_error(&self) -> Error {
        let code = match self.refused {
            Refused::Arguments => ERRCODE_INVALID_PARAMETER_VALUE,
            Refused::Shard => ERRCODE_FEATURE_NOT_SUPPORTED,
        };
        Error {
            hint: self.hint.clone(),
            ..Error::new(code, self.message.clone())
        }
    }
}

impl ToError for simhash_hamming::Error {
    fn to_error(&self) -> Error {
        use simhash_hamming::Error::*;
        let message = self.to_string();
        match self {
            Damaged(_) => Error::index_corrupted(message),
            OtherFormat(found) => {
                Error::new(ERRCODE_FEATURE_NOT_SUPPORTED, message).hint(match found {
                    ..FORMAT_VERSION => "Rebuild it with REINDEX.",
                    _ => {
                        "Install a newer simhash_dedup library, or rebuild the index with REINDEX."
                    }
                })
            }
            BallSyntax(_) => Error::new(ERRCODE_INVALID_TEXT_REPRESENTATION, message)
                .hint("Write it as (centre,radius), with a bigint and an int."),
            SameKey => Error::new(ERRCODE_CARDINALITY_VIOLATION, message),
            PartCount { .. } => Error::new(ERRCODE_ARRAY_ELEMENT_ERROR, message)
                .hint("Hashes of one tool have the same number of parts, 1 to 64."),
            SampleTooLarge => Error::new(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED, message),
            OutOfMemory => Error::out_of_memory(),
        }
    }
}

/// Raises the ERROR for a block of an index.
pub fn raise_in_index(index: Rel, block: u32, error: &simhash_hamming::Error) -> ! {
    use simhash_hamming::Error::OtherFormat;
    let name = index.name();
    let message = match error {
        OtherFormat(found) => {
            format!("index \"{name}\" has format {found}, this library reads {FORMAT_VERSION}")
        }
        _ => format!("index \"{name}\" is damaged at block {block}: {error}"),
    };
    Error {
        message,
        ..error.to_error()
    }
    .raise()
}
