//! The scopes that a search reads, all or one, and the step that a search makes once for each leaf that it
//! plans: to the next position that can hold a match, and the next key near the query's. The answer is
//! exact: no position of the ball is passed over.
//!
//! Keys are looked at 64 at a time: whether a key is near is a bit of a word that a table has, by
//! the six bits of the query and the bits that may still differ. Bit by bit the step took 2 to 7
//! times as long.

#![forbid(unsafe_code)]

use crate::key::{KEY_BITS, Position};
use crate::page::leaf_scan::Filter;
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
    pub fn next_match(&self, filter: &Filter, mut from: Position) -> Option<Position> {
        loop {
            let scope = self.next(from.scope)?;
            from = from.max(Position::at(scope, 0));
            match next_in_ball(from.rotated, filter.query, filter.within, filter.radius) {
                Some(rotated) if rotated == from.rotated => return Some(from),
                Some(rotated) => return Some(Position::at(scope, rotated)),
                // The ball begins again in the next scope.
                None => from = Position::behind_scope(scope)?,
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

/// The largest radius of a quarter that searches choose: 697 keys. Keys are found here within it.
pub const WIDEST: u32 = 3;

/// Bits of a key that choose the place in a word.
const LOW_BITS: u32 = 6;
const LOW: u16 = (1 << LOW_BITS) - 1;
/// Words that hold all keys.
const WORDS: u16 = 1 << (u16::BITS - LOW_BITS);

/// For each radius and each six bits, a bit for each six bits that differ from them in no more.
static NEAR: [[u64; 1 << LOW_BITS]; WIDEST as usize + 1] = {
    let mut near = [[0; 1 << LOW_BITS]; WIDEST as usize + 1];
    let mut i = 0;
    while i < near.len() << (2 * LOW_BITS) {
        let (radius, query, bits) = (i >> 12, i >> 6 & 63, i & 63);
        if (query ^ bits).count_ones() as usize <= radius {
            near[radius][query] |= 1 << bits;
        }
        i += 1;
    }
    near
};

/// Set bits of the numbers of words. The portable instructions have none that counts bits.
static SET_BITS: [u8; WORDS as usize] = {
    let mut set = [0; WORDS as usize];
    let mut i = 0;
    while i < set.len() {
        set[i] = i.count_ones() as u8;
        i += 1;
    }
    set
};

/// The lowest `y >= x` that differs from `query` in at most `within` of the 16 key bits and in at
/// most `radius` of all 64; None when there is none. Lets a search skip every page between two
/// places that can hold a match. Where [`MANY`] bits or more may differ below the key of `y`, it may be
/// where that key begins.
#[inline]
pub fn next_in_ball(x: u64, query: u64, within: i32, radius: u32) -> Option<u64> {
    if within < 0 {
        return None;
    }
    if within == 0 && (x ^ query) & KEY_MASK != 0 {
        // So most searches within 3 bits ask: the ball has one key, all of which x is below or above.
        let lowest = query & KEY_MASK | without_highest(query & !KEY_MASK, radius);
        return (x < query).then_some(lowest);
    }
    let (within, differing) = (within as u32, x ^ query);
    let mut above = differing.count_ones();
    let mut above_in_key = (differing >> KEY_SHIFT).count_ones();
    if above <= radius && above_in_key <= within {
        return Some(x);
    }
    // The next key of the ball is found at once, and the lowest of its positions follows from it. Bit
    // by bit only what lies below x's own key is searched.
    if (1..=WIDEST).contains(&within) && within <= radius {
        let (key, of_query) = ((x >> KEY_SHIFT) as u16, (query >> KEY_SHIFT) as u16);
        let next = next_key(key, of_query, within)?;
        if next != key {
            let left = radius - (next ^ of_query).count_ones();
            let low = match left < MANY {
                true => without_highest(query & !KEY_MASK, left),
                false => 0,
            };
            return Some(u64::from(next) << KEY_SHIFT | low);
        }
    }
    // Above some bit y agrees with x, and at that bit x has 0 and y has 1. The lowest such bit
    // gives the lowest y. A bit is too low if more bits above it differ from the query than may.
    let lowest = too_many(differing, radius).max(too_many(differing & KEY_MASK, within));
    let below = !(u64::MAX << lowest);
    above -= (differing & below).count_ones();
    above_in_key -= (differing & below & KEY_MASK).count_ones();
    for bit in lowest..64 {
        let in_key = u32::from(bit >= KEY_SHIFT);
        let mine = (differing >> bit & 1) as u32;
        above -= mine;
        above_in_key -= in_key * mine;
        let differs = (!query >> bit & 1) as u32;
        let left = radius.checked_sub(above + differs);
        let left_in_key = within.checked_sub(above_in_key + in_key * differs);
        if let (0, Some(left), Some(left_in_key)) = (x >> bit & 1, left, left_in_key) {
            let prefix = (x >> bit | 1) << bit;
            return Some(prefix | lowest_tail(query, bit, left, left_in_key));
        }
    }
    None
}

/// Bits below the 16-bit key, and the key's own.
const KEY_SHIFT: u32 = 64 - KEY_BITS;
const KEY_MASK: u64 = u64::MAX << KEY_SHIFT;

/// The position of the highest set bit that has `allowed` set bits above it; 0 when there is none.
fn too_many(differing: u64, allowed: u32) -> u32 {
    let rest = without_highest(differing, allowed);
    63u32.saturating_sub(rest.leading_zeros())
}

/// Clears the `n` highest set bits.
fn without_highest(mut bits: u64, n: u32) -> u64 {
    for _ in 0..n.min(64) {
        if bits == 0 {
            break;
        }
        bits ^= 1 << (63 - bits.leading_zeros());
    }
    bits
}

/// Where at least this number of bits may differ below a key, its lowest position lies within the first 4,000th of the
/// key: finding it spares no leaf, and takes a step for each bit.
const MANY: u32 = 6;

/// The lowest value of the `bits` low bits that keeps within what is left of the two budgets: the
/// query's own, with zeros for as many of its highest ones as the budgets last.
fn lowest_tail(query: u64, bits: u32, left: u32, left_in_key: u32) -> u64 {
    let tail = query & !(u64::MAX << bits);
    let in_key = without_highest(tail & KEY_MASK, left.min(left_in_key));
    let spent = (tail & KEY_MASK).count_ones() - in_key.count_ones();
    in_key | without_highest(tail & !KEY_MASK, left - spent)
}

/// The lowest key from `from` on that differs from `query` in at most `within` bits, up to
/// [`WIDEST`]; None if there is none.
#[inline]
fn next_key(from: u16, query: u16, within: u32) -> Option<u16> {
    let (word, of_query) = (from >> LOW_BITS, query >> LOW_BITS);
    let in_word = |word: u16, from: u16| {
        next_near(left(word, of_query, within)?, query & LOW, from)
            .map(|low| word << LOW_BITS | low)
    };
    in_word(word, from & LOW).or_else(|| in_word(next_word(word + 1, of_query, within)?, 0))
}

/// As [`next_key`], for the upper ten bits of keys: words, which are looked at 64 at a time, too.
fn next_word(from: u16, query: u16, within: u32) -> Option<u16> {
    let mut low = from & LOW;
    for high in from >> LOW_BITS..WORDS >> LOW_BITS {
        let near = left(high, query >> LOW_BITS, within)
            .and_then(|left| next_near(left, query & LOW, low));
        if let Some(near) = near {
            return Some(high << LOW_BITS | near);
        }
        low = 0;
    }
    None
}

/// The bits that may still differ after those of `a` and `b`; None if these are too many.
fn left(a: u16, b: u16, within: u32) -> Option<u32> {
    within.checked_sub(u32::from(SET_BITS[usize::from((a ^ b) % WORDS)]))
}

/// The lowest six bits from `from` on that differ from those of the query in at most `left`.
fn next_near(left: u32, query: u16, from: u16) -> Option<u16> {
    let near = NEAR[left.min(WIDEST) as usize][usize::from(query & LOW)] & u64::MAX << from;
    (near != 0).then(|| near.trailing_zeros() as u16)
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
            let from = Position::at(from.0, from.1 ^ query);
            let lowest = |least| next_in_ball(least, query, within, radius);
            let expected = lowest(from.rotated).filter(|_| has(from.scope)).map(|rotated| Position::at(from.scope, rotated));
            let later = || {
                let scope = (from.scope + 1..100).find(|scope| has(*scope))?;
                Some(Position::at(scope, lowest(0)?))
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

#[cfg(test)]
mod next_key_tests {
    use super::*;
    use proptest::prelude::*;

    /// The oracle works on the 16 key bits, by trying every key.
    #[test]
    fn next_key_equals_brute_force() {
        for query in [0u16, 0xFFFF, 0x8001, 0x5A5A, 0x1234] {
            for within in 0..4 {
                let mut expected = None;
                for x in (0..=u16::MAX).rev() {
                    if (x ^ query).count_ones() as i32 <= within {
                        expected = Some(x);
                    }
                    let q = u64::from(query) << 48;
                    let got = next_in_ball(u64::from(x) << 48, q, within, 64);
                    assert_eq!(
                        got.map(|y| (y >> 48) as u16),
                        expected,
                        "{x:#x} {query:#x} {within}"
                    );
                }
            }
        }
    }

    proptest! {
        /// The oracle: y is in the ball, and no value in between is (checked on the low bits).
        #[test]
        fn next_is_in_the_ball_and_nothing_is_skipped(
            query: u64, x: u64, flips: u64, mask: u64, within in 0i32..5, radius in 0u32..12,
        ) {
            let inside = |v: u64| (v ^ query).count_ones() <= radius
                && ((v ^ query) >> 48).count_ones() as i32 <= within;
            for x in [x, query ^ (flips & mask & mask.rotate_left(9))] {
                match next_in_ball(x, query, within, radius) {
                    None => prop_assert!(!inside(query) || query < x),
                    Some(y) => {
                        let is_begin = y & !KEY_MASK == 0 && inside(y | query & !KEY_MASK);
                        prop_assert!(y >= x && (inside(y) || is_begin));
                        prop_assert!(query < x || y <= query);
                        for v in (x..y).take(2000).chain((x..y).rev().take(2000)) {
                            prop_assert!(!inside(v), "{v:#x} lies in between");
                        }
                    }
                }
            }
        }

        #[test]
        fn every_member_is_reached(
            query: u64, flips in prop::collection::vec(0u32..64, 0..6), x: u64,
        ) {
            let member = flips.iter().fold(query, |m, f| m ^ (1 << f));
            let differing = member ^ query;
            let within = (differing >> 48).count_ones() as i32;
            let start = x.min(member);
            let next = next_in_ball(start, query, within, differing.count_ones());
            prop_assert!(next.is_some_and(|y| y <= member));
        }
    }
}
