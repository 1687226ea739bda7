//! Weighted SimHash: one signed sum per bit, and the signs of the sums. [`crate::bag`] adds the
//! features of a column, [`crate::builder`] the columns of a row. A bit is set if its sum is above 0.

/// Largest weight of a token and of a column. The product of the two, and the sum of as many such
/// products as a row has tokens, stay finite. The difference of two infinite sums is not a number,
/// and which bits it would take depends on the order of the tokens.
const MOST_WEIGHT: f64 = 1e100;

/// Weights of features are multiples of 1 / UNIT.
pub const UNIT: f64 = 4_294_967_296.0;

/// Returns whether users may give this weight.
pub fn is_weight(number: f64) -> bool {
    (0.0..=MOST_WEIGHT).contains(&number)
}

/// The sums: 64 for each of `W` words, the low word first. A feature adds its weight to the sum of
/// each bit that its hash has set, and subtracts it from the others. Fingerprints of 32 bits use
/// hashes whose high half is zero, so their high sums never rise above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums<const W: usize = 1>([[f64; 64]; W]);

impl<const W: usize> Sums<W> {
    /// The sums of no feature.
    pub const ZERO: Self = Sums([[0.0; 64]; W]);

    /// Adds a feature.
    pub fn add(&mut self, hash: [u64; W], weight: f64) {
        for (sums, word) in self.0.iter_mut().zip(hash) {
            let eights = sums.as_chunks_mut::<8>().0.iter_mut();
            for (sums, byte) in eights.zip(word.to_le_bytes()) {
                for (sum, sign) in sums.iter_mut().zip(&SIGNS[usize::from(byte)]) {
                    // Exact, as it only sets the sign.
                    *sum += weight * sign;
                }
            }
        }
    }

    /// Adds hashes of one weight.
    pub fn add_tally(&mut self, tally: &Tally<W>, weight: f64) {
        let planes = (u32::BITS - tally.count.leading_zeros()) as usize;
        let mut worth = weight;
        for plane in &tally.planes[..planes] {
            self.add(*plane, worth);
            worth *= 2.0;
        }
        // Where c of n hashes have a bit, the planes added 2c - (2^planes - 1) weights instead of
        // 2c - n.
        let missing = (1 << planes) - 1 - tally.count;
        if missing > 0 {
            let missing = weight * f64::from(missing);
            self.0.iter_mut().flatten().for_each(|sum| *sum += missing);
        }
    }

    /// Adds `factor` times the sums of `other`.
    pub fn add_scaled(&mut self, other: &Self, factor: f64) {
        for (sum, other) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *sum += other * factor;
        }
    }

    /// Makes a tie of each sum that is no further from 0 than rounding may have moved it.
    pub fn settle_ties(&mut self, rounding: f64) {
        for sum in self
            .0
            .iter_mut()
            .flatten()
            .filter(|sum| sum.abs() <= rounding)
        {
            *sum = 0.0;
        }
    }

    /// The sums of the low word.
    pub fn low(&self) -> &[f64; 64] {
        &self.0[0]
    }

    /// The largest of the sums, without its sign.
    pub fn largest(&self) -> f64 {
        let sums = self.0.iter().flatten();
        sums.fold(0.0, |largest, sum| largest.max(sum.abs()))
    }

    /// Bit i is 1 when sum i is above 0; a tie gives 0.
    pub fn fingerprint(&self) -> [u64; W] {
        self.fingerprint_above(0.0)
    }

    /// As [`Self::fingerprint`]; sums up to `least` are ties.
    pub fn fingerprint_above(&self, least: f64) -> [u64; W] {
        self.0.map(|sums| {
            sums.iter()
                .rev()
                .fold(0, |bits, &sum| bits << 1 | u64::from(sum > least))
        })
    }
}

/// Planes of a tally.
const PLANES: usize = 6;

/// Counts, for each bit, how many hashes have it: 64 counts at once, bit p of each in plane p.
#[derive(Clone, Copy, Debug)]
pub struct Tally<const W: usize> {
    planes: [[u64; W]; PLANES],
    count: u32,
}

impl<const W: usize> Tally<W> {
    /// No hash.
    pub const EMPTY: Self = Tally {
        planes: [[0; W]; PLANES],
        count: 0,
    };

    /// Returns how many hashes were added.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns whether no more hashes fit.
    pub fn is_full(&self) -> bool {
        self.count == (1 << PLANES) - 1
    }

    /// Adds 1 to the counts of the bits that a hash has, with all carries. It must not be full.
    #[inline]
    pub fn add(&mut self, hash: [u64; W]) {
        let mut carry = hash;
        for plane in &mut self.planes {
            for (bits, carry) in plane.iter_mut().zip(&mut carry) {
                (*bits, *carry) = (*bits ^ *carry, *bits & *carry);
            }
        }
        self.count += 1;
    }
}

/// For each byte, the sign that each of its bits gives: a table, so that the sums are added eight
/// at a time without a shift for each.
static SIGNS: [[f64; 8]; 256] = signs();

const fn signs() -> [[f64; 8]; 256] {
    let mut signs = [[-1.0; 8]; 256];
    let mut i = 0;
    while i < 256 * 8 {
        if (i / 8) >> (i % 8) & 1 == 1 {
            signs[i / 8][i % 8] = 1.0;
        }
        i += 1;
    }
    signs
}

/// The SimHash of hashes with weights, summed in the given order; None without any weight above 0.
pub fn simhash<const W: usize>(
    features: impl IntoIterator<Item = ([u64; W], f64)>,
) -> Option<[u64; W]> {
    let mut sums = Sums::ZERO;
    let mut any = false;
    for (hash, weight) in features {
        sums.add(hash, weight);
        any |= weight > 0.0;
    }
    any.then(|| sums.fingerprint())
}

/// The `n` bits of least absolute sum; of bits with equal sums, the lower one comes first.
pub fn least_margin(sums: &[f64; 64], n: usize) -> u64 {
    let mut bits: [usize; 64] = std::array::from_fn(|i| i);
    // A stable sort.
    bits.sort_by(|&a, &b| sums[a].abs().total_cmp(&sums[b].abs()));
    bits.iter().take(n).fold(0, |mask, bit| mask | 1 << bit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tally_adds_what_its_hashes_add(
            hashes in prop::collection::vec(any::<[u64; 2]>(), 0..=63),
        ) {
            let (mut tally, mut sums, mut one_by_one) = (Tally::EMPTY, Sums::ZERO, Sums::ZERO);
            for &hash in &hashes {
                prop_assert!(!tally.is_full());
                tally.add(hash);
                one_by_one.add(hash, 1.25);
            }
            prop_assert_eq!(tally.count() as usize, hashes.len());
            prop_assert_eq!(tally.is_full(), hashes.len() == 63);
            sums.add_tally(&tally, 1.25);
            prop_assert_eq!(sums, one_by_one);
        }
    }

    #[test]
    fn the_low_sums_are_those_of_the_first_word() {
        let mut sums = Sums::<2>::ZERO;
        sums.add([0b10, 0b01], 3.0);
        assert_eq!(sums.low()[..2], [-3.0, 3.0]);
    }

    #[test]
    fn masks_hold_the_least_sums() {
        let mut sums: [f64; 64] = std::array::from_fn(|i| (i as f64 - 31.0) * -1.5);
        assert_eq!(least_margin(&sums, 0), 0);
        assert_eq!(least_margin(&sums, 1), 1 << 31);
        assert_eq!(least_margin(&sums, 3), 0b111 << 30);
        assert_eq!(least_margin(&sums, 64), u64::MAX);
        sums.fill(-2.0);
        assert_eq!(least_margin(&sums, 2), 0b11);
    }
}
