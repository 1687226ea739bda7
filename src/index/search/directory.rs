//! A backend's own picture of an index's leaves: where each begins, and so about how many rows lie
//! between two positions. Pure; `cache` loads it.
//!
//! It may be stale, and no answer is wrong for that. A leaf's low end never changes, so the leaf
//! found here is the right one or, after splits, left of it. The counts only choose radii, and any
//! radii are exact (see `probe`).

use crate::filed::NO_SCOPE;
use crate::index::key::{BLOCKS, Key};
use crate::index::page::leaf::LIKELY_COUNT;
use crate::tid::Tid;
use std::cell::Cell;

/// Rows that a leaf is assumed to hold.
pub const ROWS_PER_LEAF: f64 = LIKELY_COUNT as f64;
const KEYS: usize = 1 << 16;

/// The leaves of the four key spaces that file fingerprints.
pub type Directory = [SpaceDirectory; BLOCKS];

/// A leaf: all that a search needs to know of it in one place, so that it waits for memory once.
pub struct Leaf {
    /// Where it begins, in its scope.
    rotated: u64,
    tid: Tid,
    pub block: u32,
    /// The buffer in which the leaf was seen last; 0 when in none.
    pub recent: Cell<i32>,
}

/// The leaves of one key space, from left to right.
pub struct SpaceDirectory {
    leaves: Vec<Leaf>,
    /// Has the index scope columns?
    scoped: bool,
    /// With scope columns, the scope in which each leaf begins. Apart, so that without them a leaf
    /// takes less of the processor's cache.
    scopes: Vec<u32>,
    /// For each of 2^16 ranges of positions, the leaf that holds the first one; one more entry for
    /// the end. A range is a 16-bit key or, in an index with scope columns, the scopes that begin
    /// with 16 such bits.
    starts: Vec<u32>,
    /// Without scope columns, for each 16-bit key about how many rows it has.
    rows: Vec<u32>,
}

impl SpaceDirectory {
    /// From the leaves' low ends, ascending, the first one [`Key::MIN`], and their blocks.
    pub fn new(leaves: &[(Key, u32)], scoped: bool) -> SpaceDirectory {
        let lows: Vec<Key> = leaves.iter().map(|leaf| leaf.0).collect();
        let mut starts = Vec::with_capacity(KEYS + 1);
        let mut leaf = 0;
        for range in 0..KEYS as u64 {
            let start = match scoped {
                true => Key::at((range as u32) << 16, 0),
                false => Key::at(NO_SCOPE, range << 48),
            };
            while leaf + 1 < lows.len() && lows[leaf + 1] <= start {
                leaf += 1;
            }
            starts.push(leaf as u32);
        }
        starts.push(lows.len().saturating_sub(1) as u32);
        let rows = match scoped {
            true => Vec::new(),
            false => rows_per_key(&lows),
        };
        let leaf = |&(low, block): &(Key, u32)| Leaf {
            rotated: low.rotated,
            tid: low.tid,
            block,
            recent: Cell::new(0),
        };
        let scopes = match scoped {
            true => lows.iter().map(|low| low.scope).collect(),
            false => Vec::new(),
        };
        SpaceDirectory {
            leaves: leaves.iter().map(leaf).collect(),
            scoped,
            scopes,
            starts,
            rows,
        }
    }

    /// The range that holds a position.
    fn range(&self, key: Key) -> usize {
        match self.scoped {
            true => (key.scope >> 16) as usize,
            false => usize::from(key.block_key()),
        }
    }

    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// Bytes that a directory of so many leaves takes.
    pub fn size(leaves: usize, scoped: bool) -> usize {
        // A scope for each leaf, or the rows for each key.
        let numbers = if scoped { leaves } else { KEYS };
        leaves * size_of::<Leaf>() + (KEYS + numbers) * size_of::<u32>()
    }

    /// Position in the directory of the leaf that holds `key`, as far as known.
    pub fn find(&self, key: Key) -> usize {
        let range = self.range(key);
        let (mut at, mut end) = (self.starts[range] as usize, self.starts[range + 1] as usize);
        while at < end {
            let middle = at + (end - at).div_ceil(2);
            if self.low_of(middle) <= key {
                at = middle;
            } else {
                end = middle - 1;
            }
        }
        at
    }

    /// Where the leaf at a position begins.
    #[inline]
    fn low_of(&self, position: usize) -> Key {
        let leaf = &self.leaves[position];
        Key {
            scope: match self.scoped {
                true => self.scopes[position],
                false => NO_SCOPE,
            },
            rotated: leaf.rotated,
            tid: leaf.tid,
        }
    }

    /// The address that [`SpaceDirectory::find`] will read first.
    pub fn first_read(&self, key: Key) -> *const u8 {
        (&raw const self.starts[self.range(key)]).cast()
    }

    /// About which share of a leaf's rows lies before `key`, 0 to 1.
    pub fn share_before(&self, position: usize, key: Key) -> f32 {
        let (low, end) = (self.low_of(position), self.low(position + 1));
        let one_scope = low.scope == key.scope && end.is_none_or(|end| end.scope == key.scope);
        if one_scope {
            let end = end.map_or(u64::MAX, |end| end.rotated);
            let width = end.saturating_sub(low.rotated).max(1);
            return (key.rotated.saturating_sub(low.rotated) as f32 / width as f32).min(1.0);
        }
        let width = end.unwrap_or(Key::END).place() - low.place();
        (key.place().saturating_sub(low.place()) as f32 / width as f32).min(1.0)
    }

    /// Leaves that hold positions of a scope.
    pub fn leaves_of(&self, scope: u32) -> u64 {
        if !self.scoped {
            return self.leaves() as u64;
        }
        let end = Key::at(scope, u64::MAX);
        (self.find(end) - self.find(Key::at(scope, 0)) + 1) as u64
    }

    /// About how many rows of a scope have a 16-bit key.
    pub fn rows(&self, scope: u32, key: u16) -> u32 {
        if !self.scoped {
            return self.rows[usize::from(key)];
        }
        let place = |rotated: u64| {
            let key = Key::at(scope, rotated);
            let leaf = self.find(key);
            leaf as f64 + f64::from(self.share_before(leaf, key))
        };
        let first = u64::from(key) << 48;
        let leaves = place(first | u64::MAX >> 16) - place(first);
        (leaves * ROWS_PER_LEAF).round() as u32
    }

    /// Where the leaf at a position begins; None beyond the last.
    pub fn low(&self, position: usize) -> Option<Key> {
        (position < self.leaves.len()).then(|| self.low_of(position))
    }

    /// The leaf at a position.
    pub fn leaf(&self, position: usize) -> &Leaf {
        &self.leaves[position]
    }
}

/// Spreads each leaf's rows evenly over its range of fingerprints.
fn rows_per_key(lows: &[Key]) -> Vec<u32> {
    /// Fingerprints under one key.
    const SPAN: f64 = (1u64 << 48) as f64;
    let mut rows = vec![0f64; KEYS];
    for (i, low) in lows.iter().enumerate() {
        let next = lows.get(i + 1);
        let (from, to) = (
            low.rotated as f64,
            next.map_or(u64::MAX, |n| n.rotated) as f64,
        );
        let first = usize::from(low.block_key());
        let last = next.map_or(KEYS - 1, |n| usize::from(n.block_key()));
        // A run of equal fingerprints: the leaf's range is one value.
        let width = (to - from).max(1.0);
        if to <= from {
            rows[first] += ROWS_PER_LEAF;
        }
        for (share, key) in rows[first..=last].iter_mut().zip(first..) {
            let start = from.max(key as f64 * SPAN);
            let end = to.min((key + 1) as f64 * SPAN);
            *share += ROWS_PER_LEAF * (end - start).max(0.0) / width;
        }
    }
    rows.into_iter().map(|r| r.round() as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn directory(mut lows: Vec<Key>, scoped: bool) -> SpaceDirectory {
        lows.push(Key::MIN);
        lows.sort();
        lows.dedup();
        let leaves: Vec<_> = lows
            .iter()
            .enumerate()
            .map(|(i, low)| (*low, i as u32))
            .collect();
        SpaceDirectory::new(&leaves, scoped)
    }

    proptest! {
        #[test]
        fn find_is_the_last_leaf_not_above(
            raw in prop::collection::vec((any::<u64>(), 0u32..3), 0..300),
            probes in prop::collection::vec((any::<u64>(), 0u32..3), 20), narrow: bool, scoped: bool,
        ) {
            let mask = if narrow { 0x0003_8000_0000_0001 } else { u64::MAX };
            let key = |(bits, block): &(u64, u32)| {
                let scope = if scoped { (bits >> 7) as u32 & 0x8001_0007 } else { NO_SCOPE };
                Key { scope, rotated: bits & mask, tid: Tid { block: *block, offset: 0 } }
            };
            let dir = directory(raw.iter().map(key).collect(), scoped);
            for probe in probes.iter().chain(&raw).map(key) {
                let found = dir.find(probe);
                prop_assert!(dir.low(found).is_some_and(|low| low <= probe));
                prop_assert!(dir.low(found + 1).is_none_or(|next| next > probe));
            }
        }

        #[test]
        fn the_counts_add_up(raw in prop::collection::vec(any::<u64>(), 0..300)) {
            let lows = raw.into_iter().map(|rotated| Key::at(NO_SCOPE, rotated)).collect();
            let dir = directory(lows, false);
            let rows: f64 = dir.rows.iter().map(|r| f64::from(*r)).sum();
            let wanted = ROWS_PER_LEAF * dir.leaves() as f64;
            // Each of a leaf's keys is rounded on its own.
            prop_assert!((rows - wanted).abs() <= wanted * 0.02 + 33_000.0);
        }

        #[test]
        fn the_counts_of_a_scope_add_up(
            raw in prop::collection::vec((any::<u64>(), 3u32..6), 0..100), scope in 3u32..6,
        ) {
            let low = |&(rotated, scope): &(u64, u32)| Key::at(scope, rotated);
            let dir = directory(raw.iter().map(low).collect(), true);
            let rows: f64 = (0..=u16::MAX).map(|key| f64::from(dir.rows(scope, key))).sum();
            let of_scope = raw.iter().filter(|leaf| leaf.1 == scope).count() as f64;
            // Those that begin in the scope, and a part of the one before them.
            prop_assert!(rows >= (of_scope - 1.0) * ROWS_PER_LEAF * 0.95 - 33_000.0);
            prop_assert!(rows <= (of_scope + 1.0) * ROWS_PER_LEAF * 1.05 + 33_000.0);
            prop_assert_eq!(dir.leaves_of(scope) as f64, of_scope + 1.0);
        }
    }
}
