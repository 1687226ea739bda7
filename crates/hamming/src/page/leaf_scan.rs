//! The condition by which a search chooses postings of a leaf, and all postings of a leaf that pass it.
//! Searches make a [`Filter`] from their radii, and call [`scan`] for each leaf that they visit. The
//! candidates come from [`super::kernel`]; what is reported has passed the whole filter.

#![forbid(unsafe_code)]

use super::format::{KEY_SHIFT, Layout};
use super::kernel::Candidates;
use super::leaf::scope;
use super::{Page, kernel};
use crate::key::{KEY_BITS, Position};

/// Condition of a search for the postings of a leaf: rotated fingerprints within `radius` of
/// `query`, whose key is more than `beyond` and at most `within` bits away from the query's key, in
/// a range of scopes. The quarter below the key counts as differing in at least `next_least` bits:
/// where it differs in fewer, a search finds the posting in that quarter's key space.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The lowest scope.
    pub first_scope: u32,
    /// The highest scope.
    pub last_scope: u32,
    /// The query, rotated as the postings are.
    pub query: u64,
    /// At most 64.
    pub radius: u32,
    /// Distance of keys that is not enough; -1: none.
    pub beyond: i32,
    /// The largest distance of keys.
    pub within: i32,
    /// Bits in which the quarter below the key counts as differing where it differs in fewer.
    pub next_least: u32,
}

/// The place of the quarter below the key.
const NEXT_SHIFT: u32 = KEY_SHIFT - KEY_BITS;
const NEXT_MASK: u64 = (1 << KEY_BITS) - 1;

impl Filter {
    #[inline]
    pub(super) fn has_scope(&self, scope: u32) -> bool {
        self.first_scope <= scope && scope <= self.last_scope
    }

    /// The distance of a rotated fingerprint, if it passes.
    pub(crate) fn distance(&self, rotated: u64) -> Option<u32> {
        let differing = rotated ^ self.query;
        let of_key = (differing >> KEY_SHIFT).count_ones() as i32;
        let is_near = differing.count_ones() + self.missing(differing) <= self.radius;
        (is_near && of_key > self.beyond && of_key <= self.within).then_some(differing.count_ones())
    }

    /// How many bits of the quarter below the key differ less than it counts.
    #[inline(always)]
    pub(super) fn missing(&self, differing: u64) -> u32 {
        let of_next = (differing >> NEXT_SHIFT & NEXT_MASK).count_ones();
        self.next_least.saturating_sub(of_next)
    }

    /// How many of the low 32 bits may differ in a posting that passes, wherever it stands; None if
    /// none passes.
    #[inline(always)]
    pub(super) fn most_below(&self) -> Option<u32> {
        let above = (self.beyond + 1) as u32 + self.next_least;
        self.radius.checked_sub(above)
    }
}

/// Calls `visit` with every posting at or after `from` that passes the filter, and its distance;
/// returns how many these are. `candidates` is work space: what it held is lost.
#[inline]
pub fn scan(
    page: &Page,
    filter: &Filter,
    from: Position,
    candidates: &mut Candidates,
    mut visit: impl FnMut(Position, u32),
) -> usize {
    // A leaf of another scope.
    if scope(page).is_some_and(|here| !filter.has_scope(here)) {
        return 0;
    }
    candidates.clear();
    kernel::find(page, filter, from, candidates);
    let mut matches = 0;
    let layout = Layout::read(page);
    for &i in candidates.positions() {
        let key = layout.get(page, usize::from(i));
        if let Some(distance) = filter.distance(key.rotated)
            && key >= from
            && filter.has_scope(key.scope)
        {
            visit(key, distance);
            matches += 1;
        }
    }
    matches
}

#[cfg(test)]
mod tests {
    use super::super::leaf::tests::{page_of, page_of_scopes};
    use super::super::leaf::{check, postings};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scan_equals_brute_force(
            base: u64, spread in 1u32..=64, flips: u64, keep: u64, k in 0u32..=64,
            beyond in -1i32..3, extra in 0i32..4, next_least in 0u32..6,
            sorted in prop::collection::vec(any::<u64>(), 0..300),
            tail in prop::collection::vec(any::<u64>(), 0..200),
            resume: Option<prop::sample::Index>,
        ) {
            let page = page_of(base, spread, &sorted, &tail);
            prop_assert_eq!(check(&page), Ok(()));
            let all: Vec<Position> = postings(&page).collect();
            prop_assert_eq!(all.len(), sorted.len() + tail.len());
            // A query near a posting, or near the page, or anywhere.
            let near = all.first().map_or(base, |e| e.rotated);
            let filter = Filter {
                first_scope: 0, last_scope: 0,
                query: near ^ (flips & keep & keep.rotate_left(7) & keep.rotate_left(23)),
                radius: k, beyond, within: beyond + extra, next_least,
            };
            let from = match resume {
                Some(index) if !all.is_empty() => all[index.index(all.len())],
                _ => Position::MIN,
            };
            let mut found = Vec::new();
            let matches = scan(&page, &filter, from, &mut Candidates::none(), |key, d| found.push((key, d)));
            prop_assert_eq!(matches, found.len());
            found.sort();
            let mut expected: Vec<(Position, u32)> = all.iter().filter_map(|e| {
                let x = e.rotated ^ filter.query;
                let [of_key, of_next, below] = [x >> 48, x << 16 >> 48, x << 32].map(u64::count_ones);
                let counted = of_key + of_next.max(next_least) + below;
                let of_key = of_key as i32;
                (*e >= from && counted <= k && of_key > beyond && of_key <= beyond + extra)
                    .then(|| (*e, x.count_ones()))
            }).collect();
            expected.sort();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn scan_of_scopes_equals_brute_force(
            first in 0u32..1000, width in prop_oneof![1u32..4, 1u32..50, 2_000_000u32..3_000_000],
            raw in prop::collection::vec(any::<u64>(), 0..400), scopes in 0u32..4,
            k in prop_oneof![0u32..6, 0u32..=64], next_least in 0u32..4, resume: Option<prop::sample::Index>, chosen: prop::sample::Index,
        ) {
            let page = page_of_scopes(first..first + width, &raw);
            let all: Vec<Position> = postings(&page).collect();
            let target = match all.is_empty() {
                true => Position::at(first, 0),
                false => all[chosen.index(all.len())],
            };
            let from = match resume {
                Some(index) if !all.is_empty() => all[index.index(all.len())],
                _ => Position::MIN,
            };
            // One scope, a few, or all.
            let first_scope = if scopes < 3 { target.scope } else { 0 };
            let last_scope = if scopes < 3 { target.scope + scopes } else { u32::MAX };
            let filter = Filter {
                first_scope, last_scope,
                query: target.rotated, radius: k, beyond: -1, within: 16, next_least,
            };
            let mut found = Vec::new();
            scan(&page, &filter, from, &mut Candidates::none(), |key, _| found.push(key));
            found.sort();
            let mut expected: Vec<Position> = all.into_iter().filter(|e| {
                *e >= from && (first_scope..=last_scope).contains(&e.scope)
                    && {
                        let x = e.rotated ^ target.rotated;
                        let of_next = (x << 16 >> 48).count_ones();
                        x.count_ones() - of_next + of_next.max(next_least) <= k
                    }
            }).collect();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
