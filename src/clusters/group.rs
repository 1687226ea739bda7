//! Groups of near-duplicates from their pairs. Pure.
//!
//! Rows are numbered in the order of their keys, so that every answer is the same whatever order
//! the pairs come in. The caller's `pause` is called every few thousand steps, and may unwind.

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

/// Two rows that are near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
}

/// Steps between two calls of `pause`.
const STEPS: usize = 4096;

/// The pairs of all rows, those of a row side by side.
struct Neighbours {
    /// Where the pairs of each row begin; those of the next row follow.
    starts: Vec<usize>,
    /// The other row and its distance.
    others: Vec<(u32, u32)>,
}

impl Neighbours {
    fn of(rows: usize, edges: &[Edge], pause: &mut dyn FnMut()) -> Result<Self, TryReserveError> {
        let mut starts = filled(rows + 2, 0)?;
        for some in edges.chunks(STEPS) {
            pause();
            for row in some.iter().flat_map(|e| [e.a, e.b]) {
                starts[row as usize + 2] += 1;
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
                for (row, other) in [(e.a, e.b), (e.b, e.a)] {
                    let place = &mut starts[row as usize + 1];
                    others[*place] = (other, e.distance);
                    *place += 1;
                }
            }
        }
        Ok(Neighbours { starts, others })
    }

    fn of_row(&self, row: u32) -> &[(u32, u32)] {
        &self.others[self.starts[row as usize]..self.starts[row as usize + 1]]
    }
}

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, TryReserveError> {
    let mut filled = Vec::new();
    filled.try_reserve_exact(count)?;
    filled.resize(count, value);
    Ok(filled)
}

/// The representative of each of `rows` rows; a row alone is its own.
pub fn representatives(
    method: Method,
    rows: usize,
    edges: &[Edge],
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, TryReserveError> {
    if method == Method::Components {
        return components(rows, edges, pause);
    }
    let neighbours = Neighbours::of(rows, edges, pause)?;
    match method {
        Method::Star => stars(&neighbours, rows, pause),
        Method::Leader => one_by_one(&neighbours, rows, pause, |row, of| of[row as usize] == row),
        _ => one_by_one(&neighbours, rows, pause, |_, _| true),
    }
}

fn components(
    rows: usize,
    edges: &[Edge],
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, TryReserveError> {
    let mut sets = UnionFind::new();
    for row in 0..rows {
        if row.is_multiple_of(STEPS) {
            pause();
        }
        sets.add()?;
    }
    for some in edges.chunks(STEPS) {
        pause();
        some.iter().for_each(|e| sets.union(e.a, e.b));
    }
    let mut of = filled(rows, 0)?;
    for (row, of_row) in (0u32..).zip(&mut of) {
        if row.is_multiple_of(STEPS as u32) {
            pause();
        }
        *of_row = sets.find(row);
    }
    Ok(of)
}

fn stars(
    neighbours: &Neighbours,
    rows: usize,
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, TryReserveError> {
    const NONE: u32 = u32::MAX;
    let mut of = filled(rows, NONE)?;
    let mut order = filled(rows, 0u32)?;
    (0..).zip(&mut order).for_each(|(row, place)| *place = row);
    let rank = |row: u32| (Reverse(neighbours.of_row(row).len()), row);
    // In place: a stable sort would allocate memory, and abort where there is none. No two rows
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
        for (other, _) in neighbours.of_row(centre) {
            let of_other = &mut of[*other as usize];
            if *of_other == NONE {
                *of_other = centre;
            }
        }
    }
    Ok(of)
}

/// Each row in order joins the cluster of the nearest earlier row that `may_join` allows, or begins
/// a new one.
fn one_by_one(
    neighbours: &Neighbours,
    rows: usize,
    pause: &mut dyn FnMut(),
    may_join: impl Fn(u32, &[u32]) -> bool,
) -> Result<Vec<u32>, TryReserveError> {
    let mut of = filled(rows, 0)?;
    for row in 0..rows as u32 {
        pause();
        let earlier = neighbours.of_row(row).iter().filter(|n| n.0 < row);
        let nearest = earlier
            .filter(|n| may_join(n.0, &of))
            .min_by_key(|n| (n.1, n.0));
        of[row as usize] = nearest.map_or(row, |n| of[n.0 as usize]);
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
        representatives(method, rows, &edges(pairs), &mut || ()).unwrap()
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
        for (name, method) in Method::NAMES {
            let mut calls = 0;
            representatives(method, ROWS as usize, &edges, &mut || calls += 1).unwrap();
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
                let call = || representatives(method, ROWS as usize, &edges, &mut pause);
                let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
                assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&stop), "{name}");
            }
        }
    }

    proptest! {
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
