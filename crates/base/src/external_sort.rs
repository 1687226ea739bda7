//! Sorts more items than memory holds. Components sort edges with it, `simhash_records` features and
//! candidates. Every item comes back once, in the order of the keys.

#![forbid(unsafe_code)]

use crate::runs::{Item, Merge, Order, Runs};
use crate::store::{Store, TempStores};
use std::collections::TryReserveError;
use std::iter::Peekable;
use std::vec::IntoIter;

/// Items that are in memory at least, however little of it there is.
pub const LEAST: usize = 64;

/// Sorts items. What memory does not hold is sorted in runs, as many items each as it holds; the
/// runs are merged when they are read.
pub struct Sorter<F, T, O> {
    in_memory: Vec<T>,
    /// Items that fit the memory.
    limit: usize,
    runs: Option<Runs<F, T>>,
    order: O,
}

impl<F: Store, T: Item, O: Order<T>> Sorter<F, T, O> {
    /// Sorts in `memory` bytes.
    #[inline]
    pub fn new(memory: usize, order: O) -> Self {
        Sorter {
            in_memory: Vec::new(),
            limit: (memory / size_of::<T>()).max(LEAST),
            runs: None,
            order,
        }
    }

    /// Adds an item.
    #[inline]
    pub fn add(
        &mut self,
        item: T,
        stores: &mut impl TempStores<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.in_memory.len() == self.limit {
            self.spill(stores);
        }
        push(&mut self.in_memory, self.limit, item)
    }

    /// Takes the items out of memory as a run.
    fn spill(&mut self, stores: &mut impl TempStores<File = F>) {
        self.order
            .sort(&mut self.in_memory, &mut || stores.check_interrupts());
        let runs = self.runs.get_or_insert_with(|| Runs::new(stores.file()));
        runs.add(&self.in_memory);
        self.in_memory.clear();
    }

    /// Returns the items in order.
    #[inline]
    pub fn finish(
        mut self,
        stores: &mut impl TempStores<File = F>,
    ) -> Result<Sorted<F, T, O>, TryReserveError> {
        if self.runs.is_some() {
            self.spill(stores);
        }
        let Some(runs) = self.runs else {
            self.order
                .sort(&mut self.in_memory, &mut || stores.check_interrupts());
            return Ok(Sorted::InMemory(
                self.in_memory.into_iter().peekable(),
                self.order,
            ));
        };
        drop(self.in_memory);
        let merge = Merge::new(vec![runs], self.limit * T::BYTES, self.order)?;
        Ok(Sorted::Merged(merge))
    }
}

/// Pushes an item on a vector that never holds more than `limit`, and does not allocate for more.
#[inline]
pub fn push<T>(items: &mut Vec<T>, limit: usize, item: T) -> Result<(), TryReserveError> {
    if items.len() == items.capacity() {
        let more = items.len().max(LEAST).min(limit - items.len());
        items.try_reserve_exact(more)?;
    }
    items.push(item);
    Ok(())
}

/// Items in order.
pub enum Sorted<F, T, O: Order<T>> {
    /// All of them fit the memory.
    InMemory(Peekable<IntoIter<T>>, O),
    /// They are merged from runs in a store.
    Merged(Merge<F, T, O>),
}

impl<F: Store, T: Item, O: Order<T>> Sorted<F, T, O> {
    /// Returns the key of the next item.
    #[inline]
    pub fn next_key(&mut self) -> Option<O::Key>
    where
        O::Key: Copy,
    {
        match self {
            Sorted::InMemory(items, order) => items.peek().map(|item| order.key(item)),
            Sorted::Merged(merge) => merge.next_key().copied(),
        }
    }
}

impl<F: Store, T: Item, O: Order<T>> Iterator for Sorted<F, T, O> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match self {
            Sorted::InMemory(items, _) => items.next(),
            Sorted::Merged(merge) => merge.next(),
        }
    }
}
