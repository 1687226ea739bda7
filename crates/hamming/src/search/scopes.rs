//! The scopes that a search reads: all, one, or those of some lists. Pure.

#![forbid(unsafe_code)]

use super::probe::next_in_ball;
use super::scope_lists::{Bounds, ScopeLists};
use crate::key::Key;
use crate::page::filter::Filter;
use simhash_base::indexed_row::{NO_SCOPE, with_column};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// The scopes that a search reads.
#[derive(Clone, Default)]
pub enum Scopes {
    #[default]
    All,
    /// A single scope.
    One(u32),
    /// Those of lists of values.
    Listed(ListedScopes),
}

/// The scopes of some lists, without those that are left to other searches.
#[derive(Clone)]
pub struct ListedScopes {
    lists: Rc<ScopeLists>,
    /// Ascending.
    left_out: Vec<u32>,
}

impl Scopes {
    /// The scopes of all combinations of these hashes, of which each column has some, ascending.
    #[inline]
    pub fn from_lists(columns: Vec<Vec<u32>>, bounds: impl FnOnce() -> Bounds) -> Scopes {
        if columns.iter().all(|hashes| hashes.len() == 1) {
            let mut hashes = columns.into_iter().flatten();
            let first = hashes.next();
            return Scopes::One(first.map_or(NO_SCOPE, |first| hashes.fold(first, with_column)));
        }
        Scopes::Listed(ListedScopes::new(ScopeLists::new(columns, bounds())))
    }

    /// The only one.
    #[inline]
    pub fn one(&self) -> Option<u32> {
        match self {
            Scopes::One(scope) => Some(*scope),
            Scopes::All | Scopes::Listed(_) => None,
        }
    }

    /// A range that holds them all.
    #[inline]
    pub fn range(&self) -> RangeInclusive<u32> {
        match self {
            Scopes::One(scope) => *scope..=*scope,
            Scopes::All | Scopes::Listed(_) => 0..=u32::MAX,
        }
    }

    /// The first position at or after `from` that can hold a match of the filter in one of them.
    #[inline]
    pub fn next_match(&self, filter: &Filter, mut from: Key) -> Option<Key> {
        loop {
            let scope = self.next(from.scope)?;
            from = from.max(Key::at(scope, 0));
            match next_in_ball(from.rotated, filter.query, filter.within, filter.radius) {
                Some(rotated) if rotated == from.rotated => return Some(from),
                Some(rotated) => return Some(Key::at(scope, rotated)),
                // The ball begins again in the next scope.
                None => from = Key::behind_scope(scope)?,
            }
        }
    }

    /// The lowest one at or after `scope`.
    #[inline]
    fn next(&self, scope: u32) -> Option<u32> {
        match self {
            Scopes::All => Some(scope),
            Scopes::One(one) => (scope <= *one).then_some(*one),
            Scopes::Listed(among) => among.next(scope),
        }
    }
}

impl ListedScopes {
    fn new(lists: ScopeLists) -> ListedScopes {
        ListedScopes {
            lists: Rc::new(lists),
            left_out: Vec::new(),
        }
    }

    /// Leaves a scope to another search. They are left out in ascending order.
    #[inline]
    pub fn leave_out(&mut self, scope: u32) {
        debug_assert!(self.left_out.last().is_none_or(|last| *last < scope));
        self.left_out.push(scope);
    }

    fn is_left_out(&self, scope: u32) -> bool {
        self.left_out.binary_search(&scope).is_ok()
    }

    fn next(&self, mut scope: u32) -> Option<u32> {
        loop {
            scope = self.lists.next(scope)?;
            if !self.is_left_out(scope) {
                return Some(scope);
            }
            scope = scope.checked_add(1)?;
        }
    }

    /// As [`ScopeLists::work_out_if_due`].
    #[inline]
    pub fn work_out_if_due(&self) {
        self.lists.work_out_if_due();
    }

    /// Returns whether a scope is known to be one of the lists'.
    #[inline]
    pub fn lists_have(&self, scope: u32) -> bool {
        self.lists.have(scope)
    }

    /// Those from `low` to `high`; None if there are none.
    #[inline]
    pub fn part(&self, low: u32, high: u32) -> Option<ScopesInRange<'_>> {
        let first = self.lists.next(low).filter(|first| *first <= high)?;
        let listed = self.lists.between(first, high);
        let last = listed.and_then(<[u32]>::last).map_or(high, |last| *last);
        Some(ScopesInRange {
            range: first..=last,
            listed,
            among: self,
        })
    }
}

/// The scopes among those of some lists that lie in a range.
pub struct ScopesInRange<'a> {
    /// From the lowest to the highest of them, as far as they are known.
    pub range: RangeInclusive<u32>,
    /// Those of the lists; None where they are not known.
    listed: Option<&'a [u32]>,
    among: &'a ListedScopes,
}

impl ScopesInRange<'_> {
    /// Returns whether the scope of a row, in the range, is one of them, as far as they are known.
    #[inline]
    pub fn contains(&self, scope: u32) -> bool {
        let is_listed = match self.listed {
            Some(listed) => listed.binary_search(&scope).is_ok(),
            None => {
                self.among.lists.note_row();
                true
            }
        };
        is_listed && !self.among.is_left_out(scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Positions of few scopes and fingerprints, so that most are met: none that can match is
        /// skipped, and what is left out is.
        #[test]
        fn no_match_is_skipped(
            listed in prop::collection::btree_set(0u32..40, 0..20), left_out in prop::collection::btree_set(0u32..40, 0..8),
            query: u64, radius in 0u32..5, within in 0i32..3, from in (0u32..42, any::<u64>()), kind in 0..3,
        ) {
            let scopes = match kind {
                0 => Scopes::All,
                1 => Scopes::One(listed.first().copied().unwrap_or(7)),
                _ => {
                    let bounds = Bounds { leaves: 0, memory: 64, pause: || {} };
                    let lists = ScopeLists::new(vec![listed.iter().copied().collect()], bounds);
                    let mut among = ListedScopes::new(lists);
                    left_out.iter().for_each(|scope| among.leave_out(*scope));
                    Scopes::Listed(among)
                }
            };
            let has = |scope: u32| match kind {
                0 => true,
                1 => scopes.one() == Some(scope),
                _ => listed.contains(&scope) && !left_out.contains(&scope),
            };
            let filter = Filter { first_scope: 0, last_scope: u32::MAX, query, radius, beyond: -1, within };
            let from = Key::at(from.0, from.1 ^ query);
            let lowest = |least| next_in_ball(least, query, within, radius);
            let expected = lowest(from.rotated).filter(|_| has(from.scope)).map(|rotated| Key::at(from.scope, rotated));
            let later = || {
                let scope = (from.scope + 1..100).find(|scope| has(*scope))?;
                Some(Key::at(scope, lowest(0)?))
            };
            prop_assert_eq!(scopes.next_match(&filter, from), expected.or_else(later));
        }

        #[test]
        fn a_part_holds_the_scopes_of_its_range(
            listed in prop::collection::btree_set(0u32..60, 0..30), left_out in prop::collection::btree_set(0u32..60, 0..8),
            low in 0u32..60, width in 0u32..60, known: bool,
        ) {
            let (low, high) = (with_column(5, low), with_column(5, low + width));
            let (low, high) = (low.min(high), low.max(high));
            let columns = vec![vec![5, 6], listed.iter().copied().collect::<Vec<_>>()];
            // One list beside few values is worked out at once.
            let known = known || listed.len() < 2;
            let leaves = if known { 1 << 40 } else { 0 };
            let lists = ScopeLists::new(columns, Bounds { leaves, memory: 4096, pause: || {} });
            let mut among = ListedScopes::new(lists);
            let scopes = |hashes: &BTreeSet<u32>| hashes.iter().map(|hash| with_column(5, *hash)).collect();
            let (listed, left_out): (BTreeSet<u32>, BTreeSet<u32>) = (scopes(&listed), scopes(&left_out));
            left_out.iter().for_each(|scope| among.leave_out(*scope));
            let part = among.part(low, high);
            for scope in (0..60).map(|hash| with_column(5, hash)).filter(|scope| (low..=high).contains(scope)) {
                let expected = (!known || listed.contains(&scope)) && !left_out.contains(&scope);
                let in_part = part.as_ref().is_some_and(|part| part.range.contains(&scope) && part.contains(scope));
                prop_assert_eq!(in_part, expected, "{}", scope);
            }
        }
    }

    #[test]
    fn one_combination_is_one_scope() {
        let bounds = || unreachable!();
        assert_eq!(Scopes::from_lists(Vec::new(), bounds).one(), Some(NO_SCOPE));
        assert_eq!(Scopes::from_lists(vec![vec![9]], bounds).one(), Some(9));
        assert_eq!(
            Scopes::from_lists(vec![vec![9], vec![8]], bounds).one(),
            Some(with_column(9, 8))
        );
    }
}
