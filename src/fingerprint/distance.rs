//! How far fingerprints are apart, and how they are shown.

use super::error::Error;
use super::hash::Width;

/// Number of bits in which two fingerprints differ, 0 to 64.
pub fn hamming(a: i64, b: i64) -> u32 {
    (a ^ b).count_ones()
}

/// Number of bits in which two fingerprints of 128 bits differ, each given as its number of bits and
/// its bytes.
pub fn hamming128(a: (usize, &[u8]), b: (usize, &[u8])) -> Result<u32, Error> {
    if (a.0, b.0) != (128, 128) {
        let (first, second) = (a.0, b.0);
        return Err(Error::BitLengths { first, second });
    }
    Ok(a.1.iter().zip(b.1).map(|(a, b)| (a ^ b).count_ones()).sum())
}

/// Reads a fingerprint width, 64 or 32.
pub fn width(bits: i32) -> Result<Width, Error> {
    match bits {
        64 => Ok(Width::W64),
        32 => Ok(Width::W32),
        _ => Err(Error::Width(bits)),
    }
}

fn check(fingerprint: i64, width: Width) -> Result<(), Error> {
    match width {
        Width::W32 if u32::try_from(fingerprint).is_err() => Err(Error::TooWide { fingerprint }),
        _ => Ok(()),
    }
}

/// The share of equal bits, (B - d) / B.
pub fn similarity(a: i64, b: i64, width: Width) -> Result<f64, Error> {
    check(a, width)?;
    check(b, width)?;
    let bits = match width {
        Width::W32 => 32.0,
        Width::W64 => 64.0,
    };
    Ok((bits - f64::from(hamming(a, b))) / bits)
}

/// The fingerprint as 0s and 1s, most significant bit first.
pub fn bits(fingerprint: i64, width: Width) -> Result<String, Error> {
    check(fingerprint, width)?;
    Ok(match width {
        Width::W32 => format!("{fingerprint:032b}"),
        Width::W64 => format!("{fingerprint:064b}"),
    })
}
