//! What is known of the rows of a scope before a search: about how many rows each 16-bit key has, and the
//! radii that a search chooses by that. Searches call it at their start, [`super::directory`] loads the counts.
//! Any radii are exact (see [`super::probe`]), so what is known may be rough and stale.

use super::directory::{CachedIndex, ROWS_PER_LEAF};
use super::probe::{Even, KeyCounts, Radii, WHOLE_KEY_SPACE, choose, even_radii};
use super::reader::IndexReader;
use super::scopes::Scopes;
use crate::key::{Position, QUARTERS, Space};
use crate::page::{LEAF, internal, special};
use crate::tree::store::PageStore;
use std::rc::Rc;

impl<S: PageStore> IndexReader<'_, S> {
    /// Radii for a search within `k` of `query` in a scope: the cheapest by the counts, or evenly
    /// spread ones where nothing is known. Several scopes cannot be probed at once.
    pub(super) fn chosen_radii(&self, scopes: &Scopes, query: u64, k: u32) -> Radii {
        let Some(scope) = scopes.one() else {
            return WHOLE_KEY_SPACE;
        };
        match self.counts(scope) {
            Counts::Keys(counts) => choose(query, k, &*counts),
            Counts::Leaves(1) => WHOLE_KEY_SPACE,
            Counts::Leaves(leaves) => choose(query, k, &Even { leaves }),
            Counts::Unknown => even_radii(k),
        }
    }

    /// What is known of a scope; the same throughout a search, which reads one.
    pub(super) fn counts(&self, scope: u32) -> Counts {
        let counts = match self.state.counts.take() {
            Some((counted, counts)) if counted == scope => counts,
            _ => self.count(scope),
        };
        (self.state.counts).replace(Some((scope, counts.clone())));
        counts
    }

    fn count(&self, scope: u32) -> Counts {
        if self.state.meta.levels[0] == LEAF {
            return Counts::Leaves(1);
        }
        let Some(cached) = self.cached() else {
            return match self.state.scoped {
                true => Counts::Leaves(self.count_leaves(scope)),
                false => Counts::Unknown,
            };
        };
        if let Some(counts) = cached.counted(scope) {
            return Counts::Keys(counts);
        }
        let parents = cached.directory.parents(Space::of_quarter(0));
        let leaves = match parents.leaves() {
            Some(leaves) if !self.state.scoped => leaves,
            _ => self.count_leaves(scope),
        };
        let counts = cached.count_if_due(self.store, &self.state.meta, scope, leaves);
        counts.map_or(Counts::Leaves(leaves), Counts::Keys)
    }

    /// The number of leaves of a scope in the first key space: those below the pages that
    /// its first and its last position lead to, and about as many as there are below the pages
    /// between.
    fn count_leaves(&self, scope: u32) -> u64 {
        let space = Space::of_quarter(0);
        let (first, last) = (Position::at(scope, 0), Position::at(scope, u64::MAX));
        let links = |at: Position| {
            let page = self.parent(space, at);
            let links = page.map(|page| {
                let links = internal::links_between(&page, first, last).len() as u64;
                (links, special::is_past(&page, last))
            });
            links.unwrap_or((1, false))
        };
        let (leaves, goes_on) = links(first);
        if !goes_on {
            return leaves.max(1);
        }
        let between =
            |cached: &CachedIndex| cached.directory.parents(space).leaves_between(first, last);
        leaves + self.cached().map_or(0, between) + links(last).0
    }
}

const KEYS: usize = 1 << 16;
/// Bits of a rotated fingerprint below its key.
const BELOW_KEY: u32 = 48;

/// What is known of a scope before a search.
#[derive(Clone)]
pub enum Counts {
    /// Rows by quarter and key.
    Keys(Rc<ScopeCounts>),
    /// Leaves of one key space, about.
    Leaves(u64),
    /// Nothing.
    Unknown,
}

/// The counts of a scope in the four key spaces.
pub struct ScopeCounts([SpaceCounts; QUARTERS]);

impl ScopeCounts {
    /// Bytes that it takes.
    pub const SIZE: usize = QUARTERS * size_of::<[u8; KEYS]>();

    /// Joins the counts of the four key spaces.
    #[inline]
    pub fn new(spaces: [SpaceCounts; QUARTERS]) -> ScopeCounts {
        ScopeCounts(spaces)
    }
}

impl KeyCounts for ScopeCounts {
    fn leaves(&self, b: usize) -> u64 {
        self.0[b].leaves
    }

    fn rows(&self, b: usize, key: u16) -> u64 {
        expand(self.0[b].rows[usize::from(key)])
    }
}

/// The counts of a scope in one key space.
pub struct SpaceCounts {
    leaves: u64,
    /// Compressed: a search asks for hundreds, which should stay in the processor's cache.
    rows: Vec<u8>,
}

/// Counts a key space leaf by leaf, from left to right.
pub struct KeyCounter {
    counts: SpaceCounts,
    /// Where the last leaf begins.
    begin: u64,
    /// The key whose rows are being added up.
    key: usize,
    sum: f64,
}

/// The first leaf begins with the scope, or before it.
impl Default for KeyCounter {
    fn default() -> KeyCounter {
        KeyCounter {
            counts: SpaceCounts {
                leaves: 0,
                rows: vec![0; KEYS],
            },
            begin: 0,
            key: 0,
            sum: 0.0,
        }
    }
}

impl KeyCounter {
    /// The next leaf begins at this rotated fingerprint, which is not below that of the last one.
    #[inline]
    pub fn next_leaf(&mut self, low: u64) {
        self.add_leaf(self.begin, low.max(self.begin));
        self.begin = low.max(self.begin);
    }

    /// The last leaf ends with the scope, or after it.
    #[inline]
    pub fn finish(mut self) -> SpaceCounts {
        self.add_leaf(self.begin, u64::MAX);
        self.turn_to(0);
        self.counts
    }

    /// Spreads a leaf's rows evenly over its range.
    fn add_leaf(&mut self, from: u64, to: u64) {
        self.counts.leaves += 1;
        let (first, last) = (from >> BELOW_KEY, to >> BELOW_KEY);
        if first == last {
            // A run of equal fingerprints may have a range of one value.
            return self.add(first, ROWS_PER_LEAF);
        }
        let rows_for_each = ROWS_PER_LEAF / (to - from) as f64;
        for key in first..=last {
            let start = from.max(key << BELOW_KEY);
            let end = to.min(key << BELOW_KEY | u64::MAX >> (64 - BELOW_KEY));
            self.add(key, (end - start) as f64 * rows_for_each);
        }
    }

    /// Keys ascend.
    fn add(&mut self, key: u64, rows: f64) {
        if self.key != key as usize {
            self.turn_to(key as usize);
        }
        self.sum += rows;
    }

    fn turn_to(&mut self, key: usize) {
        self.counts.rows[self.key] = compress(self.sum.round() as u64);
        (self.key, self.sum) = (key, 0.0);
    }
}

/// Bits of a number that are kept below its highest one.
const KEPT: u32 = 3;
/// From here on numbers are not kept exactly.
const ROUGH: u64 = 2 << KEPT;

/// A number in a byte, with four significant bits.
fn compress(n: u64) -> u8 {
    if n < ROUGH {
        return n as u8;
    }
    let dropped = n.ilog2() - KEPT;
    let kept = (n >> dropped) as u32;
    ((dropped + 1) << KEPT | kept & ((1 << KEPT) - 1)).min(u32::from(u8::MAX)) as u8
}

/// The number, give or take a sixteenth.
fn expand(byte: u8) -> u64 {
    let n = u64::from(byte);
    if n < ROUGH {
        return n;
    }
    let dropped = (n >> KEPT) - 1;
    let kept = 1 << KEPT | n & ((1 << KEPT) - 1);
    (2 * kept + 1) << dropped >> 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(lows: impl Iterator<Item = u64>) -> SpaceCounts {
        let mut counter = KeyCounter::default();
        lows.for_each(|low| counter.next_leaf(low));
        counter.finish()
    }

    #[test]
    fn small_numbers_are_kept_and_large_ones_nearly() {
        for n in 0..ROUGH {
            assert_eq!(expand(compress(n)), n);
        }
        for n in (ROUGH..100_000).chain((1..17_000).map(|n| n * 999_983)) {
            let found = expand(compress(n));
            assert!(found.abs_diff(n) <= n / 15, "{n} became {found}");
        }
        assert_eq!(compress(u64::MAX), u8::MAX);
        assert!((0..=u8::MAX).is_sorted_by_key(expand));
    }

    proptest! {
        #[test]
        fn the_counts_add_up(mut lows in prop::collection::vec(any::<u64>(), 0..300), narrow: bool) {
            lows.iter_mut().for_each(|low| *low &= if narrow { 0xFFF << 44 } else { u64::MAX });
            lows.sort_unstable();
            let counts = counted(lows.iter().copied());
            prop_assert_eq!(counts.leaves, lows.len() as u64 + 1);
            let rows: f64 = counts.rows.iter().map(|n| expand(*n) as f64).sum();
            let expected = ROWS_PER_LEAF * (lows.len() + 1) as f64;
            // Each of a leaf's keys is rounded on its own.
            prop_assert!((rows - expected).abs() <= expected / 14.0 + 33_000.0, "{rows}, not {expected}");
        }

        #[test]
        fn a_hot_key_is_seen(hot: u16, leaves in 1u64..500) {
            let low = |i: u64| (u64::from(hot) << 48) + i;
            let counts = counted((0..=leaves).map(low));
            let rows = expand(counts.rows[usize::from(hot)]) as f64;
            let expected = ROWS_PER_LEAF * leaves as f64;
            prop_assert!(rows >= expected * 0.93 && rows <= (expected + ROWS_PER_LEAF) * 1.07);
        }
    }
}
