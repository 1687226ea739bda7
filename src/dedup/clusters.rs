//! Groups of near-duplicates from their pairs. Pure.
//!
//! Rows are numbered in the order of their keys, so that every answer is the same whatever order the
//! pairs come in.

use super::union_find::UnionFind;
use std::collections::TryReserveError;

/// How pairs become clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Whoever is connected by a chain of pairs; the representative is the smallest row.
    Components,
    /// Each cluster is a row and those paired with it, the rows with the most pairs first (Aslam,
    /// Pelekhov, Rus 2004). Every member is a pair with the representative.
    Star,
    /// In order of keys, a row joins the nearest earlier row that leads a cluster, or leads one.
    Leader,
    /// In order of keys, a row joins the cluster of the nearest earlier row, or begins one: S0's
    /// baseline. Clusters never unite.
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

/// The pairs of each row, side by side.
struct Neighbours {
    starts: Vec<usize>,
    /// The other row and its distance.
    others: Vec<(u32, u32)>,
}

impl Neighbours {
    fn of(rows: usize, edges: &[Edge]) -> Result<Self, TryReserveError> {
        let mut starts = zeros(rows + 2)?;
        for row in edges.iter().flat_map(|e| [e.a, e.b]) {
            starts[row as usize + 2] += 1;
        }
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut others: Vec<(u32, u32)> = zeros(2 * edges.len())?;
        for e in edges {
            for (row, other) in [(e.a, e.b), (e.b, e.a)] {
                let place = &mut starts[row as usize + 1];
                others[*place] = (other, e.distance);
                *place += 1;
            }
        }
        Ok(Neighbours { starts, others })
    }

    fn of_row(&self, row: u32) -> &[(u32, u32)] {
        &self.others[self.starts[row as usize]..self.starts[row as usize + 1]]
    }
}

fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count)?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

/// The representative of each of `rows` rows; a row alone is its own.
pub fn representatives(
    method: Method,
    rows: usize,
    edges: &[Edge],
) -> Result<Vec<u32>, TryReserveError> {
    match method {
        Method::Components => components(rows, edges),
        Method::Star => stars(&Neighbours::of(rows, edges)?, rows),
        Method::Leader => Ok(one_by_one(
            &Neighbours::of(rows, edges)?,
            rows,
            |row, of| of[row as usize] == row,
        )),
        Method::SinglePass => Ok(one_by_one(&Neighbours::of(rows, edges)?, rows, |_, _| true)),
    }
}

fn components(rows: usize, edges: &[Edge]) -> Result<Vec<u32>, TryReserveError> {
    let mut sets = UnionFind::new();
    for _ in 0..rows {
        sets.add()?;
    }
    for e in edges {
        sets.union(e.a, e.b);
    }
    Ok((0..rows as u32).map(|row| sets.find(row)).collect())
}

fn stars(neighbours: &Neighbours, rows: usize) -> Result<Vec<u32>, TryReserveError> {
    const NONE: u32 = u32::MAX;
    let mut of: Vec<u32> = zeros(rows)?;
    of.fill(NONE);
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by_key(|row| std::cmp::Reverse(neighbours.of_row(*row).len()));
    for centre in order {
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

/// Each row in order joins what represents the nearest earlier row that `may_join` allows.
fn one_by_one(
    neighbours: &Neighbours,
    rows: usize,
    may_join: impl Fn(u32, &[u32]) -> bool,
) -> Vec<u32> {
    let mut of: Vec<u32> = Vec::with_capacity(rows);
    for row in 0..rows as u32 {
        let earlier = neighbours.of_row(row).iter().filter(|n| n.0 < row);
        let nearest = earlier
            .filter(|n| may_join(n.0, &of))
            .min_by_key(|n| (n.1, n.0));
        of.push(nearest.map_or(row, |n| of[n.0 as usize]));
    }
    of
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
        representatives(method, rows, &edges(pairs)).unwrap()
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
