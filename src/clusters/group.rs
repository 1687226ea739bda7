//! Groups of near-duplicates from their pairs. Pure.
//!
//! Rows are numbered in the order of their keys, so that every answer is the same whatever order
//! the pairs come in. Equal rows form a class, and pairs are of classes: a thousand equal rows are
//! one class, not half a million pairs. The answer is that of the pairs of rows. What is known of
//! each row is in memory; pairs are read in passes, sorted where that is needed ([`Sorter`]), and
//! need not be.

#![forbid(unsafe_code)]

use super::edges::{Edge, Edges, Host, Sorted, Sorter};
use super::union_find::UnionFind;
use std::cmp::Reverse;
use std::collections::TryReserveError;

/// How pairs become clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All rows connected by a chain of pairs; the representative is the smallest row.
    Components,
    /// Each cluster is a row and those paired with it, the rows with the most pairs first (Aslam,
    /// Pelekhov, Rus 2004). Every member is a pair with the representative.
    Star,
    /// In order of keys, a row joins the nearest earlier row that leads a cluster, or leads a new
    /// one.
    Leader,
    /// In order of keys, a row joins the cluster of the nearest earlier row, or begins a new one:
    /// the baseline of S0 (docs/sources.md). Clusters never unite.
    SinglePass,
}

impl Method {
    pub const NAMES: [(&'static str, Method); 4] = [
        ("components", Method::Components),
        ("star", Method::Star),
        ("leader", Method::Leader),
        ("single_pass", Method::SinglePass),
    ];

    pub fn from_name(name: &str) -> Option<Method> {
        Self::NAMES.iter().find(|m| m.0 == name).map(|m| m.1)
    }
}

/// Steps between two calls of `pause`.
const STEPS: usize = 4096;

/// Rows, and which of them are equal.
pub struct Classes {
    /// The class of each row. Classes are numbered in the order of their first rows.
    of: Vec<u32>,
    /// The first row of each class, and how many rows it has.
    first: Vec<u32>,
    sizes: Vec<u32>,
}

impl Classes {
    /// Of the class of each row, numbered in the order of their first rows.
    pub fn new(of: Vec<u32>, pause: &mut dyn FnMut()) -> Result<Self, TryReserveError> {
        let (mut first, mut sizes) = (Vec::new(), Vec::<u32>::new());
        for (row, class) in (0u32..).zip(&of) {
            if row.is_multiple_of(STEPS as u32) {
                pause();
            }
            if *class as usize == first.len() {
                first.try_reserve(1)?;
                sizes.try_reserve(1)?;
                first.push(row);
                sizes.push(0);
            }
            sizes[*class as usize] += 1;
        }
        Ok(Classes { of, first, sizes })
    }

    pub fn rows(&self) -> usize {
        self.of.len()
    }

    /// How many classes there are.
    pub fn count(&self) -> usize {
        self.first.len()
    }

    pub fn of(&self, row: u32) -> u32 {
        self.of[row as usize]
    }

    /// The first row of a class.
    pub fn first(&self, class: u32) -> u32 {
        self.first[class as usize]
    }

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
pub fn representatives<H: Host>(
    method: Method,
    classes: &Classes,
    edges: &mut Edges<H::File>,
    memory: usize,
    host: &mut H,
) -> Result<Vec<u32>, TryReserveError> {
    match method {
        Method::Components => components(classes, edges, host),
        Method::Star => stars(classes, edges, memory, host),
        // Of a class only the first row can lead: the others are near what it leads or joins.
        Method::Leader => one_by_one(classes, edges, memory, host, |row, of| {
            of[row as usize] == row
        }),
        Method::SinglePass => one_by_one(classes, edges, memory, host, |_, _| true),
    }
}

fn components<H: Host>(
    classes: &Classes,
    edges: &mut Edges<H::File>,
    host: &mut H,
) -> Result<Vec<u32>, TryReserveError> {
    let mut sets = UnionFind::new();
    for class in 0..classes.count() {
        if class.is_multiple_of(STEPS) {
            host.pause();
        }
        sets.add()?;
    }
    edges.for_each(host, |_, e| {
        sets.union(e.a, e.b);
        Ok(())
    })?;
    // The smallest class has the smallest row.
    of_each_row(classes, host, |class| classes.first(sets.find(class)))
}

/// The representatives of rows by those of their classes.
fn of_each_row(
    classes: &Classes,
    host: &mut impl Host,
    mut of_class: impl FnMut(u32) -> u32,
) -> Result<Vec<u32>, TryReserveError> {
    let mut of = filled(classes.rows(), 0)?;
    for (row, of_row) in (0u32..).zip(&mut of) {
        if row.is_multiple_of(STEPS as u32) {
            host.pause();
        }
        *of_row = of_class(classes.of(row));
    }
    Ok(of)
}

/// Classes in the order in which they may become centres: those with the most pairs first.
fn by_pairs<H: Host>(
    classes: &Classes,
    edges: &mut Edges<H::File>,
    host: &mut H,
) -> Result<Vec<u32>, TryReserveError> {
    let count = classes.count() as u32;
    let mut pairs = filled(classes.count(), 0u64)?;
    for (class, pairs) in (0..count).zip(&mut pairs) {
        *pairs = u64::from(classes.size(class)) - 1;
    }
    edges.for_each(host, |_, e| {
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
        host.pause();
        key(*a).cmp(&key(*b))
    });
    Ok(order)
}

/// Equal rows have the same pairs. So the first of a class comes before the others, and what it
/// becomes they become.
fn stars<H: Host>(
    classes: &Classes,
    edges: &mut Edges<H::File>,
    memory: usize,
    host: &mut H,
) -> Result<Vec<u32>, TryReserveError> {
    const NONE: u32 = u32::MAX;
    let order = by_pairs(classes, edges, host)?;
    let mut ranks = filled(classes.count(), 0u32)?;
    for (rank, class) in (0..).zip(&order) {
        ranks[*class as usize] = rank;
    }
    // Of a pair, the class that comes first may take the other one; when the other's turn comes,
    // the first has its star.
    let mut sorter = Sorter::new(memory);
    edges.for_each(host, |host, e| {
        let (a, b) = (ranks[e.a as usize], ranks[e.b as usize]);
        let (first, other) = if a < b { (a, e.b) } else { (b, e.a) };
        sorter.add(
            Edge {
                a: first,
                b: other,
                ..e
            },
            host,
        )
    })?;
    let mut sorted = sorter.finish(host)?;
    let mut of = filled(classes.count(), NONE)?;
    for (rank, centre) in (0..).zip(order) {
        host.pause();
        let is_centre = of[centre as usize] == NONE;
        if is_centre {
            of[centre as usize] = centre;
        }
        while let Some(e) = sorted.next_of(rank) {
            host.pause();
            let of_other = &mut of[e.b as usize];
            if is_centre && *of_other == NONE {
                *of_other = centre;
            }
        }
    }
    of_each_row(classes, host, |class| classes.first(of[class as usize]))
}

/// Each row in order joins the cluster of the nearest earlier row that `may_join` allows, or begins
/// a new one. Of a class that is the first row, for the others too, if it may be joined: it is at
/// distance 0, and what came before it at that distance it has joined itself.
fn one_by_one<H: Host>(
    classes: &Classes,
    edges: &mut Edges<H::File>,
    memory: usize,
    host: &mut H,
    may_join: impl Fn(u32, &[u32]) -> bool,
) -> Result<Vec<u32>, TryReserveError> {
    let mut near = of_each_class(edges, memory, host)?;
    // The nearest row that each class may join so far: its distance, and the row.
    let mut nearest: Vec<Option<(u32, u32)>> = filled(classes.count(), None)?;
    let mut of = filled(classes.rows(), 0u32)?;
    for row in 0..classes.rows() as u32 {
        host.pause();
        let class = classes.of(row);
        let first = classes.first(class);
        let joined = match first < row && may_join(first, &of) {
            true => Some(first),
            false => nearest[class as usize].map(|(_, first)| first),
        };
        of[row as usize] = joined.map_or(row, |first| of[first as usize]);
        if first < row {
            continue;
        }
        // Classes come in the order of their first rows, as the pairs do.
        while let Some(e) = near.next_of(class) {
            host.pause();
            if may_join(first, &of) {
                let nearest = &mut nearest[e.b as usize];
                let this = (e.distance, first);
                *nearest = Some(nearest.map_or(this, |best| best.min(this)));
            }
        }
    }
    Ok(of)
}

/// The pairs of each class in turn, which is their `a`.
fn of_each_class<H: Host>(
    edges: &mut Edges<H::File>,
    memory: usize,
    host: &mut H,
) -> Result<Sorted<H::File>, TryReserveError> {
    let mut sorter = Sorter::new(memory);
    edges.for_each(host, |host, e| {
        sorter.add(e, host)?;
        sorter.add(
            Edge {
                a: e.b,
                b: e.a,
                ..e
            },
            host,
        )
    })?;
    sorter.finish(host)
}

#[cfg(test)]
mod tests {
    use super::super::edges::tests::InMemory;
    use super::*;
    use proptest::prelude::*;

    /// With lists and sorts of so many bytes in memory.
    fn grouped(
        method: Method,
        classes: &Classes,
        pairs: &[(u32, u32, u32)],
        memory: usize,
        pause: &mut dyn FnMut(),
    ) -> Vec<u32> {
        let host = &mut InMemory::new(pause);
        let mut edges = Edges::new(memory);
        for &(a, b, distance) in pairs {
            edges.add(Edge { a, b, distance }, host).unwrap();
        }
        representatives(method, classes, &mut edges, memory, host).unwrap()
    }

    fn of(method: Method, rows: usize, pairs: &[(u32, u32, u32)]) -> Vec<u32> {
        let classes = Classes::new((0..rows as u32).collect(), &mut || ()).unwrap();
        let found = grouped(method, &classes, pairs, 1 << 20, &mut || ());
        assert_eq!(
            found,
            grouped(method, &classes, pairs, 0, &mut || ()),
            "in files"
        );
        found
    }

    #[test]
    fn a_chain_by_every_method() {
        // 0 - 1 - 2 - 3 - 4, and 5 alone.
        let chain = [(1, 0, 2), (1, 2, 1), (3, 2, 1), (3, 4, 2)];
        assert_eq!(of(Method::Components, 6, &chain), [0, 0, 0, 0, 0, 5]);
        // 1, 2 and 3 have two pairs each: 1 comes first and takes 0 and 2, then 3 takes 4.
        assert_eq!(of(Method::Star, 6, &chain), [1, 1, 1, 3, 3, 5]);
        // 2 is near 1, which does not lead.
        assert_eq!(of(Method::Leader, 6, &chain), [0, 0, 2, 2, 4, 5]);
        assert_eq!(of(Method::SinglePass, 6, &chain), [0, 0, 0, 0, 0, 5]);
    }

    #[test]
    fn single_pass_joins_the_nearest_and_unites_nothing() {
        let pairs = [(0, 2, 3), (1, 2, 1), (0, 3, 2), (1, 3, 2)];
        assert_eq!(of(Method::SinglePass, 4, &pairs), [0, 1, 1, 0]);
        assert_eq!(of(Method::Leader, 4, &pairs), [0, 1, 1, 0]);
        assert_eq!(of(Method::Components, 4, &pairs), [0; 4]);
    }

    /// Every stage calls `pause` often enough, and a `pause` that unwinds ends the call at once.
    #[test]
    fn every_stage_pauses() {
        const ROWS: u32 = 20_000;
        let pairs: Vec<(u32, u32, u32)> = (0..ROWS - 1)
            .flat_map(|row| [(row, row + 1, 1), (row / 2, row + 1, 2)])
            .collect();
        let classes = Classes::new((0..ROWS).collect(), &mut || ()).unwrap();
        for (name, method) in Method::NAMES {
            let mut calls = 0;
            grouped(method, &classes, &pairs, 1 << 20, &mut || calls += 1);
            // All look at each pair once at least, the others than components in order too.
            let least = match method {
                Method::Components => pairs.len(),
                _ => 2 * pairs.len() + ROWS as usize,
            };
            assert!(calls >= least, "{name}: {calls} pauses");
            for stop in (1..calls).step_by(1 + calls / 50) {
                let mut left = stop;
                let mut pause = || {
                    left -= 1;
                    if left == 0 {
                        std::panic::resume_unwind(Box::new(stop));
                    }
                };
                let call = || grouped(method, &classes, &pairs, 1 << 20, &mut pause);
                let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
                assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&stop), "{name}");
            }
        }
    }

    /// By the definitions of the methods; `pairs` are of rows, each once.
    fn by_definition(method: Method, rows: u32, pairs: &[(u32, u32, u32)]) -> Vec<u32> {
        let near = |row: u32| {
            let both = pairs.iter().flat_map(|&(a, b, d)| [(a, b, d), (b, a, d)]);
            both.filter_map(move |(a, b, d)| (a == row).then_some((d, b)))
        };
        let mut of: Vec<Option<u32>> = vec![None; rows as usize];
        let mut order: Vec<u32> = (0..rows).collect();
        if method == Method::Star {
            order.sort_by_key(|row| (Reverse(near(*row).count()), *row));
        }
        for row in order {
            match method {
                Method::Star => {
                    if of[row as usize].is_none() {
                        of[row as usize] = Some(row);
                        near(row).for_each(|(_, other)| {
                            of[other as usize].get_or_insert(row);
                        });
                    }
                }
                _ => {
                    let leads = |other: u32| of[other as usize] == Some(other);
                    let earlier = near(row).filter(|(_, other)| *other < row);
                    let joins = earlier
                        .filter(|n| method == Method::SinglePass || leads(n.1))
                        .min();
                    of[row as usize] = joins.map_or(Some(row), |(_, other)| of[other as usize]);
                }
            }
        }
        of.into_iter().flatten().collect()
    }

    /// Numbers classes in the order of their first rows.
    fn numbered(raw: &[u32]) -> Vec<u32> {
        let mut seen: Vec<u32> = Vec::new();
        let number = |class: &u32| {
            let found = seen.iter().position(|s| s == class);
            found.unwrap_or_else(|| {
                seen.push(*class);
                seen.len() - 1
            }) as u32
        };
        raw.iter().map(number).collect()
    }

    proptest! {
        #[test]
        fn classes_give_what_the_pairs_of_their_rows_give(
            raw in prop::collection::vec(0u32..20, 1..60),
            near in prop::collection::vec((0u32..20, 0u32..20, 0u32..4), 0..60),
        ) {
            let class_of = numbered(&raw);
            let classes = Classes::new(class_of.clone(), &mut || ()).unwrap();
            let count = classes.count() as u32;
            let mut near: Vec<(u32, u32, u32)> = near.into_iter()
                .map(|(a, b, d)| (a.min(b), a.max(b), d))
                .filter(|(a, b, _)| a < b && *b < count).collect();
            near.sort();
            near.dedup_by_key(|p| (p.0, p.1));
            let mut of_rows = Vec::new();
            for b in 0..class_of.len() {
                for a in 0..b {
                    let (x, y) = (class_of[a].min(class_of[b]), class_of[a].max(class_of[b]));
                    let distance = near.iter().find(|p| (p.0, p.1) == (x, y)).map(|p| p.2);
                    if let Some(distance) = distance.or((x == y).then_some(0)) {
                        of_rows.push((a as u32, b as u32, distance));
                    }
                }
            }
            for (name, method) in Method::NAMES {
                let found = grouped(method, &classes, &near, 1 << 20, &mut || ());
                prop_assert_eq!(found, of(method, class_of.len(), &of_rows), "{}", name);
            }
        }

        #[test]
        fn what_every_method_promises(
            raw in prop::collection::vec((0u32..40, 0u32..40, 0u32..9), 0..120), turn: usize,
        ) {
            let mut pairs: Vec<(u32, u32, u32)> = raw.into_iter().filter(|p| p.0 < p.1).collect();
            pairs.sort();
            pairs.dedup_by_key(|p| (p.0, p.1));
            let is_pair = |a: u32, b: u32| pairs.iter().any(|p| (p.0, p.1) == (a.min(b), a.max(b)));
            let whole = of(Method::Components, 40, &pairs);
            for (name, method) in Method::NAMES {
                let mut other = pairs.clone();
                other.rotate_left(turn.checked_rem(pairs.len()).unwrap_or(0));
                let found = of(method, 40, &pairs);
                if method != Method::Components {
                    prop_assert_eq!(&found, &by_definition(method, 40, &pairs), "{}", name);
                }
                prop_assert_eq!(&found, &of(method, 40, &other), "{}: order of pairs", name);
                for (row, centre) in found.iter().enumerate() {
                    prop_assert_eq!(found[*centre as usize], *centre, "{}", name);
                    prop_assert_eq!(whole[row], whole[*centre as usize], "{}", name);
                    let direct = matches!(method, Method::Star | Method::Leader);
                    if direct && row as u32 != *centre {
                        prop_assert!(is_pair(row as u32, *centre), "{}", name);
                    }
                }
            }
            for p in &pairs {
                prop_assert_eq!(whole[p.0 as usize], whole[p.1 as usize]);
            }
        }
    }
}
