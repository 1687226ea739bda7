//! The builder of a set: one hash function, whose values fall into 64 bins, and the least of each
//! bin (Li, Owen and Zhang, One Permutation Hashing, 2012). An empty bin takes the least of another
//! bin, the first that is not empty in an order that belongs to the empty one (Shrivastava, Optimal
//! Densification for Fast and Accurate Minwise Hashing, 2017). Two sets have the same feature in a
//! bin with a probability of exactly their Jaccard similarity. A feature that is added twice counts
//! once. The low six bits of a hash are its bin, and the others decide which is the least there.

use super::{SEED, bits_of, shuffled};

/// Up to this many filled bins, finding the best of them for each empty bin is faster than going
/// through the empty bin's order.
const MAX_RANKED_BINS: u32 = 8;

/// The least hash of each bin, without the six bits that say which bin: these never change.
#[derive(Clone, Copy, Debug)]
pub struct HashBins([u64; 64]);

impl HashBins {
    /// Bins without a hash.
    pub const EMPTY: Self = HashBins([u64::MAX; 64]);

    /// Returns whether all bins are empty.
    pub fn is_empty(&self) -> bool {
        self.filled() == 0
    }

    /// Adds the hash of a feature.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let least = &mut self.0[(hash % 64) as usize];
        *least = (*least).min(hash / 64);
    }

    /// A bit for each bin that has a feature.
    fn filled(&self) -> u64 {
        let bins = self.0.iter().rev();
        bins.fold(0, |filled, &least| {
            filled << 1 | u64::from(least != u64::MAX)
        })
    }

    /// The hash of the feature in a bin.
    fn hash(&self, bin: usize) -> u64 {
        64 * self.0[bin] + bin as u64
    }

    /// Bit j is one of the feature in bin j. Without features it is 0.
    pub fn bits(&self) -> u64 {
        let (filled, mut bits) = (self.filled(), 0);
        for bin in Ones(filled) {
            bits |= bits_of(self.hash(bin)) & 1 << bin;
        }
        if filled != 0 {
            for bin in Ones(!filled) {
                bits |= bits_of(self.hash(donor(bin, filled))) & 1 << bin;
            }
        }
        bits
    }
}

/// The filled bin that comes first in the order of an empty one.
fn donor(bin: usize, filled: u64) -> usize {
    if filled.count_ones() <= MAX_RANKED_BINS {
        let ranks = &RANKS[bin];
        return (Ones(filled).min_by_key(|&other| ranks[other])).unwrap_or(bin);
    }
    let mut order = ORDERS[bin].iter().map(|&other| usize::from(other));
    order.find(|&other| filled >> other & 1 == 1).unwrap_or(bin)
}

/// The bits of a set of features, word i by word i of their hashes.
pub fn bits<const W: usize>(hashes: impl Iterator<Item = [u64; W]>) -> [u64; W] {
    let mut all_bins = [HashBins::EMPTY; W];
    for hash in hashes {
        all_bins
            .iter_mut()
            .zip(hash)
            .for_each(|(bins, word)| bins.add(word));
    }
    all_bins.map(|bins| bins.bits())
}

/// The positions of the bits that are 1.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let first = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(first)
    }
}

/// For each bin the order in which it asks the others (and itself, without effect).
static ORDERS: [[u8; 64]; 64] = orders();
/// The place of each bin in these orders.
static RANKS: [[u8; 64]; 64] = ranks();

const fn orders() -> [[u8; 64]; 64] {
    let mut orders = [[0; 64]; 64];
    let mut state = SEED;
    let mut bin = 0;
    while bin < 64 {
        orders[bin] = shuffled(&mut state);
        bin += 1;
    }
    orders
}

const fn ranks() -> [[u8; 64]; 64] {
    let orders = orders();
    let mut ranks = [[0; 64]; 64];
    let mut bin = 0;
    while bin < 64 {
        let mut rank = 0;
        while rank < 64 {
            ranks[bin][orders[bin][rank] as usize] = rank as u8;
            rank += 1;
        }
        bin += 1;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn bins(hashes: impl IntoIterator<Item = u64>) -> HashBins {
        let mut bins = HashBins::EMPTY;
        hashes.into_iter().for_each(|hash| bins.add(hash));
        bins
    }

    #[test]
    fn one_feature_owns_all_bits() {
        assert_eq!(bins([7]).bits(), bits_of(7));
        assert!(HashBins::EMPTY.is_empty() && HashBins::EMPTY.bits() == 0);
    }

    #[test]
    fn orders_are_permutations() {
        for (order, ranks) in ORDERS.iter().zip(&RANKS) {
            assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 64);
            assert!((0..64).all(|i| usize::from(ranks[usize::from(order[i])]) == i));
        }
    }

    proptest! {
        /// Sorting the hashes gives the least of each bin without a table; asking in order gives
        /// each donor.
        #[test]
        fn bits_are_those_of_the_definition(hashes in prop::collection::btree_set(any::<u64>(), 1..200)) {
            // In ascending order.
            let least = |bin: usize| hashes.iter().find(|&&hash| hash % 64 == bin as u64);
            let fill = |bin: usize| ORDERS[bin].iter().find_map(|&other| least(usize::from(other)));
            let bits = (0..64).map(|bin| bits_of(*least(bin).or(fill(bin)).unwrap()) & 1 << bin);
            let bits = bits.fold(0, |all, bit| all | bit);
            prop_assert_eq!(bins(hashes.iter().copied().chain(hashes.iter().copied())).bits(), bits);
        }
    }
}
