//! Pairs that need not be compared: those that agree in an earlier piece, which its branch has
//! reported, and, where rows have sets, those whose rows are in one set.
//!
//! Where values are skewed, many rows of a group have something in common: one value in an earlier
//! piece, or the set. They are put to the front, and only the others are compared, with each other
//! and with those in front.

#![forbid(unsafe_code)]

use super::compare::TILE;
use super::find::{Finder, Sides};
use super::sink::{PairSink, Row, set};
use super::split::{Size, Task};

/// Groups of fewer pairs are compared as they are: looking for redundant pairs would take longer.
const LARGE: f64 = 32_768.0;
/// Rows of each side that decide about a group, and those with which all others are compared at a
/// time where many are near each other.
const DRAWN: usize = 32;
/// Least share of pairs that must be redundant to separate rows.
const WORTH: f64 = 0.25;
/// A group is dense if one pair in this many is near.
const DENSE: usize = 64;
/// Number of times that the rows of a group may be separated, one division within the other.
/// Where values are what they seem in a sample, a few times are enough; rows can be ordered so that
/// no sample is true.
pub(super) const DEEPEST: u32 = 64;
/// Rows between two pauses.
const STEPS: usize = 4096;

/// A property that rows may have in common: these bits of the fingerprint and of the tag.
#[derive(Clone, Copy)]
struct CommonBits {
    fingerprint: u64,
    tag: u64,
    value: u64,
}

impl CommonBits {
    fn value(&self, row: &Row) -> u64 {
        (row.fingerprint & self.fingerprint) | (row.tag & self.tag)
    }

    fn has(&self, row: &Row) -> bool {
        self.value(row) == self.value
    }
}

/// Returns up to `DRAWN` rows from all over a side.
fn drawn(side: &[Row]) -> Vec<Row> {
    let step = side.len().div_ceil(DRAWN).max(1);
    side.iter().step_by(step).copied().collect()
}

/// The share of rows with a value.
fn share(rows: &[Row], common: CommonBits) -> f64 {
    let having = rows.iter().filter(|row| common.has(row)).count();
    having as f64 / rows.len().max(1) as f64
}

/// The value that more than half of some rows have, if one does (Boyer and Moore's vote, 1981).
fn majority<'r>(rows: impl Iterator<Item = &'r Row>, mut common: CommonBits) -> CommonBits {
    let mut votes = 0u32;
    for row in rows {
        if votes == 0 {
            common.value = common.value(row);
        }
        votes = match common.has(row) {
            true => votes + 1,
            false => votes - 1,
        };
    }
    common
}

impl<S: PairSink> Finder<'_, S> {
    /// A group whose pairs are to be searched; None when that was done here.
    #[inline]
    pub(super) fn needed<'r, const N: usize>(
        &mut self,
        mut group: Sides<'r, N>,
        task: Task,
        size: Size,
    ) -> Option<Sides<'r, N>> {
        let may_be_redundant = self.has_sets() || !self.differ.is_empty();
        if size.pairs < LARGE || self.separations == DEEPEST || !may_be_redundant {
            return Some(group);
        }
        if self.keeps_sets {
            self.renew(&mut group);
        }
        let sample = group.each_ref().map(|side| drawn(side));
        let common = self.common(&sample);
        if common.is_none() && !(self.keeps_sets && is_dense(&sample, self.radius)) {
            return Some(group);
        }
        self.separations += 1;
        match common {
            Some(common) => self.separate(group, common, task),
            None => self.unite(group, task),
        }
        self.separations -= 1;
        None
    }

    /// Looks up the sets of all rows.
    fn renew<const N: usize>(&mut self, group: &mut Sides<N>) {
        for rows in group.iter_mut().flat_map(|side| side.chunks_mut(STEPS)) {
            self.sink.check_interrupts();
            for row in rows {
                row.tag = self.sink.renewed(row.tag);
            }
        }
    }

    /// Returns what many rows have in common whose pairs with each other are redundant.
    fn common<const N: usize>(&self, sample: &[Vec<Row>; N]) -> Option<CommonBits> {
        let piece = |mask: &u64| (*mask, 0);
        let set = self.has_sets().then_some((0, !0 << u32::BITS));
        let (mut best, mut most) = (None, WORTH);
        for (fingerprint, tag) in self.differ.iter().map(piece).chain(set) {
            let common = CommonBits {
                fingerprint,
                tag,
                value: 0,
            };
            let common = majority(sample.iter().flatten(), common);
            let saved = share(&sample[0], common) * share(&sample[N - 1], common);
            if saved > most {
                (best, most) = (Some(common), saved);
            }
        }
        best
    }

    /// Searches the pairs of a group but those of two rows that have this in common.
    fn separate<const N: usize>(&mut self, mut group: Sides<N>, common: CommonBits, task: Task) {
        let fronts = group.each_mut().map(|side| self.put_in_front(side, common));
        let outer = self.share;
        self.share /= 2.0;
        let mut sides = group.into_iter();
        match (sides.next(), sides.next()) {
            (Some(left), Some(right)) => {
                let (left, others) = left.split_at_mut(fronts[0]);
                self.pairs_in([left, &mut right[fronts[N - 1]..]], task);
                self.pairs_in([others, right], task);
            }
            (Some(side), None) => {
                let (front, others) = side.split_at_mut(fronts[0]);
                self.pairs_in([front, &mut *others], task);
                self.pairs_in([others], task);
            }
            _ => (),
        }
        self.share = outer;
    }

    /// Puts the rows that have this in common to the front, and counts them.
    fn put_in_front(&mut self, rows: &mut [Row], common: CommonBits) -> usize {
        let mut front = 0;
        for i in 0..rows.len() {
            if i.is_multiple_of(STEPS) {
                self.sink.check_interrupts();
            }
            if common.has(&rows[i]) {
                rows.swap(front, i);
                front += 1;
            }
        }
        front
    }

    /// Searches the pairs of a group of which many are near: compares a few rows with all, which
    /// makes large sets of those near them, and then the others.
    fn unite<const N: usize>(&mut self, mut group: Sides<N>, task: Task) {
        let count = group[0].len().min(DRAWN);
        let step = group[0].len() / count;
        for i in 0..count {
            group[0].swap(i, i * step);
        }
        let few = group[0][..count].to_vec();
        for some in group[N - 1].chunks(TILE) {
            self.tiles(&few, some, false, 0);
        }
        group[0] = &mut std::mem::take(&mut group[0])[count..];
        self.pairs_in(group, task);
    }
}

/// Returns whether many rows of a sample are near rows of other sets.
fn is_dense<const N: usize>(sample: &[Vec<Row>; N], radius: u32) -> bool {
    let (left, right) = (&sample[0], &sample[N - 1]);
    let is_new = |a: &Row, b: &Row| {
        (a.fingerprint ^ b.fingerprint).count_ones() <= radius && set(a) != set(b)
    };
    let of_row = |a: &Row| right.iter().filter(|b| is_new(a, b)).count();
    left.iter().map(of_row).sum::<usize>() * DENSE > left.len() * right.len()
}
