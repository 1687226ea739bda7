//! How far fingerprints are apart, and how they are shown.

use crate::error::Error;
use crate::hash::Width;

/// Number of bits in which two fingerprints differ, 0 to 64.
pub fn hamming(a: i64, b: i64) -> u32 {
    (a ^ b).count_ones()
}

/// Number of bits in which two fingerprints of 128 bits differ, each given as its number of bits
/// and its bytes.
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

/// S2's similarity of two documents: `mu / (distance + 1) + (1 - mu) * jaccard`, of the distance of
/// their fingerprints and the Jaccard similarity of their other data. 0.25 and more counts as
/// similar. Rounded to 12 decimals: binary fractions would miss thresholds that decimal ones meet,
/// such as distance 4, jaccard 0.7.
pub fn blend(distance: i32, jaccard: f64, mu: f64) -> Result<f64, Error> {
    if !(0..=128).contains(&distance) {
        return Err(Error::OutOfRange {
            name: "distance",
            value: distance,
            least: 0,
            most: 128,
        });
    }
    for (name, value) in [("jaccard", jaccard), ("mu", mu)] {
        if !(0.0..=1.0).contains(&value) {
            return Err(Error::NoShare { name, value });
        }
    }
    let blend = mu / (f64::from(distance) + 1.0) + (1.0 - mu) * jaccard;
    Ok((blend * 1e12).round() / 1e12)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The thresholds that S2 derives from mu = 0.9 and 0.25.
    #[test]
    fn thresholds_of_the_blend() {
        let similar = |d, jaccard| blend(d, jaccard, 0.9).unwrap() >= 0.25;
        for d in 0..=2 {
            assert!(similar(d, 0.0), "{d}");
        }
        assert!(similar(3, 0.25) && !similar(3, 0.249));
        assert!(similar(4, 0.70) && !similar(4, 0.699));
        assert!(similar(5, 1.0) && !similar(5, 0.999));
        for d in 6..=128 {
            assert!(!similar(d, 1.0), "{d}");
        }
        assert_eq!(blend(1, 1.0, 0.8), Ok(0.6));
    }

    #[test]
    fn what_the_blend_refuses() {
        for (d, jaccard, mu) in [
            (-1, 0., 0.),
            (129, 0., 0.),
            (0, 1.1, 0.),
            (0, f64::NAN, 0.),
            (0, 0., -0.1),
        ] {
            assert!(blend(d, jaccard, mu).is_err());
        }
    }
}
