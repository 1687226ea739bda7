//! Pairs that may be more than memory holds: a list, in memory and in a temporary file. Lists of what
//! else is known of pairs are made alike. Pure; the server is behind [`TempStores`].

#![forbid(unsafe_code)]

use simhash_base::bytes::get_u32;
use simhash_base::external_sort::{LEAST, push};
use simhash_base::runs::Item;
use simhash_base::store::{Store, TempStores};
use std::collections::TryReserveError;

/// Two classes of rows that are near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// One class.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Bits in which their fingerprints differ.
    pub distance: u32,
}

impl Item for Edge {
    const BYTES: usize = EDGE;

    fn write(&self, bytes: &mut Vec<u8>) {
        for part in [self.a, self.b, self.distance] {
            bytes.extend(part.to_ne_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Self {
        Edge {
            a: get_u32(bytes, 0),
            b: get_u32(bytes, 4),
            distance: get_u32(bytes, 8),
        }
    }
}

pub(super) const EDGE: usize = size_of::<Edge>();
/// Items that are written and read at a time.
const MOST: usize = 1024;

/// A list of edges.
pub type Edges<F> = List<F, Edge>;

/// A list of items, some of which are in memory and the others in a file.
pub struct List<F, T> {
    in_memory: Vec<T>,
    limit: usize,
    /// The file, which has the first `in_file` items.
    file: Option<F>,
    in_file: u64,
}

impl<F: Store, T: Item> List<F, T> {
    /// Creates an empty list that uses `memory` bytes.
    #[inline]
    pub fn new(memory: usize) -> Self {
        List {
            in_memory: Vec::new(),
            limit: (memory / size_of::<T>()).max(LEAST),
            file: None,
            in_file: 0,
        }
    }

    /// Returns how many items there are.
    #[inline]
    pub fn count(&self) -> u64 {
        self.in_file + self.in_memory.len() as u64
    }

    /// Adds an item, before the first one is read.
    #[inline]
    pub fn add(
        &mut self,
        item: T,
        stores: &mut impl TempStores<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.is_full() {
            self.spill(stores);
        }
        push(&mut self.in_memory, self.limit, item)
    }

    /// Returns whether memory has no room for more.
    fn is_full(&self) -> bool {
        self.in_memory.len() == self.limit
    }

    /// Takes the items out of memory.
    fn spill(&mut self, stores: &mut impl TempStores<File = F>) {
        let file = self.file.get_or_insert_with(|| stores.file());
        let mut bytes = Vec::with_capacity(MOST * T::BYTES);
        for some in self.in_memory.chunks(MOST) {
            bytes.clear();
            some.iter().for_each(|item| item.write(&mut bytes));
            file.write(&bytes);
        }
        self.in_file += self.in_memory.len() as u64;
        self.in_memory.clear();
    }

    /// Shows every item.
    #[inline]
    pub fn for_each<S: TempStores<File = F>>(
        &mut self,
        stores: &mut S,
        mut each: impl FnMut(&mut S, T) -> Result<(), TryReserveError>,
    ) -> Result<(), TryReserveError> {
        let mut some = Vec::new();
        if let Some(file) = &mut self.file {
            some.try_reserve_exact(MOST)?;
            for at in (0..self.in_file).step_by(MOST) {
                read(file, at, (self.in_file - at).min(MOST as u64), &mut some);
                for item in &some {
                    stores.check_interrupts();
                    each(stores, *item)?;
                }
            }
        }
        for item in &self.in_memory {
            stores.check_interrupts();
            each(stores, *item)?;
        }
        Ok(())
    }

    /// Changes every item.
    #[inline]
    pub fn map<S: TempStores<File = F>>(
        mut self,
        stores: &mut S,
        change: impl Fn(T) -> T,
    ) -> Result<Self, TryReserveError> {
        if self.file.is_none() {
            for item in &mut self.in_memory {
                stores.check_interrupts();
                *item = change(*item);
            }
            return Ok(self);
        }
        let mut changed = List::new(self.limit * size_of::<T>());
        self.for_each(stores, |stores, item| changed.add(change(item), stores))?;
        Ok(changed)
    }
}

/// Reads `count` items from item `at` on; there is room for them.
fn read<T: Item>(file: &mut impl Store, at: u64, count: u64, items: &mut Vec<T>) {
    items.clear();
    let mut bytes = vec![0; count as usize * T::BYTES];
    file.read(at * T::BYTES as u64, &mut bytes);
    items.extend(bytes.chunks_exact(T::BYTES).map(T::read));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Files in memory.
    pub struct InMemory<'p> {
        pub check_interrupts: &'p mut dyn FnMut(),
        pub files: usize,
    }

    impl<'p> InMemory<'p> {
        pub fn new(check_interrupts: &'p mut dyn FnMut()) -> Self {
            InMemory {
                check_interrupts,
                files: 0,
            }
        }
    }

    impl TempStores for InMemory<'_> {
        type File = Vec<u8>;

        fn file(&mut self) -> Vec<u8> {
            self.files += 1;
            Vec::new()
        }

        fn check_interrupts(&mut self) {
            (self.check_interrupts)();
        }
    }
}
