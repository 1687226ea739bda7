//! The scopes that a search reads: all, or one. Pure.

#![forbid(unsafe_code)]

use super::next_key::next_in_ball;
use crate::key::Key;
use crate::page::filter::Filter;
use simhash_base::indexed_row::scope_of_hashes;
use std::ops::RangeInclusive;

/// The scopes that a search reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Scopes {
    /// Every scope.
    #[default]
    All,
    /// A single scope.
    One(u32),
}

impl Scopes {
    /// The scope of the rows whose columns have these hashes.
    #[inline]
    pub fn of_columns(hashes: impl IntoIterator<Item = u32>) -> Scopes {
        Scopes::One(scope_of_hashes(hashes))
    }

    /// The only one.
    #[inline]
    pub fn one(&self) -> Option<u32> {
        match self {
            Scopes::One(scope) => Some(*scope),
            Scopes::All => None,
        }
    }

    /// A range that holds them all.
    #[inline]
    pub fn range(&self) -> RangeInclusive<u32> {
        match self {
            Scopes::One(scope) => *scope..=*scope,
            Scopes::All => 0..=u32::MAX,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Positions of few scopes and fingerprints, so that most are met: none that can match is
        /// skipped.
        #[test]
        fn no_match_is_skipped(
            scope in 0u32..40, all: bool,
            query: u64, radius in 0u32..5, within in 0i32..3, from in (0u32..42, any::<u64>()),
        ) {
            let scopes = if all { Scopes::All } else { Scopes::One(scope) };
            let has = |other: u32| all || other == scope;
            let filter = Filter { first_scope: 0, last_scope: u32::MAX, query, radius, beyond: -1, within, next_least: 0 };
            let from = Key::at(from.0, from.1 ^ query);
            let lowest = |least| next_in_ball(least, query, within, radius);
            let expected = lowest(from.rotated).filter(|_| has(from.scope)).map(|rotated| Key::at(from.scope, rotated));
            let later = || {
                let scope = (from.scope + 1..100).find(|scope| has(*scope))?;
                Some(Key::at(scope, lowest(0)?))
            };
            prop_assert_eq!(scopes.next_match(&filter, from), expected.or_else(later));
        }
    }

    #[test]
    fn the_hashes_of_all_columns_are_one_scope() {
        use simhash_base::indexed_row::scope_of;
        assert_eq!(Scopes::of_columns([]), Scopes::One(scope_of([])));
        let stored = scope_of([Some(9), Some(8)]);
        assert_eq!(Scopes::of_columns([9, 8]), Scopes::One(stored));
    }
}
