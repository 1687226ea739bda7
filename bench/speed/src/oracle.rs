//! The truth about queries: every row's distance is computed, in memory, outside any timing.

use std::collections::HashSet;
use std::thread;

use crate::pq::Outcome;

/// The largest radius that is measured.
pub const FARTHEST: u32 = 15;
/// Rows of a nearest-neighbour query.
pub const NEAREST: usize = 10;

pub struct Truth {
    /// Distance and id of the rows within [`FARTHEST`].
    near: Vec<(u8, u32)>,
    /// The distances of the [`NEAREST`] nearest rows, in order.
    nearest: Vec<u32>,
}

impl Truth {
    fn compute(rows: &[u64], centre: u64) -> Truth {
        let mut near = Vec::new();
        let mut at = [0usize; 65];
        for (id, row) in rows.iter().enumerate() {
            let distance = (row ^ centre).count_ones();
            at[distance as usize] += 1;
            if distance <= FARTHEST {
                near.push((distance as u8, id as u32));
            }
        }
        let nearest = (0..65u32)
            .flat_map(|d| std::iter::repeat_n(d, at[d as usize].min(NEAREST)))
            .take(NEAREST)
            .collect();
        Truth { near, nearest }
    }

    /// Whether `ids`, in any order, are exactly the rows within `k`.
    pub fn is_within(&self, k: u32, ids: &[u64]) -> bool {
        let expected: HashSet<u64> = self
            .near
            .iter()
            .filter(|(distance, _)| u32::from(*distance) <= k)
            .map(|(_, id)| u64::from(*id))
            .collect();
        let got: HashSet<u64> = ids.iter().copied().collect();
        ids.len() == got.len() && got == expected
    }

    /// Whether `ids` are different rows, in order of distance, as near as the nearest.
    pub fn is_nearest(&self, rows: &[u64], centre: u64, ids: &[u64]) -> bool {
        let got: HashSet<u64> = ids.iter().copied().collect();
        let distances: Option<Vec<u32>> = ids
            .iter()
            .map(|id| Some((rows.get(*id as usize)? ^ centre).count_ones()))
            .collect();
        ids.len() == got.len() && distances.as_ref() == Some(&self.nearest)
    }
}

/// The truth about each centre, by all processors.
pub fn truths(rows: &[u64], centres: &[u64]) -> Outcome<Vec<Truth>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = centres.len().div_ceil(threads).max(1);
    let compute =
        |share: &[u64]| -> Vec<Truth> { share.iter().map(|c| Truth::compute(rows, *c)).collect() };
    let shares: Result<Vec<_>, _> = thread::scope(|scope| {
        let workers: Vec<_> = centres
            .chunks(share)
            .map(|share| scope.spawn(move || compute(share)))
            .collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    Ok(shares
        .map_err(|_| "a thread failed")?
        .into_iter()
        .flatten()
        .collect())
}

/// Pairs within `k` <= 3 bits, each once: candidates agree in a block, and the first such block
/// counts.
pub fn pairs(rows: &[u64], k: u32) -> usize {
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    let block = |row: u64, b: u32| row >> (16 * b) & 0xFFFF;
    let mut found = 0;
    for b in 0..4 {
        order.sort_unstable_by_key(|i| block(rows[*i as usize], b));
        for group in
            order.chunk_by(|i, j| block(rows[*i as usize], b) == block(rows[*j as usize], b))
        {
            for (n, i) in group.iter().enumerate() {
                for j in &group[n + 1..] {
                    let (x, y) = (rows[*i as usize], rows[*j as usize]);
                    let first = (0..b).all(|earlier| block(x, earlier) != block(y, earlier));
                    found += usize::from((x ^ y).count_ones() <= k && first);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn pairs_equal_comparing_each_with_each() {
        let rows = sets::skewed(2_000);
        for k in 0..=3 {
            let each = (rows.iter().enumerate()).map(|(i, x)| {
                rows[i + 1..]
                    .iter()
                    .filter(|y| (x ^ *y).count_ones() <= k)
                    .count()
            });
            assert_eq!(pairs(&rows, k), each.sum::<usize>());
        }
    }

    #[test]
    fn a_wrong_answer_is_seen() {
        let rows = [0, 1, 3, 7, 1 << 40, u64::MAX];
        let truth = Truth::compute(&rows, 0);
        assert!(truth.is_within(1, &[4, 1, 0]));
        for wrong in [&[0, 1][..], &[0, 1, 4, 2], &[0, 1, 2], &[0, 1, 4, 4]] {
            assert!(!truth.is_within(1, wrong), "{wrong:?}");
        }
        assert!(truth.is_nearest(&rows, 0, &[0, 4, 1, 2, 3, 5]));
        for wrong in [
            &[0, 1, 2, 3, 4, 5][..],
            &[0, 1, 4, 2, 3],
            &[0, 1, 1, 2, 3, 5],
            &[0, 1, 4, 2, 3, 6],
        ] {
            assert!(!truth.is_nearest(&rows, 0, wrong), "{wrong:?}");
        }
    }
}
