//! The postings of a key space in order, while others write.

use crate::index::store::{IndexPages, tree_of};
use simhash_hamming::check::level_ahead::LevelAhead;
use simhash_hamming::key::{Key, Space};
use simhash_hamming::page::{internal, leaf, special};
use simhash_hamming::tree::Tree;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::Pinned;
use simhash_pg::process::backend::check_for_interrupts;
use std::cell::Cell;

/// Walks the leaves of a key space from left to right. Between two leaves it holds no lock and no
/// pin. Still it meets no posting twice, and misses none that was there all the time: a leaf's
/// upper end stays a boundary forever.
pub struct Postings<'r> {
    rel: Rel<'r>,
    tree: Tree<IndexPages<'r>>,
    /// Where the walk goes on, and the leaf that began there; None at the end.
    next: Option<(Key, u32)>,
    leaf: std::vec::IntoIter<Key>,
    /// Leaves to come, as the level above had them when they were looked up.
    ahead: LevelAhead,
    /// Where the leaves after those begin; None if there are none, or none is known.
    unknown: Option<Key>,
}

impl<'r> Postings<'r> {
    pub fn new(rel: Rel<'r>, space: Space) -> Postings<'r> {
        let tree = tree_of(rel, space);
        let first = tree.leaf_block(Key::MIN);
        Postings {
            rel,
            tree,
            next: Some((Key::MIN, first)),
            leaf: Vec::new().into_iter(),
            ahead: LevelAhead::default(),
            unknown: Some(Key::MIN),
        }
    }

    /// Asks for the leaves that come after the one that begins at `from`. These are only hints: the
    /// walk follows the right links.
    fn read_ahead(&mut self, from: Key) {
        let window = self.rel.maintenance_io_concurrency();
        if window == 0 {
            return;
        }
        while self.ahead.first().is_some_and(|(low, _)| low < from) {
            self.ahead.pop();
        }
        while self.ahead.known() <= window
            && let Some(begin) = self.unknown.take()
        {
            let begin = begin.max(from);
            let Some((page, _)) = self.tree.parent_of_leaf(None, begin) else {
                return;
            };
            for link in internal::links_between(&page, begin, Key::END) {
                self.ahead.push(link.key, link.child);
            }
            self.unknown = special::high_key(&page);
        }
        (self.ahead).read_ahead(window, |block| {
            Pinned::read_ahead(self.rel, block, &Cell::new(0));
        });
    }
}

impl Iterator for Postings<'_> {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        loop {
            if let Some(key) = self.leaf.next() {
                return Some(key);
            }
            let (from, block) = self.next?;
            check_for_interrupts();
            self.read_ahead(from);
            let page = self.tree.leaf_from(Pinned::read(self.rel, block), from);
            self.leaf = leaf::sorted_postings(&page).into_iter();
            self.next = special::right(&page).map(|(right, high)| (high, right));
        }
    }
}
