//! Weighted 1-bit minwise hashing: bit j of a fingerprint is one bit of the feature that wins race
//! j of 64.
//!
//! In each race a feature of weight w arrives after an exponentially distributed time of rate w,
//! which its hash decides; the first wins. Two rows have the same winner with probability J, the
//! probability Jaccard similarity of their weighted features (Moulton and Jiang, Maximally
//! Consistent Sampling and the Jaccard Index of Probability Distributions, 2018):
//!
//! ```text
//! J(x, y) = sum over i of 1 / (sum over k of max(x_k / x_i, y_k / y_i))
//! ```
//!
//! which without weights is the Jaccard similarity. Keeping one bit of the winner (Li and Koenig,
//! b-Bit Minwise Hashing, 2010) makes the bits of two rows equal with probability (1 + J) / 2: their
//! expected Hamming distance is 32 (1 - J).
//!
//! All 64 races are run at once, as a Poisson process for each feature whose points fall into races
//! at random (algorithm ProbMinHash1 of Ertl, ProbMinHash, 2020): after the first few features most
//! others are late with their first point. What must not live here: a function of the C library;
//! only integers and the four operations decide a race, so that all platforms agree.

use super::hash::mix;
use super::log::{FRACTION_BITS, exponential};

/// The hash functions' random choice: the fraction of the square root of 2, fixed before anything
/// was measured. Another value gives other fingerprints of the same quality.
pub const SEED: u64 = 0x6a09_e667_f3bc_c908;

/// The increment of SplitMix64 (Steele, Lea and Flood).
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Races whose first point the features' arrivals up to the first limit leave undecided: 64 / e^6,
/// one in six rows has any.
const FIRST_LIMIT: f64 = 6.0;

/// One time unit of [`exponential`] with half its precision, which then fits into an i64.
const TIME_UNIT: f64 = (1u64 << (FRACTION_BITS - 1)) as f64;

/// Features between two calls of `pause`.
const BETWEEN_PAUSES: usize = 1 << 16;

/// The best times so far, and the winners' bits.
struct Races {
    times: [f64; 64],
    bits: u64,
}

impl Races {
    const UNDECIDED: Self = Races {
        times: [f64::INFINITY; 64],
        bits: 0,
    };

    /// Enters the points of one feature that come before `limit`. `scale` is the mean time between
    /// two of them.
    #[inline]
    fn enter(&mut self, hash: u64, seed: u64, scale: f64, limit: f64) {
        let mut state = mix(hash ^ seed);
        let mut time = 0.0;
        let mut bits = None;
        loop {
            state = state.wrapping_add(INCREMENT);
            let random = mix(state);
            time += (exponential(random) >> 1).cast_signed() as f64 * scale;
            // A time that is no number is that of a weight of almost 0.
            let early = time < limit;
            if !early {
                return;
            }
            let bits = *bits.get_or_insert_with(|| mix(state.wrapping_sub(INCREMENT)));
            // The lowest bits hardly touch the time.
            let race = (random % 64) as usize;
            let better = time < self.times[race];
            self.times[race] = if better { time } else { self.times[race] };
            self.bits ^= (self.bits ^ bits) & (u64::from(better) << race);
        }
    }

    fn decided(&self) -> bool {
        self.times.iter().all(|time| time.is_finite())
    }
}

/// The fingerprint of hashes with weights, in any order; None without any weight above 0. Weights
/// must be finite, hashes distinct. `pause` is called now and then and may unwind.
pub fn minwise<const W: usize>(
    features: &[([u64; W], f64)],
    seed: u64,
    pause: &mut dyn FnMut(),
) -> Option<[u64; W]> {
    let heaviest = features.iter().fold(0.0, |most: f64, (_, weight)| most.max(*weight));
    if heaviest <= 0.0 {
        return None;
    }
    let mut words = [0; W];
    for (i, word) in words.iter_mut().enumerate() {
        *word = run(features, i, heaviest, seed, pause);
    }
    Some(words)
}

/// The 64 races of word `i` of the hashes.
fn run<const W: usize>(
    features: &[([u64; W], f64)],
    i: usize,
    heaviest: f64,
    seed: u64,
    pause: &mut dyn FnMut(),
) -> u64 {
    // Relative weights, as the sum of the weights could overflow.
    let total: f64 = features.iter().map(|(_, weight)| weight / heaviest).sum();
    let mut limit = FIRST_LIMIT * 64.0 * TIME_UNIT / total;
    let mut races = Races::UNDECIDED;
    while !races.decided() {
        for features in features.chunks(BETWEEN_PAUSES) {
            pause();
            for (hash, weight) in features {
                races.enter(hash[i], seed, heaviest / weight, limit);
            }
        }
        limit *= 2.0;
    }
    races.bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Weighted = Vec<([u64; 1], f64)>;

    fn fingerprint(features: &[([u64; 1], f64)], seed: u64) -> u64 {
        minwise(features, seed, &mut || {}).unwrap()[0]
    }

    /// The formula of the module's head.
    fn similarity(x: &Weighted, y: &Weighted) -> f64 {
        let weight = |set: &Weighted, hash| {
            let found = set.iter().find(|(known, _)| *known == hash);
            found.map_or(0.0, |(_, weight)| *weight)
        };
        let hashes: std::collections::BTreeSet<_> = x.iter().chain(y).map(|f| f.0).collect();
        let common = hashes.iter().map(|&i| {
            let (x_i, y_i) = (weight(x, i), weight(y, i));
            if x_i == 0.0 || y_i == 0.0 {
                return 0.0;
            }
            let larger = |&k| f64::max(weight(x, k) / x_i, weight(y, k) / y_i);
            1.0 / hashes.iter().map(larger).sum::<f64>()
        });
        common.sum()
    }

    /// Features 0, 1, 2 ... by their weights; those of weight 0 are left out.
    fn weighted(weights: &[u8], unit: f64) -> Weighted {
        let features = weights.iter().enumerate().filter(|(_, weight)| **weight > 0);
        let weigh = |(i, &weight): (usize, &u8)| ([mix(i as u64)], f64::from(weight) * unit);
        features.map(weigh).collect()
    }

    #[test]
    fn bits_agree_as_often_as_the_similarity_says() {
        let sets: [(&[u8], &[u8]); 6] = [
            (&[1, 1, 1, 1], &[1, 1, 1, 0, 1]),
            (&[9, 1], &[1, 9]),
            (&[200, 1, 1, 1, 1, 1], &[200, 0, 0, 0, 0, 1]),
            (&[1; 100], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (&[1, 0, 3], &[0, 2, 0, 4]),
        ];
        for (x, y) in sets {
            let (x, y) = (weighted(x, 1.0), weighted(y, 0.1));
            let draws = 10_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for seed in 0..draws {
                let apart = (fingerprint(&x, mix(seed)) ^ fingerprint(&y, mix(seed))).count_ones();
                let estimate = 1.0 - f64::from(apart) / 32.0;
                sum += estimate;
                squares += estimate * estimate;
            }
            let mean = sum / draws as f64;
            let error = ((squares / draws as f64 - mean * mean) / draws as f64).sqrt();
            let exact = similarity(&x, &y);
            assert!((mean - exact).abs() < 4.0 * error, "{mean} instead of {exact}, +-{error}");
        }
    }

    #[test]
    fn a_column_wins_bits_by_its_share() {
        let one = weighted(&[1, 3], 1.0);
        let (mut first, draws) = (0, 2_000);
        for seed in 0..draws {
            let bits = |feature: usize| mix(mix(one[feature].0[0] ^ seed));
            let fingerprint = fingerprint(&one, seed);
            let differ = bits(0) ^ bits(1);
            first += ((fingerprint ^ bits(1)) & differ).count_ones();
            assert_eq!((fingerprint ^ bits(0)) & !differ, 0);
        }
        // A quarter of the half in which the two differ.
        let share = f64::from(first) / (draws as f64 * 32.0);
        assert!((share - 0.25).abs() < 0.01, "{share}");
    }

    proptest! {
        #[test]
        fn neither_order_nor_scale_matters(
            weights in prop::collection::vec(1u8.., 1..300), exponent in -900..900i32,
        ) {
            let features = weighted(&weights, 1.0);
            let mut other = weighted(&weights, 2f64.powi(exponent));
            other.reverse();
            prop_assert_eq!(fingerprint(&features, SEED), fingerprint(&other, SEED));
        }

        #[test]
        fn extreme_weights_end(exponents in prop::collection::vec(-1074..1024i32, 1..50)) {
            let weigh = |(i, &exponent): (usize, &i32)| ([mix(i as u64)], 2f64.powi(exponent));
            let features: Weighted = exponents.iter().enumerate().map(weigh).collect();
            fingerprint(&features, SEED);
        }
    }

    #[test]
    fn nothing_has_no_fingerprint() {
        assert_eq!(minwise::<1>(&[], SEED, &mut || {}), None);
        assert_eq!(minwise(&[([1], 0.0)], SEED, &mut || {}), None);
    }
}
