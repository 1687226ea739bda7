//! Sorted runs in stores, and their merge: the part of an external sort that memory does not hold.
//! Builds keep postings in it, [`crate::external_sort`] what it sorts. A merge
//! returns every item of every run once, in the order of their keys.

#![forbid(unsafe_code)]

use crate::store::Store;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::TryReserveError;
use std::collections::binary_heap::PeekMut;
use std::marker::PhantomData;

/// An item of a run.
pub trait Item: Copy {
    /// Bytes of an item in a store.
    const BYTES: usize;
    /// Appends these bytes.
    fn write(&self, bytes: &mut Vec<u8>);
    /// Reads them back.
    fn read(bytes: &[u8]) -> Self;
}

/// The order of the items.
pub trait Order<T> {
    /// What items are compared by.
    type Key: Ord;
    /// The key of an item.
    fn key(&self, item: &T) -> Self::Key;
    /// Sorts items in memory. Calls `check_interrupts` now and then: many take seconds.
    fn sort(&self, items: &mut [T], check_interrupts: &mut dyn FnMut()) {
        let mut comparisons = 0usize;
        items.sort_unstable_by(|a, b| {
            comparisons += 1;
            if comparisons.is_multiple_of(CHUNK) {
                check_interrupts();
            }
            self.key(a).cmp(&self.key(b))
        });
    }
}

/// Items that are written at a time, and read at most.
const CHUNK: usize = 16_384;
/// Items that are read at a time at least, however many runs share the memory.
const LEAST: usize = 64;
/// Bytes of a run's stored end.
const END: usize = size_of::<u64>();

/// Sorted runs in a store.
pub struct Runs<F, T> {
    store: F,
    /// Where each run ends, in bytes.
    ends: Vec<u64>,
    items: PhantomData<T>,
}

impl<F: Store, T: Item> Runs<F, T> {
    /// No runs yet, in this store.
    #[inline]
    pub fn new(store: F) -> Self {
        Runs {
            store,
            ends: Vec::new(),
            items: PhantomData,
        }
    }

    /// Adds one sorted run.
    #[inline]
    pub fn add(&mut self, sorted: &[T]) {
        let mut bytes = Vec::with_capacity(sorted.len().min(CHUNK) * T::BYTES);
        for chunk in sorted.chunks(CHUNK) {
            bytes.clear();
            chunk.iter().for_each(|item| item.write(&mut bytes));
            self.store.write(&bytes);
        }
        let start = self.ends.last().copied().unwrap_or(0);
        self.ends.push(start + (sorted.len() * T::BYTES) as u64);
    }

    /// The store, with the runs' ends behind the runs: [`Runs::stored`] reads them.
    #[inline]
    pub fn into_store(mut self) -> F {
        let count = self.ends.len() as u64;
        for end in self.ends.iter().chain([&count]) {
            self.store.write(&end.to_ne_bytes());
        }
        self.store
    }

    /// The runs in a store of `size` bytes that [`Runs::into_store`] returned; None if the store
    /// does not look like one.
    #[inline]
    pub fn stored(mut store: F, size: u64) -> Option<Self> {
        let mut number = |at: u64| {
            let mut bytes = [0; END];
            store.read(at, &mut bytes);
            u64::from_ne_bytes(bytes)
        };
        let last = size.checked_sub(END as u64)?;
        let start = last.checked_sub(number(last).checked_mul(END as u64)?)?;
        let ends: Vec<u64> = (start..last).step_by(END).map(&mut number).collect();
        let sound = ends.is_sorted() && ends.last().is_none_or(|end| *end == start);
        sound.then_some(Runs {
            store,
            ends,
            items: PhantomData,
        })
    }
}

/// The items of all runs in order.
pub struct Merge<F, T, O: Order<T>> {
    stores: Vec<F>,
    readers: Vec<RunReader<T>>,
    /// The key of the first item of each run that has one left.
    heads: BinaryHeap<Reverse<(O::Key, usize)>>,
    order: O,
    /// Items read at a time.
    share: usize,
    bytes: Vec<u8>,
}

/// The rest of one run.
struct RunReader<T> {
    /// Number of its store.
    store: usize,
    /// The part of the store that is not read yet, in bytes.
    at: u64,
    end: u64,
    /// Items read ahead, last first.
    buffer: Vec<T>,
}

impl<F: Store, T: Item, O: Order<T>> Merge<F, T, O> {
    /// The read buffers of all runs share `memory` bytes.
    #[inline]
    pub fn new(all: Vec<Runs<F, T>>, memory: usize, order: O) -> Result<Self, TryReserveError> {
        let count: usize = all.iter().map(|runs| runs.ends.len()).sum();
        let share = (memory / T::BYTES / count.max(1)).clamp(LEAST, CHUNK);
        let mut merge = Merge {
            stores: Vec::new(),
            readers: Vec::new(),
            heads: BinaryHeap::new(),
            order,
            share,
            bytes: Vec::new(),
        };
        merge.readers.try_reserve_exact(count)?;
        merge.heads.try_reserve_exact(count)?;
        merge.bytes.try_reserve_exact(share * T::BYTES)?;
        for runs in all {
            let mut at = 0;
            for end in runs.ends {
                let mut buffer = Vec::new();
                let items = ((end - at) as usize / T::BYTES).min(share);
                buffer.try_reserve_exact(items)?;
                let store = merge.stores.len();
                merge.readers.push(RunReader {
                    store,
                    at,
                    end,
                    buffer,
                });
                at = end;
            }
            merge.stores.push(runs.store);
        }
        for run in 0..count {
            if let Some(item) = merge.head(run) {
                merge.heads.push(Reverse((merge.order.key(&item), run)));
            }
        }
        Ok(merge)
    }

    /// The key of the next item.
    #[inline]
    pub fn next_key(&self) -> Option<&O::Key> {
        self.heads.peek().map(|Reverse((key, _))| key)
    }

    fn head(&mut self, run: usize) -> Option<T> {
        self.readers[run].head(&mut self.stores, self.share, &mut self.bytes)
    }
}

impl<T: Item> RunReader<T> {
    /// The first item that is left, which stays.
    fn head(&mut self, stores: &mut [impl Store], share: usize, bytes: &mut Vec<u8>) -> Option<T> {
        if self.buffer.is_empty() && self.at < self.end {
            let length = ((self.end - self.at) as usize).min(share * T::BYTES);
            bytes.resize(length, 0);
            stores[self.store].read(self.at, bytes);
            self.at += length as u64;
            self.buffer
                .extend(bytes.chunks_exact(T::BYTES).rev().map(T::read));
        }
        self.buffer.last().copied()
    }
}

impl<F: Store, T: Item, O: Order<T>> Iterator for Merge<F, T, O> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let mut top = self.heads.peek_mut()?;
        let Reverse((_, run)) = *top;
        let reader = &mut self.readers[run];
        let item = reader.buffer.pop();
        match reader.head(&mut self.stores, self.share, &mut self.bytes) {
            // Replaces the old head: one sift-down, where a pop and a push would be two.
            Some(next) => *top = Reverse((self.order.key(&next), run)),
            None => _ = PeekMut::pop(top),
        }
        item
    }
}
