//! An index as one scan sees it, from its start to its end.

use super::cache::{Cached, directory, note_effort};
use super::key::{Key, Space};
use super::page::meta::Meta;
use super::probe::{Radii, WALK, choose, radii};
use super::tree::{LEAF, Tree, read_meta};
use crate::pg::buffer::{Pinned, Shared};
use crate::pg::relation::Rel;
use std::cell::Cell;
use std::rc::Rc;

/// What a scan remembers of the index.
#[derive(Clone)]
pub struct Snapshot {
    meta: Meta,
    directory: Option<Rc<Cached>>,
}

impl Snapshot {
    pub fn take(rel: Rel) -> Snapshot {
        let meta = read_meta(rel);
        Snapshot {
            meta,
            directory: directory(rel, &meta),
        }
    }
}

/// The index during one call of a scan.
pub struct View<'r, 's> {
    rel: Rel<'r>,
    snapshot: &'s Snapshot,
    effort: Cell<u64>,
}

impl<'r, 's> View<'r, 's> {
    pub fn new(rel: Rel<'r>, snapshot: &'s Snapshot) -> View<'r, 's> {
        View {
            rel,
            snapshot,
            effort: Cell::new(0),
        }
    }

    /// The leaf of `space` that holds `key`, locked for reading; `at_or_left`, if given, is a block
    /// known to be that leaf or left of it.
    pub fn leaf(&self, space: Space, key: Key, at_or_left: Option<u32>) -> Shared<'r> {
        let tree = Tree::new(self.rel, &self.snapshot.meta, space);
        if let Some(block) = at_or_left {
            return tree.leaf_from(Pinned::read(self.rel, block), key).0;
        }
        let known = self
            .snapshot
            .directory
            .as_ref()
            .filter(|_| space != Space::NULL);
        let (page, effort) = match known {
            Some(cached) => {
                let leaves = cached.space(space.index());
                let position = leaves.find(key);
                let recent = cached.recent(space.index(), position);
                let start = Pinned::read_recent(self.rel, leaves.block(position), recent);
                tree.leaf_from(start, key)
            }
            None => (tree.leaf(key), 1),
        };
        self.effort.set(self.effort.get() + effort);
        page
    }

    /// Radii for a search within `k` of `query`: by what is known of the key spaces, or even ones.
    pub fn radii(&self, query: u64, k: u32) -> Radii {
        match &self.snapshot.directory {
            Some(cached) => choose(query, k, cached.as_ref()),
            // One leaf is read faster than four.
            None if self.is_one_leaf() => WALK,
            None => radii(k),
        }
    }

    /// Is a key space a single leaf?
    pub fn is_one_leaf(&self) -> bool {
        self.snapshot.meta.levels[0] == LEAF
    }

    /// What is known of the key spaces, if anything.
    pub fn counts(&self) -> Option<&'s Cached> {
        self.snapshot.directory.as_deref()
    }
}

impl Drop for View<'_, '_> {
    fn drop(&mut self) {
        note_effort(self.rel, self.effort.get());
    }
}
