//! Writes leaves from scratch: when a full leaf is split, when it must admit a posting of another
//! scope, and when VACUUM removes postings. The tree of the index and its VACUUM call it. Each
//! posting is afterwards in the leaf or in its new right sibling, unless VACUUM removes it.

#![forbid(unsafe_code)]

use super::Page;
use super::format::common_scope;
use super::internal::Downlink;
use super::leaf::{init, init_for, low, sorted_postings};
use super::special::{self, PageKind};
use crate::Error;
use crate::key::{Position, separator};

/// Returns where to split. At an end when `incoming` continues a run of equal fingerprints in TID
/// order, which would otherwise leave every page of the run half empty. Also at an end when it is of
/// another scope than all others, which then keep their short postings. Else in the middle, or where
/// scopes meet not far from it.
fn split_position(all: &[Position], incoming: Position) -> Option<usize> {
    let (first, last) = (all.first()?, all.last()?);
    if first.scope == last.scope && incoming.scope != first.scope {
        return Some(if incoming > *last { all.len() } else { 0 });
    }
    let same = |a: &Position, b: &Position| (a.scope, a.rotated) == (b.scope, b.rotated);
    if incoming > *last && same(&incoming, last) {
        return Some(all.len());
    }
    let middle = all.len() / 2;
    let scopes_meet = (all.len() / 4..=all.len() * 3 / 4)
        .filter(|&at| at > 0 && all[at - 1].scope != all[at].scope)
        .min_by_key(|at| at.abs_diff(middle));
    // Postings are distinct in a sound index, and then the middle itself will do.
    scopes_meet.or_else(|| {
        (middle..all.len())
            .chain((1..middle).rev())
            .find(|&at| at > 0 && all[at - 1] < all[at])
    })
}

/// Moves the upper part of a full leaf to `right` (a new page, block `right_block`) and marks the
/// split as incomplete. Returns the downlink for the new page.
#[inline]
pub fn split(
    left: &mut Page,
    right: &mut Page,
    kind: PageKind,
    right_block: u32,
    incoming: Position,
) -> Result<Downlink, Error> {
    let all = sorted_postings(left);
    let at = split_position(&all, incoming)
        .ok_or_else(|| Error::damaged("the leaf is full of one and the same posting"))?;
    let (lower, upper) = all.split_at(at);
    let last_left = lower.last().copied().unwrap_or(incoming);
    let first_right = upper.first().copied().unwrap_or(incoming);
    let key = separator(last_left, first_right);
    let scope = |postings: &[Position]| match postings {
        [] => Some(incoming.scope),
        _ => common_scope(postings),
    };
    init_for(right, kind, key, special::right(left), upper, scope(upper));
    let (low, end) = (low(left), Some((right_block, key)));
    init_for(left, kind, low, end, lower, scope(lower));
    special::set_incomplete(left, true);
    Ok(Downlink {
        key,
        child: right_block,
    })
}

/// Rewrites a leaf of one scope so that it takes postings of `incoming`'s scope too.
#[inline]
pub fn admit_scope(page: &mut Page, kind: PageKind, incoming: Position) {
    let all = sorted_postings(page);
    let scope = all.is_empty().then_some(incoming.scope);
    rewrite(page, |page, right| {
        init_for(page, kind, low(page), right, &all, scope);
    });
}

/// Rewrites the leaf, sorted, with those of its postings that are kept.
#[inline]
pub fn keep(page: &mut Page, kind: PageKind, kept: &mut [Position]) {
    // Most of them stand in order already: this sort finds that, and merges the others in.
    kept.sort();
    rewrite(page, |page, right| {
        init(page, kind, low(page), right, kept);
    });
}

/// Writes a page again with `init`, which is given its right sibling, and keeps its mark of an
/// incomplete split.
fn rewrite(page: &mut Page, init: impl FnOnce(&mut Page, Option<(u32, Position)>)) {
    let incomplete = special::is_incomplete(page);
    let right = special::right(page);
    init(page, right);
    special::set_incomplete(page, incomplete);
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::super::leaf::tests::page_of_scopes;
    use super::super::leaf::tests::{KIND, key, page_of};
    use super::super::leaf::{append, check, count, has_room, has_room_if_scoped, postings, scope};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_of_equal_fingerprints_splits_at_its_end() {
        let (mut left, mut right) = ([0; PAGE_SIZE], [0; PAGE_SIZE]);
        init(&mut left, KIND, Position::MIN, None, &[]);
        let mut n = 0;
        while has_room(&left, key(42, n)) {
            append(&mut left, key(42, n));
            n += 1;
        }
        let up = split(&mut left, &mut right, KIND, 5, key(42, n)).unwrap();
        assert_eq!((count(&left), count(&right)), (n, 0));
        assert_eq!(up.key, key(42, n));
        assert_eq!(special::right(&left), Some((5, up.key)));
    }

    proptest! {
        #[test]
        fn split_and_keep_lose_nothing(
            base: u64, spread in 1u32..=64,
            raw in prop::collection::vec(any::<u64>(), 2..500), incoming: u64,
        ) {
            let mut left = page_of(base, spread, &raw[..raw.len() / 2], &raw[raw.len() / 2..]);
            let mut all: Vec<Position> = postings(&left).collect();
            all.sort();
            let old_right = special::right(&left);
            let mut right = [0; PAGE_SIZE];
            let up = split(&mut left, &mut right, KIND, 8, key(incoming, 5000)).unwrap();
            for page in [&left, &right] {
                prop_assert_eq!(check(page), Ok(()));
                prop_assert_eq!(special::kind_of(page, 9), Ok(KIND));
            }
            let both: Vec<Position> = postings(&left).chain(postings(&right)).collect();
            prop_assert_eq!(&both, &all);
            prop_assert!(postings(&left).all(|e| e < up.key));
            prop_assert!(postings(&right).all(|e| e >= up.key));
            prop_assert_eq!(special::right(&left), Some((8, up.key)));
            prop_assert_eq!(special::right(&right), old_right);

            let mut even: Vec<Position> = postings(&left).filter(|e| e.tid.offset % 2 == 0).collect();
            keep(&mut left, KIND, &mut even);
            prop_assert!(special::is_incomplete(&left));
            prop_assert_eq!(special::right(&left), Some((8, up.key)));
            let kept: Vec<Position> = postings(&left).collect();
            let expected: Vec<Position> =
                all.into_iter().filter(|e| *e < up.key && e.tid.offset % 2 == 0).collect();
            prop_assert_eq!(kept, expected);
            prop_assert_eq!(check(&left), Ok(()));
        }

        #[test]
        fn scopes_are_admitted_and_split_apart(
            first in 0u32..100, width in prop_oneof![1u32..4, 1u32..50, 2_000_000u32..3_000_000],
            raw in prop::collection::vec(any::<u64>(), 2..430), other: u32, bits: u64,
        ) {
            let mut left = page_of_scopes(first..first + width, &raw);
            let mut all: Vec<Position> = postings(&left).collect();
            all.sort();
            let incoming = Position { scope: first + other % width, ..key(bits, 5000) };
            let mut right = [0; PAGE_SIZE];
            let up = split(&mut left, &mut right, KIND, 8, incoming).unwrap();
            let both: Vec<Position> = postings(&left).chain(postings(&right)).collect();
            prop_assert_eq!(&both, &all);
            let mut page = if incoming < up.key { left } else { right };
            let before = count(&page);
            if !has_room(&page, incoming) && has_room_if_scoped(&page, incoming) {
                admit_scope(&mut page, KIND, incoming);
                prop_assert!(has_room(&page, incoming));
            }
            prop_assert_eq!(count(&page), before);
            if has_room(&page, incoming) {
                append(&mut page, incoming);
                prop_assert_eq!(postings(&page).nth(before), Some(incoming));
            }
            for page in [&left, &right, &page] {
                prop_assert_eq!(check(page), Ok(()));
            }
            prop_assert!(postings(&left).all(|e| e < up.key) && postings(&right).all(|e| e >= up.key));
        }
    }

    #[test]
    fn a_full_leaf_of_one_scope_keeps_its_format_beside_another() {
        for (incoming, counts, up_key) in [(7, (575, 0), 6), (4, (0, 575), 5)] {
            let (mut left, mut right) = ([0; PAGE_SIZE], [0; PAGE_SIZE]);
            let own = |n| Position {
                scope: 5,
                ..key(n as u64, n)
            };
            let all: Vec<Position> = (0..575).map(own).collect();
            let end = Some((9, Position::at(8, 0)));
            init(&mut left, KIND, Position::at(3, 0), end, &all);
            let other = Position {
                scope: incoming,
                ..key(1, 1)
            };
            assert!(!has_room(&left, other) && !has_room_if_scoped(&left, other));
            let up = split(&mut left, &mut right, KIND, 8, other).unwrap();
            assert_eq!((count(&left), count(&right)), counts);
            assert_eq!(up.key, Position::at(up_key, 0));
            assert_eq!(
                (scope(&left), scope(&right)),
                match incoming {
                    7 => (Some(5), Some(7)),
                    _ => (Some(4), Some(5)),
                }
            );
        }
    }
}
