//! Groups of near-duplicates from their pairs. Pure.
//!
//! Rows are numbered in the order of their keys, so that every answer is the same whatever order
//! the pairs come in. Equal rows form a class, and pairs are of classes: a thousand equal rows are
//! one class, not half a million pairs. The answer is that of the pairs of rows. The caller's
//! `pause` is called every few thousand steps, and may unwind.

#![forbid(unsafe_code)]

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

/// Two classes of rows that are near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
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

/// The pairs of all classes, those of a class side by side.
struct Neighbours {
    /// Where the pairs of each class begin; those of the next class follow.
    starts: Vec<usize>,
    /// The other class and its distance.
    others: Vec<(u32, u32)>,
}

impl Neighbours {
    fn of(
        classes: usize,
        edges: &[Edge],
        pause: &mut dyn FnMut(),
    ) -> Result<Self, TryReserveError> {
        let mut starts = filled(classes + 2, 0)?;
        for some in edges.chunks(STEPS) {
            pause();
            for class in some.iter().flat_map(|e| [e.a, e.b]) {
                starts[class as usize + 2] += 1;
            }
        }
        let mut sum = 0;
        for some in starts.chunks_mut(STEPS) {
            pause();
            for start in some {
                sum += *start;
                *start = sum;
            }
        }
        let mut others = filled(2 * edges.len(), (0, 0))?;
        for some in edges.chunks(STEPS) {
            pause();
            for e in some {
                for (class, other) in [(e.a, e.b), (e.b, e.a)] {
                    let place = &mut starts[class as usize + 1];
                    others[*place] = (other, e.distance);
                    *place += 1;
                }
            }
        }
        Ok(Neighbours { starts, others })
    }

    fn of_class(&self, class: u32) -> &[(u32, u32)] {
        &self.others[self.starts[class as usize]..self.starts[class as usize + 1]]
    }
}

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, TryReserveError> {
    let mut filled = Vec::new();
    filled.try_reserve_exact(count)?;
    filled.resize(count, value);
    Ok(filled)
}

/// The representative of each row; a row alone is its own. Rows of a class are paired with each
/// other, and with those of the classes that `edges` pair it with.
pub fn representatives(
    method: Method,
    classes: &Classes,
    edges: &[Edge],
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, TryReserveError> {
    if method == Method::Components {
        return components(classes, edges, pause);
    }
    let neighbours = Neighbours::of(classes.count(), edges, pause)?;
    match method {
        Method::Star => stars(classes, &neighbours, pause),
        // Of a class only the first row can lead: the others are near what it leads or joins.
        Method::Leader => one_by_one(classes, &neighbours, pause, |row, of| {
            of[row as usize] == row
        }),
        _ => one_by_one(classes, &neighbours, pause, |_, _| true),
    }
}

fn components(
    classes: &Classes,
    edges: &[Edge],
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, TryReserveError> {
    let mut sets = UnionFind::new();
    for class in 0..classes.count() {
        if class.is_multiple_of(STEPS) {
            pause();
        }
        sets.add()?;
    }
    for some in edges.chunks(STEPS) {
        pause();
        some.iter().for_each(|e| sets.union(e.a, e.b));
    }
    // The smallest class has the smallest row.
    of_each_row(classes, pause, |class| classes.first(sets.find(class)))
}

/// The representatives of rows by those of their classes.
fn of_each_row(
    classes: &Classes,
    pause: &mut dyn FnMut(),
    mut of_class: impl FnMut(u32) -> u32,
) -> Result<Vec<u32>, TryReserveError> {
    let mut of = filled(classes.rows(), 0)?;
    for (row, of_row) in (0u32..).zip(&mut of) {
        if row.is_multiple_of(STEPS as u32) {
            pause();
        }
        *of_row = of_class(classes.of(row));
    }
    Ok(of)
}

/// Equal rows have the same pairs. So the first of a class comes before the others, and what it
/// becomes they become.
fn stars(
    classes: &Classes,
    neighbours: &Neighbours,
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, TryReserveError> {
    const NONE: u32 = u32::MAX;
    let count = classes.count() as u32;
    let mut of = filled(classes.count(), NONE)?;
    let mut pairs = filled(classes.count(), 0u64)?;
    for (class, pairs) in (0..count).zip(&mut pairs) {
        pause();
        let others = neighbours.of_class(class).iter();
        let others: u64 = others.map(|n| u64::from(classes.size(n.0))).sum();
        *pairs = others + u64::from(classes.size(class)) - 1;
    }
    let mut order = filled(classes.count(), 0u32)?;
    (0..count)
        .zip(&mut order)
        .for_each(|(class, place)| *place = class);
    let rank = |class: u32| (Reverse(pairs[class as usize]), class);
    // In place: a stable sort would allocate memory, and abort where there is none. No two classes
    // have the same rank.
    order.sort_unstable_by(|a, b| {
        pause();
        rank(*a).cmp(&rank(*b))
    });
    for centre in order {
        pause();
        if of[centre as usize] != NONE {
            continue;
        }
        of[centre as usize] = centre;
        for (other, _) in neighbours.of_class(centre) {
            let of_other = &mut of[*other as usize];
            if *of_other == NONE {
                *of_other = centre;
            }
        }
    }
    of_each_row(classes, pause, |class| classes.first(of[class as usize]))
}

/// Each row in order joins the cluster of the nearest earlier row that `may_join` allows, or begins
/// a new one. Of a class that is the first row, for the others too, if it may be joined: it is at
/// distance 0, and what came before it at that distance it has joined itself.
fn one_by_one(
    classes: &Classes,
    neighbours: &Neighbours,
    pause: &mut dyn FnMut(),
    may_join: impl Fn(u32, &[u32]) -> bool,
) -> Result<Vec<u32>, TryReserveError> {
    let mut of = filled(classes.rows(), 0u32)?;
    for row in 0..classes.rows() as u32 {
        pause();
        let class = classes.of(row);
        let first = classes.first(class);
        let nearest = if first < row && may_join(first, &of) {
            Some(first)
        } else {
            let near = neighbours.of_class(class).iter();
            let near = near.map(|(class, distance)| (*distance, classes.first(*class)));
            let near = near.filter(|(_, first)| *first < row && may_join(*first, &of));
            near.min().map(|(_, first)| first)
        };
        of[row as usize] = nearest.map_or(row, |first| of[first as usize]);
    }
    Ok(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edges(pairs: &[(u32, u32, u32)]) -> Vec<Edge> {
        let edge = |&(a, b, distance)| Edge { a, b, distance };
        pairs.iter().map(edge).collect()
    }

    fn of(method: Method, rows: usize, pairs: &[(u32, u32, u32)]) -> Vec<u32> {
        let classes = Classes::new((0..rows as u32).collect(), &mut || ()).unwrap();
        representatives(method, &classes, &edges(pairs), &mut || ()).unwrap()
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
        let edges = edges(&pairs);
        let classes = Classes::new((0..ROWS).collect(), &mut || ()).unwrap();
        for (name, method) in Method::NAMES {
            let mut calls = 0;
            representatives(method, &classes, &edges, &mut || calls += 1).unwrap();
            // Components walk the rows twice and the pairs once; the others the pairs twice and the
            // rows at least once, pausing at each.
            let least = match method {
                Method::Components => (2 * ROWS as usize + pairs.len()) / STEPS,
                Method::Star => 2 * ROWS as usize,
                _ => ROWS as usize + 2 * pairs.len() / STEPS,
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
                let call = || representatives(method, &classes, &edges, &mut pause);
                let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
                assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&stop), "{name}");
            }
        }
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
                let found = representatives(method, &classes, &edges(&near), &mut || ()).unwrap();
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
