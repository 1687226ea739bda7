//! Pairs that may be more than memory holds: listed, and sorted, in memory or through temporary
//! files. Pure; the server is behind [`Host`].

#![forbid(unsafe_code)]

use crate::bytes::get_u32;
use crate::store::Store;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::TryReserveError;
use std::collections::binary_heap::PeekMut;

/// What grouping needs of its caller: temporary files, a time to be cancelled.
pub trait Host {
    type File: Store;
    /// Makes a temporary file.
    fn file(&mut self) -> Self::File;
    /// Called for every few pairs or rows; may unwind.
    fn pause(&mut self);
}

/// Two classes of rows that are near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
}

const EDGE: usize = size_of::<Edge>();
/// Edges that are written and read at a time: at least, where a sort has many runs, and at most.
const LEAST: usize = 64;
const MOST: usize = 1024;

/// A list of edges, of which so many are in memory and the others in a file.
pub struct Edges<F> {
    held: Vec<Edge>,
    limit: usize,
    /// The file, which has the first `filed` edges.
    file: Option<F>,
    filed: u64,
}

impl<F: Store> Edges<F> {
    /// In `memory` bytes.
    pub fn new(memory: usize) -> Self {
        Edges {
            held: Vec::new(),
            limit: (memory / EDGE).max(LEAST),
            file: None,
            filed: 0,
        }
    }

    pub fn count(&self) -> u64 {
        self.filed + self.held.len() as u64
    }

    /// Adds an edge, before the first one is read.
    pub fn add(
        &mut self,
        edge: Edge,
        host: &mut impl Host<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.is_full() {
            self.spill(host);
        }
        if self.held.len() == self.held.capacity() {
            let more = self.held.len().max(MOST).min(self.limit - self.held.len());
            self.held.try_reserve_exact(more)?;
        }
        self.held.push(edge);
        Ok(())
    }

    /// Does memory hold no more edges?
    fn is_full(&self) -> bool {
        self.held.len() == self.limit
    }

    /// Takes the edges out of memory.
    fn spill(&mut self, host: &mut impl Host<File = F>) {
        let file = self.file.get_or_insert_with(|| host.file());
        for some in self.held.chunks(MOST) {
            let mut bytes = [0; MOST * EDGE];
            for (bytes, edge) in bytes.chunks_exact_mut(EDGE).zip(some) {
                bytes[..4].copy_from_slice(&edge.a.to_ne_bytes());
                bytes[4..8].copy_from_slice(&edge.b.to_ne_bytes());
                bytes[8..].copy_from_slice(&edge.distance.to_ne_bytes());
            }
            file.write(&bytes[..some.len() * EDGE]);
        }
        self.filed += self.held.len() as u64;
        self.held.clear();
    }

    /// Shows every edge.
    pub fn for_each<H: Host<File = F>>(
        &mut self,
        host: &mut H,
        mut each: impl FnMut(&mut H, Edge) -> Result<(), TryReserveError>,
    ) -> Result<(), TryReserveError> {
        let mut some = Vec::new();
        if let Some(file) = &mut self.file {
            some.try_reserve_exact(MOST)?;
            for at in (0..self.filed).step_by(MOST) {
                read(file, at, (self.filed - at).min(MOST as u64), &mut some);
                for edge in &some {
                    host.pause();
                    each(host, *edge)?;
                }
            }
        }
        for edge in &self.held {
            host.pause();
            each(host, *edge)?;
        }
        Ok(())
    }

    /// Changes every edge.
    pub fn map<H: Host<File = F>>(
        mut self,
        host: &mut H,
        change: impl Fn(Edge) -> Edge,
    ) -> Result<Self, TryReserveError> {
        if self.file.is_none() {
            for edge in &mut self.held {
                host.pause();
                *edge = change(*edge);
            }
            return Ok(self);
        }
        let mut changed = Edges::new(self.limit * EDGE);
        self.for_each(host, |host, edge| changed.add(change(edge), host))?;
        Ok(changed)
    }
}

/// Reads so many edges from edge `at` on; there is room for them.
fn read(file: &mut impl Store, at: u64, count: u64, edges: &mut Vec<Edge>) {
    edges.clear();
    let mut bytes = [0; MOST * EDGE];
    let bytes = &mut bytes[..count as usize * EDGE];
    file.read(at * EDGE as u64, bytes);
    edges.extend(bytes.chunks_exact(EDGE).map(|bytes| Edge {
        a: get_u32(bytes, 0),
        b: get_u32(bytes, 4),
        distance: get_u32(bytes, 8),
    }));
}

/// By what edges are sorted: by `a`, then by `b`, without so many of their lowest bits.
#[derive(Clone, Copy)]
struct Order(u32);

type Key = u64;

impl Order {
    fn key(self, edge: &Edge) -> Key {
        u64::from(edge.a >> self.0) << u32::BITS | u64::from(edge.b >> self.0)
    }
}

/// Sorts edges. What memory does not hold is sorted in runs, as many edges each as it holds; the
/// runs are merged when they are read.
pub struct Sorter<F> {
    edges: Edges<F>,
    order: Order,
}

impl<F: Store> Sorter<F> {
    /// Sorts by `a`, in `memory` bytes.
    pub fn new(memory: usize) -> Self {
        Self::without_bits(memory, 0)
    }

    /// Sorts by `a`, then by `b`, without so many of their lowest bits, at most 31.
    pub fn without_bits(memory: usize, bits: u32) -> Self {
        Sorter {
            edges: Edges::new(memory),
            order: Order(bits),
        }
    }

    pub fn add(
        &mut self,
        edge: Edge,
        host: &mut impl Host<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.edges.is_full() {
            self.sort(host);
        }
        self.edges.add(edge, host)
    }

    fn sort(&mut self, host: &mut impl Host<File = F>) {
        // In place: a stable sort would allocate memory, and abort where there is none.
        let order = self.order;
        self.edges.held.sort_unstable_by(|a, b| {
            host.pause();
            order.key(a).cmp(&order.key(b))
        });
    }

    /// The edges in order.
    pub fn finish(mut self, host: &mut impl Host<File = F>) -> Result<Sorted<F>, TryReserveError> {
        self.sort(host);
        let (mut edges, order) = (self.edges, self.order);
        if edges.file.is_some() {
            edges.spill(host);
            edges.held = Vec::new();
        }
        let Edges {
            held,
            limit,
            file,
            filed,
        } = edges;
        let count = filed.div_ceil(limit as u64) as usize;
        let mut runs = Vec::new();
        runs.try_reserve_exact(count + 1)?;
        runs.push(Run {
            some: held,
            at: 0,
            next: 0,
            end: 0,
        });
        for start in (0..filed).step_by(limit) {
            let mut some = Vec::new();
            some.try_reserve_exact((limit / count).clamp(LEAST, MOST))?;
            runs.push(Run {
                some,
                at: 0,
                next: start,
                end: filed.min(start + limit as u64),
            });
        }
        let mut sorted = Sorted {
            file,
            order,
            heads: BinaryHeap::new(),
            runs,
        };
        sorted.heads.try_reserve_exact(sorted.runs.len())?;
        for run in 0..sorted.runs.len() {
            if let Some(edge) = sorted.runs[run].head(&mut sorted.file) {
                sorted.heads.push(Reverse((order.key(&edge), run)));
            }
        }
        Ok(sorted)
    }
}

/// A sorted run, of which some edges are in memory.
struct Run {
    some: Vec<Edge>,
    /// The next edge among those in memory.
    at: usize,
    /// The next one in the file, and where the run ends there.
    next: u64,
    end: u64,
}

impl Run {
    fn head(&mut self, file: &mut Option<impl Store>) -> Option<Edge> {
        if self.at == self.some.len() && self.next < self.end {
            let count = (self.end - self.next)
                .min(self.some.capacity() as u64)
                .min(MOST as u64);
            read(file.as_mut()?, self.next, count, &mut self.some);
            self.next += count;
            self.at = 0;
        }
        self.some.get(self.at).copied()
    }
}

/// Edges in order.
pub struct Sorted<F> {
    file: Option<F>,
    order: Order,
    /// The key of the next edge of each run that has one.
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    runs: Vec<Run>,
}

impl<F: Store> Sorted<F> {
    /// The next edge, if it has this `a`; of edges that are sorted by all bits.
    pub fn next_of(&mut self, a: u32) -> Option<Edge> {
        let Reverse((key, _)) = self.heads.peek()?;
        if (key >> u32::BITS) as u32 == a {
            self.next()
        } else {
            None
        }
    }
}

impl<F: Store> Iterator for Sorted<F> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        let mut top = self.heads.peek_mut()?;
        let Reverse((_, number)) = *top;
        let run = &mut self.runs[number];
        let edge = run.head(&mut self.file)?;
        run.at += 1;
        match run.head(&mut self.file) {
            Some(next) => *top = Reverse((self.order.key(&next), number)),
            None => _ = PeekMut::pop(top),
        }
        Some(edge)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Files in memory.
    pub struct InMemory<'p> {
        pub pause: &'p mut dyn FnMut(),
        pub files: usize,
    }

    impl<'p> InMemory<'p> {
        pub fn new(pause: &'p mut dyn FnMut()) -> Self {
            InMemory { pause, files: 0 }
        }
    }

    impl Host for InMemory<'_> {
        type File = Vec<u8>;

        fn file(&mut self) -> Vec<u8> {
            self.files += 1;
            Vec::new()
        }

        fn pause(&mut self) {
            (self.pause)();
        }
    }

    proptest! {
        #[test]
        fn lists_and_sorts_in_memory_and_in_files(
            raw in prop::collection::vec((0u32..50, 0u32..1000, 0u32..9), 0..3000), edges in 0usize..1500,
            bits in 0u32..6,
        ) {
            let raw: Vec<Edge> = raw.into_iter().map(|(a, b, distance)| Edge { a, b, distance }).collect();
            let mut nothing = || ();
            let host = &mut InMemory::new(&mut nothing);
            let (mut list, mut sorter) = (Edges::new(edges * EDGE), Sorter::without_bits(edges * EDGE, bits));
            for edge in &raw {
                list.add(*edge, host).unwrap();
                sorter.add(*edge, host).unwrap();
            }
            let in_files = raw.len() > edges.max(LEAST);
            prop_assert_eq!(host.files, if in_files { 2 } else { 0 });
            prop_assert_eq!(list.count(), raw.len() as u64);
            let mut list = list.map(host, |e| Edge { b: e.b + 1, ..e }).unwrap();
            let mut listed = Vec::new();
            list.for_each(host, |_, e| { listed.push(Edge { b: e.b - 1, ..e }); Ok(()) }).unwrap();
            prop_assert_eq!(&listed, &raw);
            let by_all = |e: &Edge| (e.a, e.b, e.distance);
            let mut sorted: Vec<Edge> = sorter.finish(host).unwrap().collect();
            prop_assert!(sorted.is_sorted_by_key(|e| (e.a >> bits, e.b >> bits)));
            sorted.sort_by_key(by_all);
            listed.sort_by_key(by_all);
            prop_assert_eq!(sorted, listed);
        }
    }

    #[test]
    fn edges_of_one_class_end_where_the_next_begins() {
        let mut nothing = || ();
        let host = &mut InMemory::new(&mut nothing);
        let mut sorter = Sorter::new(0);
        for n in 0..1000 {
            sorter
                .add(
                    Edge {
                        a: n % 3,
                        b: n,
                        distance: 0,
                    },
                    host,
                )
                .unwrap();
        }
        let mut sorted = sorter.finish(host).unwrap();
        for (a, count) in [(0, 334), (1, 333), (2, 333), (3, 0)] {
            assert_eq!(std::iter::from_fn(|| sorted.next_of(a)).count(), count);
        }
    }
}
