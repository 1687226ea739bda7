//! Errors in the user's input. `row::errors` reports them to SQL.

use std::borrow::Cow;
use std::fmt;

use super::options::grammar::is_row_option;
use super::options::presets::{BARE, Method, names_where};
use super::options::text_options::Needs;

/// The kind of an [`Error`]; the server side maps it to a SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    InvalidValue,
    InvalidText,
    UndefinedColumn,
    NotSupported,
    LengthMismatch,
    BitLength,
    OutOfMemory,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    UnknownPreset {
        name: String,
        known: String,
    },
    /// `place` names the spot in the JSON, such as `weight of column "body"`.
    WrongShape {
        place: String,
        expected: Cow<'static, str>,
        found: String,
    },
    UnknownOption {
        key: String,
        known: String,
    },
    /// Options of a row in a call with a text; `known` are the options of texts.
    RowOption {
        key: String,
        known: String,
    },
    /// A column's value in the JSON is neither its weight nor an object of its options.
    WeightShape {
        column: String,
        found: String,
    },
    UnknownStopWords {
        name: String,
        known: String,
    },
    ReservedOption {
        key: String,
    },
    /// The preset has no use for this option.
    OptionWithoutUse {
        key: String,
        needs: Needs,
        preset: &'static str,
    },
    JsonTooLong {
        bytes: usize,
    },
    /// The JSON does not parse. The server has checked its syntax: a number is too large, or it is
    /// nested too deeply.
    Json(String),
    BadWeight {
        place: String,
        weight: String,
    },
    NoWeight,
    UnknownColumn {
        place: &'static str,
        column: String,
        columns: Vec<String>,
    },
    ColumnTwice {
        place: &'static str,
        column: String,
    },
    WeightedAndExcluded {
        column: String,
    },
    FieldCount {
        names: usize,
        fields: usize,
    },
    WeightedToken {
        position: usize,
        found: String,
        fault: &'static str,
    },
    ArrayLengths {
        tokens: usize,
        weights: usize,
    },
    VectorLengths {
        first: usize,
        second: usize,
    },
    /// An integer argument.
    OutOfRange {
        name: &'static str,
        value: i32,
        least: i32,
        most: i32,
    },
    DocumentFrequency {
        term: String,
        df: u64,
        documents: u64,
    },
    /// An argument that is not from 0 to 1.
    NoShare {
        name: &'static str,
        value: f64,
    },
    TooManyProbes {
        bits: usize,
        flips: u32,
    },
    /// Bits of least margin of a minwise fingerprint.
    NoMargin,
    OutOfMemory,
    Width(i32),
    /// Numbers of bits of the two arguments of a distance.
    BitLengths {
        first: usize,
        second: usize,
    },
    TooWide {
        fingerprint: i64,
    },
}

impl Error {
    pub fn class(&self) -> Class {
        match self {
            Error::WeightedToken { .. } => Class::InvalidText,
            Error::UnknownColumn { .. } => Class::UndefinedColumn,
            Error::ReservedOption { .. } | Error::NoMargin => Class::NotSupported,
            Error::ArrayLengths { .. } | Error::VectorLengths { .. } => Class::LengthMismatch,
            Error::BitLengths { .. } => Class::BitLength,
            Error::OutOfMemory => Class::OutOfMemory,
            _ => Class::InvalidValue,
        }
    }

    /// The DETAIL line, if any.
    pub fn detail(&self) -> Option<String> {
        match self {
            Error::UnknownColumn { columns, .. } => {
                let quoted: Vec<String> = columns.iter().map(|c| format!("\"{c}\"")).collect();
                Some(format!("The row's columns are {}.", quoted.join(", ")))
            }
            Error::RowOption { known, .. } => Some(format!(
                "The argument is a text, not a row. The options of a text are {known}."
            )),
            Error::OptionWithoutUse { preset, .. } if *preset == BARE => {
                Some(format!("A call without a preset has preset \"{BARE}\"."))
            }
            _ => None,
        }
    }

    /// The HINT line, if any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::UnknownPreset { known, .. } => Some(format!("The presets are {known}.")),
            Error::UnknownOption { known, .. } => Some(format!("The options are {known}.")),
            Error::RowOption { .. } => Some(
                "Weights of columns need a row: ROW(a, b), or t.* where the table t has a column t."
                    .into(),
            ),
            Error::UnknownStopWords { known, .. } => {
                Some(format!("The built-in lists are {known}."))
            }
            Error::BadWeight { .. } => Some("A weight is a number from 0 to 1e100.".into()),
            Error::JsonTooLong { .. } => Some(format!(
                "At most {} bytes are read. Keep longer lists of words, and document frequencies, \
                 in a stored configuration.",
                super::options::json::MOST_BYTES
            )),
            Error::NoWeight => Some("Give at least one column a weight above 0.".into()),
            Error::WeightedToken { .. } => Some(
                "Preset s1 reads tokens with weights, separated by single spaces, such as \
                 \"fast^2 car^1\"."
                    .into(),
            ),
            Error::UnknownColumn { columns, .. } if columns.iter().any(|c| c == "f1") => Some(
                "The fields of a bare ROW(...) are f1, f2, ...; \"$columns\" names them.".into(),
            ),
            Error::UnknownColumn { column, .. } | Error::WeightShape { column, .. }
                if is_row_option(column) =>
            {
                Some(format!("If an option is meant, write \"${column}\"."))
            }
            Error::OutOfRange {
                name, least, most, ..
            } => Some(format!("{name} is an integer from {least} to {most}.")),
            Error::NoShare { name, .. } => Some(format!("{name} is a number from 0 to 1.")),
            Error::TooManyProbes { .. } => Some(format!(
                "At most {} fingerprints are given: take fewer bits or flips.",
                super::margin::MOST_PROBES
            )),
            Error::NoMargin => Some(format!(
                "Presets that have them: {}. With others search a larger radius instead.",
                names_where(|preset| preset.method == Method::SimHash)
            )),
            Error::OptionWithoutUse { needs, .. } => {
                let which = match needs {
                    Needs::Text => "read natural text",
                    Needs::Words => "cut texts into words",
                    Needs::Ngrams => "cut texts into n-grams",
                };
                let presets = names_where(|preset| needs.met_by(&preset.input));
                Some(format!("Presets that {which} use it: {presets}."))
            }
            Error::BitLengths { .. } => Some("Both are fingerprints of 128 bits.".into()),
            Error::Width(_) => Some("Fingerprints have 64 or 32 bits.".into()),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownPreset { name, .. } => write!(f, "unknown preset \"{name}\""),
            Error::WrongShape {
                place,
                expected,
                found,
            } => {
                write!(f, "{place} must be {expected}, not {found}")
            }
            Error::UnknownOption { key, .. } | Error::RowOption { key, .. } => {
                write!(f, "unknown option \"{key}\"")
            }
            Error::WeightShape { column, found } => write!(
                f,
                "weight of column \"{column}\" must be a number or an object, not {found}"
            ),
            Error::UnknownStopWords { name, .. } => {
                write!(f, "unknown list of stop words \"{name}\"")
            }
            Error::ReservedOption { key } => {
                write!(f, "option \"{key}\" is not supported in this version")
            }
            Error::OptionWithoutUse { key, preset, .. } => {
                write!(f, "option \"{key}\" has no use with preset \"{preset}\"")
            }
            Error::JsonTooLong { bytes } => {
                write!(f, "the JSON of the options is too long: {bytes} bytes")
            }
            Error::Json(fault) => write!(f, "cannot read the JSON of the options: {fault}"),
            Error::BadWeight { place, weight } => write!(f, "{place} is out of range: {weight}"),
            Error::NoWeight => write!(f, "the weights of the row's columns add up to zero"),
            Error::UnknownColumn { place, column, .. } => {
                write!(
                    f,
                    "column \"{column}\" in {place} does not exist in the row"
                )
            }
            Error::ColumnTwice { place, column } => {
                write!(f, "column \"{column}\" appears more than once in {place}")
            }
            Error::WeightedAndExcluded { column } => {
                write!(f, "column \"{column}\" has a weight and is also excluded")
            }
            Error::FieldCount { names, fields } => {
                write!(
                    f,
                    "\"$columns\" names {names} columns, but the row has {fields}"
                )
            }
            Error::WeightedToken {
                position,
                found,
                fault,
            } => {
                write!(
                    f,
                    "malformed token \"{found}\" at position {position}: {fault}"
                )
            }
            Error::ArrayLengths { tokens, weights } => {
                write!(
                    f,
                    "tokens and weights differ in number: {tokens} and {weights}"
                )
            }
            Error::VectorLengths { first, second } => {
                write!(f, "arrays differ in length: {first} and {second}")
            }
            Error::OutOfRange { name, value, .. } => write!(f, "{name} is out of range: {value}"),
            Error::DocumentFrequency {
                term,
                df,
                documents,
            } => write!(f, "term \"{term}\" occurs in {df} of {documents} documents"),
            Error::NoShare { name, value } => write!(f, "{name} is out of range: {value}"),
            Error::TooManyProbes { bits, flips } => {
                write!(f, "too many ways to flip up to {flips} of {bits} bits")
            }
            Error::NoMargin => write!(f, "a minwise fingerprint has no bits of least margin"),
            Error::OutOfMemory => write!(f, "out of memory"),
            Error::BitLengths { first, second } => {
                write!(
                    f,
                    "bit strings have the wrong length: {first} and {second} bits"
                )
            }
            Error::Width(bits) => write!(f, "fingerprint width out of range: {bits}"),
            Error::TooWide { fingerprint } => {
                write!(f, "fingerprint {fingerprint} has more than 32 bits")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Returns an error unless this many bytes can be allocated. Called before library code that would
/// abort the process when it runs out of memory.
pub fn check_memory(bytes: usize) -> Result<(), Error> {
    let mut room: Vec<u8> = Vec::new();
    room.try_reserve_exact(bytes)
        .map_err(|_| Error::OutOfMemory)?;
    // The compiler would remove code whose result is not used.
    std::hint::black_box(&mut room);
    Ok(())
}
