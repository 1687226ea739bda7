//! Which rows are connected by near pairs, where the pairs themselves do not matter.
//!
//! The search knows the set that each row is in already, so that rows of one set are not compared
//! ([`super::compare`]). Where rows are dense, the pairs within a radius may be a hundred times as
//! many as the rows, and nearly all of them connect nothing new. Rows get numbers for it; a tag is
//! then a number and, in the upper half, a set.
//!
//! [`UnionFind`] keeps disjoint sets (Tarjan 1975; path halving). The smallest number of a set leads it,
//! whatever the order of the unions.

#![forbid(unsafe_code)]

use super::find::Finder;
use super::sink::{PairSink, Row, set};
use super::split::Task;
use std::collections::TryReserveError;

/// Bytes that it takes for each row, beside the row.
pub const BESIDE: usize = size_of::<u64>() + size_of::<u32>();
/// Fewer rows than this are searched as they are.
const LEAST_ROWS: usize = 1024;
/// One row in this many is drawn to see whether near pairs are many, but at most `MOST` rows in
/// all.
const ONE_OF: usize = 16;
const MOST: usize = 1024;
/// Rows between two pauses.
const STEPS: usize = 4096;

/// Returns whether there are enough pairs to keep sets. The rows must differ from each
/// other. Those that are drawn have half a million pairs if the rows are many; one near pair among
/// them is enough.
#[inline]
pub fn is_crowded(rows: &[Row], radius: u32) -> bool {
    // Rows get numbers of 32 bits.
    if rows.len() < LEAST_ROWS || u32::try_from(rows.len()).is_err() {
        return false;
    }
    let step = rows.len().div_ceil(MOST).max(ONE_OF);
    let drawn = rows.iter().step_by(step).map(|row| row.fingerprint);
    let drawn: Vec<u64> = drawn.collect();
    drawn.iter().enumerate().any(|(i, x)| {
        let is_near = |y: &u64| (x ^ y).count_ones() <= radius;
        drawn[i + 1..].iter().any(is_near)
    })
}

impl<S: PairSink> Finder<'_, S> {
    /// Puts rows to the front that stand for all: where equal rows are of different sets, two of
    /// them, with which it connects the others; all where they are of one set. Whatever is near them
    /// differs from one of the two in its set. `rows` are in order of fingerprints and tags.
    pub(super) fn two_of_equal<'r>(&mut self, rows: &'r mut [Row]) -> &'r mut [Row] {
        let (mut front, mut start) = (0, 0);
        while start < rows.len() {
            let first = rows[start];
            let is_equal = |row: &&Row| row.fingerprint == first.fingerprint;
            let end = start + rows[start..].iter().take_while(is_equal).count();
            let last = rows[end - 1];
            if set(&first) == set(&last) {
                for i in start..end {
                    rows.swap(front, i);
                    front += 1;
                }
            } else {
                for row in &rows[start + 1..end] {
                    self.connect_equal(*row, [first, last]);
                }
                rows.swap(front, start);
                rows.swap(front + 1, end - 1);
                front += 2;
            }
            start = end;
        }
        &mut rows[..front]
    }

    /// Connects a row with one of two equal ones, that of another set.
    pub(super) fn connect_equal(&mut self, row: Row, [first, other]: [Row; 2]) {
        self.sink.check_interrupts();
        let is_first_apart = set(&row) != set(&first);
        self.connect(if is_first_apart { first } else { other }, row);
    }

    /// As [`Finder::pairs_in`], for a sink that asks only for connections, and for rows that differ
    /// from each other: gives it one pair less than each set has rows. Fails before it has begun
    /// when the system has no more memory.
    #[inline]
    pub fn components(&mut self, rows: &mut [Row], task: Task) -> Result<(), TryReserveError> {
        let (mut sets, mut tags) = (UnionFind::new(), Vec::new());
        sets.reserve(rows.len())?;
        tags.try_reserve_exact(rows.len())?;
        for some in rows.chunks_mut(STEPS) {
            self.sink.check_interrupts();
            for row in some {
                let number = u64::from(sets.add()?);
                tags.push(std::mem::replace(
                    &mut row.tag,
                    number << u32::BITS | number,
                ));
            }
        }
        let mut sink = SetsSink {
            sink: &mut *self.sink,
            sets,
            tags,
        };
        let mut finder = Finder::new(&mut sink, self.radius);
        finder.differ = std::mem::take(&mut self.differ);
        (finder.done, finder.share) = (self.done, self.share);
        finder.pairs_in([&mut *rows], task);
        (self.differ, self.done) = (finder.differ, finder.done);
        let tags = sink.tags;
        for some in rows.chunks_mut(STEPS) {
            self.sink.check_interrupts();
            for row in some {
                row.tag = tags[row.tag as u32 as usize];
            }
        }
        Ok(())
    }
}

/// Takes the pairs of such a search, for the sink of the caller.
struct SetsSink<'s, S> {
    sink: &'s mut S,
    /// The sets of the numbers of rows.
    sets: UnionFind,
    /// The caller's tags, by number.
    tags: Vec<u64>,
}

impl<S: PairSink> PairSink for SetsSink<'_, S> {
    type File = S::File;

    fn file(&mut self) -> S::File {
        self.sink.file()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let (a, b) = (a as u32, b as u32);
        if self.sets.union(a, b) {
            self.sink
                .pair(self.tags[a as usize], self.tags[b as usize], distance);
        }
    }

    fn is_transitive(&self) -> bool {
        true
    }

    fn keeps_sets(&self) -> bool {
        true
    }

    fn renewed(&mut self, tag: u64) -> u64 {
        let set = self.sets.find((tag >> u32::BITS) as u32);
        u64::from(set) << u32::BITS | tag & u64::from(u32::MAX)
    }

    fn check_interrupts(&mut self) {
        self.sink.check_interrupts();
    }

    fn progress(&mut self, share: f64) {
        self.sink.progress(share);
    }
}

/// Sets of the numbers from 0 on, each alone at first.
#[derive(Default)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// No elements.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for this many more numbers.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<(), std::collections::TryReserveError> {
        self.parent.try_reserve_exact(more)
    }

    /// Adds the next number, in a set of its own.
    #[inline]
    pub fn add(&mut self) -> Result<u32, std::collections::TryReserveError> {
        if self.parent.len() == self.parent.capacity() {
            self.parent.try_reserve(1024)?;
        }
        let next = self.parent.len() as u32;
        self.parent.push(next);
        Ok(next)
    }

    /// The smallest number of the set.
    #[inline]
    pub fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            let above = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = above;
            x = above;
        }
        x
    }

    /// Makes two sets one; returns false when they were one already.
    #[inline]
    pub fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
        a != b
    }

    /// Returns how many numbers there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.parent.len()
    }
}
