//! Sorting the postings of a build, in memory or, when they do not fit, through runs on disk.
//! Pure: the disk is behind [`Store`].

#![forbid(unsafe_code)]

use crate::bytes::{get_u16, get_u32, get_u64};
use crate::index::key::{Key, Space};
use crate::store::Store;
use crate::tid::Tid;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A row of the table being indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Posting {
    /// The fingerprint (in runs: rotated).
    pub bits: u64,
    pub block: u32,
    pub offset: u16,
    zero: u16,
}

impl Posting {
    pub fn new(bits: u64, tid: Tid) -> Posting {
        Posting {
            bits,
            block: tid.block,
            offset: tid.offset,
            zero: 0,
        }
    }

    /// The posting's place in its space, once it is rotated.
    pub fn key(&self) -> Key {
        Key {
            rotated: self.bits,
            tid: Tid {
                block: self.block,
                offset: self.offset,
            },
        }
    }
}

const POSTING: usize = size_of::<Posting>();

/// Sorts the postings of one space. They are distributed over their 16-bit keys first (one pass
/// over `spare`), then each key's few are sorted; a hot key costs a comparison sort of its own.
/// `pause` is called now and then: many gigabytes take minutes.
pub fn sort_for(
    space: Space,
    postings: &[Posting],
    spare: &mut Vec<Posting>,
    pause: &mut dyn FnMut(),
) {
    const KEYS: usize = 1 << 16;
    let rotated = |p: &Posting| Posting {
        bits: space.rotate(p.bits),
        ..*p
    };
    let mut ends = vec![0usize; KEYS + 1];
    for chunk in postings.chunks(CHUNK) {
        pause();
        for p in chunk {
            ends[usize::from(rotated(p).key().block_key()) + 1] += 1;
        }
    }
    for key in 0..KEYS {
        ends[key + 1] += ends[key];
    }
    // What another space left in it need not be cleared: every posting is overwritten.
    spare.resize(postings.len(), Posting::new(0, Tid::MIN));
    let mut place = ends.clone();
    for chunk in postings.chunks(CHUNK) {
        pause();
        for p in chunk {
            let p = rotated(p);
            let at = &mut place[usize::from(p.key().block_key())];
            spare[*at] = p;
            *at += 1;
        }
    }
    for key in 0..KEYS {
        pause();
        spare[ends[key]..ends[key + 1]].sort_unstable_by_key(Posting::key);
    }
}

/// Sorted runs of one space in a store.
pub struct Runs<S> {
    store: S,
    /// Where each run ends, in bytes.
    ends: Vec<u64>,
}

impl<S: Store> Runs<S> {
    pub fn new(store: S) -> Self {
        Runs {
            store,
            ends: Vec::new(),
        }
    }

    /// Adds one sorted run.
    pub fn add(&mut self, sorted: &[Posting]) {
        let mut bytes = Vec::with_capacity(CHUNK * POSTING);
        for chunk in sorted.chunks(CHUNK) {
            bytes.clear();
            for p in chunk {
                bytes.extend(p.bits.to_ne_bytes());
                bytes.extend(p.block.to_ne_bytes());
                bytes.extend(u32::from(p.offset).to_ne_bytes());
            }
            self.store.write(&bytes);
        }
        let start = self.ends.last().copied().unwrap_or(0);
        self.ends.push(start + (sorted.len() * POSTING) as u64);
    }

    /// The store, with the runs' ends behind the runs: [`Runs::stored`] reads them.
    pub fn into_store(mut self) -> S {
        let count = self.ends.len() as u64;
        for end in self.ends.iter().chain([&count]) {
            self.store.write(&end.to_ne_bytes());
        }
        self.store
    }

    /// The runs in a store of `size` bytes that [`Runs::into_store`] returned; None if the store
    /// does not look like one.
    pub fn stored(mut store: S, size: u64) -> Option<Self> {
        let mut number = |at: u64| {
            let mut bytes = [0; END];
            store.read(at, &mut bytes);
            u64::from_ne_bytes(bytes)
        };
        let last = size.checked_sub(END as u64)?;
        let start = last.checked_sub(number(last).checked_mul(END as u64)?)?;
        let ends: Vec<u64> = (start..last).step_by(END).map(&mut number).collect();
        let sound = ends.is_sorted() && ends.last().is_none_or(|end| *end == start);
        sound.then_some(Runs { store, ends })
    }
}

/// Bytes of a run's stored end.
const END: usize = size_of::<u64>();

/// Merges all runs, giving each posting's key to `emit` in order; `memory` bytes are shared by the
/// runs' read buffers.
pub fn merge<S: Store>(mut all: Vec<Runs<S>>, memory: usize, mut emit: impl FnMut(Key)) {
    let count: usize = all.iter().map(|runs| runs.ends.len()).sum();
    let share = (memory / POSTING / count.max(1)).clamp(64, CHUNK);
    let mut readers: Vec<RunReader> = Vec::with_capacity(count);
    for (store, runs) in all.iter().enumerate() {
        let mut at = 0;
        for &end in &runs.ends {
            let buffer = Vec::new();
            readers.push(RunReader {
                store,
                at,
                end,
                buffer,
            });
            at = end;
        }
    }
    let mut heads = BinaryHeap::with_capacity(count);
    for (i, reader) in readers.iter_mut().enumerate() {
        let head = reader.next(&mut all, share);
        heads.extend(head.map(|key| Reverse((key, i))));
    }
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((key, i)) = *head;
        emit(key);
        match readers[i].next(&mut all, share) {
            // Replaces the old head: one sift-down, where a pop and a push would be two.
            Some(next) => *head = Reverse((next, i)),
            None => {
                PeekMut::pop(head);
            }
        }
    }
}

/// Postings that are written, or at most read, at a time.
const CHUNK: usize = 16_384;

/// Reads one run.
struct RunReader {
    /// Which of the stores.
    store: usize,
    at: u64,
    end: u64,
    /// Keys read ahead, last first.
    buffer: Vec<Key>,
}

impl RunReader {
    fn next<S: Store>(&mut self, all: &mut [Runs<S>], share: usize) -> Option<Key> {
        if self.buffer.is_empty() && self.at < self.end {
            let length = ((self.end - self.at) as usize).min(share * POSTING);
            let mut bytes = vec![0; length];
            all[self.store].store.read(self.at, &mut bytes);
            self.at += length as u64;
            self.buffer
                .extend(bytes.chunks_exact(POSTING).rev().map(decode));
        }
        self.buffer.pop()
    }
}

fn decode(bytes: &[u8]) -> Key {
    Key {
        rotated: get_u64(bytes, 0),
        tid: Tid {
            block: get_u32(bytes, 8),
            offset: get_u16(bytes, 12),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_merge_into_sorted_order(
            raw in prop::collection::vec((any::<u64>(), 0u32..50), 0..3000),
            run in 1usize..700, b in 0usize..4, memory in 0usize..200_000, few: bool,
            stores in 1usize..4,
        ) {
            let space = Space::of_block(b);
            let postings: Vec<Posting> = raw.iter().enumerate().map(|(i, (bits, block))| {
                let bits = if few { bits & 0x0001_0003_0000_0001 } else { *bits };
                Posting::new(bits, Tid { block: *block, offset: (i % 2000) as u16 + 1 })
            }).collect();
            let mut all: Vec<Runs<Vec<u8>>> = (0..stores).map(|_| Runs::new(Vec::new())).collect();
            let mut spare = Vec::new();
            for (i, chunk) in postings.chunks(run).enumerate() {
                sort_for(space, chunk, &mut spare, &mut || ());
                all[i % stores].add(&spare);
            }
            // As one participant of a build leaves its runs to another.
            let all = all.into_iter().map(|runs| {
                let bytes = runs.into_store();
                let size = bytes.len() as u64;
                Runs::stored(bytes, size).unwrap()
            }).collect();
            let mut merged = Vec::new();
            merge(all, memory, |key| merged.push(key));
            let mut wanted: Vec<Key> = postings.iter().map(|p| {
                space.key(p.bits, Tid { block: p.block, offset: p.offset })
            }).collect();
            wanted.sort();
            prop_assert_eq!(merged, wanted);
        }
    }
}
