//! Fingerprints from hexadecimal digits, decimal digits, bits and bytes; hexadecimal digits from
//! fingerprints; the distance of hashes in parts. The SQL functions for hashes call it. Nothing is
//! cut or rounded, and only what the caller allows to be shorter gets zeros in front: distances stay
//! those of the hashes.

#![forbid(unsafe_code)]

use std::fmt::Write;

use crate::error::Error;

/// Bits of a hash that is one bigint.
pub const FINGERPRINT_BITS: usize = 64;
/// Most bits of a hash in parts: more than the perceptual hashes have that are in use.
pub const MOST_BITS: usize = 4096;

const DIGITS: usize = FINGERPRINT_BITS / 4;
const BYTES: usize = FINGERPRINT_BITS / 8;

/// Number of bits of a hash in parts, checked.
pub fn width(bits: i32) -> Result<usize, Error> {
    match usize::try_from(bits) {
        Ok(wide) if (1..=MOST_BITS).contains(&wide) => Ok(wide),
        _ => Err(Error::HashWidth(bits)),
    }
}

/// How long a hash has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// As many digits, bits or bytes as the hash has.
    Exact,
    /// What is missing in front is zero.
    Padded,
}

impl Length {
    fn allows(self, found: usize, expected: usize) -> bool {
        match self {
            Length::Exact => found == expected,
            Length::Padded => (1..=expected).contains(&found),
        }
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
/// not. The first part has zeros in front, 28 of 100 bits.
pub fn hex_parts(text: &str, bits: usize, length: Length) -> Result<Vec<i64>, Error> {
    let prefixes = ["0x", "0X", "\\x"];
    let digits = prefixes
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    // Not all characters of a text that is much too long.
    let no_digit = |c: &char| !c.is_ascii_hexdigit();
    if let Some(character) = digits.chars().take(MOST_BITS).find(no_digit) {
        let found = excerpt(text);
        return Err(Error::NoHexDigit { found, character });
    }
    let expected = bits.div_ceil(4);
    if !length.allows(digits.len(), expected) {
        return Err(Error::HexLength {
            found: excerpt(text),
            digits: digits.chars().count(),
            expected,
        });
    }
    let value = |c: &u8| char::from(*c).to_digit(16).unwrap_or_default();
    let values: Vec<u64> = digits.as_bytes().iter().map(|c| value(c).into()).collect();
    Ok(parts::<DIGITS>(&values, bits))
}

/// Makes the parts of a hash of `bits` bits of its digits, of which `PER_PART` fill a part.
fn parts<const PER_PART: usize>(digits: &[u64], bits: usize) -> Vec<i64> {
    let count = bits.div_ceil(FINGERPRINT_BITS);
    let mut parts = vec![0_u64; count];
    let in_front = count * PER_PART - digits.len();
    for (i, digit) in digits.iter().enumerate() {
        let part = &mut parts[(in_front + i) / PER_PART];
        *part = *part << (FINGERPRINT_BITS / PER_PART) | digit;
    }
    parts.into_iter().map(|part| part as i64).collect()
}

/// A fingerprint from 16 hexadecimal digits.
pub fn hex(text: &str, length: Length) -> Result<i64, Error> {
    hex_parts(text, FINGERPRINT_BITS, length).map(|parts| parts[0])
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

/// The parts of a bit string of `bits` bits, given as its number of bits and its bytes.
pub fn bit_parts(
    (found, bytes): (usize, &[u8]),
    bits: usize,
    length: Length,
) -> Result<Vec<i64>, Error> {
    if !length.allows(found, bits) {
        let expected = bits;
        return Err(Error::BitCount {
            bits: found,
            expected,
        });
    }
    let bit = |i: usize| u64::from(bytes[i / 8] >> (7 - i % 8) & 1);
    let digits: Vec<u64> = (0..found).map(bit).collect();
    Ok(parts::<FINGERPRINT_BITS>(&digits, bits))
}

/// A fingerprint from a bit string of 64 bits, given as its number of bits and its bytes.
pub fn bits(string: (usize, &[u8]), length: Length) -> Result<i64, Error> {
    bit_parts(string, FINGERPRINT_BITS, length).map(|parts| parts[0])
}

/// The parts of a hash of `bits` bits, rounded up to bytes, the highest first.
pub fn byte_parts(bytes: &[u8], bits: usize, length: Length) -> Result<Vec<i64>, Error> {
    let (found, expected) = (bytes.len(), bits.div_ceil(8));
    if !length.allows(found, expected) {
        return Err(Error::ByteCount { found, expected });
    }
    let digits: Vec<u64> = bytes.iter().copied().map(u64::from).collect();
    Ok(parts::<BYTES>(&digits, bits))
}

/// A fingerprint from 8 bytes, the highest first.
pub fn bytes(bytes: &[u8], length: Length) -> Result<i64, Error> {
    byte_parts(bytes, FINGERPRINT_BITS, length).map(|parts| parts[0])
}

/// Number of bits in which two hashes of the same number of parts differ.
pub fn hamming_parts(a: &[i64], b: &[i64]) -> Result<u32, Error> {
    if a.len() != b.len() || a.is_empty() {
        let (first, second) = (a.len(), b.len());
        return Err(Error::PartCounts { first, second });
    }
    Ok(a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum())
}
