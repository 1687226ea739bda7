//! Sorting the postings of a build, in memory or, when they do not fit, through runs on disk.
//! Pure: the disk is behind [`Store`].

#![forbid(unsafe_code)]

use crate::key::{Position, Space};
use simhash_base::bytes::{get_u16, get_u32, get_u64};
use simhash_base::indexed_row::Tid;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE};
use simhash_base::runs::{Item, Merge, Order, Runs};
use simhash_base::store::Store;
use std::collections::TryReserveError;

/// The scope of a posting that is being sorted: `u32`, or `()` where there are no scope columns,
/// which saves a third of the memory.
pub trait SortScope: Copy + Ord + 'static {
    /// Whether the scope is stored.
    const HAS_SCOPE: bool;
    /// What is stored of a scope.
    fn from_scope(scope: u32) -> Self;
    /// The scope.
    fn number(self) -> u32;
}

impl SortScope for () {
    const HAS_SCOPE: bool = false;

    fn from_scope(_: u32) {}

    fn number(self) -> u32 {
        NO_SCOPE
    }
}

impl SortScope for u32 {
    const HAS_SCOPE: bool = true;

    fn from_scope(scope: u32) -> u32 {
        scope
    }

    fn number(self) -> u32 {
        self
    }
}

/// A row of the table being indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting<S> {
    /// The fingerprint (in runs: rotated).
    pub bits: u64,
    /// Block of the row in the table.
    pub block: u32,
    /// Offset of the row in the block.
    pub offset: u16,
    /// The scope of the row; nothing where an index has no scopes.
    pub scope: S,
}

impl<S: SortScope> Posting<S> {
    /// Creates the posting of a row; a missing fingerprint is stored as 0.
    #[inline]
    pub fn new(row: IndexedRow, tid: Tid) -> Posting<S> {
        Posting {
            bits: row.fingerprint.unwrap_or(0),
            block: tid.block,
            offset: tid.offset,
            scope: S::from_scope(row.scope),
        }
    }

    /// The posting's place in its space, once it is rotated.
    #[inline]
    pub fn key(&self) -> Position {
        Position {
            scope: self.scope.number(),
            rotated: self.bits,
            tid: Tid {
                block: self.block,
                offset: self.offset,
            },
        }
    }

    /// The 16 bits by which postings are distributed: those that come first in their order.
    fn digit(&self) -> usize {
        match S::HAS_SCOPE {
            true => (self.scope.number() >> 16) as usize,
            false => usize::from(self.key().first_quarter()),
        }
    }
}

/// Sorts the postings of one space. They are distributed over their first 16 bits (one pass over
/// `spare`): their keys, or the upper halves of their scopes. Then each range's few are sorted; a
/// hot one costs a comparison sort of its own. `check_interrupts` is called now and then, in that sort too:
/// many gigabytes take minutes.
#[inline]
pub fn sort_for<S: SortScope>(
    space: Space,
    postings: &[Posting<S>],
    spare: &mut Vec<Posting<S>>,
    check_interrupts: &mut dyn FnMut(),
) {
    const RANGES: usize = 1 << 16;
    let rotated = |p: &Posting<S>| Posting {
        bits: space.rotate(p.bits),
        ..*p
    };
    let mut ends = vec![0usize; RANGES + 1];
    for chunk in postings.chunks(CHUNK) {
        check_interrupts();
        for p in chunk {
            ends[rotated(p).digit() + 1] += 1;
        }
    }
    for range in 0..RANGES {
        ends[range + 1] += ends[range];
    }
    // What another space left in it need not be cleared: every posting is overwritten.
    spare.resize(postings.len(), Posting::new(NOTHING, Tid::MIN));
    let mut place = ends.clone();
    for chunk in postings.chunks(CHUNK) {
        check_interrupts();
        for p in chunk {
            let p = rotated(p);
            let at = &mut place[p.digit()];
            spare[*at] = p;
            *at += 1;
        }
    }
    for range in 0..RANGES {
        check_interrupts();
        sort_range(&mut spare[ends[range]..ends[range + 1]], check_interrupts);
    }
}

/// A row that fills room until another one takes its place.
const NOTHING: IndexedRow = IndexedRow {
    scope: NO_SCOPE,
    fingerprint: None,
};

/// Sorts the postings of one range.
fn sort_range<S: SortScope>(postings: &mut [Posting<S>], check_interrupts: &mut dyn FnMut()) {
    /// Fewer postings take about 50 ms, and counting comparisons makes their sort a tenth slower.
    const HOT: usize = 1 << 18;
    if postings.len() < HOT {
        postings.sort_unstable_by_key(Posting::key);
        return;
    }
    let mut comparisons = 0usize;
    postings.sort_unstable_by(|a, b| {
        comparisons += 1;
        if comparisons.is_multiple_of(CHUNK) {
            check_interrupts();
        }
        a.key().cmp(&b.key())
    });
}

/// Postings that are compared or moved between two pauses.
const CHUNK: usize = 16_384;

impl<S: SortScope> Item for Posting<S> {
    const BYTES: usize = if S::HAS_SCOPE { 20 } else { 16 };

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.bits.to_ne_bytes());
        if S::HAS_SCOPE {
            bytes.extend(self.scope.number().to_ne_bytes());
        }
        bytes.extend(self.block.to_ne_bytes());
        bytes.extend(u32::from(self.offset).to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        let (scope, tid) = match S::HAS_SCOPE {
            true => (get_u32(bytes, 8), 12),
            false => (NO_SCOPE, 8),
        };
        Posting {
            bits: get_u64(bytes, 0),
            block: get_u32(bytes, tid),
            offset: get_u16(bytes, tid + 4),
            scope: S::from_scope(scope),
        }
    }
}

/// The order of postings that are rotated: by their keys.
pub struct ByKey;

impl<S: SortScope> Order<Posting<S>> for ByKey {
    type Key = Position;

    fn key(&self, posting: &Posting<S>) -> Position {
        posting.key()
    }
}

/// Merges all runs, giving each posting's key to `emit` in order; `memory` bytes are shared by the
/// runs' read buffers.
#[inline]
pub fn merge<F: Store, S: SortScope>(
    all: Vec<Runs<F, Posting<S>>>,
    memory: usize,
    mut emit: impl FnMut(Position),
) -> Result<(), TryReserveError> {
    Merge::new(all, memory, ByKey)?.for_each(|posting| emit(posting.key()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_sort_of_one_hot_key_pauses() {
        let rows = 1 << 18;
        let scattered = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
        let row = |i| IndexedRow {
            scope: NO_SCOPE,
            fingerprint: Some(scattered(i)),
        };
        let postings: Vec<Posting<()>> =
            (0..rows).map(|i| Posting::new(row(i), Tid::MIN)).collect();
        let pauses = |space| {
            let (mut spare, mut pauses) = (Vec::new(), 0);
            sort_for(space, &postings, &mut spare, &mut || pauses += 1);
            assert!(spare.is_sorted_by_key(Posting::key));
            pauses
        };
        // Quarter 0 is one key, quarter 3 many.
        let (hot, spread) = (pauses(Space::of_quarter(0)), pauses(Space::of_quarter(3)));
        assert!(
            hot > spread + 20,
            "{hot} pauses, {spread} without a hot key"
        );
    }

    fn merged_equals_sorted<S: SortScope>(
        raw: &[(u64, u32)],
        (run, stores): (usize, usize),
        space: Space,
        memory: usize,
        few: bool,
    ) -> Result<(), TestCaseError> {
        let row = |(bits, block): &(u64, u32)| IndexedRow {
            scope: if S::HAS_SCOPE {
                (block % 3) << 15
            } else {
                NO_SCOPE
            },
            fingerprint: Some(if few {
                bits & 0x0001_0003_0000_0001
            } else {
                *bits
            }),
        };
        let rows: Vec<(IndexedRow, Tid)> = (raw.iter().enumerate())
            .map(|(i, raw)| {
                let (block, offset) = (raw.1, (i % 2000) as u16 + 1);
                (row(raw), Tid { block, offset })
            })
            .collect();
        let postings: Vec<Posting<S>> = rows
            .iter()
            .map(|(row, tid)| Posting::new(*row, *tid))
            .collect();
        let mut all: Vec<Runs<Vec<u8>, Posting<S>>> =
            (0..stores).map(|_| Runs::new(Vec::new())).collect();
        let mut spare = Vec::new();
        for (i, chunk) in postings.chunks(run).enumerate() {
            sort_for(space, chunk, &mut spare, &mut || ());
            all[i % stores].add(&spare);
        }
        // As one participant of a build leaves its runs to another.
        let stored = all.into_iter().map(|runs| {
            let bytes = runs.into_store();
            let size = bytes.len() as u64;
            Runs::<_, Posting<S>>::stored(bytes, size).unwrap()
        });
        let mut merged = Vec::new();
        merge(stored.collect(), memory, |key| merged.push(key)).unwrap();
        let mut expected: Vec<Position> = rows
            .iter()
            .map(|(row, tid)| space.key(*row, *tid))
            .collect();
        expected.sort();
        prop_assert_eq!(merged, expected);
        Ok(())
    }

    proptest! {
        #[test]
        fn runs_merge_into_sorted_order(
            raw in prop::collection::vec((any::<u64>(), 0u32..50), 0..3000),
            run in 1usize..700, b in 0usize..4, memory in 0usize..200_000, few: bool,
            stores in 1usize..4,
        ) {
            let space = Space::of_quarter(b);
            merged_equals_sorted::<()>(&raw, (run, stores), space, memory, few)?;
            merged_equals_sorted::<u32>(&raw, (run, stores), space, memory, few)?;
        }
    }
}
