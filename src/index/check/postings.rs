//! The postings of a key space in order, while others write.

use crate::index::key::{Key, Space};
use crate::index::page::{leaf, special};
use crate::index::tree::{Tree, read_meta};
use crate::pg::catalog::relation::Rel;
use crate::pg::page::buffer::Pinned;
use crate::pg::process::backend::check_for_interrupts;

/// Walks the leaves of a key space from left to right. Between two leaves no lock and no pin is
/// held, and still no posting is met twice, or missed that was there all the time: a leaf's upper
/// end stays a boundary for ever.
pub struct Postings<'r> {
    rel: Rel<'r>,
    tree: Tree<'r>,
    /// Where the walk goes on, and the leaf that began there; None at the end.
    next: Option<(Key, u32)>,
    leaf: std::vec::IntoIter<Key>,
}

impl<'r> Postings<'r> {
    pub fn new(rel: Rel<'r>, space: Space) -> Postings<'r> {
        let tree = Tree::new(rel, &read_meta(rel), space);
        let first = tree.leaf_block(Key::MIN);
        Postings {
            rel,
            tree,
            next: Some((Key::MIN, first)),
            leaf: Vec::new().into_iter(),
        }
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
            let page = self.tree.leaf_from(Pinned::read(self.rel, block), from);
            self.leaf = leaf::sorted_postings(&page).into_iter();
            self.next = special::right(&page).map(|(right, high)| (high, right));
        }
    }
}
