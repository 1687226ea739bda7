//! Which row is whose best partner: the pairs that stay if each thing is once in a table. A pair
//! stays if no other pair of its rows is more similar. Equal rows, and others that are equally
//! similar, make as many pairs as there are in the order of the rows; a row is in one pair at most.

use crate::copies::{Candidate, Copies};
use std::collections::TryReserveError;

/// The best similarity of each record so far.
pub struct Partners {
    /// -1 without a partner.
    best: Vec<f64>,
    /// Pairs that were the best of both records when they came.
    pairs: Vec<(Candidate, f64)>,
    /// Number of pairs at which those that are it no more are left out.
    limit: usize,
}

impl Partners {
    /// Nothing is known of this many records.
    pub fn new(records: u32) -> Result<Self, TryReserveError> {
        let mut best = Vec::new();
        best.try_reserve_exact(records as usize)?;
        best.resize(records as usize, -1.0);
        Ok(Partners {
            best,
            pairs: Vec::new(),
            limit: records as usize,
        })
    }

    /// The same if they are wanted; else partners of no record.
    pub fn if_wanted(is_wanted: bool, records: u32) -> Result<Self, TryReserveError> {
        Self::new(if is_wanted { records } else { 0 })
    }

    /// Adds a pair of records.
    pub fn add(&mut self, pair: Candidate, similarity: f64) -> Result<(), TryReserveError> {
        let mut is_best = true;
        for record in [pair.a, pair.b] {
            let best = &mut self.best[record as usize];
            is_best &= similarity >= *best;
            *best = best.max(similarity);
        }
        if !is_best {
            return Ok(());
        }
        if self.pairs.len() > self.limit {
            self.keep_best();
            self.limit = self.limit.max(2 * self.pairs.len());
        }
        self.pairs.try_reserve(1)?;
        self.pairs.push((pair, similarity));
        Ok(())
    }

    /// Returns the best similarity of each record; -1 if it has no partner.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    fn keep_best(&mut self) {
        let best = &self.best;
        let is_best = |record: u32, similarity| best[record as usize] <= similarity;
        (self.pairs).retain(|(pair, s)| is_best(pair.a, *s) && is_best(pair.b, *s));
    }

    /// Calls `each` with the pairs of rows that stay, and their similarities.
    pub fn for_each(
        mut self,
        copies: &Copies,
        mut each: impl FnMut(u32, u32, f64),
    ) -> Result<(), TryReserveError> {
        self.keep_best();
        self.pairs.sort_unstable_by_key(|(pair, _)| *pair);
        let mut taken = Vec::new();
        taken.try_reserve_exact(copies.rows() as usize)?;
        taken.resize(copies.rows() as usize, false);
        for (pair, similarity) in self.pairs {
            copies.for_each_free(pair, &mut taken, |a, b| each(a, b, similarity));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copies::CopiesBuilder;

    fn kept(rows: &[u64], first: Option<usize>, pairs: &[(u32, u32, f64)]) -> Vec<(u32, u32, f64)> {
        let mut copies = CopiesBuilder::default();
        for (i, hash) in rows.iter().enumerate() {
            if first == Some(i) {
                copies.begin_second_table();
            }
            copies.add(Some(*hash)).unwrap();
        }
        let copies = copies.finish().unwrap();
        let mut partners = Partners::new(copies.records()).unwrap();
        for &(a, b, similarity) in pairs {
            partners.add(Candidate { a, b }, similarity).unwrap();
        }
        let mut kept = Vec::new();
        let each = |a, b, similarity| kept.push((a, b, similarity));
        partners.for_each(&copies, each).unwrap();
        kept
    }

    #[test]
    fn a_pair_stays_if_each_is_the_others_best() {
        // Row 0 has two equally good partners; row 3 prefers row 1, which prefers row 0.
        let pairs = [(0, 1, 0.9), (0, 2, 0.9), (1, 3, 0.8), (4, 5, 0.0)];
        let found = kept(&[1, 2, 3, 4, 5, 6], None, &pairs);
        assert_eq!(found, [(0, 1, 0.9), (4, 5, 0.0)]);
    }

    #[test]
    fn a_better_pair_that_comes_later_counts() {
        let mut pairs = vec![(0, 1, 0.5); 50];
        pairs.extend([(1, 2, 0.7), (0, 3, 0.6)]);
        let found = kept(&[1, 2, 3, 4], None, &pairs);
        assert_eq!(found, [(0, 3, 0.6), (1, 2, 0.7)]);
    }

    #[test]
    fn equal_rows_make_as_many_pairs_as_there_are() {
        let found = kept(&[1, 1, 2, 1, 1, 1], Some(3), &[(0, 0, 1.0), (0, 1, 0.4)]);
        assert_eq!(found, [(0, 3, 1.0), (1, 4, 1.0)]);
        assert_eq!(kept(&[1; 5], None, &[(0, 0, 1.0)]).len(), 2);
    }
}
