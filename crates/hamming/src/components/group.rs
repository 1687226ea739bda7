//! Groups of near-duplicates from their pairs. Pure.
//!
//! Rows are numbered in the order of their keys, so that every answer is the same whatever order
//! the pairs come in. Equal rows form a class, and pairs are of classes: a thousand equal rows are
//! one class, not half a million pairs. The answer is that of the pairs of rows. What is known of
//! each row is in memory; pairs are read in passes, sorted where that is needed ([`EdgeSorter`]), and
//! need not be.

#![forbid(unsafe_code)]

use super::edge_sort::{ByNumbers, EdgeSorter, SortedEdges, next_of};
use super::edges::{Edge, Edges};
use crate::pairs::sets::UnionFind;
use simhash_base::store::TempStores;
use std::cmp::Reverse;
use std::collections::TryReserveError;

/// Methods by which pairs become clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterMethod {
    /// All rows connected by a chain of pairs; the representative is the smallest row.
    Components,
    /// Each cluster is a row and those paired with it, the rows with the most pairs first (Aslam,
    /// Pelekhov, Rus 2004). Every member is a pair with the representative.
    Star,
    /// In order of keys, a row joins the nearest earlier row that leads a cluster, or leads a new
    /// one.
    Leader,
}

impl ClusterMethod {
    /// The methods by the names that SQL uses.
    pub const NAMES: [(&'static str, ClusterMethod); 3] = [
        ("components", ClusterMethod::Components),
        ("star", ClusterMethod::Star),
        ("leader", ClusterMethod::Leader),
    ];

    /// The method of that name.
    pub fn from_name(name: &str) -> Option<ClusterMethod> {
        Self::NAMES.iter().find(|m| m.0 == name).map(|m| m.1)
    }
}

/// Steps between two calls of `check_interrupts`.
const STEPS: usize = 4096;

/// Rows, and which of them are equal.
pub struct Classes {
    /// The class of each row. Classes are numbered in the order of their first rows.
    class_of: Vec<u32>,
    /// The first row of each class, and how many rows it has.
    first: Vec<u32>,
    sizes: Vec<u32>,
}

impl Classes {
    /// Creates them from the class of each row; classes must be numbered in the order of their
    /// first rows.
    pub fn new(
        class_of: Vec<u32>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, TryReserveError> {
        let (mut first, mut sizes) = (Vec::new(), Vec::<u32>::new());
        for (row, class) in (0u32..).zip(&class_of) {
            if row.is_multiple_of(STEPS as u32) {
                check_interrupts();
            }
            if *class as usize == first.len() {
                first.try_reserve(1)?;
                sizes.try_reserve(1)?;
                first.push(row);
                sizes.push(0);
            }
            sizes[*class as usize] += 1;
        }
        Ok(Classes {
            class_of,
            first,
            sizes,
        })
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> usize {
        self.class_of.len()
    }

    /// Returns how many classes there are.
    pub fn count(&self) -> usize {
        self.first.len()
    }

    /// The class of a row.
    pub fn class_of(&self, row: u32) -> u32 {
        self.class_of[row as usize]
    }

    /// The first row of a class.
    pub fn first(&self, class: u32) -> u32 {
        self.first[class as usize]
    }

    /// Returns how many rows a class has.
    pub fn size(&self, class: u32) -> u32 {
        self.sizes[class as usize]
    }
}

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, TryReserveError> {
    let mut filled = Vec::new();
    filled.try_reserve_exact(count)?;
    filled.resize(count, value);
    Ok(filled)
}

/// The representative of each row; a row alone is its own. Rows of a class are paired with each
/// other, and with those of the classes that `edges` pair it with. `memory` is what sorting may
/// take, in bytes.
pub fn representatives<S: TempStores>(
    method: ClusterMethod,
    classes: &Classes,
    edges: &mut Edges<S::File>,
    memory: usize,
    stores: &mut S,
) -> Result<Vec<u32>, TryReserveError> {
    match method {
        ClusterMethod::Components => components(classes, edges, stores),
        ClusterMethod::Star => stars(classes, edges, memory, stores),
        ClusterMethod::Leader => leaders(classes, edges, memory, stores),
    }
}

fn components<S: TempStores>(
    classes: &Classes,
    edges: &mut Edges<S::File>,
    stores: &mut S,
) -> Result<Vec<u32>, TryReserveError> {
    let mut sets = UnionFind::new();
    for class in 0..classes.count() {
        if class.is_multiple_of(STEPS) {
            stores.check_interrupts();
        }
        sets.add()?;
    }
    edges.for_each(stores, |_, e| {
        sets.union(e.a, e.b);
        Ok(())
    })?;
    // The smallest class has the smallest row.
    representatives_of_rows(classes, stores, |class| classes.first(sets.find(class)))
}

/// The representatives of rows by those of their classes.
fn representatives_of_rows(
    classes: &Classes,
    stores: &mut impl TempStores,
    mut representative: impl FnMut(u32) -> u32,
) -> Result<Vec<u32>, TryReserveError> {
    let mut representatives = filled(classes.rows(), 0)?;
    for (row, representative_of_row) in (0u32..).zip(&mut representatives) {
        if row.is_multiple_of(STEPS as u32) {
            stores.check_interrupts();
        }
        *representative_of_row = representative(classes.class_of(row));
    }
    Ok(representatives)
}

/// Classes in the order in which they may become centres: those with the most pairs first.
fn by_pairs<S: TempStores>(
    classes: &Classes,
    edges: &mut Edges<S::File>,
    stores: &mut S,
) -> Result<Vec<u32>, TryReserveError> {
    let count = classes.count() as u32;
    let mut pairs = filled(classes.count(), 0u64)?;
    for (class, pairs) in (0..count).zip(&mut pairs) {
        *pairs = u64::from(classes.size(class)) - 1;
    }
    edges.for_each(stores, |_, e| {
        pairs[e.a as usize] += u64::from(classes.size(e.b));
        pairs[e.b as usize] += u64::from(classes.size(e.a));
        Ok(())
    })?;
    let mut order = filled(classes.count(), 0u32)?;
    (0..count)
        .zip(&mut order)
        .for_each(|(class, place)| *place = class);
    let key = |class: u32| (Reverse(pairs[class as usize]), class);
    // In place: a stable sort would allocate memory, and abort where there is none. No two classes
    // have the same key.
    order.sort_unstable_by(|a, b| {
        stores.check_interrupts();
        key(*a).cmp(&key(*b))
    });
    Ok(order)
}

/// Equal rows have the same pairs. So the first of a class comes before the others, and what it
/// becomes they become.
fn stars<S: TempStores>(
    classes: &Classes,
    edges: &mut Edges<S::File>,
    memory: usize,
    stores: &mut S,
) -> Result<Vec<u32>, TryReserveError> {
    const NONE: u32 = u32::MAX;
    let order = by_pairs(classes, edges, stores)?;
    let mut ranks = filled(classes.count(), 0u32)?;
    for (rank, class) in (0..).zip(&order) {
        ranks[*class as usize] = rank;
    }
    // The class of a pair that comes first may take the other one; when the other's turn comes, the
    // first has its star.
    let mut sorter = EdgeSorter::new(memory, ByNumbers::ALL);
    edges.for_each(stores, |stores, e| {
        let (a, b) = (ranks[e.a as usize], ranks[e.b as usize]);
        let (first, other) = if a < b { (a, e.b) } else { (b, e.a) };
        sorter.add(
            Edge {
                a: first,
                b: other,
                ..e
            },
            stores,
        )
    })?;
    let mut sorted = sorter.finish(stores)?;
    let mut representatives = filled(classes.count(), NONE)?;
    for (rank, centre) in (0..).zip(order) {
        stores.check_interrupts();
        let is_centre = representatives[centre as usize] == NONE;
        if is_centre {
            representatives[centre as usize] = centre;
        }
        while let Some(e) = next_of(&mut sorted, rank) {
            stores.check_interrupts();
            let representative_of_other = &mut representatives[e.b as usize];
            if is_centre && *representative_of_other == NONE {
                *representative_of_other = centre;
            }
        }
    }
    representatives_of_rows(classes, stores, |class| {
        classes.first(representatives[class as usize])
    })
}

/// Each row in order joins the nearest earlier row that leads a cluster, or leads a new one. Only the
/// first row of a class can lead: the others join it, at distance 0, or are near what it has joined.
fn leaders<S: TempStores>(
    classes: &Classes,
    edges: &mut Edges<S::File>,
    memory: usize,
    stores: &mut S,
) -> Result<Vec<u32>, TryReserveError> {
    let mut near = pairs_by_class(edges, memory, stores)?;
    // The nearest leader of each class so far: its distance, and the row.
    let mut nearest: Vec<Option<(u32, u32)>> = filled(classes.count(), None)?;
    let mut representatives = filled(classes.rows(), 0u32)?;
    for row in 0..classes.rows() as u32 {
        stores.check_interrupts();
        let class = classes.class_of(row);
        let first = classes.first(class);
        let is_led_by_first = first < row && representatives[first as usize] == first;
        representatives[row as usize] = match is_led_by_first {
            true => first,
            false => nearest[class as usize].map_or(row, |(_, leader)| leader),
        };
        if first < row {
            continue;
        }
        // Classes come in the order of their first rows, as the pairs do.
        while let Some(e) = next_of(&mut near, class) {
            stores.check_interrupts();
            if representatives[row as usize] == row {
                let nearest = &mut nearest[e.b as usize];
                let this = (e.distance, first);
                *nearest = Some(nearest.map_or(this, |best| best.min(this)));
            }
        }
    }
    Ok(representatives)
}

/// The pairs of each class in turn, which is their `a`.
fn pairs_by_class<S: TempStores>(
    edges: &mut Edges<S::File>,
    memory: usize,
    stores: &mut S,
) -> Result<SortedEdges<S::File>, TryReserveError> {
    let mut sorter = EdgeSorter::new(memory, ByNumbers::ALL);
    edges.for_each(stores, |stores, e| {
        sorter.add(e, stores)?;
        sorter.add(
            Edge {
                a: e.b,
                b: e.a,
                ..e
            },
            stores,
        )
    })?;
    sorter.finish(stores)
}
