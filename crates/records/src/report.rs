//! Pairs by their similarity: how many there are, and examples. The extension adds every pair that
//! it compares; it shows them in steps of a twentieth to who has to choose a threshold, or takes
//! the one that [`super::threshold`] finds. What it counts does not depend on the order of the pairs.

use crate::copies::{Candidate, Copies};
use crate::partners::Partners;
use crate::threshold::{self, Why};
use std::collections::TryReserveError;

/// Number of steps.
pub const STEPS: usize = 20;
/// Number of parts of the steps, each with an example.
pub const PARTS: usize = 100;

/// The pairs of a part of a step.
#[derive(Clone, Copy, Default)]
pub struct Part {
    /// Number of all of them.
    pub pairs: u64,
    /// Those of equal rows.
    pub equal: u64,
    /// Those of which each row is the best partner of the other one.
    pub mutual: u64,
    /// Rows whose best pair it has.
    pub rows: u64,
    /// The least similar pair.
    pub example: Option<(f64, Candidate)>,
}

/// The threshold of a step.
pub fn threshold(step: usize) -> f64 {
    step as f64 / STEPS as f64
}

/// Returns the step of a similarity.
pub fn step_of(similarity: f64) -> usize {
    (part_of(similarity) / (PARTS / STEPS)).min(STEPS - 1)
}

/// Returns the part of a similarity; similarity 1 is one of its own.
fn part_of(similarity: f64) -> usize {
    let least = |part: usize| part as f64 / PARTS as f64;
    let part = (similarity * PARTS as f64) as usize;
    // Products are not exact.
    match () {
        () if least(part) > similarity => part - 1,
        () if least(part + 1) <= similarity => part + 1,
        () => part,
    }
}

/// All parts.
pub struct Report {
    parts: Vec<Part>,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            parts: vec![Part::default(); PARTS + 1],
        }
    }
}

/// What there is from a threshold on.
#[derive(Clone, Copy, Default)]
pub struct Sums {
    /// Pairs.
    pub pairs: u64,
    /// Mutual pairs.
    pub mutual: u64,
    /// Rows that are in a pair.
    pub rows: u64,
}

impl Report {
    /// Adds a pair of records, and how many pairs of rows it is.
    pub fn add(&mut self, pair: Candidate, similarity: f64, pairs: u64) {
        let part = &mut self.parts[part_of(similarity)];
        part.pairs += pairs;
        part.equal += if pair.a == pair.b { pairs } else { 0 };
        let this = (similarity, pair);
        part.example = Some(
            part.example
                .map_or(this, |other| if this < other { this } else { other }),
        );
    }

    /// Adds which pairs, all of which were added already, are mutual, and which rows have one.
    pub fn add_partners(
        &mut self,
        partners: Partners,
        copies: &Copies,
    ) -> Result<(), TryReserveError> {
        for (record, best) in (0..).zip(partners.best()) {
            if *best >= 0.0 {
                self.parts[part_of(*best)].rows += copies.of(record).len() as u64;
            }
        }
        partners.for_each(copies, |_, _, similarity| {
            self.parts[part_of(similarity)].mutual += 1
        })
    }

    /// Returns the threshold that is taken if none is given, and why. It needs the partners.
    pub fn choose(&self, has_two: bool) -> (f64, Why) {
        threshold::choose(&self.parts, has_two)
    }

    /// Calls `each` with every threshold, from the highest, with what is at least so similar, and with the parts between it
    /// and the threshold above, from the lowest up.
    pub fn for_each(&self, mut each: impl FnMut(f64, Sums, &[Part])) {
        let mut sums = Sums::default();
        let of_step = PARTS / STEPS;
        for step in (0..STEPS).rev() {
            // The last step has similarity 1 too.
            let end = if step + 1 == STEPS {
                PARTS + 1
            } else {
                (step + 1) * of_step
            };
            let parts = &self.parts[step * of_step..end];
            for part in parts {
                sums.pairs += part.pairs;
                sums.mutual += part.mutual;
                sums.rows += part.rows;
            }
            each(threshold(step), sums, parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copies::CopiesBuilder;

    #[test]
    fn rows_in_a_pair_are_counted_once() {
        let mut copies = CopiesBuilder::default();
        for hash in [1, 2, 2, 3, 4] {
            copies.add(Some(hash)).unwrap();
        }
        let copies = copies.finish().unwrap();
        let (mut report, mut partners) =
            (Report::default(), Partners::new(copies.records()).unwrap());
        for (a, b, similarity) in [(0, 1, 0.5), (1, 2, 0.7), (1, 1, 1.0)] {
            let pair = Candidate { a, b };
            report.add(pair, similarity, copies.count(pair));
            partners.add(pair, similarity).unwrap();
        }
        report.add_partners(partners, &copies).unwrap();
        let mut found = Vec::new();
        report.for_each(|threshold, sums, _| {
            found.push((threshold, [sums.pairs, sums.mutual, sums.rows]))
        });
        let at = |threshold: f64| found.iter().find(|step| step.0 == threshold).unwrap().1;
        assert_eq!(
            [at(0.95), at(0.7), at(0.0)],
            [[1, 1, 2], [3, 1, 3], [5, 1, 4]]
        );
    }

    #[test]
    fn pairs_are_counted_at_their_threshold_and_below() {
        let mut report = Report::default();
        let pair = |a| Candidate { a, b: a + 1 };
        for (a, similarity) in [
            (1, 1.0),
            (2, 0.96),
            (3, 0.95),
            (4, 0.949),
            (5, 0.0),
            (6, 0.955),
        ] {
            report.add(pair(a), similarity, 1);
        }
        let mut found = Vec::new();
        report.for_each(|threshold, sums, parts| {
            let examples: Vec<u32> = parts
                .iter()
                .flat_map(|part| part.example)
                .map(|(_, pair)| pair.a)
                .collect();
            if !examples.is_empty() {
                found.push((threshold, sums.pairs, examples));
            }
        });
        assert_eq!(
            found,
            [
                (0.95, 4, vec![3, 2, 1]),
                (0.9, 5, vec![4]),
                (0.0, 6, vec![5])
            ]
        );
        for part in 0..=PARTS {
            let least = part as f64 / PARTS as f64;
            assert_eq!(part_of(least), part);
            assert_eq!(part_of(least.next_down().max(0.0)), part.saturating_sub(1));
        }
        for step in 0..STEPS {
            assert_eq!(step_of(threshold(step)), step);
        }
    }
}
