//! The splits that make room in the tree of a key space. An insert that finds its leaf full calls
//! [`Tree::make_room`] while it has no page locked.
//!
//! A split is two logged steps: the page is split and marked incomplete, then its right sibling gets
//! a downlink. A crash may come between them; the next writer that comes to the page finishes it.

use super::store::{Locked, PageImage, PageStore};
use super::{ForWriting, Tree};
use crate::Error;
use crate::key::Position;
use crate::page::internal::{self, Downlink};
use crate::page::meta::{META_BLOCK, Meta};
use crate::page::{LEAF, leaf, leaf_rewrite, special};
use std::convert::Infallible;

impl<S: PageStore> Tree<S> {
    /// Returns the page on `level` that holds `key`, locked for writing. Splits that a crash or an
    /// error left unfinished on the way are finished first, so that no page is ever split again
    /// before its right sibling has a downlink.
    fn page_for_write(&self, key: Position, level: u8) -> Locked<S::Exclusive> {
        let mut tree = *self;
        let mut block = tree.descend(key, level);
        let mut passed = None;
        loop {
            self.store.check_for_interrupts();
            let page = tree.lock_checked::<ForWriting>(block, level);
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
    pub fn leaf_with_room(&self, start: S::Pinned, key: Position) -> Option<Locked<S::Exclusive>> {
        let mut page = self.check::<ForWriting>(start, LEAF);
        let (mut right_steps, mut passed) = (0, None);
        loop {
            if special::is_incomplete(&page) {
                return None;
            }
            let Some(right) = self.next_right(&page, page.block, key, &mut passed) else {
                return leaf::has_room(&page, key).then_some(page);
            };
            drop(page);
            self.store.check_for_interrupts();
            page = self.move_right::<ForWriting>(right, LEAF, key, &mut right_steps, &mut passed);
        }
    }

    /// Makes room on the leaf of `key` if it has none: splits the leaf, or lets it take postings of
    /// several scopes. Finishes splits found on the way.
    pub fn make_room(&self, key: Position) {
        let mut left = self.page_for_write(key, LEAF);
        if leaf::has_room(&left, key) {
            return;
        }
        if leaf::has_room_if_scoped(&left, key) {
            let kind = self.kind(LEAF);
            let Ok(()) = S::change([(&mut left, PageImage::Full)], |[l]| {
                leaf_rewrite::admit_scope(l, kind, key);
                Ok::<(), Infallible>(())
            });
            return;
        }
        let mut right = self.store.extend();
        let (kind, right_block, block) = (self.kind(LEAF), right.block, left.block);
        let pages = [(&mut left, PageImage::Full), (&mut right, PageImage::Full)];
        S::change(pages, |[l, r]| {
            leaf_rewrite::split(l, r, kind, right_block, key)
        })
        .unwrap_or_else(|error| self.store.raise(block, &error));
        drop(right);
        self.finish_split(left, LEAF);
    }

    /// Gives the right sibling of `left`, whose split is marked incomplete, its downlink.
    /// Unlocks `left`.
    fn finish_split(&self, mut left: Locked<S::Exclusive>, level: u8) {
        let Some((right, key)) = special::right(&left) else {
            self.store.raise(
                left.block,
                &Error::damaged("incomplete split without a right sibling"),
            );
        };
        let link = Downlink { key, child: right };
        // Only the holder of the root's lock makes a new root, so this cannot change under us.
        let tree = self.refreshed();
        if tree.root == left.block {
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
            let Ok(()) = S::change(pages, |[p, l]| {
                internal::insert(p, link);
                special::set_incomplete(l, false);
                Ok::<(), Infallible>(())
            });
            return;
        }
    }

    /// Splits a full internal page and links its new right sibling.
    fn split_internal(&self, mut left: Locked<S::Exclusive>, level: u8) {
        let mut right = self.store.extend();
        let (kind, right_block) = (self.kind(level), right.block);
        let pages = [(&mut left, PageImage::Full), (&mut right, PageImage::Full)];
        let Ok(_) = S::change(pages, |[l, r]| {
            Ok::<_, Infallible>(internal::split(l, r, kind, right_block))
        });
        drop(right);
        self.finish_split(left, level);
    }

    /// Puts a new root above the old one, `left`, and its new right sibling.
    fn grow_root(&self, mut left: Locked<S::Exclusive>, level: u8, link: Downlink) {
        let mut root = self.store.extend();
        let mut meta_page = Locked {
            block: META_BLOCK,
            page: S::exclusive(self.store.pin_meta()),
        };
        let mut meta =
            Meta::read(&meta_page).unwrap_or_else(|error| self.store.raise(META_BLOCK, &error));
        let space = self.space.index();
        meta.roots[space] = root.block;
        meta.levels[space] = level + 1;
        let links = [
            Downlink {
                key: Position::MIN,
                child: left.block,
            },
            link,
        ];
        let kind = self.kind(level + 1);
        let pages = [
            (&mut root, PageImage::Full),
            (&mut meta_page, PageImage::Delta),
            (&mut left, PageImage::Delta),
        ];
        let Ok(()) = S::change(pages, |[r, m, l]| {
            internal::init(r, kind, &links, None);
            meta.write(m);
            special::set_incomplete(l, false);
            Ok::<(), Infallible>(())
        });
    }
}
