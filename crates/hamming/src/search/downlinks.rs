//! A session's copy of the downlinks of one page above the leaves: where each leaf begins, and its block.
//! Planning finds leaves in it without the page's buffer, its pin and its lock, in half as many lines of
//! the processor's cache; [`super::directory`] holds the copies, [`super::reader`] makes them of pages
//! that it reads.
//!
//! A copy may be stale, and no answer is wrong for that, because a downlink that was true once leads to
//! the leaf of a position, or left of it, for ever:
//! * A leaf's low end never changes, and no page is removed, recycled or given another role
//!   (src/index/README.md, "Pages never die"). Splits since the copy was made have moved what the leaf
//!   held to the right of it. The tree compares the leaf's high key with the position, and moves right.
//! * Where a leaf ends is only expected: a walk goes by the leaf's own high key, and forgets the copy
//!   where the two differ.
//! * REINDEX, TRUNCATE, VACUUM FULL, CLUSTER and all else that gives an index other pages is a build,
//!   which draws a new stamp. Each scan reads the stamp from the metapage, under the server's lock on
//!   the index, and the session's knowledge of another stamp is thrown away with its copies. That is
//!   more than the server's invalidation messages would do: the same relfilenode can hold two trees,
//!   one after the other. A tree that is moved to another tablespace keeps its blocks.
//! * A rolled back transaction takes no split back. Replay on a standby makes the primary's changes in
//!   their order, and a promotion goes on from there. After a crash, of a primary or a standby, changes
//!   that were not yet in the log may be gone, and so is every session that had seen them.

use crate::key::Key;
use crate::page::{Page, internal, special};
use simhash_base::processor::prefetch_line;

/// A leaf below a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Child {
    /// The leaf, or one left of it.
    pub block: u32,
    /// Where it begins.
    pub low: Key,
    /// Where it ended when the page was read; None for the last one.
    pub end: Option<Key>,
}

/// The downlinks of a page, all of one scope.
#[derive(Debug)]
pub struct Downlinks {
    scope: u32,
    /// Where each leaf begins.
    lows: Box<[u64]>,
    /// Their blocks.
    blocks: Box<[u32]>,
    /// Where the last leaf ends.
    end: Option<Key>,
    /// Leaves in each 2^32 places, as a share of 2^32.
    density: u64,
}

impl Downlinks {
    /// Copies those of a page right above the leaves. None if its leaves belong to several scopes, if
    /// one begins within a run of equal fingerprints, or if they are out of order.
    pub fn of(page: &Page) -> Option<Downlinks> {
        let end = special::high_key(page);
        let scope = internal::get(page, 0).key.scope;
        let is_plain = |key: Key| key == Key::at(scope, key.rotated);
        let bounds = || internal::links(page).map(|link| link.key).chain(end);
        if !bounds().all(is_plain) || !bounds().is_sorted_by(|a, b| a < b) {
            return None;
        }
        let lows: Box<[u64]> = internal::links(page).map(|link| link.key.rotated).collect();
        let last = end.map_or(u64::MAX, |end| end.rotated);
        let width = ((last - lows[0]) >> 32).max(1);
        Some(Downlinks {
            scope,
            density: ((lows.len() as u64) << 32) / width,
            blocks: internal::links(page).map(|link| link.child).collect(),
            lows,
            end,
        })
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        size_of::<Downlinks>() + size_of_val(&*self.lows) + size_of_val(&*self.blocks)
    }

    /// Returns whether a position lies on a leaf below the page.
    #[inline]
    pub fn holds(&self, key: Key) -> bool {
        key.scope == self.scope
            && key.rotated >= self.lows[0]
            && self.end.is_none_or(|end| key < end)
    }

    /// Where the leaf of a position would be if leaves were evenly spread.
    fn guess(&self, rotated: u64) -> usize {
        let places = u128::from((rotated - self.lows[0]) >> 32);
        let guess = (places * u128::from(self.density)) >> 32;
        (guess as usize).min(self.lows.len() - 1)
    }

    /// The leaf of a position that it holds. The search begins at the guess and goes from there in
    /// steps that double.
    #[inline]
    pub fn find(&self, key: Key) -> Child {
        let (lows, rotated) = (&self.lows, key.rotated);
        let (mut low, mut step) = (self.guess(rotated), 1);
        let mut high = low + 1;
        while lows[low] > rotated {
            (high, low) = (low, low.saturating_sub(step));
            step *= 2;
        }
        while high < lows.len() && lows[high] <= rotated {
            (low, high) = (high, high + step);
            step *= 2;
        }
        let range = low..high.min(lows.len());
        let at = low + lows[range].partition_point(|low| *low <= rotated) - 1;
        let next = lows.get(at + 1).map(|low| Key::at(self.scope, *low));
        Child {
            block: self.blocks[at],
            low: Key::at(self.scope, lows[at]),
            end: next.or(self.end),
        }
    }

    /// Starts fetching what [`Downlinks::find`] reads first into the processor's cache.
    #[inline]
    pub fn warm(&self, key: Key) {
        if self.holds(key) {
            let at = self.guess(key.rotated);
            prefetch_line((&raw const self.lows[at]).cast());
            prefetch_line((&raw const self.blocks[at]).cast());
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
    use simhash_base::tid::Tid;

    const KIND: PageKind = PageKind {
        space: Space::NULL,
        level: 1,
        stamp: 9,
    };

    fn page_of(keys: &[Key], high: Option<Key>) -> Page {
        let link = |(i, key): (usize, &Key)| Downlink {
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
            narrow in 0u32..64, base: u64, is_last: bool, scope in 0u32..2,
        ) {
            let place = |bits: &u64| (base >> 1).saturating_add(bits >> narrow >> 1);
            let mut lows: Vec<u64> = raw.iter().map(place).collect();
            lows.sort_unstable();
            lows.dedup();
            let high = lows.pop().filter(|_| !is_last && !lows.is_empty()).map(|high| Key::at(scope, high));
            if lows.is_empty() {
                lows.push(base >> 1);
            }
            let keys: Vec<Key> = lows.iter().map(|low| Key::at(scope, *low)).collect();
            let page = page_of(&keys, high);
            let copy = Downlinks::of(&page).expect("plain and in order");
            let places = probes.iter().map(place).chain(probes.iter().copied()).chain(raw.iter().map(place));
            for rotated in places.flat_map(|place| [place.saturating_sub(1), place, place.saturating_add(1)]) {
                for offset in [0, 7] {
                    let key = Key { scope, rotated, tid: Tid { block: 0, offset } };
                    let is_below = key >= keys[0] && !special::is_past(&page, key);
                    prop_assert_eq!(copy.holds(key), is_below);
                    let elsewhere = Key { scope: scope + 1, ..key };
                    prop_assert!(!copy.holds(elsewhere));
                    copy.warm(key);
                    if is_below {
                        let (link, end) = internal::find_with_end(&page, key);
                        let expected = Child { block: link.child, low: link.key, end };
                        prop_assert_eq!(copy.find(key), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn what_it_cannot_tell_apart_is_not_copied() {
        let within_run = Key {
            tid: Tid {
                block: 3,
                offset: 1,
            },
            ..Key::at(0, 7)
        };
        let copied = |keys: &[Key], high| Downlinks::of(&page_of(keys, high)).is_some();
        let [a, b, c] = [5, 7, 9].map(|low| Key::at(0, low));
        assert!(copied(&[a, b], Some(c)) && copied(&[a], None));
        assert!(!copied(&[a, within_run], Some(c)) && !copied(&[a], Some(within_run)));
        assert!(!copied(&[a, Key::at(1, 0)], None) && !copied(&[a], Some(Key::at(1, 0))));
        // Damaged pages.
        assert!(!copied(&[b, a], None) && !copied(&[a, b], Some(b)) && !copied(&[a, a], None));
    }
}
