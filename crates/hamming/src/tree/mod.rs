//! The B-link tree of one key space: finding pages here, the splits that make room in [`split`],
//! over the pages of a [`store`]. Searches, inserts and checks call it.
//!
//! After Lehman and Yao: every page has a right link and a high key, so that a process that arrives
//! after a split moves right. Pages are never removed and never change their role
//! (src/index/README.md says why). Locks: a reader holds one at a time; a writer locks child before
//! parent and left before right.

#[cfg(test)]
mod large_tests;
#[cfg(test)]
mod memory;
mod split;
pub mod store;
#[cfg(test)]
mod tests;

use crate::Error;
use crate::key::{Position, Space};
use crate::page::meta::{META_BLOCK, Meta};
use crate::page::special::{self, PageKind};
use crate::page::{LEAF, Page, check_page, internal, leaf};
use std::ops::Deref;
use store::Locked;
use store::PageStore;

/// The level right above the leaves.
const PARENT: u8 = LEAF + 1;

/// Number of steps to right siblings on one level after which a search descends again from the root. A
/// remembered page can lie thousands of splits to the left, and an insert moves right with leaves
/// of other spaces locked.
const MAX_RIGHT_STEPS: u64 = 16;

/// Reads the metapage.
#[inline]
pub fn read_meta<S: PageStore>(store: S) -> Meta {
    let page = S::share(store.pin_meta());
    Meta::read(&page).unwrap_or_else(|error| store.raise(META_BLOCK, &error))
}

/// How a page is locked.
trait Lock<S: PageStore> {
    type Page: Deref<Target = Page>;

    fn lock(page: S::Pinned) -> Self::Page;
}

/// Shared with other readers.
struct ForReading;
/// By this process alone.
struct ForWriting;

impl<S: PageStore> Lock<S> for ForReading {
    type Page = S::Shared;

    #[inline]
    fn lock(page: S::Pinned) -> S::Shared {
        S::share(page)
    }
}

impl<S: PageStore> Lock<S> for ForWriting {
    type Page = S::Exclusive;

    #[inline]
    fn lock(page: S::Pinned) -> S::Exclusive {
        S::exclusive(page)
    }
}

/// One key space of an index, as one scan or one insert sees it. If the tree has got a new root
/// since, the old one is still the leftmost page of its level.
#[derive(Clone, Copy)]
pub struct Tree<S> {
    store: S,
    space: Space,
    stamp: u32,
    root: u32,
    root_level: u8,
}

impl<S: PageStore> Tree<S> {
    /// The tree of a key space, by a metapage that was read before.
    #[inline]
    pub fn new(store: S, meta: &Meta, space: Space) -> Tree<S> {
        Tree {
            store,
            space,
            stamp: meta.page_stamp(),
            root: meta.roots[space.index()],
            root_level: meta.levels[space.index()],
        }
    }

    fn refreshed(self) -> Tree<S> {
        Tree::new(self.store, &read_meta(self.store), self.space)
    }

    fn kind(&self, level: u8) -> PageKind {
        PageKind {
            space: self.space,
            level,
            stamp: self.stamp,
        }
    }

    /// Locks a block and checks that it is a sound page of this space and level.
    fn lock_checked<L: Lock<S>>(&self, block: u32, level: u8) -> Locked<L::Page> {
        self.check::<L>(self.store.pin(block), level)
    }

    fn check<L: Lock<S>>(&self, page: S::Pinned, level: u8) -> Locked<L::Page> {
        let block = S::block(&page);
        let page = L::lock(page);
        check_page(&page, self.kind(level)).unwrap_or_else(|error| self.store.raise(block, &error));
        Locked { block, page }
    }

    /// Returns the right sibling of a page that `key` lies beyond, or None when it does not.
    /// `passed` is the last high key that the search moved past on this level: high keys grow to
    /// the right, so damaged links cannot lead in a circle.
    ///
    /// A search may come to a page left of `key`, never to one right of it, where it would miss
    /// rows: if it does, a downlink is damaged.
    fn next_right(
        &self,
        page: &Page,
        block: u32,
        key: Position,
        passed: &mut Option<Position>,
    ) -> Option<u32> {
        let begins_above = match special::level(page) {
            LEAF => {
                let low = leaf::low(page);
                (low.scope, low.first_quarter()) > (key.scope, key.first_quarter())
            }
            _ => internal::get(page, 0).key > key,
        };
        if begins_above {
            let text = format!("a search for {key} leads to it, but it begins above that");
            self.store.raise(block, &Error::damaged(text));
        }
        let (right, high) = special::right(page).filter(|(_, high)| key >= *high)?;
        if passed.is_some_and(|passed| high <= passed) {
            // A key is a part of a row, which the current user may not be allowed to see.
            let fault = Error::damaged("its high key is not above that of its left sibling");
            self.store.raise(block, &fault);
        }
        *passed = Some(high);
        Some(right)
    }

    /// Returns the block on `level` where the search for `key` begins.
    fn descend(&self, key: Position, level: u8) -> u32 {
        let (mut block, mut at) = (self.root, self.root_level);
        if at < level {
            let fault = Error::damaged(format!("no page on level {level} above it"));
            self.store.raise(block, &fault);
        }
        let mut passed = None;
        while at > level {
            self.store.check_for_interrupts();
            let page = self.lock_checked::<ForReading>(block, at);
            match self.next_right(&page, block, key, &mut passed) {
                Some(right) => block = right,
                None => {
                    block = internal::find(&page, key).child;
                    at -= 1;
                    passed = None;
                }
            }
        }
        block
    }

    /// Returns the leaf that holds `key`, locked for reading.
    pub fn leaf(&self, key: Position) -> Locked<S::Shared> {
        self.leaf_from(self.store.pin(self.leaf_block(key)), key)
    }

    /// Like [`Tree::leaf`], but starts the search at `start`, a leaf known to be at or left of it.
    pub fn leaf_from(&self, start: S::Pinned, key: Position) -> Locked<S::Shared> {
        self.walk_right(start, LEAF, key).0
    }

    /// Returns the page of a level that holds `key`, and how many steps to the right it is from
    /// `start`, a page of that level at or left of it.
    fn walk_right(&self, start: S::Pinned, level: u8, key: Position) -> (Locked<S::Shared>, u64) {
        let mut page = self.check::<ForReading>(start, level);
        let (mut right_steps, mut passed) = (0, None);
        while let Some(right) = self.next_right(&page, page.block, key, &mut passed) {
            drop(page);
            self.store.check_for_interrupts();
            page = self.move_right::<ForReading>(right, level, key, &mut right_steps, &mut passed);
        }
        (page, right_steps)
    }

    /// Locks a page known to be a leaf of this space for writing, and returns its kind.
    pub fn lock_leaf(&self, page: S::Pinned) -> (Locked<S::Exclusive>, PageKind) {
        (self.check::<ForWriting>(page, LEAF), self.kind(LEAF))
    }

    /// Calls `each` with the low end and the block of each page right above the leaves, from left
    /// to right; with none when the root is a leaf.
    pub fn parents_of_leaves(&self, mut each: impl FnMut(Position, u32)) {
        match self.root_level {
            LEAF => {}
            PARENT => each(Position::MIN, self.root),
            _ => self.pages_between(PARENT + 1, (Position::MIN, Position::END), |page| {
                internal::links(page).for_each(|link| each(link.key, link.child));
            }),
        }
    }

    /// Calls `each` with the low end of each leaf that holds positions from `first` to `last`, from
    /// left to right.
    pub fn each_leaf_between(
        &self,
        first: Position,
        last: Position,
        mut each: impl FnMut(Position),
    ) {
        if self.root_level == LEAF {
            return each(Position::MIN);
        }
        self.pages_between(PARENT, (first, last), |page| {
            internal::links_between(page, first, last).for_each(|link| each(link.key));
        });
    }

    /// Calls `each` with the pages on a level that hold positions from `first` to `last`, from left
    /// to right.
    fn pages_between(
        &self,
        level: u8,
        (first, last): (Position, Position),
        mut each: impl FnMut(&Page),
    ) {
        let mut next = Some(self.descend(first, level));
        let (mut begun, mut passed) = (false, None);
        while let Some(block) = next {
            self.store.check_for_interrupts();
            let page = self.lock_checked::<ForReading>(block, level);
            begun |= !special::is_past(&page, first);
            if begun {
                each(&page);
            }
            let key = if begun { last } else { first };
            next = self.next_right(&page, block, key, &mut passed);
        }
    }

    /// Returns the next page on `level` of a search for `key` that has to leave its page for
    /// `right`: that one, or after many steps the one that the present root leads to.
    fn move_right<L: Lock<S>>(
        &self,
        right: u32,
        level: u8,
        key: Position,
        right_steps: &mut u64,
        passed: &mut Option<Position>,
    ) -> Locked<L::Page> {
        *right_steps += 1;
        if *right_steps != MAX_RIGHT_STEPS {
            return self.lock_checked::<L>(right, level);
        }
        *passed = None;
        self.lock_checked::<L>(self.refreshed().descend(key, level), level)
    }

    /// Returns the leaf at which the search for `key` begins, by a descent from the root.
    pub fn leaf_block(&self, key: Position) -> u32 {
        self.descend(key, LEAF)
    }

    /// Returns the page above the leaf that holds `key`, locked for reading; None if the root is a
    /// leaf. The search starts at `start`, if given, a page of that level at or left of it. Also
    /// returns how many times it had to move right from there.
    pub fn parent_of_leaf(
        &self,
        start: Option<S::Pinned>,
        key: Position,
    ) -> Option<(Locked<S::Shared>, u64)> {
        if self.root_level == LEAF && start.is_none() {
            return None;
        }
        let start = start.unwrap_or_else(|| self.store.pin(self.descend(key, PARENT)));
        Some(self.walk_right(start, PARENT, key))
    }
}
