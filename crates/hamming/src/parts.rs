//! Hashes of more than 64 bits, as fingerprints of 64 bits each: their parts. The planner, the search
//! for pairs and the triggers call it. A hash within a radius is never missed by looking at some
//! of its parts, each within [`part_radius`].

use crate::error::Error;

/// Number of bits in which two hashes of the same number of parts differ.
#[inline]
pub fn distance(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// Bits within which part `i` of `count` parts, from 0 on, is for at least one `i` if the parts
/// together are within `radius`. Otherwise part i would differ in at least `(radius - i) / count + 1`
/// bits, rounded down. These add up to `radius + 1`. Negative for no distance at all.
pub fn part_radius(radius: i32, i: i32, count: i32) -> i32 {
    radius.saturating_sub(i).div_euclid(count)
}

/// A hash as it is compared: a fingerprint, or the parts of a longer hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hash {
    /// The 64 bits of a fingerprint.
    Fingerprint(u64),
    /// The 64-bit parts of a longer hash, in their order.
    Parts(Box<[u64]>),
}

impl std::ops::Deref for Hash {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            Self::Fingerprint(fingerprint) => std::slice::from_ref(fingerprint),
            Self::Parts(parts) => parts,
        }
    }
}

/// Hashes of one number of parts, which are told apart by the order in which they came.
#[derive(Default)]
pub struct Hashes {
    parts: usize,
    values: Vec<u64>,
}

impl Hashes {
    /// Adds a hash; returns its number. The first one says how many parts each has.
    pub fn add(&mut self, hash: impl ExactSizeIterator<Item = u64>) -> Result<u64, Error> {
        let found = hash.len();
        if self.values.is_empty() {
            self.parts = found;
        }
        if found != self.parts || found == 0 {
            let expected = self.parts;
            return Err(Error::PartCount { found, expected });
        }
        let number = self.values.len() / found;
        self.values.try_reserve(found)?;
        self.values.extend(hash);
        Ok(number as u64)
    }

    /// Number of parts of each hash; 0 if there is none.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the parts of the hash with this number, which [`Hashes::add`] has returned.
    pub fn get(&self, number: u64) -> &[u64] {
        let start = number as usize * self.parts;
        &self.values[start..start + self.parts]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hashes_have_one_length() {
        let mut hashes = Hashes::default();
        assert_eq!(hashes.add([1, 2].into_iter()), Ok(0));
        assert_eq!(hashes.add([3, 4].into_iter()), Ok(1));
        let (found, expected) = (3, 2);
        let error = Err(Error::PartCount { found, expected });
        assert_eq!(hashes.add([3, 4, 5].into_iter()), error);
        assert_eq!((hashes.get(0), hashes.get(1)), (&[1, 2][..], &[3, 4][..]));
        assert!(Hashes::default().add([].into_iter()).is_err());
    }

    proptest! {
        /// The rule by which a search of some parts is exact.
        #[test]
        fn one_part_is_close(distances in prop::collection::vec(0_i32..=64, 1..20), more in 0_i32..=10) {
            let (radius, count) = (distances.iter().sum::<i32>() + more, distances.len() as i32);
            let is_close = |i: i32| distances[i as usize] <= part_radius(radius, i, count);
            prop_assert!((0..count).any(is_close));
            // None is larger than it must be: they add up to as many bits.
            let sum: i32 = (0..count).map(|i| part_radius(radius, i, count) + 1).sum();
            prop_assert_eq!(sum, radius + 1);
        }
    }
}
