//! Why a hash cannot be a fingerprint, or several.

#![forbid(unsafe_code)]

use std::fmt;

use super::read::{FINGERPRINT_BITS, MOST_BITS};

/// The kind of a [`Fault`]; the server side maps it to a SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    InvalidText,
    OutOfRange,
    InvalidValue,
    Length,
    ArrayElement,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Another number of digits; `wanted` are those that the hash should have.
    HexLength {
        found: String,
        digits: usize,
        wanted: usize,
    },
    NoHexDigit {
        found: String,
        character: char,
    },
    /// A number with a fraction, or none at all.
    NoInteger(String),
    /// A number below 0 or above 2^64 - 1.
    Unsigned(String),
    BitCount {
        bits: usize,
        wanted: usize,
    },
    ByteCount(usize),
    /// The argument `bits`.
    Width(i32),
    /// An array of another form, as its subscripts are written.
    PartSubscripts(String),
    /// More parts than [`MOST_BITS`] fill.
    TooManyParts(usize),
    /// Numbers of parts of two hashes that should have 4.
    PartCounts {
        first: usize,
        second: usize,
    },
}

impl Fault {
    pub fn class(&self) -> Class {
        match self {
            Fault::HexLength { .. } | Fault::NoHexDigit { .. } => Class::InvalidText,
            Fault::Unsigned(_) => Class::OutOfRange,
            Fault::NoInteger(_) | Fault::Width(_) | Fault::TooManyParts(_) => Class::InvalidValue,
            Fault::BitCount { .. } | Fault::ByteCount(_) => Class::Length,
            Fault::PartSubscripts(_) | Fault::PartCounts { .. } => Class::ArrayElement,
        }
    }

    /// The DETAIL line, if any.
    pub fn detail(&self) -> Option<String> {
        match self {
            Fault::HexLength { digits, wanted, .. } => {
                Some(format!("It has {digits} characters, not {wanted}."))
            }
            Fault::NoHexDigit { character, .. } => {
                Some(format!("\"{character}\" is not a hexadecimal digit."))
            }
            Fault::PartSubscripts(found) => Some(format!("Its subscripts are {found}.")),
            _ => None,
        }
    }

    /// The HINT line, if any.
    pub fn hint(&self) -> Option<String> {
        let many = |bits: usize| match bits % FINGERPRINT_BITS {
            0 if (FINGERPRINT_BITS + 1..=MOST_BITS).contains(&bits) => Some(bits),
            _ => None,
        };
        match self {
            Fault::HexLength { digits, wanted, .. } => Some(match many(digits * 4) {
                Some(bits) => format!(
                    "A hash of {bits} bits is several fingerprints: \
                     fingerprint_parts_from_hex(hash, {bits})."
                ),
                None if digits * 4 == FINGERPRINT_BITS => {
                    "A hash of 64 bits is one fingerprint: fingerprint_from_hex(hash).".into()
                }
                None if (1..*wanted).contains(digits) => format!(
                    "If zeros were left out in front, put them back: lpad(hash, {wanted}, '0')."
                ),
                None => format!("Write {wanted} digits, with or without 0x in front."),
            }),
            Fault::NoHexDigit { .. } => {
                Some("The digits are 0 to 9 and a to f, without blanks and signs.".into())
            }
            Fault::Unsigned(found) if found.parse::<i64>().is_ok() => {
                Some("A negative number is a signed hash: cast it to bigint.".into())
            }
            Fault::Unsigned(_) | Fault::NoInteger(_) => {
                Some("An unsigned hash is an integer from 0 to 18446744073709551615.".into())
            }
            Fault::BitCount { bits, .. } => many(*bits).map(|bits| {
                format!(
                    "A hash of {bits} bits is several fingerprints: \
                     fingerprint_parts_from_bits(hash, {bits})."
                )
            }),
            Fault::ByteCount(_) => Some("The first of the 8 bytes is the highest.".into()),
            Fault::Width(_) => Some(format!(
                "bits is a multiple of {FINGERPRINT_BITS} up to {MOST_BITS}."
            )),
            Fault::PartSubscripts(_) => None,
            Fault::TooManyParts(_) => Some(format!("A hash has at most {MOST_BITS} bits.")),
            Fault::PartCounts { .. } => {
                Some("A hash of 256 bits has 4 parts: fingerprint_parts_from_hex(hash).".into())
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::HexLength { found, .. } | Fault::NoHexDigit { found, .. } => {
                write!(f, "invalid hexadecimal hash: \"{found}\"")
            }
            Fault::NoInteger(found) => write!(f, "hash is not an integer: {found}"),
            Fault::Unsigned(found) => write!(f, "unsigned hash is out of range: {found}"),
            Fault::BitCount { bits, wanted } => {
                write!(f, "hash has {bits} bits, not {wanted}")
            }
            Fault::ByteCount(bytes) => write!(f, "hash has {bytes} bytes, not 8"),
            Fault::Width(bits) => write!(f, "bits is out of range: {bits}"),
            Fault::PartSubscripts(_) => f.write_str(
                "parts of a hash must be an array of one dimension with subscripts from 1",
            ),
            Fault::TooManyParts(parts) => write!(f, "too many parts of a hash: {parts}"),
            Fault::PartCounts { first, second } => {
                write!(f, "hashes have {first} and {second} parts, not 4")
            }
        }
    }
}

impl std::error::Error for Fault {}
