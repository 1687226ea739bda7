//! The inner loop of [`super::find`]: every fingerprint of one tile against every one of another.
//!
//! One portable body, compiled for three instruction sets, chosen at run time: most of the time of
//! a search for all pairs is spent here.
//!
//! Pairs that need not be compared are left out before: those that agree in an earlier piece, which its branch
//! has reported, and, where rows have sets, those whose rows are in one set. Where values are skewed, many rows of
//! a group have something in common. They are put to the front, and only the others are compared, with each
//! other and with those in front.

#![forbid(unsafe_code)]

use super::find::{Finder, Sides};
use super::sink::{PairSink, Row, set};
use super::split::{Size, Task};
use multiversion::multiversion;

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

/// Rows of a tile: two tiles of fingerprints fit the first-level cache.
pub const TILE: usize = 1024;
/// A comparison returns after the row that brings its hits to this number; the caller continues it
/// with the next row.
const ENOUGH: usize = 4 * TILE;
/// Fingerprints that are compared before one branch.
const LANES: usize = 16;

/// Positions in the first and in the second tile.
pub type Hit = (u16, u16);

/// Two tiles, whose fingerprints are compared with each other.
pub struct Tiles<'t> {
    /// The fingerprints of the first tile.
    pub left: &'t [u64],
    /// The fingerprints of the second tile.
    pub right: &'t [u64],
    /// Whether they are the same tile. Then each row is compared with those behind it only.
    pub same: bool,
}

/// Adds the pairs within `radius` of each other to `hits`, beginning with row `from` of the left
/// tile. Returns the row to continue with, which is the tile's length when all rows are done.
#[inline(always)]
fn find_body(tiles: &Tiles, radius: u32, from: usize, hits: &mut Vec<Hit>) -> usize {
    for (i, x) in tiles.left.iter().enumerate().skip(from) {
        let first = if tiles.same { i + 1 } else { 0 };
        let right = tiles.right.get(first..).unwrap_or(&[]);
        let mut lanes = right.chunks_exact(LANES);
        for (chunk, ys) in lanes.by_ref().enumerate() {
            // No branch inside: this loop becomes vector instructions.
            let mut least = u64::BITS;
            for y in ys {
                least = least.min((x ^ y).count_ones());
            }
            if least <= radius {
                collect(*x, ys, radius, i, first + chunk * LANES, hits);
            }
        }
        let rest = lanes.remainder();
        let start = tiles.right.len() - rest.len();
        collect(*x, rest, radius, i, start, hits);
        if hits.len() >= ENOUGH {
            return i + 1;
        }
    }
    tiles.left.len()
}

/// Adds the hits of `x`, row `i`, among `ys`, which begin at `start` of the right tile.
#[inline(always)]
fn collect(x: u64, ys: &[u64], radius: u32, i: usize, start: usize, hits: &mut Vec<Hit>) {
    for (j, y) in ys.iter().enumerate() {
        if (x ^ y).count_ones() <= radius {
            hits.push((i as u16, (start + j) as u16));
        }
    }
}

/// As the body above, with the best instructions that this machine has.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512vpopcntdq+popcnt", "x86_64+avx2+popcnt"))]
pub fn find(tiles: &Tiles, radius: u32, from: usize, hits: &mut Vec<Hit>) -> usize {
    find_body(tiles, radius, from, hits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Kernel<'k> = &'k dyn Fn(&Tiles, u32, usize, &mut Vec<Hit>) -> usize;

    fn all(kernel: Kernel, tiles: &Tiles, radius: u32) -> Vec<Hit> {
        let (mut hits, mut found, mut from) = (Vec::new(), Vec::new(), 0);
        while from < tiles.left.len() {
            from = kernel(tiles, radius, from, &mut hits);
            found.append(&mut hits);
        }
        found
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_brute_force_finds(
            left in prop::collection::vec(0u64..1 << 12, 0..200),
            right in prop::collection::vec(0u64..1 << 12, 0..200),
            radius in 0u32..9, same: bool, high: u64,
        ) {
            let far = |xs: Vec<u64>| xs.into_iter().map(|x| x ^ high << 12).collect::<Vec<_>>();
            let (left, right) = (far(left), far(right));
            let tiles = Tiles { left: &left, right: if same { &left } else { &right }, same };
            let mut expected = Vec::new();
            for (i, x) in tiles.left.iter().enumerate() {
                for (j, y) in tiles.right.iter().enumerate() {
                    if (x ^ y).count_ones() <= radius && (!same || j > i) {
                        expected.push((i as u16, j as u16));
                    }
                }
            }
            prop_assert_eq!(&all(&find, &tiles, radius), &expected);
            prop_assert_eq!(&all(&find_body, &tiles, radius), &expected);
        }
    }
}
