//! Errors in the user's input. The extension maps them to SQLSTATEs (`src/errors.rs`).

mod advice;

use std::borrow::Cow;
use std::fmt;

/// The kind of an [`Error`]; the server side maps it to a SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `invalid_parameter_value`
    InvalidValue,
    /// `invalid_text_representation`
    InvalidText,
    /// `undefined_column`
    UndefinedColumn,
    /// `feature_not_supported`
    NotSupported,
    /// `array_element_error`
    ArrayElement,
    /// `string_data_length_mismatch`
    DataLength,
    /// `numeric_value_out_of_range`
    OutOfRange,
    /// `out_of_memory`
    OutOfMemory,
    /// `program_limit_exceeded`
    ProgramLimit,
}

/// What is wrong with the input. [`fmt::Display`] has the message; DETAIL and HINT are in `advice`.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "the message of a variant says what it is, and names its fields"
)]
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
    /// A line of a dictionary file in the place of a word that stays whole.
    LineOfDictionary {
        line: String,
    },
    /// The preset has no use for this option.
    OptionWithoutUse {
        key: String,
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
    NoText {
        columns: Vec<String>,
    },
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
    /// A text that has more bytes than this.
    ResultTooLong {
        most: usize,
    },
    /// More features of a column than can be shown.
    TooManyFeatures {
        most: usize,
    },
    Width(i32),
    /// Numbers of bits of the two arguments of a distance.
    BitLengths {
        first: usize,
        second: usize,
    },
    TooWide {
        fingerprint: i64,
    },
    /// A hash with another number of digits; `expected` are those that the hash should have.
    HexLength {
        found: String,
        digits: usize,
        expected: usize,
    },
    NoHexDigit {
        found: String,
        character: char,
    },
    /// A hash that is a number with a fraction, or no number.
    NoInteger(String),
    /// A hash that is a number below 0 or above 2^64 - 1.
    Unsigned(String),
    BitCount {
        bits: usize,
        expected: usize,
    },
    ByteCount {
        found: usize,
        expected: usize,
    },
    /// The argument `bits` of a function that reads hashes.
    HashWidth(i32),
    /// An array of another form, as its subscripts are written.
    PartSubscripts(String),
    /// More parts than `MOST_BITS` fill.
    TooManyParts(usize),
    /// Numbers of parts of two hashes that are compared.
    PartCounts {
        first: usize,
        second: usize,
    },
}

impl Error {
    /// Returns what the server calls an error of this kind.
    pub fn class(&self) -> Class {
        match self {
            Error::WeightedToken { .. } | Error::HexLength { .. } | Error::NoHexDigit { .. } => {
                Class::InvalidText
            }
            Error::Unsigned(_) => Class::OutOfRange,
            Error::UnknownColumn { .. } => Class::UndefinedColumn,
            Error::NoMargin => Class::NotSupported,
            Error::ArrayLengths { .. }
            | Error::VectorLengths { .. }
            | Error::PartSubscripts(_)
            | Error::PartCounts { .. } => Class::ArrayElement,
            Error::BitLengths { .. } | Error::BitCount { .. } | Error::ByteCount { .. } => {
                Class::DataLength
            }
            Error::OutOfMemory => Class::OutOfMemory,
            Error::ResultTooLong { .. } | Error::TooManyFeatures { .. } => Class::ProgramLimit,
            _ => Class::InvalidValue,
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
            Error::LineOfDictionary { line } => {
                write!(f, "\"{line}\" is a line of a dictionary file, not a word")
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
            Error::NoText { .. } => write!(f, "the row has no column of text"),
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
            Error::ResultTooLong { most } => {
                write!(f, "the result would have more than {most} bytes")
            }
            Error::TooManyFeatures { most } => {
                write!(f, "a text with more than {most} features cannot be shown")
            }
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
            Error::HexLength { found, .. } | Error::NoHexDigit { found, .. } => {
                write!(f, "invalid hexadecimal hash: \"{found}\"")
            }
            Error::NoInteger(found) => write!(f, "hash is not an integer: {found}"),
            Error::Unsigned(found) => write!(f, "unsigned hash is out of range: {found}"),
            Error::BitCount { bits, expected } => {
                write!(f, "hash has {bits} bits, not {expected}")
            }
            Error::ByteCount { found, expected } => {
                write!(f, "hash has {found} bytes, not {expected}")
            }
            Error::HashWidth(bits) => write!(f, "bits is out of range: {bits}"),
            Error::PartSubscripts(_) => f.write_str(
                "parts of a hash must be an array of one dimension with subscripts from 1",
            ),
            Error::TooManyParts(parts) => write!(f, "too many parts of a hash: {parts}"),
            Error::PartCounts { first, second } => {
                write!(f, "hashes have {first} and {second} parts")
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
