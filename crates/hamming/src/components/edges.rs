//! Pairs that may be more than memory holds: a list, in memory and in a temporary file. Pure; the
//! server is behind [`StoreHost`].

#![forbid(unsafe_code)]

use simhash_base::bytes::get_u32;
use simhash_base::external_sort::{LEAST, push};
use simhash_base::runs::Item;
use simhash_base::store::{Store, StoreHost};
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
/// Edges that are written and read at a time.
const MOST: usize = 1024;

/// A list of edges, some of which are in memory and the others in a file.
pub struct Edges<F> {
    in_memory: Vec<Edge>,
    limit: usize,
    /// The file, which has the first `in_file` edges.
    file: Option<F>,
    in_file: u64,
}

impl<F: Store> Edges<F> {
    /// Creates an empty list that uses `memory` bytes.
    #[inline]
    pub fn new(memory: usize) -> Self {
        Edges {
            in_memory: Vec::new(),
            limit: (memory / EDGE).max(LEAST),
            file: None,
            in_file: 0,
        }
    }

    /// Returns how many edges there are.
    #[inline]
    pub fn count(&self) -> u64 {
        self.in_file + self.in_memory.len() as u64
    }

    /// Adds an edge, before the first one is read.
    #[inline]
    pub fn add(
        &mut self,
        edge: Edge,
        host: &mut impl StoreHost<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.is_full() {
            self.spill(host);
        }
        push(&mut self.in_memory, self.limit, edge)
    }

    /// Returns whether memory has no room for more edges.
    fn is_full(&self) -> bool {
        self.in_memory.len() == self.limit
    }

    /// Takes the edges out of memory.
    fn spill(&mut self, host: &mut impl StoreHost<File = F>) {
        let file = self.file.get_or_insert_with(|| host.file());
        let mut bytes = Vec::with_capacity(MOST * EDGE);
        for some in self.in_memory.chunks(MOST) {
            bytes.clear();
            some.iter().for_each(|edge| edge.write(&mut bytes));
            file.write(&bytes);
        }
        self.in_file += self.in_memory.len() as u64;
        self.in_memory.clear();
    }

    /// Shows every edge.
    #[inline]
    pub fn for_each<H: StoreHost<File = F>>(
        &mut self,
        host: &mut H,
        mut each: impl FnMut(&mut H, Edge) -> Result<(), TryReserveError>,
    ) -> Result<(), TryReserveError> {
        let mut some = Vec::new();
        if let Some(file) = &mut self.file {
            some.try_reserve_exact(MOST)?;
            for at in (0..self.in_file).step_by(MOST) {
                read(file, at, (self.in_file - at).min(MOST as u64), &mut some);
                for edge in &some {
                    host.check_interrupts();
                    each(host, *edge)?;
                }
            }
        }
        for edge in &self.in_memory {
            host.check_interrupts();
            each(host, *edge)?;
        }
        Ok(())
    }

    /// Changes every edge.
    #[inline]
    pub fn map<H: StoreHost<File = F>>(
        mut self,
        host: &mut H,
        change: impl Fn(Edge) -> Edge,
    ) -> Result<Self, TryReserveError> {
        if self.file.is_none() {
            for edge in &mut self.in_memory {
                host.check_interrupts();
                *edge = change(*edge);
            }
            return Ok(self);
        }
        let mut changed = Edges::new(self.limit * EDGE);
        self.for_each(host, |host, edge| changed.add(change(edge), host))?;
        Ok(changed)
    }
}

/// Reads `count` edges from edge `at` on; there is room for them.
fn read(file: &mut impl Store, at: u64, count: u64, edges: &mut Vec<Edge>) {
    edges.clear();
    let mut bytes = [0; MOST * EDGE];
    let bytes = &mut bytes[..count as usize * EDGE];
    file.read(at * EDGE as u64, bytes);
    edges.extend(bytes.chunks_exact(EDGE).map(Edge::read));
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

    impl StoreHost for InMemory<'_> {
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
