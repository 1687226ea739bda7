//! A ball of fingerprints: the right-hand side of index conditions.

#![forbid(unsafe_code)]

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// The radius of `~=`: fingerprints that differ in at most 3 bits are duplicates.
pub const NEAR: i32 = 3;

/// The radius for texts, wherever none is said: near-duplicates are within it by the default fingerprint,
/// and the same by `simhash_fingerprint::same`.
pub const NEAR_TEXTS: i32 = 12;

/// All fingerprints within `radius` bits of `centre`; none when the radius is negative.
/// The in-memory form of the SQL type hamming_ball: 16 bytes, as declared in sql/.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ball {
    /// The fingerprint in the middle.
    pub centre: i64,
    /// Bits; negative for an empty ball.
    pub radius: i32,
    /// Keeps all 16 bytes defined, since the server compares and hashes constants bytewise.
    zero: i32,
}

impl Ball {
    /// Makes the ball of this radius, in bits, around a fingerprint.
    #[inline]
    pub fn new(centre: i64, radius: i32) -> Ball {
        Ball {
            centre,
            radius,
            zero: 0,
        }
    }

    /// Reads a ball from the bytes of a value of the SQL type.
    #[inline]
    pub fn from_bytes(bytes: [u8; size_of::<Ball>()]) -> Ball {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = bytes;
        let centre = i64::from_ne_bytes([a, b, c, d, e, f, g, h]);
        Ball::new(centre, i32::from_ne_bytes([i, j, k, l]))
    }

    /// Returns whether a fingerprint is at most the radius away from the centre.
    #[inline]
    pub fn contains(&self, fingerprint: i64) -> bool {
        i64::from((fingerprint ^ self.centre).count_ones()) <= i64::from(self.radius)
    }
}

/// Probability that two uniform random fingerprints differ in at most `k` bits:
/// (C(64,0) + ... + C(64,k)) / 2^64.
#[inline]
pub fn random_share(k: i32) -> f64 {
    const BITS: u32 = 64;
    let Ok(k) = u32::try_from(k) else { return 0.0 };
    let mut binomial = 1.0_f64;
    let mut sum = 1.0_f64;
    for i in 1..=k.min(BITS) {
        binomial = binomial * f64::from(BITS + 1 - i) / f64::from(i);
        sum += binomial;
    }
    (sum / 2.0_f64.powi(BITS as i32)).min(1.0)
}

impl fmt::Display for Ball {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "({},{})", self.centre, self.radius)
    }
}

impl FromStr for Ball {
    type Err = Error;

    fn from_str(text: &str) -> Result<Ball, Error> {
        let parse = || {
            let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
            let (centre, radius) = inside.split_once(',')?;
            Some(Ball::new(
                centre.trim().parse().ok()?,
                radius.trim().parse().ok()?,
            ))
        };
        parse().ok_or_else(|| Error::BallSyntax(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        for ball in [
            Ball::new(i64::MIN, 3),
            Ball::new(-1, i32::MIN),
            Ball::new(7, 64),
        ] {
            assert_eq!(ball.to_string().parse(), Ok(ball));
        }
        for bad in [
            "",
            "(1)",
            "(1,2",
            "1,2",
            "(1,2,3)",
            "(x,1)",
            "(9223372036854775808,1)",
        ] {
            assert_eq!(
                bad.parse::<Ball>(),
                Err(Error::BallSyntax(bad.to_owned())),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_negative_radius_holds_nothing() {
        assert!(!Ball::new(5, -1).contains(5));
        assert!(Ball::new(5, 0).contains(5) && !Ball::new(5, 0).contains(4));
        assert!(Ball::new(0, 64).contains(-1) && !Ball::new(0, 63).contains(-1));
    }
}
