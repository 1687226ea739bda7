//! Weighted 1-bit minwise hashing: each bit of a fingerprint is one bit of a feature of the row
//! that was drawn at random, in such a way that similar rows draw the same feature.
//!
//! A bit is drawn in two steps. First the columns that have a feature race for it ([`unit_times`]):
//! column c, of weight w, arrives after an exponentially distributed time of rate w, which its name
//! decides, and the first one owns the bit. Then the bit is one of the feature that the column's
//! own builder draws for this position: features of equal weight by [`one_permutation`], others by
//! [`races`]. Two rows with the same columns have the same owners, and then the same feature with
//! probability
//!
//! ```text
//! J(x, y) = sum over the columns c of share_c * J_c(x, y)
//! ```
//!
//! where J_c is the Jaccard similarity of the column's features, or with weights their probability
//! Jaccard similarity (Moulton and Jiang, Maximally Consistent Sampling and the Jaccard Index of
//! Probability Distributions, 2018):
//!
//! ```text
//! J_c(x, y) = sum over i of 1 / (sum over k of max(x_k / x_i, y_k / y_i))
//! ```
//!
//! Where one row lacks a column the owners agree as often as this formula says of their shares. As
//! one bit is kept of a feature (Li and Koenig, b-Bit Minwise Hashing, 2010), the bits of two rows
//! agree with probability (1 + J) / 2: their expected Hamming distance is 32 (1 - J).
//!
//! Only integers and the four operations decide what is drawn, and no function of the C library, so that all
//! platforms agree.

pub(crate) mod one_permutation;
pub(crate) mod races;

use super::hash::mix;
use super::logarithm::{FRACTION_BITS, exponential};

/// The random choice of the hash functions: the fraction of the square root of 2, fixed before
/// anything was measured. Another value gives other fingerprints of the same quality.
const SEED: u64 = 0x6a09_e667_f3bc_c908;

/// The increment of SplitMix64 (Steele, Lea and Flood).
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// One time unit of [`exponential`] with half its precision, which then fits into an i64.
const TIME_UNIT: f64 = (1u64 << (FRACTION_BITS - 1)) as f64;

/// Bits of the widest fingerprint.
pub const MOST_BITS: usize = 128;

/// Returns the number with which a feature's hash starts its random numbers.
fn start(hash: u64) -> u64 {
    mix(hash ^ SEED)
}

/// The bits of the feature with this hash, of which position j takes bit j.
fn bits_of(hash: u64) -> u64 {
    mix(hash.wrapping_add(INCREMENT))
}

/// An exponentially distributed time of rate 1.
#[inline]
fn time(random: u64) -> f64 {
    (exponential(random) >> 1).cast_signed() as f64 / TIME_UNIT
}

/// Returns the time at which a column of weight 1, whose name hashes to `name`, arrives in the race
/// for each bit.
///
/// One of each 64 times lies in each 64th part of the distribution (a Latin hypercube; McKay,
/// Beckman and Conover, 1979): so a column owns closer to its share of the bits than by independent
/// times. A single race is not affected, for it looks at one time of each column.
pub fn unit_times(name: u64) -> [f64; MOST_BITS] {
    let mut state = start(name);
    let mut times = [0.0; MOST_BITS];
    for word in times.as_chunks_mut::<64>().0 {
        let parts = shuffled(&mut state);
        for (unit_time, part) in word.iter_mut().zip(parts) {
            state = state.wrapping_add(INCREMENT);
            *unit_time = time(u64::from(part) << 58 | mix(state) >> 6);
        }
    }
    times
}

/// The numbers below 64 in random order, by the algorithm of Fisher and Yates.
const fn shuffled(state: &mut u64) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut i = 0;
    while i < 64 {
        numbers[i] = i as u8;
        i += 1;
    }
    while i > 1 {
        i -= 1;
        *state = state.wrapping_add(INCREMENT);
        let other = (mix(*state) % (i as u64 + 1)) as usize;
        (numbers[i], numbers[other]) = (numbers[other], numbers[i]);
    }
    numbers
}

/// Smaller weights count as this one: the time of a smaller one could be infinite.
const LEAST_WEIGHT: f64 = 1e-300;

/// The bits of a row, from the bits of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Owners<const W: usize> {
    /// Arrival time of the present owner of each bit.
    times: [[f64; 64]; W],
    bits: [u64; W],
}

impl<const W: usize> Owners<W> {
    /// No column has arrived.
    pub const NONE: Self = Owners {
        times: [[f64::INFINITY; 64]; W],
        bits: [0; W],
    };

    /// Gives a column the bits for which it arrives before all others.
    pub fn add(&mut self, unit_times: &[f64; MOST_BITS], weight: f64, bits: [u64; W]) {
        let weight = weight.max(LEAST_WEIGHT);
        let words = self.times.iter_mut().zip(unit_times.as_chunks::<64>().0);
        for ((times, unit_times), (word, bits)) in words.zip(self.bits.iter_mut().zip(bits)) {
            let mut won = 0;
            for (j, (time, unit_time)) in times.iter_mut().zip(unit_times).enumerate() {
                let arrival = unit_time / weight;
                won |= u64::from(arrival < *time) << j;
                *time = time.min(arrival);
            }
            *word = *word & !won | bits & won;
        }
    }

    /// The bits that have another owner than they had earlier.
    pub fn won_since(&self, earlier: &Self) -> [u64; W] {
        std::array::from_fn(|word| {
            let times = self.times[word].iter().zip(&earlier.times[word]).rev();
            times.fold(0, |won, (now, then)| won << 1 | u64::from(now < then))
        })
    }

    /// The bits of the row; None without a column.
    pub fn bits(&self) -> Option<[u64; W]> {
        self.times[0][0].is_finite().then_some(self.bits)
    }
}

#[cfg(test)]
mod tests;
