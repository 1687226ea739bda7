//! Edges in order: sorted in memory, or in runs in a temporary file that are merged when they are
//! read. Pure.

#![forbid(unsafe_code)]

use super::edges::{EDGE, Edge, GroupingHost, LEAST, push};
use crate::pairs::radix::{WINDOW, sort_by_group, window};
use crate::runs::{Merge, Order, Runs};
use simhash_base::store::Store;
use std::collections::TryReserveError;
use std::iter::Peekable;
use std::vec::IntoIter;

/// Edges that are sorted at once, without a pause.
const FEW: usize = 4096;

/// Sort order of edges: by `a`, then by `b`, without this number of their lowest bits.
#[derive(Clone, Copy)]
pub struct ByNumbers(u32);

impl Order<Edge> for ByNumbers {
    type Key = u64;

    fn key(&self, edge: &Edge) -> u64 {
        u64::from(edge.a >> self.0) << u32::BITS | u64::from(edge.b >> self.0)
    }
}

/// Sorts edges. What memory does not hold is sorted in runs, as many edges each as it holds; the
/// runs are merged when they are read.
pub struct Sorter<F> {
    in_memory: Vec<Edge>,
    /// Edges that fit the memory.
    limit: usize,
    runs: Option<Runs<F, Edge>>,
    order: ByNumbers,
}

impl<F: Store> Sorter<F> {
    /// Sorts by `a`, in `memory` bytes.
    #[inline]
    pub fn new(memory: usize) -> Self {
        Self::without_bits(memory, 0)
    }

    /// Sorts by `a`, then by `b`, without this number of their lowest bits, at most 31.
    #[inline]
    pub fn without_bits(memory: usize, bits: u32) -> Self {
        Sorter {
            in_memory: Vec::new(),
            limit: (memory / EDGE).max(LEAST),
            runs: None,
            order: ByNumbers(bits),
        }
    }

    /// Adds an edge.
    #[inline]
    pub fn add(
        &mut self,
        edge: Edge,
        host: &mut impl GroupingHost<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.in_memory.len() == self.limit {
            self.spill(host);
        }
        push(&mut self.in_memory, self.limit, edge)
    }

    /// Takes the edges out of memory as a run.
    fn spill(&mut self, host: &mut impl GroupingHost<File = F>) {
        sort(&mut self.in_memory, self.order, &mut || host.pause());
        let runs = self.runs.get_or_insert_with(|| Runs::new(host.file()));
        runs.add(&self.in_memory);
        self.in_memory.clear();
    }

    /// The edges in order.
    #[inline]
    pub fn finish(
        mut self,
        host: &mut impl GroupingHost<File = F>,
    ) -> Result<Sorted<F>, TryReserveError> {
        if self.runs.is_some() {
            self.spill(host);
        }
        let Some(runs) = self.runs else {
            sort(&mut self.in_memory, self.order, &mut || host.pause());
            return Ok(Sorted::InMemory(
                self.in_memory.into_iter().peekable(),
                self.order,
            ));
        };
        drop(self.in_memory);
        let merge = Merge::new(vec![runs], self.limit * EDGE, self.order)?;
        Ok(Sorted::Merged(merge))
    }
}

/// Sorts in place, without a comparison of all: edges are divided by the highest bits in which
/// their keys differ, until few are left.
fn sort(edges: &mut [Edge], order: ByNumbers, pause: &mut dyn FnMut()) {
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
    for size in sort_by_group(rest, group, &mut *pause) {
        let (some, behind) = rest.split_at_mut(size);
        sort(some, order, pause);
        rest = behind;
    }
}

/// Edges in order.
pub enum Sorted<F> {
    /// All of them fit the memory.
    InMemory(Peekable<IntoIter<Edge>>, ByNumbers),
    /// They are merged from runs in a file.
    Merged(Merge<F, Edge, ByNumbers>),
}

impl<F: Store> Sorted<F> {
    /// The next edge, if it has this `a`; of edges that are sorted by all bits.
    #[inline]
    pub fn next_of(&mut self, a: u32) -> Option<Edge> {
        let key = match self {
            Sorted::InMemory(edges, order) => edges.peek().map(|edge| order.key(edge)),
            Sorted::Merged(merge) => merge.next_key().copied(),
        };
        if (key? >> u32::BITS) as u32 == a {
            self.next()
        } else {
            None
        }
    }
}

impl<F: Store> Iterator for Sorted<F> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        match self {
            Sorted::InMemory(edges, _) => edges.next(),
            Sorted::Merged(merge) => merge.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::edges::Edges;
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
