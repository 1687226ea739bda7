//! Tests of the grouping, in memory and through files. The oracle `by_definition` states each
//! method in a few lines. Every method must agree with it on random pairs.

use super::edges::tests::InMemory;
use super::edges::{Edge, Edges};
use super::group::{Classes, ClusterMethod, representatives};
use proptest::prelude::*;
use std::cmp::Reverse;

/// Groups rows with lists and sorts of this many bytes in memory.
fn grouped(
    method: ClusterMethod,
    classes: &Classes,
    pairs: &[(u32, u32, u32)],
    memory: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Vec<u32> {
    let stores = &mut InMemory::new(check_interrupts);
    let mut edges = Edges::new(memory);
    for &(a, b, distance) in pairs {
        edges.add(Edge { a, b, distance }, stores).unwrap();
    }
    representatives(method, classes, &mut edges, memory, stores).unwrap()
}

fn groups(method: ClusterMethod, rows: usize, pairs: &[(u32, u32, u32)]) -> Vec<u32> {
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
    assert_eq!(
        groups(ClusterMethod::Components, 6, &chain),
        [0, 0, 0, 0, 0, 5]
    );
    // 1, 2 and 3 have two pairs each: 1 comes first and takes 0 and 2, then 3 takes 4.
    assert_eq!(groups(ClusterMethod::Star, 6, &chain), [1, 1, 1, 3, 3, 5]);
    // 2 is near 1, which does not lead.
    assert_eq!(groups(ClusterMethod::Leader, 6, &chain), [0, 0, 2, 2, 4, 5]);
}

#[test]
fn leader_joins_the_nearest_and_unites_nothing() {
    let pairs = [(0, 2, 3), (1, 2, 1), (0, 3, 2), (1, 3, 2)];
    assert_eq!(groups(ClusterMethod::Leader, 4, &pairs), [0, 1, 1, 0]);
    assert_eq!(groups(ClusterMethod::Components, 4, &pairs), [0; 4]);
}

/// Every stage calls `check_interrupts` often enough, and one that unwinds ends the call at once.
#[test]
fn every_stage_pauses() {
    const ROWS: u32 = 20_000;
    let pairs: Vec<(u32, u32, u32)> = (0..ROWS - 1)
        .flat_map(|row| [(row, row + 1, 1), (row / 2, row + 1, 2)])
        .collect();
    let classes = Classes::new((0..ROWS).collect(), &mut || ()).unwrap();
    for (name, method) in ClusterMethod::NAMES {
        let mut calls = 0;
        grouped(method, &classes, &pairs, 1 << 20, &mut || calls += 1);
        // All look at each pair once at least, the others than components in order too.
        let least = match method {
            ClusterMethod::Components => pairs.len(),
            _ => 2 * pairs.len() + ROWS as usize,
        };
        assert!(calls >= least, "{name}: {calls} pauses");
        for stop in (1..calls).step_by(1 + calls / 50) {
            let mut left = stop;
            let mut check_interrupts = || {
                left -= 1;
                if left == 0 {
                    std::panic::resume_unwind(Box::new(stop));
                }
            };
            let call = || grouped(method, &classes, &pairs, 1 << 20, &mut check_interrupts);
            let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
            assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&stop), "{name}");
        }
    }
}

/// The groups by the definitions of the methods; `pairs` has each pair of rows once.
fn by_definition(method: ClusterMethod, rows: u32, pairs: &[(u32, u32, u32)]) -> Vec<u32> {
    let near = |row: u32| {
        let both = pairs.iter().flat_map(|&(a, b, d)| [(a, b, d), (b, a, d)]);
        both.filter_map(move |(a, b, d)| (a == row).then_some((d, b)))
    };
    let mut representatives: Vec<Option<u32>> = vec![None; rows as usize];
    let mut order: Vec<u32> = (0..rows).collect();
    if method == ClusterMethod::Star {
        order.sort_by_key(|row| (Reverse(near(*row).count()), *row));
    }
    for row in order {
        match method {
            ClusterMethod::Star => {
                if representatives[row as usize].is_none() {
                    representatives[row as usize] = Some(row);
                    near(row).for_each(|(_, other)| {
                        representatives[other as usize].get_or_insert(row);
                    });
                }
            }
            _ => {
                let leads = |other: u32| representatives[other as usize] == Some(other);
                let earlier = near(row).filter(|(_, other)| *other < row);
                let joins = earlier.filter(|n| leads(n.1)).min();
                representatives[row as usize] = joins.map_or(Some(row), |(_, other)| Some(other));
            }
        }
    }
    representatives.into_iter().flatten().collect()
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
        for (name, method) in ClusterMethod::NAMES {
            let found = grouped(method, &classes, &near, 1 << 20, &mut || ());
            prop_assert_eq!(found, groups(method, class_of.len(), &of_rows), "{}", name);
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
        let whole = groups(ClusterMethod::Components, 40, &pairs);
        for (name, method) in ClusterMethod::NAMES {
            let mut other = pairs.clone();
            other.rotate_left(turn.checked_rem(pairs.len()).unwrap_or(0));
            let found = groups(method, 40, &pairs);
            if method != ClusterMethod::Components {
                prop_assert_eq!(&found, &by_definition(method, 40, &pairs), "{}", name);
            }
            prop_assert_eq!(&found, &groups(method, 40, &other), "{}: order of pairs", name);
            for (row, centre) in found.iter().enumerate() {
                prop_assert_eq!(found[*centre as usize], *centre, "{}", name);
                prop_assert_eq!(whole[row], whole[*centre as usize], "{}", name);
                if method != ClusterMethod::Components && row as u32 != *centre {
                    prop_assert!(is_pair(row as u32, *centre), "{}", name);
                }
            }
        }
        for p in &pairs {
            prop_assert_eq!(whole[p.0 as usize], whole[p.1 as usize]);
        }
    }
}
