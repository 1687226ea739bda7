//! The order of edges, and a sort by it without comparisons. Grouping and clusters with texts sort
//! edges by it. Pure.

#![forbid(unsafe_code)]

use super::edges::Edge;
use crate::pairs::split::{WINDOW, sort_by_group, window};
use simhash_base::external_sort::{Sorted, Sorter};
use simhash_base::runs::Order;
use simhash_base::store::Store;

/// Edges that are sorted at once, without a check for interrupts.
const SORTED_AT_ONCE: usize = 4096;

/// Sort order of edges: by the square in which they lie, of numbers that differ in this number of their lowest bits alone, then by
/// `a`, then by `b`.
#[derive(Clone, Copy)]
pub struct ByNumbers(u32);

impl ByNumbers {
    /// By `a`, then by `b`.
    pub const ALL: ByNumbers = ByNumbers(0);

    /// By squares of 2 to the power of `bits` numbers, at most 31 bits: those with smaller `a` come first, then those
    /// with smaller `b`. Within one by `a`, then by `b`.
    #[inline]
    pub fn in_squares(bits: u32) -> Self {
        ByNumbers(bits)
    }
}

impl Order<Edge> for ByNumbers {
    type Key = u64;

    fn key(&self, edge: &Edge) -> u64 {
        let bits = self.0;
        let low = |number: u32| u64::from(number & ((1 << bits) - 1));
        let square = u64::from(edge.a >> bits) << (u32::BITS + bits)
            | u64::from(edge.b >> bits) << (2 * bits);
        square | low(edge.a) << bits | low(edge.b)
    }

    fn sort(&self, edges: &mut [Edge], check_interrupts: &mut dyn FnMut()) {
        sort(edges, *self, check_interrupts);
    }
}

/// Takes edges and sorts them by both numbers, in stores where memory does not hold them.
pub type EdgeSorter<F> = Sorter<F, Edge, ByNumbers>;
/// The edges that an [`EdgeSorter`] has sorted.
pub type SortedEdges<F> = Sorted<F, Edge, ByNumbers>;

/// Returns the next edge, if it has this `a`; of edges that are sorted by all bits.
#[inline]
pub fn next_of(edges: &mut SortedEdges<impl Store>, a: u32) -> Option<Edge> {
    match (edges.next_key()? >> u32::BITS) as u32 == a {
        true => edges.next(),
        false => None,
    }
}

/// Sorts in place, without a comparison of all: edges are divided by the highest bits in which
/// their keys differ, until few are left.
fn sort(edges: &mut [Edge], order: ByNumbers, check_interrupts: &mut dyn FnMut()) {
    check_interrupts();
    if edges.len() <= SORTED_AT_ONCE {
        return edges.sort_unstable_by_key(|edge| order.key(edge));
    }
    let first = order.key(&edges[0]);
    let mut varying = 0;
    for some in edges.chunks(SORTED_AT_ONCE) {
        check_interrupts();
        let differing = |bits, edge: &Edge| bits | (order.key(edge) ^ first);
        varying = some.iter().fold(varying, differing);
    }
    if varying == 0 {
        return;
    }
    let (bits, shift) = window(varying, WINDOW);
    let group = |edge: &Edge| ((order.key(edge) & bits) >> shift) as usize;
    let mut rest = edges;
    for size in sort_by_group(rest, group, &mut *check_interrupts) {
        let (some, behind) = rest.split_at_mut(size);
        sort(some, order, check_interrupts);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::super::edges::tests::InMemory;
    use super::super::edges::{EDGE, Edges};
    use super::*;
    use proptest::prelude::*;
    use simhash_base::external_sort::LEAST;

    proptest! {
        #[test]
        fn lists_and_sorts_in_memory_and_in_files(
            raw in prop::collection::vec((0u32..50, 0u32..1000, 0u32..9), 0..3000), edges in 0usize..1500,
            bits in 0u32..6,
        ) {
            let raw: Vec<Edge> = raw.into_iter().map(|(a, b, distance)| Edge { a, b, distance }).collect();
            let mut nothing = || ();
            let stores = &mut InMemory::new(&mut nothing);
            let (mut list, mut sorter) = (Edges::new(edges * EDGE), EdgeSorter::new(edges * EDGE, ByNumbers::in_squares(bits)));
            for edge in &raw {
                list.add(*edge, stores).unwrap();
                sorter.add(*edge, stores).unwrap();
            }
            let in_files = raw.len() > edges.max(LEAST);
            prop_assert_eq!(stores.files, if in_files { 2 } else { 0 });
            prop_assert_eq!(list.count(), raw.len() as u64);
            let mut list = list.map(stores, |e| Edge { b: e.b + 1, ..e }).unwrap();
            let mut listed = Vec::new();
            list.for_each(stores, |_, e| { listed.push(Edge { b: e.b - 1, ..e }); Ok(()) }).unwrap();
            prop_assert_eq!(&listed, &raw);
            let by_all = |e: &Edge| (e.a, e.b, e.distance);
            let mut sorted: Vec<Edge> = sorter.finish(stores).unwrap().collect();
            prop_assert!(sorted.is_sorted_by_key(|e| (e.a >> bits, e.b >> bits, e.a, e.b)));
            sorted.sort_by_key(by_all);
            listed.sort_by_key(by_all);
            prop_assert_eq!(sorted, listed);
        }
    }

    #[test]
    fn edges_of_one_class_end_where_the_next_begins() {
        let mut nothing = || ();
        let stores = &mut InMemory::new(&mut nothing);
        let mut sorter = EdgeSorter::new(0, ByNumbers::ALL);
        for n in 0..1000 {
            sorter
                .add(
                    Edge {
                        a: n % 3,
                        b: n,
                        distance: 0,
                    },
                    stores,
                )
                .unwrap();
        }
        let mut sorted = sorter.finish(stores).unwrap();
        for (a, count) in [(0, 334), (1, 333), (2, 333), (3, 0)] {
            assert_eq!(
                std::iter::from_fn(|| next_of(&mut sorted, a)).count(),
                count
            );
        }
    }

    #[test]
    fn many_edges_are_sorted_in_memory() {
        let (mut nothing, mut x) = (|| (), 1u64);
        let stores = &mut InMemory::new(&mut nothing);
        for (mask, bits) in [(u64::MAX, 0), (0xFF_0000_00FF, 3), (0, 0)] {
            let mut sorter = EdgeSorter::new(1 << 20, ByNumbers::in_squares(bits));
            for distance in 0..5 * SORTED_AT_ONCE as u32 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let y = (x ^ x >> 32) & mask;
                sorter
                    .add(
                        Edge {
                            a: (y >> 32) as u32,
                            b: y as u32,
                            distance,
                        },
                        stores,
                    )
                    .unwrap();
            }
            let sorted: Vec<Edge> = sorter.finish(stores).unwrap().collect();
            assert!(sorted.is_sorted_by_key(|e| (e.a >> bits, e.b >> bits)));
            let mut numbers: Vec<u32> = sorted.iter().map(|e| e.distance).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..5 * SORTED_AT_ONCE as u32));
            assert_eq!(stores.files, 0);
        }
    }
}
