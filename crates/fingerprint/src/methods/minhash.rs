//! MinHash: the share of equal minima estimates the Jaccard similarity of two sets.
//!
//! Each of n hash functions gives the smallest hash of the set's tokens. Two sets have the same
//! minimum with a probability of their Jaccard similarity J, so that the share of n has a standard
//! error of sqrt(J (1 - J) / n). That needs functions that order tokens independently: a keyed mix
//! of CityHash64, not the shifts (x + i) mod n, under which nearly all functions agree on the
//! order.

use crate::hash::{city64, mix};

/// 2^64 divided by the golden ratio, the stride of the keys.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The signature of a set of tokens, as it grows.
pub struct Signature(Vec<u64>);

impl Signature {
    /// Creates the signature of the empty set, by `n` functions.
    pub fn new(n: usize) -> Self {
        Self(vec![u64::MAX; n])
    }

    /// Adds a token to the set; to add it again changes nothing.
    pub fn add(&mut self, token: &[u8]) {
        let hash = city64(token);
        let mut key = 0u64;
        for least in &mut self.0 {
            key = key.wrapping_add(STRIDE);
            *least = (*least).min(mix(hash ^ mix(key)));
        }
    }

    /// Returns the least value of each function; `u64::MAX` for each of the empty set.
    pub fn into_values(self) -> Vec<u64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(tokens: impl Iterator<Item = u32>, n: usize) -> Vec<u64> {
        let mut signature = Signature::new(n);
        tokens.for_each(|token| signature.add(&token.to_le_bytes()));
        signature.into_values()
    }

    fn share(a: &[u64], b: &[u64]) -> f64 {
        a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64
    }

    #[test]
    fn order_and_repetition_do_not_matter() {
        assert_eq!(signature(0..9, 20), signature((0..9).rev().chain(0..9), 20));
    }

    #[test]
    fn the_error_is_that_of_the_theory() {
        for common in [10, 50, 90] {
            let truth = f64::from(common) / f64::from(200 - common);
            let n = 4000;
            let deviation = (truth * (1.0 - truth) / n as f64).sqrt();
            let a = signature(0..100, n);
            let b = signature(100 - common..200 - common, n);
            let error = (share(&a, &b) - truth).abs();
            assert!(error < 4.0 * deviation, "{common}: {error}");
        }
    }

    /// A case that the shifts of S2 get wrong: {0, 1} against {1} has similarity 1/2.
    #[test]
    fn a_set_and_its_half() {
        let error = share(&signature(0..2, 4000), &signature(1..2, 4000)) - 0.5;
        assert!(error.abs() < 4.0 * (0.25f64 / 4000.0).sqrt(), "{error}");
    }
}
