//! Fingerprints from hexadecimal digits, decimal digits, bits and bytes; hexadecimal digits from
//! fingerprints. Nothing is cut, padded or rounded.

#![forbid(unsafe_code)]

use std::fmt::Write;

use crate::error::Error;

pub const FINGERPRINT_BITS: usize = 64;
/// Most bits of a hash in parts: more than the perceptual hashes have that are in use.
pub const MOST_BITS: usize = 4096;

const DIGITS: usize = FINGERPRINT_BITS / 4;
const BYTES: usize = FINGERPRINT_BITS / 8;

/// Number of bits of a hash in parts, checked.
pub fn width(bits: i32) -> Result<usize, Error> {
    match usize::try_from(bits) {
        Ok(wide)
            if (FINGERPRINT_BITS..=MOST_BITS).contains(&wide) && wide % FINGERPRINT_BITS == 0 =>
        {
            Ok(wide)
        }
        _ => Err(Error::HashWidth(bits)),
    }
}

/// Returns an error when a hash has more parts than this module reads, or when SQL finds the parts
/// of its array under other subscripts than 1, 2 and so on. `dims` has the size and the lower bound
/// of each dimension; it is empty for an empty array.
pub fn check_parts(dims: &[(i32, i32)]) -> Result<(), Error> {
    let parts = match dims {
        [] => 0,
        [(size, 1)] => *size as usize,
        _ => return Err(Error::PartSubscripts(subscripts(dims))),
    };
    match parts > MOST_BITS / FINGERPRINT_BITS {
        true => Err(Error::TooManyParts(parts)),
        false => Ok(()),
    }
}

/// As PostgreSQL writes them: `[1:2][1:2]`.
fn subscripts(dims: &[(i32, i32)]) -> String {
    let last = |size: i32, lower: i32| i64::from(lower) + i64::from(size) - 1;
    dims.iter()
        .map(|&(size, lower)| format!("[{lower}:{}]", last(size, lower)))
        .collect()
}

/// Text for an error: the first characters.
fn excerpt(text: &str) -> String {
    text.chars().take(100).collect()
}

/// The parts of a hash of `bits` bits, in hexadecimal digits of either case, the highest first.
/// `0x` in front, as programs write numbers, and `\x`, as PostgreSQL writes bytes, may stand or
/// not.
pub fn hex_parts(text: &str, bits: usize) -> Result<Vec<i64>, Error> {
    let prefixes = ["0x", "0X", "\\x"];
    let digits = prefixes
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    let expected = bits / 4;
    // Not all characters of a text that is much too long.
    let no_digit = |c: &char| !c.is_ascii_hexdigit();
    if let Some(character) = digits.chars().take(MOST_BITS).find(no_digit) {
        let found = excerpt(text);
        return Err(Error::NoHexDigit { found, character });
    }
    if digits.len() != expected {
        return Err(Error::HexLength {
            found: excerpt(text),
            digits: digits.chars().count(),
            expected,
        });
    }
    let value = |part: &[u8]| {
        let value = |c: &u8| char::from(*c).to_digit(16).unwrap_or_default();
        part.iter().fold(0, |sum, c| sum << 4 | i64::from(value(c)))
    };
    Ok(digits.as_bytes().chunks(DIGITS).map(value).collect())
}

/// A fingerprint from 16 hexadecimal digits.
pub fn hex(text: &str) -> Result<i64, Error> {
    hex_parts(text, FINGERPRINT_BITS).map(|parts| parts[0])
}

/// The digits of parts, 16 for each, in lower case.
pub fn to_hex(parts: &[i64]) -> String {
    let mut digits = String::with_capacity(parts.len() * DIGITS);
    for part in parts {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{part:016x}");
    }
    digits
}

/// A fingerprint from an unsigned number of 64 bits, written as PostgreSQL writes a numeric: a
/// fraction of zeros changes nothing.
pub fn unsigned(decimal: &str) -> Result<i64, Error> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let is_fraction = fraction.bytes().any(|digit| digit != b'0');
    if decimal == "NaN" || is_fraction {
        return Err(Error::NoInteger(excerpt(decimal)));
    }
    // What does not parse is negative, infinite or too large.
    let value: Result<u64, _> = whole.parse();
    value
        .map(|bits| bits as i64)
        .map_err(|_| Error::Unsigned(excerpt(decimal)))
}

fn fingerprint(bytes: [u8; BYTES]) -> i64 {
    i64::from_be_bytes(bytes)
}

/// The parts of a bit string, given as its number of bits and its bytes, which must have `expected`
/// bits.
pub fn bit_parts((bits, bytes): (usize, &[u8]), expected: usize) -> Result<Vec<i64>, Error> {
    let (parts, rest) = bytes.as_chunks();
    if bits != expected || !rest.is_empty() {
        return Err(Error::BitCount { bits, expected });
    }
    Ok(parts.iter().copied().map(fingerprint).collect())
}

/// A fingerprint from a bit string of 64 bits, given as its number of bits and its bytes.
pub fn bits(string: (usize, &[u8])) -> Result<i64, Error> {
    bit_parts(string, FINGERPRINT_BITS).map(|parts| parts[0])
}

/// A fingerprint from 8 bytes, the highest first.
pub fn bytes(bytes: &[u8]) -> Result<i64, Error> {
    let exact = bytes.try_into().map(fingerprint);
    exact.map_err(|_| Error::ByteCount(bytes.len()))
}

/// Number of bits in which two hashes of 4 parts differ, 0 to 256.
pub fn hamming256(a: &[i64], b: &[i64]) -> Result<u32, Error> {
    if (a.len(), b.len()) != (4, 4) {
        let (first, second) = (a.len(), b.len());
        return Err(Error::PartCounts { first, second });
    }
    Ok(a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum())
}
