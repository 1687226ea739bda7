//! Pairs by their similarity, in steps of a twentieth: how many there are, and examples. The
//! extension adds every pair that it compares, and shows the steps to who has to choose a threshold.

use crate::copies::Candidate;

/// Number of steps.
pub const STEPS: usize = 20;

/// The pairs from one threshold to the next.
#[derive(Clone, Copy, Default)]
pub struct Step {
    /// Number of all of them.
    pub pairs: u64,
    /// Those of which each row is the best partner of the other one.
    pub mutual: u64,
    /// The least and the most similar pair.
    pub examples: Option<[(f64, Candidate); 2]>,
}

/// The threshold of a step.
pub fn threshold(step: usize) -> f64 {
    step as f64 / STEPS as f64
}

/// Returns the step of a similarity.
pub fn step_of(similarity: f64) -> usize {
    let reached = (0..STEPS).rev().find(|step| similarity >= threshold(*step));
    reached.unwrap_or(0)
}

/// All steps; the last one has similarity 1 too.
#[derive(Default)]
pub struct Report {
    steps: [Step; STEPS],
}

impl Report {
    fn step(&mut self, similarity: f64) -> &mut Step {
        &mut self.steps[step_of(similarity)]
    }

    /// Adds a pair of records, and how many pairs of rows it is.
    pub fn add(&mut self, pair: Candidate, similarity: f64, pairs: u64) {
        let step = self.step(similarity);
        step.pairs += pairs;
        let this = (similarity, pair);
        let [low, high] = step.examples.unwrap_or([this; 2]);
        step.examples = Some([
            if similarity < low.0 { this } else { low },
            if similarity > high.0 { this } else { high },
        ]);
    }

    /// Adds a pair, which was added already, of which each row is the best partner of the other one.
    pub fn add_mutual(&mut self, similarity: f64) {
        self.step(similarity).mutual += 1;
    }

    /// Calls `each` with every threshold, from the highest, with the pairs and the mutual pairs that
    /// are at least so similar, and with the pairs between it and the threshold above.
    pub fn for_each(&self, mut each: impl FnMut(f64, [u64; 2], &Step)) {
        let mut sums = [0, 0];
        for (i, step) in self.steps.iter().enumerate().rev() {
            sums = [sums[0] + step.pairs, sums[1] + step.mutual];
            each(threshold(i), sums, step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_at_their_threshold_and_below() {
        let mut report = Report::default();
        let pair = |a| Candidate { a, b: a + 1 };
        for (a, similarity) in [(1, 1.0), (2, 0.96), (3, 0.95), (4, 0.949), (5, 0.0)] {
            report.add(pair(a), similarity, 1);
        }
        report.add_mutual(0.95);
        let mut found = Vec::new();
        report.for_each(|threshold, [pairs, mutual], step| {
            if step.pairs > 0 {
                let [low, high] = step.examples.unwrap();
                found.push((threshold, pairs, mutual, low.1.a, high.1.a));
            }
        });
        assert_eq!(
            found,
            [(0.95, 3, 1, 3, 1), (0.9, 4, 1, 4, 4), (0.0, 5, 1, 5, 5)]
        );
    }
}
