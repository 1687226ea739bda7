//! Pairs for a person to label: some of each step of similarity. The extension adds every pair of
//! rows, and shows the drawn ones. Which ones are drawn depends on the seed and on the keys of the
//! rows alone, not on the order in which rows are read; within a step all pairs are equally likely.

use crate::report::{STEPS, step_of, threshold};
use simhash_fingerprint::hash::city64;
use std::collections::{BinaryHeap, TryReserveError};

/// As many are drawn of each step, if there are as many and the size allows.
const LEAST: usize = 5;

/// A pair of rows that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// The smallest are drawn.
    lot: u64,
    /// The number of one row, from 0.
    pub a: u32,
    /// That of the other.
    pub b: u32,
    /// How similar the two are, 0 to 1.
    pub similarity: f64,
}

impl Eq for Drawn {}

impl Ord for Drawn {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.lot, self.a, self.b).cmp(&(other.lot, other.a, other.b))
    }
}

impl PartialOrd for Drawn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The pairs from one threshold to the next.
#[derive(Default)]
struct Stratum {
    pairs: u64,
    drawn: BinaryHeap<Drawn>,
}

/// Draws pairs while they are added.
pub struct Sample {
    strata: [Stratum; STEPS],
    size: usize,
    seed: i64,
}

/// What was drawn of a step: its threshold, how many pairs it has, and some of them.
pub type DrawnOfStep = (f64, u64, Vec<Drawn>);

impl Sample {
    /// Draws at most `size` pairs.
    pub fn new(size: usize, seed: i64) -> Self {
        Sample {
            strata: Default::default(),
            size,
            seed,
        }
    }

    /// Adds a pair of rows, with the hashes of their keys.
    pub fn add(
        &mut self,
        [a, b]: [u32; 2],
        [key_a, key_b]: [u64; 2],
        similarity: f64,
    ) -> Result<(), TryReserveError> {
        let mut bytes = [0; 24];
        let parts = [self.seed as u64, key_a.min(key_b), key_a.max(key_b)];
        for (to, part) in bytes.chunks_exact_mut(8).zip(parts) {
            to.copy_from_slice(&part.to_le_bytes());
        }
        let lot = city64(&bytes);
        let stratum = &mut self.strata[step_of(similarity)];
        stratum.pairs += 1;
        let drawn = Drawn {
            lot,
            a,
            b,
            similarity,
        };
        if stratum.drawn.len() < self.size {
            stratum.drawn.try_reserve(1)?;
            stratum.drawn.push(drawn);
        } else if let Some(mut last) = stratum.drawn.peek_mut()
            && drawn < *last
        {
            *last = drawn;
        }
        Ok(())
    }

    /// Returns what was drawn, from the highest step down, by their lots.
    pub fn finish(self) -> Vec<DrawnOfStep> {
        let pairs = self.strata.each_ref().map(|stratum| stratum.pairs);
        let shares = shares(&pairs, self.size);
        let steps = self.strata.into_iter().zip(shares).enumerate().rev();
        let drawn = steps.map(|(step, (stratum, share))| {
            let mut drawn = stratum.drawn.into_sorted_vec();
            drawn.truncate(share);
            (threshold(step), stratum.pairs, drawn)
        });
        drawn.filter(|(_, pairs, _)| *pairs > 0).collect()
    }
}

/// Returns how many pairs are drawn of each step: of those with many pairs more, by the square root of their number, since
/// the most certain steps are at both ends and one of them has nearly all pairs.
fn shares(pairs: &[u64; STEPS], size: usize) -> [usize; STEPS] {
    let mut shares = [0; STEPS];
    for _ in 0..size {
        let left = (0..STEPS).filter(|step| (shares[*step] as u64) < pairs[*step]);
        let wish = |step: &usize| {
            let claim = (pairs[*step] as f64).sqrt() / (shares[*step] + 1) as f64;
            (shares[*step] < LEAST, claim)
        };
        let next = left.max_by(|a, b| {
            let ((few_a, a), (few_b, b)) = (wish(a), wish(b));
            few_a.cmp(&few_b).then(a.total_cmp(&b))
        });
        let Some(next) = next else { break };
        shares[next] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: impl Iterator<Item = u32>, size: usize, seed: i64) -> Vec<DrawnOfStep> {
        let mut sample = Sample::new(size, seed);
        for a in rows {
            let similarity = f64::from(a % 10) / 10.0;
            let keys = [u64::from(a), 7];
            sample.add([a, 0], keys, similarity).unwrap();
        }
        sample.finish()
    }

    #[test]
    fn the_seed_and_the_keys_decide() {
        let forwards = drawn(0..500, 60, 3);
        assert_eq!(forwards, drawn((0..500).rev(), 60, 3));
        assert_ne!(forwards, drawn(0..500, 60, 4));
        let sizes: Vec<usize> = forwards.iter().map(|(_, _, drawn)| drawn.len()).collect();
        assert_eq!(sizes, [6; 10]);
        assert_eq!((forwards[0].0, forwards[0].1), (0.9, 50));
    }

    #[test]
    fn every_pair_of_a_step_is_equally_likely() {
        let mut times = [0; 40];
        for seed in 0..4000 {
            for (_, _, drawn) in drawn((0..40).map(|a| a * 10), 8, seed) {
                assert_eq!(drawn.len(), 8);
                drawn
                    .iter()
                    .for_each(|pair| times[pair.a as usize / 10] += 1);
            }
        }
        // 800 each, with a standard deviation of 25.
        assert!(times.iter().all(|n| (690..910).contains(n)), "{times:?}");
    }

    #[test]
    fn large_steps_get_more() {
        let mut pairs = [0; STEPS];
        (pairs[1], pairs[5], pairs[9], pairs[19]) = (1_000_000, 10_000, 3, 400);
        let shares = shares(&pairs, 200);
        assert_eq!(shares.iter().sum::<usize>(), 200);
        assert_eq!((shares[9], shares[19]), (3, 5));
        assert!(shares[1] > 8 * shares[5] && shares[5] > 15, "{shares:?}");
    }
}
