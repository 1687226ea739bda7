//! Whose best partner a row is. The extension adds every pair that it compares; a pair stays if each
//! of its rows is the best partner of the other one, so a row is in one pair at most. Of equally
//! similar partners the one that comes first is the best.

use crate::frequencies::Candidate;
use std::collections::TryReserveError;

/// The best partner of each row so far.
pub struct Partners {
    /// The similarity, and the row; a row without a partner has similarity -1.
    best: Vec<(f64, u32)>,
}

impl Partners {
    /// Nothing is known of this many rows.
    pub fn new(rows: u32) -> Result<Self, TryReserveError> {
        let mut best = Vec::new();
        best.try_reserve_exact(rows as usize)?;
        best.resize(rows as usize, (-1.0, 0));
        Ok(Partners { best })
    }

    /// Adds a pair. Pairs come in the order of their rows.
    pub fn add(&mut self, pair: Candidate, similarity: f64) {
        for (row, partner) in [(pair.a, pair.b), (pair.b, pair.a)] {
            let best = &mut self.best[row as usize];
            if similarity > best.0 {
                *best = (similarity, partner);
            }
        }
    }

    /// Returns the pairs that stay, with their similarities.
    pub fn mutual(&self) -> impl Iterator<Item = (Candidate, f64)> {
        let rows = (0u32..).zip(&self.best);
        rows.filter_map(|(row, &(similarity, partner))| {
            let is_mutual = similarity >= 0.0
                && row < partner
                && self.best[partner as usize].1 == row
                && self.best[partner as usize].0 == similarity;
            is_mutual.then_some((Candidate { a: row, b: partner }, similarity))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_stays_if_each_is_the_others_best() {
        let mut partners = Partners::new(6).unwrap();
        // Row 0 has two equally good partners; row 3 prefers row 1, which prefers row 0.
        for (a, b, similarity) in [(0, 1, 0.9), (0, 2, 0.9), (1, 3, 0.8), (4, 5, 0.0)] {
            partners.add(Candidate { a, b }, similarity);
        }
        let mutual: Vec<_> = partners
            .mutual()
            .map(|(pair, s)| (pair.a, pair.b, s))
            .collect();
        assert_eq!(mutual, [(0, 1, 0.9), (4, 5, 0.0)]);
    }
}
