//! A session's copy of the downlinks of one page above the leaves: where each leaf begins, and its
//! block. Planning finds leaves in it without the page's buffer, its pin and its lock, in half as
//! many lines of the processor's cache; [`super::directory`] holds the copies, [`super::reader`]
//! makes them of pages that it reads.
//!
//! A copy may be stale, and no answer is wrong for that, because a downlink that was true once
//! leads to the leaf of a position, or left of it, for ever:
//! * A leaf's low end never changes, and no page is removed, recycled or given another role
//!   (src/index/README.md, "Pages never die"). Splits since the copy was made have moved what the
//!   leaf held to the right of it. The tree compares the leaf's high key with the position, and
//!   moves right.
//! * Where a leaf ends is only expected: a walk goes by the leaf's own high key, and forgets the
//!   copy where the two differ.
//! * REINDEX, TRUNCATE, VACUUM FULL, CLUSTER and all else that gives an index other pages is a
//!   build, which draws a new stamp. Each scan reads the stamp from the metapage, under the
//!   server's lock on the index, and the session's knowledge of another stamp is thrown away with
//!   its copies. That is more than the server's invalidation messages would do: the same
//!   relfilenode can hold two trees, one after the other. A tree that is moved to another
//!   tablespace keeps its blocks.
//! * A rolled back transaction takes no split back. Replay on a standby makes the primary's changes
//!   in their order, and a promotion goes on from there. After a crash, of a primary or a standby,
//!   changes that were not yet in the log may be gone, but no session that had seen them is left.

use crate::key::Position;
use crate::page::{Page, internal, special};
use simhash_base::processor::prefetch_line;

/// A leaf below a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Child {
    /// The leaf, or one left of it.
    pub block: u32,
    /// Where it begins.
    pub low: Position,
    /// Where it ended when the page was read; None for the last one.
    pub end: Option<Position>,
}

/// Where a leaf begins in the scope, and its block: side by side, since planning reads both, and the
/// processor's cache seldom holds them.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// The upper and the lower half: as one number they would take 16 bytes with the block, not 12.
    low: [u32; 2],
    block: u32,
}

impl Leaf {
    fn new(low: u64, block: u32) -> Leaf {
        Leaf {
            low: [(low >> 32) as u32, low as u32],
            block,
        }
    }

    fn low(self) -> u64 {
        u64::from(self.low[0]) << 32 | u64::from(self.low[1])
    }
}

/// The downlinks of a page whose leaves hold positions of one scope, except that the first one may begin,
/// and the last one end, in another.
#[derive(Debug)]
pub struct Downlinks {
    scope: u32,
    /// Where the first leaf begins.
    low: Position,
    /// The leaves below the page.
    leaves: Box<[Leaf]>,
    /// Where the last leaf ends.
    end: Option<Position>,
    /// Leaves in each 2^32 places, as a share of 2^32.
    density: u64,
}

impl Downlinks {
    /// Copies those of a page right above the leaves. None if more of its leaves belong to several
    /// scopes, if one begins within a run of equal fingerprints, or if they are out of order.
    pub fn of(page: &Page) -> Option<Downlinks> {
        let (low, end) = (internal::get(page, 0).key, special::high_key(page));
        let bounds = || internal::links(page).map(|link| link.key).chain(end);
        let scope = bounds().nth(1).map_or(low.scope, |second| second.scope);
        let is_plain = |link: internal::Downlink| link.key == Position::at(scope, link.key.rotated);
        if !internal::links(page).skip(1).all(is_plain) || !bounds().is_sorted_by(|a, b| a < b) {
            return None;
        }
        let first = if low.scope == scope { low.rotated } else { 0 };
        let leaf = |(i, link): (usize, internal::Downlink)| {
            Leaf::new(if i == 0 { first } else { link.key.rotated }, link.child)
        };
        let leaves: Box<[Leaf]> = internal::links(page).enumerate().map(leaf).collect();
        let last = end.filter(|end| end.scope == scope);
        let width = (last.map_or(u64::MAX, |end| end.rotated) - first) >> 32;
        Some(Downlinks {
            scope,
            low,
            density: ((leaves.len() as u64) << 32) / width.max(1),
            leaves,
            end,
        })
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        size_of::<Downlinks>() + size_of_val(&*self.leaves)
    }

    /// Returns whether a position lies on a leaf below the page.
    #[inline]
    pub fn holds(&self, key: Position) -> bool {
        key.scope == self.scope && key >= self.low && self.end.is_none_or(|end| key < end)
    }

    /// Where the leaf of a position would be if leaves were evenly spread.
    fn guess(&self, rotated: u64) -> usize {
        let places = u128::from((rotated - self.leaves[0].low()) >> 32);
        let guess = (places * u128::from(self.density)) >> 32;
        (guess as usize).min(self.leaves.len() - 1)
    }

    /// The leaf of a position that it holds. The search begins at the guess and goes from there in
    /// steps that double.
    #[inline]
    pub fn find(&self, key: Position) -> Child {
        let (leaves, rotated) = (&self.leaves, key.rotated);
        let (mut low, mut step) = (self.guess(rotated), 1);
        let mut high = low + 1;
        while leaves[low].low() > rotated {
            (high, low) = (low, low.saturating_sub(step));
            step *= 2;
        }
        while high < leaves.len() && leaves[high].low() <= rotated {
            (low, high) = (high, high + step);
            step *= 2;
        }
        let range = low..high.min(leaves.len());
        let at = low + leaves[range].partition_point(|leaf| leaf.low() <= rotated) - 1;
        let next = leaves
            .get(at + 1)
            .map(|leaf| Position::at(self.scope, leaf.low()));
        let low = Position::at(self.scope, leaves[at].low());
        Child {
            block: leaves[at].block,
            low: if at == 0 { self.low } else { low },
            end: next.or(self.end),
        }
    }

    /// Starts fetching what [`Downlinks::find`] reads first into the processor's cache.
    #[inline]
    pub fn warm(&self, key: Position) {
        if self.holds(key) {
            let at = self.guess(key.rotated);
            prefetch_line((&raw const self.leaves[at]).cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Space;
    use crate::page::PAGE_SIZE;
    use crate::page::internal::{CAPACITY, Downlink};
    use crate::page::special::PageKind;
    use proptest::prelude::*;
    use simhash_base::indexed_row::Tid;

    const KIND: PageKind = PageKind {
        space: Space::NULL,
        level: 1,
        stamp: 9,
    };

    fn page_of(keys: &[Position], high: Option<Position>) -> Page {
        let link = |(i, key): (usize, &Position)| Downlink {
            key: *key,
            child: 1000 + i as u32,
        };
        let links: Vec<Downlink> = keys.iter().enumerate().map(link).collect();
        let mut page = [0; PAGE_SIZE];
        internal::init(&mut page, KIND, &links, high.map(|high| (9, high)));
        page
    }

    proptest! {
        /// The oracle is the page itself.
        #[test]
        fn a_copy_leads_where_its_page_does(
            raw in prop::collection::vec(any::<u64>(), 1..=CAPACITY), probes in prop::collection::vec(any::<u64>(), 20),
            narrow in 0u32..64, base: u64, first in 0u32..4, last in 0u32..4, scope in 1u32..3,
        ) {
            let place = |bits: &u64| (base >> 1).saturating_add(bits >> narrow >> 1);
            let mut lows: Vec<u64> = raw.iter().map(place).collect();
            lows.sort_unstable();
            lows.dedup();
            let mut keys: Vec<Position> = lows.iter().map(|low| Position::at(scope, *low)).collect();
            let within_run = Tid { block: 0, offset: 3 };
            // The last bound is that of the page.
            let high = match last {
                0 => None,
                1 => Some(Position::at(scope + 1, 5)),
                2 => Some(Position { tid: within_run, ..*keys.last().unwrap() }),
                _ => keys.pop(),
            };
            match first {
                0 => keys.insert(0, Position::MIN),
                1 => keys.insert(0, Position { tid: within_run, ..Position::at(scope, (base >> 1).saturating_sub(1)) }),
                _ if keys.is_empty() => keys.push(Position::MIN),
                _ => {}
            }
            let keys = &keys[..keys.len().min(CAPACITY)];
            let page = page_of(keys, high);
            let copy = Downlinks::of(&page).expect("plain and in order");
            let places = probes.iter().map(place).chain(probes.iter().copied()).chain(raw.iter().map(place)).chain([0, u64::MAX]);
            for rotated in places.flat_map(|place| [place.saturating_sub(1), place, place.saturating_add(1)]) {
                for (scope, offset) in [(scope, 0), (scope, 2), (scope, 7), (scope - 1, 0), (scope + 1, 0)] {
                    let key = Position { scope, rotated, tid: Tid { block: 0, offset } };
                    copy.warm(key);
                    let is_below = key >= keys[0] && !special::is_past(&page, key);
                    if copy.holds(key) {
                        prop_assert!(is_below);
                        let (link, end) = internal::find_with_end(&page, key);
                        let expected = Child { block: link.child, low: link.key, end };
                        prop_assert_eq!(copy.find(key), expected);
                    } else {
                        prop_assert!(!is_below || scope != copy.scope);
                    }
                }
            }
        }
    }

    #[test]
    fn what_it_cannot_tell_apart_is_not_copied() {
        let within_run = Position {
            tid: Tid {
                block: 3,
                offset: 1,
            },
            ..Position::at(1, 7)
        };
        let copied = |keys: &[Position], high| Downlinks::of(&page_of(keys, high)).is_some();
        let [a, b, c] = [5, 7, 9].map(|low| Position::at(1, low));
        let (before, behind) = (Position::MIN, Position::at(2, 0));
        for keys in [&[a, b], &[before, a], &[within_run, c]] {
            assert!(copied(keys, None) && copied(keys, Some(behind)));
        }
        assert!(
            !copied(&[before, a, behind], None) && !copied(&[a, behind, Position::at(3, 0)], None)
        );
        assert!(!copied(&[a, within_run], Some(c)));
        // Damaged pages.
        assert!(!copied(&[b, a], None) && !copied(&[a, b], Some(b)) && !copied(&[a, a], None));
    }
}
