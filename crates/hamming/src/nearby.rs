//! The number of rows near a fingerprint, estimated from the one leaf of each key space that holds
//! it. Pure.
//!
//! A leaf holds all rows whose rotated fingerprints lie in a range. A row that differs from the
//! query in `d` bits lies in that range if the bits that differ are low enough in the rotation. Let
//! them be placed at random: then the share of all fingerprints at distance `d` that lie in the
//! range is the row's chance to be on the leaf, and it is counted exactly. The rows seen on the
//! four leaves, divided by the sum of the four chances, estimate the rows at that distance without
//! bias, whichever leaves a row is on, and however those depend on each other.

#![forbid(unsafe_code)]

use super::key::QUARTERS;

/// The widest radius that is estimated. Beyond, the four chances add up to less than
/// [`LEAST_CHANCE`] even if each leaf holds a whole key.
pub const WIDEST: u32 = 16;

/// A row seen stands for at most 64. Where its chance is less, the estimate is a lower bound.
const LEAST_CHANCE: f64 = 1.0 / 64.0;

const DISTANCES: usize = WIDEST as usize + 1;
const BITS: usize = 64;

/// The rows of a leaf around a query that it holds, or would hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeafSample {
    /// The query, rotated.
    pub query: u64,
    /// The lowest rotated fingerprint that belongs to the leaf.
    pub low: u64,
    /// The first one above `query` that does not; None at the end of the key space.
    pub end: Option<u64>,
    /// The leaf's rows by their distance to the query. Those at distance 0 may fill further leaves.
    pub seen: [u32; DISTANCES],
}

/// The rows near a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearby {
    /// Their number, estimated.
    pub rows: f64,
    /// False if there may well be many more.
    pub is_complete: bool,
}

impl LeafSample {
    /// The share of all fingerprints at distance `d` of the query that belong to the leaf.
    fn chance(&self, d: usize) -> f64 {
        let end = match self.end {
            Some(end) => below(end, self.query, d),
            None => BINOMIALS[BITS][d],
        };
        (end - below(self.low, self.query, d)) as f64 / BINOMIALS[BITS][d] as f64
    }
}

/// The rows within `radius` of the query around which the leaves lie.
#[inline]
pub fn estimate(leaves: &[LeafSample; QUARTERS], radius: u32) -> Nearby {
    let chance = |d| leaves.iter().map(|leaf| leaf.chance(d)).sum::<f64>();
    let at = |d: usize| match leaves.iter().map(|leaf| leaf.seen[d]).sum::<u32>() {
        0 => 0.0,
        seen => f64::from(seen) / chance(d).max(LEAST_CHANCE),
    };
    let farthest = radius.min(WIDEST) as usize;
    Nearby {
        rows: (0..=farthest).map(at).sum(),
        is_complete: radius <= WIDEST && chance(farthest) >= LEAST_CHANCE,
    }
}

/// Returns how many fingerprints below `bound` differ from `query` in `d` bits.
fn below(bound: u64, query: u64, d: usize) -> u64 {
    // Each agrees with the bound above some bit that is 1 in the bound, has 0 there, and any bits
    // below.
    let differing = bound ^ query;
    let (mut ones, mut count) = (bound, 0);
    while ones != 0 {
        let bit = ones.trailing_zeros() as usize;
        ones &= ones - 1;
        let above = (differing >> bit >> 1).count_ones() as usize + (query >> bit & 1) as usize;
        count += d.checked_sub(above).map_or(0, |rest| BINOMIALS[bit][rest]);
    }
    count
}

/// `BINOMIALS[n][k]`: ways to choose `k` of `n` bits.
static BINOMIALS: [[u64; DISTANCES]; BITS + 1] = {
    let mut table = [[0; DISTANCES]; BITS + 1];
    let mut n = 0;
    while n <= BITS {
        table[n][0] = 1;
        let mut k = 1;
        while n > 0 && k < DISTANCES {
            table[n][k] = table[n - 1][k - 1] + table[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Space;
    use proptest::prelude::*;

    /// All fingerprints that differ from `query` in `d` bits.
    fn sphere(query: u64, d: u32) -> Vec<u64> {
        match d {
            0 => vec![query],
            _ => sphere(query, d - 1)
                .into_iter()
                .flat_map(|near| {
                    let highest = 64 - (near ^ query).leading_zeros();
                    (highest..64).map(move |bit| near ^ 1 << bit)
                })
                .collect(),
        }
    }

    #[test]
    fn binomials_are_those_of_pascal() {
        assert_eq!(BINOMIALS[64][..4], [1, 64, 2016, 41664]);
        assert_eq!(BINOMIALS[64][16], 488_526_937_079_580);
        assert_eq!((BINOMIALS[3][3], BINOMIALS[3][4]), (1, 0));
    }

    #[test]
    fn a_whole_key_is_kept_by_flips_of_the_other_bits() {
        let query = 0x1234_5678_9ABC_DEF0;
        let leaf = LeafSample {
            query,
            low: 0x1234 << 48,
            end: Some(0x1235 << 48),
            ..LeafSample::default()
        };
        for (d, others) in BINOMIALS[48].iter().enumerate() {
            assert_eq!(leaf.chance(d), *others as f64 / BINOMIALS[64][d] as f64);
        }
        assert!(4.0 * leaf.chance(DISTANCES - 1) >= LEAST_CHANCE);
    }

    /// A leaf of key space `b` that ends where the first bits `prefix` of the query's quarter do.
    fn leaf_of(b: usize, query: u64, prefix: u32, rows: &[u64]) -> LeafSample {
        let query = Space::of_quarter(b).rotate(query);
        let low = query >> (64 - prefix) << (64 - prefix);
        let end = low.checked_add(1 << (64 - prefix));
        let mut leaf = LeafSample {
            query,
            low,
            end,
            ..LeafSample::default()
        };
        for row in rows.iter().map(|row| Space::of_quarter(b).rotate(*row)) {
            if row >= low && end.is_none_or(|end| row < end) {
                leaf.seen[(row ^ query).count_ones() as usize] += 1;
            }
        }
        leaf
    }

    /// Rows at each distance up to 10, their bits drawn at random: on average the estimate is
    /// right, for narrow leaves (a part of a key), whole keys and wide ones.
    #[test]
    fn without_bias() {
        let mut state = 42u64;
        let mut random = move || {
            // Splitmix64.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ z >> 31
        };
        for prefixes in [[16; 4], [9; 4], [3, 9, 16, 24], [20; 4]] {
            let mut rows = 0.0;
            for _ in 0..3000 {
                let query = random();
                let mut cluster = Vec::new();
                for d in 0..=10 {
                    let mut row = query;
                    while (row ^ query).count_ones() < d {
                        row ^= 1 << (random() % 64) & !(row ^ query);
                    }
                    cluster.push(row);
                }
                let leaves = std::array::from_fn(|b| leaf_of(b, query, prefixes[b], &cluster));
                let nearby = estimate(&leaves, 10);
                assert!(nearby.is_complete);
                rows += nearby.rows / 3000.0;
            }
            assert!((rows / 11.0 - 1.0).abs() < 0.05, "{prefixes:?}: {rows}");
        }
    }

    #[test]
    fn what_no_leaf_can_show_makes_it_incomplete() {
        // A leaf that holds one fingerprint alone.
        let narrow = LeafSample {
            end: Some(1),
            ..LeafSample::default()
        };
        let empty = LeafSample::default();
        let mut equal = narrow;
        equal.seen[0] = 600;
        assert!(estimate(&[empty; 4], 16).is_complete);
        assert!(!estimate(&[empty; 4], 17).is_complete);
        assert!(estimate(&[narrow; 4], 0).is_complete);
        assert!(!estimate(&[narrow; 4], 1).is_complete);
        assert!(estimate(&[narrow, narrow, narrow, empty], 1).is_complete);
        assert_eq!(estimate(&[equal; 4], 1).rows, 600.0);
    }

    proptest! {
        #[test]
        fn chances_are_those_of_counting(query: u64, a: u64, b: u64, cut in 0u32..60, d in 0u32..4) {
            // Bounds near the query too: a few low bits differ.
            let near = |x: u64| query ^ x.checked_shr(cut).unwrap_or(0);
            let (low, end) = (near(a).min(query), near(b).max(query).checked_add(1));
            let leaf = LeafSample { query, low, end, ..LeafSample::default() };
            let sphere = sphere(query, d);
            let inside = |x: &&u64| **x >= low && end.is_none_or(|end| **x < end);
            let counted = sphere.iter().filter(inside).count() as f64 / sphere.len() as f64;
            prop_assert!((leaf.chance(d as usize) - counted).abs() < 1e-12);
        }

        /// Leaves that hold everything show everything.
        #[test]
        fn one_leaf_is_exact(query: u64, rows in prop::collection::vec(any::<u64>(), 0..50), k in 0u32..=16) {
            let near: Vec<u64> = rows.iter().map(|x| query ^ (x & x >> 5 & x >> 11 & x >> 21)).collect();
            let leaves = std::array::from_fn(|b| {
                let mut leaf = LeafSample { query: Space::of_quarter(b).rotate(query), ..LeafSample::default() };
                for row in near.iter().filter(|x| (*x ^ query).count_ones() <= WIDEST) {
                    leaf.seen[(row ^ query).count_ones() as usize] += 1;
                }
                leaf
            });
            let within = near.iter().filter(|x| (*x ^ query).count_ones() <= k).count();
            let nearby = estimate(&leaves, k);
            prop_assert!(nearby.is_complete && (nearby.rows - within as f64).abs() < 1e-9);
        }
    }
}
