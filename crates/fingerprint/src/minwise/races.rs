//! The builder of weighted features: 64 races, in each of which a feature of weight w arrives after
//! an exponentially distributed time of rate w, and the first wins.
//!
//! All races are run at once, as a Poisson process for each feature whose points fall into races at
//! random (algorithm ProbMinHash1 of Ertl, ProbMinHash, 2020), until a limit by which nearly all
//! races are decided. In a long text most features are late with their first point.

use super::{INCREMENT, bits_of, start, time};
use crate::hash::mix;

/// How long races run at first, as a multiple of the mean time between two points of a race. Then
/// 64 / e^6 of the 64 races are undecided: one in six rows has any.
const FIRST_LIMIT: f64 = 6.0;

/// Features between two calls of `check_interrupts`.
const BETWEEN_PAUSES: usize = 1 << 14;

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
    fn enter(&mut self, hash: u64, scale: f64, limit: f64) {
        let (mut state, mut now) = (start(hash), 0.0);
        // The bits are not taken from the first random number, which says when and in which race
        // the first point comes.
        let bits = bits_of(hash);
        loop {
            state = state.wrapping_add(INCREMENT);
            let random = mix(state);
            now += time(random) * scale;
            // A time that is not a number is that of a weight of almost 0.
            let early = now < limit;
            if !early {
                return;
            }
            // The lowest bits hardly touch the time.
            let race = (random % 64) as usize;
            let better = now < self.times[race];
            self.times[race] = if better { now } else { self.times[race] };
            self.bits ^= (self.bits ^ bits) & (u64::from(better) << race);
        }
    }

    fn decided(&self) -> bool {
        self.times.iter().all(|time| time.is_finite())
    }
}

/// Bit j of word i is one bit of the winner of race j among the features, by word i of their
/// hashes. None without any weight above 0. Weights must be finite, hashes distinct; the order does
/// not matter. `check_interrupts` is called now and then and may unwind.
pub fn bits<const W: usize>(
    features: &[([u64; W], f64)],
    check_interrupts: &mut dyn FnMut(),
) -> Option<[u64; W]> {
    let heaviest = (features.iter()).fold(0.0, |most: f64, (_, weight)| most.max(*weight));
    if heaviest <= 0.0 {
        return None;
    }
    let mut words = [0; W];
    for (i, word) in words.iter_mut().enumerate() {
        *word = run(features, i, heaviest, check_interrupts);
    }
    Some(words)
}

/// The 64 races of word `i` of the hashes.
fn run<const W: usize>(
    features: &[([u64; W], f64)],
    i: usize,
    heaviest: f64,
    check_interrupts: &mut dyn FnMut(),
) -> u64 {
    // Relative weights, as the sum of the weights could overflow.
    let total: f64 = features.iter().map(|(_, weight)| weight / heaviest).sum();
    let mut limit = FIRST_LIMIT * 64.0 / total;
    let mut races = Races::UNDECIDED;
    while !races.decided() {
        for features in features.chunks(BETWEEN_PAUSES) {
            check_interrupts();
            for (hash, weight) in features {
                races.enter(hash[i], heaviest / weight, limit);
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

    fn weighted(weights: &[u8], unit: f64) -> Vec<([u64; 1], f64)> {
        let features = weights.iter().enumerate();
        let weigh = |(i, &weight): (usize, &u8)| ([mix(i as u64)], f64::from(weight) * unit);
        features.map(weigh).collect()
    }

    proptest! {
        #[test]
        fn neither_order_nor_scale_matters(
            weights in prop::collection::vec(1u8.., 1..300), exponent in -900..900i32,
        ) {
            let features = weighted(&weights, 1.0);
            let mut other = weighted(&weights, 2f64.powi(exponent));
            other.reverse();
            prop_assert_eq!(bits(&features, &mut || {}), bits(&other, &mut || {}));
        }

        #[test]
        fn extreme_weights_end(exponents in prop::collection::vec(-1074..1024i32, 1..50)) {
            // In two steps: powi alone gives 0 below the normal numbers.
            let power = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            let weigh = |(i, &exponent): (usize, &i32)| ([mix(i as u64)], power(exponent));
            let features: Vec<_> = exponents.iter().enumerate().map(weigh).collect();
            let found = bits(&features, &mut || {});
            prop_assert!(found.is_some());
        }
    }

    #[test]
    fn a_lone_feature_has_the_bits_that_it_has_in_a_set() {
        assert_eq!(bits(&[([7], 0.3)], &mut || {}), Some([bits_of(7)]));
    }

    #[test]
    fn nothing_has_no_bits() {
        assert_eq!(bits::<1>(&[], &mut || {}), None);
        assert_eq!(bits(&[([1], 0.0)], &mut || {}), None);
    }

    #[test]
    fn long_races_pause() {
        let mut pauses = 0;
        bits(&weighted(&[1; 100_000], 1.0), &mut || pauses += 1);
        assert!(pauses >= 100_000 / BETWEEN_PAUSES);
    }
}
