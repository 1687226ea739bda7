//! Internal pages: sorted downlinks.
//!
//! ```text
//!  downlink (24 B):  u64 rotated fingerprint | u32 heap block | u16 heap offset | u16 0
//!                    | u32 child | u32 scope
//! ```
//! A downlink's key is the lowest position that may be stored below its child. The first downlink
//! of a level has the lowest key of all ([`Position::MIN`]).

#![forbid(unsafe_code)]

use super::special::{self, PageKind, ROOM};
use super::{
    HEADER, Page, SPECIAL_START, get_u16, get_u32, get_u64, lower, put_u16, put_u32, put_u64,
    set_lower, upper,
};
use crate::Error;
use crate::key::Position;
use simhash_base::indexed_row::Tid;
use std::ops::Range;

const DOWNLINK: usize = 24;
/// Downlinks that fit a page.
pub const CAPACITY: usize = ROOM / DOWNLINK;
const _: () = assert!(CAPACITY == 335);

/// A downlink: `child` holds the positions from `key` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downlink {
    /// The lowest position of the child.
    pub key: Position,
    /// The child's block.
    pub child: u32,
}

/// Makes an internal page of these downlinks.
#[inline]
pub fn init(page: &mut Page, kind: PageKind, links: &[Downlink], right: Option<(u32, Position)>) {
    special::init(page, kind);
    special::set_right(page, right);
    for (i, link) in links.iter().enumerate() {
        put(page, i, *link);
    }
    set_lower(page, HEADER + DOWNLINK * links.len());
}

/// Checks what a reader relies on: the downlinks fill the page up to `pd_lower`, and there is at
/// least one.
#[inline]
pub fn check(page: &Page) -> Result<(), Error> {
    let bytes = lower(page) - HEADER;
    if bytes == 0 || !bytes.is_multiple_of(DOWNLINK) || upper(page) != SPECIAL_START {
        return Err(Error::damaged(
            "the downlinks of the internal page are damaged",
        ));
    }
    Ok(())
}

/// Returns how many downlinks the page has.
#[inline]
pub fn count(page: &Page) -> usize {
    (lower(page) - HEADER) / DOWNLINK
}

/// Downlink `i`.
#[inline]
pub fn get(page: &Page, i: usize) -> Downlink {
    let at = HEADER + DOWNLINK * i;
    Downlink {
        key: Position {
            scope: get_u32(page, at + 20),
            rotated: get_u64(page, at),
            tid: Tid {
                block: get_u32(page, at + 8),
                offset: get_u16(page, at + 12),
            },
        },
        child: get_u32(page, at + 16),
    }
}

fn put(page: &mut Page, i: usize, link: Downlink) {
    let at = HEADER + DOWNLINK * i;
    put_u64(page, at, link.key.rotated);
    put_u32(page, at + 8, link.key.tid.block);
    put_u16(page, at + 12, link.key.tid.offset);
    put_u16(page, at + 14, 0);
    put_u32(page, at + 16, link.child);
    put_u32(page, at + 20, link.key.scope);
}

/// All downlinks, from left to right.
#[inline]
pub fn links(page: &Page) -> impl Iterator<Item = Downlink> + '_ {
    (0..count(page)).map(|i| get(page, i))
}

/// Position of the last downlink whose key is not above `key`; 0 when all are above it.
///
/// Keys are mostly spread evenly. So the search begins where `key` would then stand, and goes from
/// there in steps that double: it reads two or three lines of the processor's cache, where a
/// search by halves would read five.
fn position(page: &Page, key: Position) -> usize {
    let is_above = |i: usize| get(page, i).key > key;
    let n = count(page);
    let share = key.share_between(get(page, 0).key, special::high_key(page));
    let guess = ((share * n as f32) as usize).clamp(1, n.max(2) - 1);
    let (mut low, mut high, mut step) = (0, n, FIRST_STEP);
    if guess < n && is_above(guess) {
        high = guess;
        while let Some(next) = high.checked_sub(step).filter(|next| *next > 0) {
            if !is_above(next) {
                low = next;
                break;
            }
            high = next;
            step *= 2;
        }
    } else if guess < n {
        low = guess;
        while low + step < n {
            if is_above(low + step) {
                high = low + step;
                break;
            }
            low += step;
            step *= 2;
        }
    }
    while high - low > 1 {
        let middle = (low + high) / 2;
        if is_above(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    low
}

/// The bytes that a search for a position `share` (0 to 1) of the way into a page of `links`
/// downlinks is likely to read: the downlinks there, and the special area.
#[inline]
pub fn likely_bytes(share: f32, links: usize) -> [Range<usize>; 2] {
    let guess = (share * links as f32) as usize;
    let links = guess.saturating_sub(FIRST_STEP)..(guess + FIRST_STEP).min(CAPACITY);
    [
        HEADER + DOWNLINK * links.start..HEADER + DOWNLINK * links.end,
        special::BYTES,
    ]
}

/// Downlinks of the first step: three lines of the cache.
const FIRST_STEP: usize = 8;

/// The downlink to the child that holds `key`: the last one whose key is not above it.
#[inline]
pub fn find(page: &Page, key: Position) -> Downlink {
    get(page, position(page, key))
}

/// The downlink to the child that holds `key`, and where that child ends; None if it is the last
/// one of its level.
#[inline]
pub fn find_with_end(page: &Page, key: Position) -> (Downlink, Option<Position>) {
    let at = position(page, key);
    (get(page, at), begins(page, at + 1))
}

/// Returns where child `at` begins, or what is right of the page.
fn begins(page: &Page, at: usize) -> Option<Position> {
    match at < count(page) {
        true => Some(get(page, at).key),
        false => special::high_key(page),
    }
}

/// The downlinks to the children that hold positions from `first` to `last`.
#[inline]
pub fn links_between(
    page: &Page,
    first: Position,
    last: Position,
) -> impl ExactSizeIterator<Item = Downlink> {
    (position(page, first)..position(page, last) + 1).map(|i| get(page, i))
}

/// Returns whether no more downlink fits.
#[inline]
pub fn is_full(page: &Page) -> bool {
    count(page) >= CAPACITY
}

/// Inserts a downlink at its place; the page must not be full.
#[inline]
pub fn insert(page: &mut Page, link: Downlink) {
    let n = count(page);
    let at = position(page, link.key) + 1;
    page.copy_within(
        HEADER + DOWNLINK * at..HEADER + DOWNLINK * n,
        HEADER + DOWNLINK * (at + 1),
    );
    put(page, at, link);
    set_lower(page, HEADER + DOWNLINK * (n + 1));
}

/// Moves the upper half of a full page to `right` (a new page, block `right_block`), and marks the
/// split as incomplete. Returns the downlink for the new page.
#[inline]
pub fn split(left: &mut Page, right: &mut Page, kind: PageKind, right_block: u32) -> Downlink {
    let all: Vec<Downlink> = links(left).collect();
    let (low, high) = all.split_at(all.len() / 2);
    let separator = high[0].key;
    init(right, kind, high, special::right(left));
    init(left, kind, low, Some((right_block, separator)));
    special::set_incomplete(left, true);
    Downlink {
        key: separator,
        child: right_block,
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::*;
    use crate::key::Space;
    use proptest::prelude::*;

    const KIND: PageKind = PageKind {
        space: Space::NULL,
        level: 1,
        stamp: 9,
    };

    /// Four in a row share a scope.
    fn link(n: u64) -> Downlink {
        Downlink {
            key: Position::at(n as u32 / 4, n % 4),
            child: n as u32 + 100,
        }
    }

    proptest! {
        #[test]
        fn position_equals_a_search_one_by_one(
            raw in prop::collection::vec((any::<u64>(), 0u32..3), 1..=CAPACITY),
            probes in prop::collection::vec((any::<u64>(), 0u32..3), 10),
            narrow in 0u32..64, high: Option<u64>,
        ) {
            let key = |(bits, scope): &(u64, u32)| Position {
                scope: *scope,
                rotated: bits >> narrow,
                tid: Tid { block: *bits as u32 & 3, offset: 0 },
            };
            let mut keys: Vec<Position> = raw.iter().map(key).collect();
            keys.sort();
            let links: Vec<Downlink> = keys.iter().map(|key| Downlink { key: *key, child: 1 }).collect();
            let mut page = [0; PAGE_SIZE];
            // A high key that is too low, as on a damaged page, is no reason to go wrong.
            init(&mut page, KIND, &links, high.map(|high| (9, Position::at(1, high >> narrow))));
            for probe in probes.iter().chain(&raw).map(key).chain([Position::MIN, Position::END]) {
                let expected = keys.partition_point(|key| *key <= probe).saturating_sub(1);
                prop_assert_eq!(position(&page, probe), expected);
            }
        }
    }

    #[test]
    fn inserts_keep_order_and_splits_lose_nothing() {
        let (mut left, mut right) = ([0; PAGE_SIZE], [0; PAGE_SIZE]);
        init(&mut left, KIND, &[link(0)], None);
        let mut next = 1u64;
        while !is_full(&left) {
            insert(&mut left, link(next * 7919 % 100_003));
            next += 1;
        }
        assert_eq!(check(&left), Ok(()));
        let before: Vec<_> = links(&left).collect();
        assert!(before.windows(2).all(|w| w[0].key < w[1].key));
        let up = split(&mut left, &mut right, KIND, 77);
        let after: Vec<_> = links(&left).chain(links(&right)).collect();
        assert_eq!(before, after);
        assert_eq!(special::right(&left), Some((77, up.key)));
        assert!(special::is_incomplete(&left) && !special::is_incomplete(&right));
        assert_eq!(special::right(&right), None);
    }

    #[test]
    fn find_takes_the_last_downlink_not_above() {
        let mut page = [0; PAGE_SIZE];
        init(&mut page, KIND, &[link(0), link(10), link(20)], None);
        for (key, child) in [
            (0, 100),
            (9, 100),
            (10, 110),
            (19, 110),
            (20, 120),
            (99, 120),
        ] {
            assert_eq!(find(&page, link(key).key).child, child);
        }
    }
}
