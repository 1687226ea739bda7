//! The B-link tree of one key space: finding pages, and the splits that make room.
//!
//! After Lehman and Yao: every page has a right link and a high key, so that a process that arrives
//! after a split moves right. Pages are never removed and never change their role (README.md says
//! why). Locks: a reader holds one at a time; a writer locks child before parent and left before
//! right.

use crate::errors::raise_in_index;
use simhash_hamming::Error;
use simhash_hamming::key::{Key, Space};
use simhash_hamming::page::internal::{self, Downlink};
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::page::special::{self, PageKind};
use simhash_hamming::page::{LEAF, Page, check_page, leaf, leaf_rewrite};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::{Exclusive, Pinned, Shared};
use simhash_pg::page::wal::{self, PageImage};
use simhash_pg::process::backend::check_for_interrupts;
use std::cell::Cell;
use std::convert::Infallible;

/// The level right above the leaves.
const PARENT: u8 = LEAF + 1;

/// Number of steps to right siblings on one level after which a search descends again from the root. A
/// remembered page can lie thousands of splits to the left, and an insert moves right with leaves
/// of other spaces locked.
const MAX_RIGHT_STEPS: u64 = 16;

/// Number of metapages whose buffers a session remembers.
const META_PLACES: usize = 64;

thread_local! {
    /// The buffers in which metapages were seen last, by the OIDs of their indexes. Several may
    /// share a place: the server checks what a buffer holds.
    static META_BUFFERS: [Cell<i32>; META_PLACES] = const { [const { Cell::new(0) }; META_PLACES] };
}

/// Reads the metapage. Every insert and every search does this, so remembering its buffer saves the
/// look-up in the buffer table.
pub fn read_meta(rel: Rel) -> Meta {
    let place = rel.oid().to_u32() as usize % META_PLACES;
    let page = META_BUFFERS
        .with(|buffers| Pinned::read_recent(rel, META_BLOCK, &buffers[place]))
        .share();
    Meta::read(&page).unwrap_or_else(|error| raise_in_index(rel, META_BLOCK, &error))
}

/// A page that is locked in some way.
trait Locked<'r>: std::ops::Deref<Target = Page> + Sized {
    fn lock(page: Pinned<'r>) -> Self;
}

impl<'r> Locked<'r> for Shared<'r> {
    fn lock(page: Pinned<'r>) -> Self {
        page.share()
    }
}

impl<'r> Locked<'r> for Exclusive<'r> {
    fn lock(page: Pinned<'r>) -> Self {
        page.exclusive()
    }
}

/// One key space of an index, as one scan or one insert sees it. If the tree has got a new root
/// since, the old one is still the leftmost page of its level.
#[derive(Clone, Copy)]
pub struct Tree<'r> {
    rel: Rel<'r>,
    space: Space,
    stamp: u32,
    root: u32,
    root_level: u8,
}

impl<'r> Tree<'r> {
    pub fn new(rel: Rel<'r>, meta: &Meta, space: Space) -> Tree<'r> {
        Tree {
            rel,
            space,
            stamp: meta.page_stamp(),
            root: meta.roots[space.index()],
            root_level: meta.levels[space.index()],
        }
    }

    fn refreshed(self) -> Tree<'r> {
        Tree::new(self.rel, &read_meta(self.rel), self.space)
    }

    fn kind(&self, level: u8) -> PageKind {
        PageKind {
            space: self.space,
            level,
            stamp: self.stamp,
        }
    }

    /// Locks a block and checks that it is a sound page of this space and level.
    fn fetch<L: Locked<'r>>(&self, block: u32, level: u8) -> L {
        self.check(Pinned::read(self.rel, block), level)
    }

    fn check<L: Locked<'r>>(&self, page: Pinned<'r>, level: u8) -> L {
        let block = page.block();
        let page = L::lock(page);
        check_page(&page, self.kind(level))
            .unwrap_or_else(|error| raise_in_index(self.rel, block, &error));
        page
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
        key: Key,
        passed: &mut Option<Key>,
    ) -> Option<u32> {
        let begins_above = match special::level(page) {
            LEAF => {
                let low = leaf::low(page);
                (low.scope, low.block_key()) > (key.scope, key.block_key())
            }
            _ => internal::get(page, 0).key > key,
        };
        if begins_above {
            let text = format!("a search for {key} leads to it, but it begins above that");
            raise_in_index(self.rel, block, &Error::damaged(text));
        }
        let (right, high) = special::right(page).filter(|(_, high)| key >= *high)?;
        if passed.is_some_and(|passed| high <= passed) {
            // A key is a part of a row, which the current user may not be allowed to see.
            let fault = Error::damaged("its high key is not above that of its left sibling");
            raise_in_index(self.rel, block, &fault);
        }
        *passed = Some(high);
        Some(right)
    }

    /// Returns the block on `level` where the search for `key` begins.
    fn descend(&self, key: Key, level: u8) -> u32 {
        let (mut block, mut at) = (self.root, self.root_level);
        if at < level {
            let fault = Error::damaged(format!("no page on level {level} above it"));
            raise_in_index(self.rel, block, &fault);
        }
        let mut passed = None;
        while at > level {
            check_for_interrupts();
            let page: Shared = self.fetch(block, at);
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
    pub fn leaf(&self, key: Key) -> Shared<'r> {
        self.leaf_from(Pinned::read(self.rel, self.leaf_block(key)), key)
    }

    /// Like [`Tree::leaf`], but starts the search at `start`, a leaf known to be at or left of it.
    pub fn leaf_from(&self, start: Pinned<'r>, key: Key) -> Shared<'r> {
        let mut page: Shared = self.check(start, LEAF);
        let (mut right_steps, mut passed) = (0, None);
        while let Some(right) = self.next_right(&page, page.block(), key, &mut passed) {
            drop(page);
            check_for_interrupts();
            page = self.move_right(right, LEAF, key, &mut right_steps, &mut passed);
        }
        page
    }

    /// Locks a page known to be a leaf of this space for writing, and returns its kind.
    pub fn lock_leaf(&self, page: Pinned<'r>) -> (Exclusive<'r>, PageKind) {
        (self.check(page, LEAF), self.kind(LEAF))
    }

    /// Calls `each` with the low end and the block of each page right above the leaves, from left
    /// to right; with none when the root is a leaf.
    pub fn parents_of_leaves(&self, mut each: impl FnMut(Key, u32)) {
        match self.root_level {
            LEAF => {}
            PARENT => each(Key::MIN, self.root),
            _ => self.pages_between(PARENT + 1, (Key::MIN, Key::END), |page| {
                internal::links(page).for_each(|link| each(link.key, link.child));
            }),
        }
    }

    /// Calls `each` with the low end of each leaf that holds positions from `first` to `last`, from
    /// left to right.
    pub fn each_leaf_between(&self, first: Key, last: Key, mut each: impl FnMut(Key)) {
        if self.root_level == LEAF {
            return each(Key::MIN);
        }
        self.pages_between(PARENT, (first, last), |page| {
            internal::links_between(page, first, last).for_each(|link| each(link.key));
        });
    }

    /// Calls `each` with the pages on a level that hold positions from `first` to `last`, from left
    /// to right.
    fn pages_between(&self, level: u8, (first, last): (Key, Key), mut each: impl FnMut(&Page)) {
        let mut next = Some(self.descend(first, level));
        let (mut begun, mut passed) = (false, None);
        while let Some(block) = next {
            check_for_interrupts();
            let page: Shared = self.fetch(block, level);
            begun |= !special::is_past(&page, first);
            if begun {
                each(&page);
            }
            let key = if begun { last } else { first };
            next = self.next_right(&page, block, key, &mut passed);
        }
    }

    /// Returns the page on `level` that holds `key`, locked for writing. Splits that a crash or an
    /// error left unfinished on the way are finished first, so that no page is ever split again
    /// before its right sibling has a downlink.
    fn page_for_write(&self, key: Key, level: u8) -> Exclusive<'r> {
        let mut tree = *self;
        let mut block = tree.descend(key, level);
        let mut passed = None;
        loop {
            check_for_interrupts();
            let page: Exclusive = tree.fetch(block, level);
            if special::is_incomplete(&page) {
                tree.finish_split(page, level);
                tree = tree.refreshed();
                block = tree.descend(key, level);
                passed = None;
                continue;
            }
            match tree.next_right(&page, block, key, &mut passed) {
                Some(right) => block = right,
                None => return page,
            }
        }
    }

    /// Returns the leaf in which `key` can be put right now, locked for writing; None when
    /// [`Tree::make_room`] has to split it first, or to finish a split, with no other page locked.
    ///
    /// The search starts at `start`, a leaf known to be that of `key` or left of it.
    pub fn leaf_with_room(&self, start: Pinned<'r>, key: Key) -> Option<Exclusive<'r>> {
        let mut page: Exclusive = self.check(start, LEAF);
        let (mut right_steps, mut passed) = (0, None);
        loop {
            if special::is_incomplete(&page) {
                return None;
            }
            let Some(right) = self.next_right(&page, page.block(), key, &mut passed) else {
                return leaf::has_room(&page, key).then_some(page);
            };
            drop(page);
            check_for_interrupts();
            page = self.move_right(right, LEAF, key, &mut right_steps, &mut passed);
        }
    }

    /// Returns the next page on `level` of a search for `key` that has to leave its page for
    /// `right`: that one, or after many steps the one that the present root leads to.
    fn move_right<L: Locked<'r>>(
        &self,
        right: u32,
        level: u8,
        key: Key,
        right_steps: &mut u64,
        passed: &mut Option<Key>,
    ) -> L {
        *right_steps += 1;
        if *right_steps != MAX_RIGHT_STEPS {
            return self.fetch(right, level);
        }
        *passed = None;
        self.fetch(self.refreshed().descend(key, level), level)
    }

    /// Returns the leaf at which the search for `key` begins, by a descent from the root.
    pub fn leaf_block(&self, key: Key) -> u32 {
        self.descend(key, LEAF)
    }

    /// Returns the page above the leaf that holds `key`, locked for reading; None if the root is a
    /// leaf. The search starts at `start`, if given, a page of that level at or left of it. Also
    /// returns how many times it had to move right from there.
    pub fn parent_of_leaf(&self, start: Option<Pinned<'r>>, key: Key) -> Option<(Shared<'r>, u64)> {
        if self.root_level == LEAF && start.is_none() {
            return None;
        }
        let start = start.unwrap_or_else(|| Pinned::read(self.rel, self.descend(key, PARENT)));
        let mut page: Shared = self.check(start, PARENT);
        let (mut right_steps, mut passed) = (0, None);
        while let Some(right) = self.next_right(&page, page.block(), key, &mut passed) {
            drop(page);
            check_for_interrupts();
            page = self.move_right(right, PARENT, key, &mut right_steps, &mut passed);
        }
        Some((page, right_steps))
    }

    /// Makes room on the leaf of `key` if it has none: splits the leaf, or lets it take postings of
    /// several scopes. Finishes splits found on the way.
    pub fn make_room(&self, key: Key) {
        let mut left = self.page_for_write(key, LEAF);
        if leaf::has_room(&left, key) {
            return;
        }
        if leaf::has_room_if_scoped(&left, key) {
            let kind = self.kind(LEAF);
            let Ok(()) = wal::change([(&mut left, PageImage::Full)], |[l]| {
                leaf_rewrite::admit_scope(l, kind, key);
                Ok::<(), Infallible>(())
            });
            return;
        }
        let mut right = Exclusive::extend(self.rel);
        let (kind, right_block, block) = (self.kind(LEAF), right.block(), left.block());
        let pages = [(&mut left, PageImage::Full), (&mut right, PageImage::Full)];
        wal::change(pages, |[l, r]| {
            leaf_rewrite::split(l, r, kind, right_block, key)
        })
        .unwrap_or_else(|error| raise_in_index(self.rel, block, &error));
        drop(right);
        self.finish_split(left, LEAF);
    }

    /// Gives the right sibling of `left`, whose split is marked incomplete, its downlink.
    /// Unlocks `left`.
    fn finish_split(&self, mut left: Exclusive<'r>, level: u8) {
        let Some((right, key)) = special::right(&left) else {
            raise_in_index(
                self.rel,
                left.block(),
                &Error::damaged("incomplete split without a right sibling"),
            );
        };
        let link = Downlink { key, child: right };
        // Only the holder of the root's lock makes a new root, so this cannot change under us.
        let tree = self.refreshed();
        if tree.root == left.block() {
            return tree.grow_root(left, level, link);
        }
        loop {
            let mut parent = tree.page_for_write(key, level + 1);
            if internal::is_full(&parent) {
                tree.split_internal(parent, level + 1);
                continue;
            }
            let pages = [
                (&mut parent, PageImage::Delta),
                (&mut left, PageImage::Delta),
            ];
            let Ok(()) = wal::change(pages, |[p, l]| {
                internal::insert(p, link);
                special::set_incomplete(l, false);
                Ok::<(), Infallible>(())
            });
            return;
        }
    }

    /// Splits a full internal page and links its new right sibling.
    fn split_internal(&self, mut left: Exclusive<'r>, level: u8) {
        let mut right = Exclusive::extend(self.rel);
        let (kind, right_block) = (self.kind(level), right.block());
        let pages = [(&mut left, PageImage::Full), (&mut right, PageImage::Full)];
        let Ok(_) = wal::change(pages, |[l, r]| {
            Ok::<_, Infallible>(internal::split(l, r, kind, right_block))
        });
        drop(right);
        self.finish_split(left, level);
    }

    /// Puts a new root above the old one, `left`, and its new right sibling.
    fn grow_root(&self, mut left: Exclusive<'r>, level: u8, link: Downlink) {
        let mut root = Exclusive::extend(self.rel);
        let mut meta_page = Pinned::read(self.rel, META_BLOCK).exclusive();
        let mut meta = Meta::read(&meta_page)
            .unwrap_or_else(|error| raise_in_index(self.rel, META_BLOCK, &error));
        let space = self.space.index();
        meta.roots[space] = root.block();
        meta.levels[space] = level + 1;
        let links = [
            Downlink {
                key: Key::MIN,
                child: left.block(),
            },
            link,
        ];
        let kind = self.kind(level + 1);
        let pages = [
            (&mut root, PageImage::Full),
            (&mut meta_page, PageImage::Delta),
            (&mut left, PageImage::Delta),
        ];
        let Ok(()) = wal::change(pages, |[r, m, l]| {
            internal::init(r, kind, &links, None);
            meta.write(m);
            special::set_incomplete(l, false);
            Ok::<(), Infallible>(())
        });
    }
}
