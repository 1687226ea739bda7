//! A backend's own picture of an index's leaves: where each begins, and how many rows lie under
//! each 16-bit key. Pure; `cache` loads it.
//!
//! It may be stale, and no answer is wrong for that. A leaf's low end never changes, so the leaf
//! found here is the right one or, after splits, left of it. The counts only choose radii, and any
//! radii are exact (see `probe`).

use crate::index::key::{BLOCKS, Key};
use std::cell::Cell;

/// Rows that a leaf is assumed to hold: between those of a freshly built leaf and those of one that
/// has just been split.
pub const ROWS_PER_LEAF: f64 = 600.0;
const KEYS: usize = 1 << 16;

/// The leaves of the four key spaces that file fingerprints.
pub type Directory = [SpaceDirectory; BLOCKS];

/// A leaf: all that a search needs to know of it in one place, so that it waits for memory once.
pub struct Leaf {
    pub low: Key,
    pub block: u32,
    /// The buffer in which the leaf was seen last; 0 when in none.
    pub recent: Cell<i32>,
}

/// The leaves of one key space, from left to right.
pub struct SpaceDirectory {
    leaves: Vec<Leaf>,
    /// For each 16-bit key, the leaf that holds its first position; one more entry for the end.
    starts: Vec<u32>,
    /// For each 16-bit key, about how many rows it has.
    rows: Vec<u32>,
}

impl SpaceDirectory {
    /// From the leaves' low ends, ascending, the first one [`Key::MIN`], and their blocks.
    pub fn new(leaves: &[(Key, u32)]) -> SpaceDirectory {
        let lows: Vec<Key> = leaves.iter().map(|leaf| leaf.0).collect();
        let mut starts = Vec::with_capacity(KEYS + 1);
        let mut leaf = 0;
        for key in 0..KEYS as u64 {
            while leaf + 1 < lows.len() && lows[leaf + 1] <= Key::at(key << 48) {
                leaf += 1;
            }
            starts.push(leaf as u32);
        }
        starts.push(lows.len().saturating_sub(1) as u32);
        let rows = rows_per_key(&lows);
        let leaf = |&(low, block): &(Key, u32)| Leaf {
            low,
            block,
            recent: Cell::new(0),
        };
        SpaceDirectory {
            leaves: leaves.iter().map(leaf).collect(),
            starts,
            rows,
        }
    }

    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// Bytes that a directory of so many leaves takes.
    pub fn size(leaves: usize) -> usize {
        leaves * size_of::<Leaf>() + 2 * KEYS * size_of::<u32>()
    }

    /// Position in the directory of the leaf that holds `key`, as far as known.
    pub fn find(&self, key: Key) -> usize {
        let of_key = usize::from(key.block_key());
        let (from, to) = (
            self.starts[of_key] as usize,
            self.starts[of_key + 1] as usize,
        );
        let within = &self.leaves[from..=to];
        from + within
            .partition_point(|leaf| leaf.low <= key)
            .saturating_sub(1)
    }

    /// The address that [`SpaceDirectory::find`] will read first.
    pub fn first_read(&self, key: Key) -> *const u8 {
        (&raw const self.starts[usize::from(key.block_key())]).cast()
    }

    /// About which share of a leaf's rows lies before `key`, 0 to 1.
    pub fn share_before(&self, position: usize, key: Key) -> f32 {
        let low = self.leaves[position].low.rotated;
        let end = self.low(position + 1).map_or(u64::MAX, |next| next.rotated);
        let width = end.saturating_sub(low).max(1);
        (key.rotated.saturating_sub(low) as f32 / width as f32).min(1.0)
    }

    /// Where the leaf at a position begins; None beyond the last.
    pub fn low(&self, position: usize) -> Option<Key> {
        self.leaves.get(position).map(|leaf| leaf.low)
    }

    /// About how many rows have a 16-bit key.
    pub fn rows(&self, key: u16) -> u32 {
        self.rows[usize::from(key)]
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
    use crate::tid::Tid;
    use proptest::prelude::*;

    fn directory(mut lows: Vec<Key>) -> SpaceDirectory {
        lows.push(Key::MIN);
        lows.sort();
        lows.dedup();
        let leaves: Vec<_> = lows
            .iter()
            .enumerate()
            .map(|(i, low)| (*low, i as u32))
            .collect();
        SpaceDirectory::new(&leaves)
    }

    proptest! {
        #[test]
        fn find_is_the_last_leaf_not_above(
            raw in prop::collection::vec((any::<u64>(), 0u32..3), 0..300),
            probes in prop::collection::vec((any::<u64>(), 0u32..3), 20), narrow: bool,
        ) {
            let mask = if narrow { 0x0003_8000_0000_0001 } else { u64::MAX };
            let key = |(bits, block): &(u64, u32)| {
                Key { rotated: bits & mask, tid: Tid { block: *block, offset: 0 } }
            };
            let dir = directory(raw.iter().map(key).collect());
            for probe in probes.iter().chain(&raw).map(key) {
                let found = dir.find(probe);
                prop_assert!(dir.leaf(found).low <= probe);
                prop_assert!(dir.low(found + 1).is_none_or(|next| next > probe));
            }
        }

        #[test]
        fn the_counts_add_up(raw in prop::collection::vec(any::<u64>(), 0..300)) {
            let dir = directory(raw.into_iter().map(Key::at).collect());
            let rows: f64 = dir.rows.iter().map(|r| f64::from(*r)).sum();
            let wanted = ROWS_PER_LEAF * dir.leaves() as f64;
            // Each of a leaf's keys is rounded on its own.
            prop_assert!((rows - wanted).abs() <= wanted * 0.02 + 33_000.0);
        }
    }
}
