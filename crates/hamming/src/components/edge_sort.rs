//! Edges in order: sorted in memory, or in runs in a temporary file that are merged when they are
//! read. Pure.

#![forbid(unsafe_code)]

use super::edges::{Edge, Edges, Host, LEAST, MOST, read};
use crate::pairs::arrange::{WINDOW, arrange, window};
use simhash_base::store::Store;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::TryReserveError;
use std::collections::binary_heap::PeekMut;

/// Edges that are sorted at once, without a pause.
const FEW: usize = 4096;

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
        sort(&mut self.edges.held, self.order, &mut || host.pause());
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

/// Sorts in place, without a comparison of all: edges are divided by the highest bits in which their
/// keys differ, until few are left.
fn sort(edges: &mut [Edge], order: Order, pause: &mut dyn FnMut()) {
    pause();
    if edges.len() <= FEW {
        return edges.sort_unstable_by_key(|edge| order.key(edge));
    }
    let first = order.key(&edges[0]);
    let mut varying = 0;
    for some in edges.chunks(FEW) {
        pause();
        let differing = |bits, edge: &Edge| bits | (order.key(edge) ^ first);
        varying = some.iter().fold(varying, differing);
    }
    if varying == 0 {
        return;
    }
    let (bits, shift) = window(varying, WINDOW);
    let group = |edge: &Edge| ((order.key(edge) & bits) >> shift) as usize;
    let mut rest = edges;
    for size in arrange(rest, group, &mut *pause) {
        let (some, behind) = rest.split_at_mut(size);
        sort(some, order, pause);
        rest = behind;
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
mod tests {
    use super::super::edges::EDGE;
    use super::super::edges::tests::InMemory;
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn many_edges_are_sorted_in_memory() {
        let (mut nothing, mut x) = (|| (), 1u64);
        let host = &mut InMemory::new(&mut nothing);
        for (mask, bits) in [(u64::MAX, 0), (0xFF_0000_00FF, 3), (0, 0)] {
            let mut sorter = Sorter::without_bits(1 << 20, bits);
            for distance in 0..5 * FEW as u32 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let y = (x ^ x >> 32) & mask;
                sorter
                    .add(
                        Edge {
                            a: (y >> 32) as u32,
                            b: y as u32,
                            distance,
                        },
                        host,
                    )
                    .unwrap();
            }
            let sorted: Vec<Edge> = sorter.finish(host).unwrap().collect();
            assert!(sorted.is_sorted_by_key(|e| (e.a >> bits, e.b >> bits)));
            let mut numbers: Vec<u32> = sorted.iter().map(|e| e.distance).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..5 * FEW as u32));
            assert_eq!(host.files, 0);
        }
    }
}
