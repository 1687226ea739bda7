//! An index as one scan or one insert sees it, from its start to its end: the pages that lead to a
//! position, by what the session remembers of them or by a descent. The walks of searches and
//! [`crate::insert`] call it. What is remembered may be stale: it leads to the right page or left of
//! it, and the tree moves right from there.

use super::directory::{CachedIndex, LeafParent};
use super::downlinks::Child;
use super::key_counts::Counts;
use crate::key::{Key, Space};
use crate::page::meta::Meta;
use crate::page::{internal, special};
use crate::tree::store::{Locked, PageStore};
use crate::tree::{Tree, read_meta};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a scan or an insert reads of the index at its start: the metapage, and what the session
/// knows of it.
#[derive(Clone)]
pub struct IndexState {
    pub(crate) meta: Meta,
    /// Whether the index has scope columns.
    pub(super) scoped: bool,
    cached: Option<Rc<CachedIndex>>,
    /// What has been found out about the scope of the last search.
    pub(super) counts: RefCell<Option<(u32, Counts)>>,
}

impl IndexState {
    /// Reads the metapage. `scoped` says whether the index has scope columns, `cached` what the
    /// session knows of an index with this metapage.
    #[inline]
    pub fn read<S: PageStore>(
        store: S,
        scoped: bool,
        cached: impl FnOnce(&Meta) -> Option<Rc<CachedIndex>>,
    ) -> IndexState {
        let meta = read_meta(store);
        IndexState {
            meta,
            scoped,
            cached: cached(&meta),
            counts: RefCell::default(),
        }
    }
}

/// A leaf that a search is going to visit.
pub struct PlannedLeaf {
    /// The page.
    pub block: u32,
    /// Where it ended when the page above it was read; None for the last.
    pub end: Option<Key>,
    /// Approximate share of its rows before the position of the visit, 0 to 1.
    pub(super) share: f32,
}

impl PlannedLeaf {
    fn of(key: Key, child: Child) -> PlannedLeaf {
        PlannedLeaf {
            block: child.block,
            share: key.share_between(child.low, child.end),
            end: child.end,
        }
    }
}

/// The index during one call of a scan.
pub struct IndexReader<'s, S> {
    pub(crate) store: S,
    pub(super) state: &'s IndexState,
    /// Pages that the session had read from files when that was last looked at. Between two calls
    /// the executor reads pages of the table.
    pub(super) pages_read: Cell<i64>,
}

impl<'s, S: PageStore> IndexReader<'s, S> {
    /// The index in a store, as it was at the start of the scan.
    #[inline]
    pub fn new(store: S, state: &'s IndexState) -> Self {
        Self {
            store,
            state,
            pages_read: Cell::new(S::pages_read()),
        }
    }

    /// The leaf of `space` that holds `key`, locked for reading; `at_or_left`, if given, is a block
    /// known to be that leaf or left of it.
    pub(super) fn leaf(
        &self,
        space: Space,
        key: Key,
        at_or_left: Option<u32>,
    ) -> Locked<S::Shared> {
        let start = at_or_left.unwrap_or_else(|| {
            let parent = self.parent(space, key);
            self.leaf_below(parent, space, key)
        });
        self.tree(space).leaf_from(self.pin(start), key)
    }

    /// The leaf at which the search for `key` begins, below a page that [`IndexReader::parent`] has
    /// found.
    pub(crate) fn leaf_below(
        &self,
        page: Option<Locked<S::Shared>>,
        space: Space,
        key: Key,
    ) -> u32 {
        match page {
            Some(page) => internal::find(&page, key).child,
            None => self.tree(space).leaf_block(key),
        }
    }

    /// The page above the leaf that holds `key`, as far as the session knows, and where it ends.
    pub(crate) fn cached_parent(
        &self,
        space: Space,
        key: Key,
    ) -> Option<(&'s LeafParent, Option<Key>)> {
        self.cached()?.directory.parents(space).find(key)
    }

    /// The page above the leaf that holds `key`, locked for reading; None if the root is a leaf.
    pub(super) fn parent(&self, space: Space, key: Key) -> Option<Locked<S::Shared>> {
        let cached = self.cached_parent(space, key).map(|(page, _)| page);
        self.read_parent(space, key, cached)
    }

    /// As [`IndexReader::parent`], by what [`IndexReader::cached_parent`] found.
    pub(crate) fn read_parent(
        &self,
        space: Space,
        key: Key,
        parent: Option<&LeafParent>,
    ) -> Option<Locked<S::Shared>> {
        let start = parent.map(|parent| self.pin(parent.block));
        let (page, moves_right) = self.tree(space).parent_of_leaf(start, key)?;
        match parent {
            Some(parent) if moves_right == 0 => parent.note_links(internal::count(&page)),
            _ => {
                if let Some(cached) = self.cached() {
                    cached.note_moves_right(moves_right.max(1));
                }
            }
        }
        Some(page)
    }

    /// Pins a block, in the buffer that held it last if that is known.
    pub(crate) fn pin(&self, block: u32) -> S::Pinned {
        match self.cached() {
            Some(cached) => self
                .store
                .pin_recent(block, cached.directory.recent.cell(block)),
            None => self.store.pin(block),
        }
    }

    /// Calls `each` with `from` and the leaf that holds it; then with the positions that `each` returns,
    /// which ascend, as long as the page above that leaf leads to them. Reads no leaf, and no page where
    /// the session has a copy of its downlinks. Returns false if the root is a leaf.
    pub(super) fn plan(
        &self,
        space: Space,
        from: Key,
        mut each: impl FnMut(Key, PlannedLeaf) -> Option<Key>,
    ) -> bool {
        let parent = self.cached_parent(space, from).map(|(parent, _)| parent);
        let mut next = Some(from);
        let copy = parent.and_then(LeafParent::copy);
        // It may be stale: `downlinks` says why it leads to the right leaf or left of it.
        if let Some(copy) = copy.filter(|copy| copy.holds(from)) {
            while let Some(key) = next.filter(|key| copy.holds(*key)) {
                let child = copy.find(key);
                next = each(key, PlannedLeaf::of(key, child));
            }
            return true;
        }
        let Some(page) = self.read_parent(space, from, parent) else {
            return false;
        };
        // Right of it after a split, the page is not the one that the directory names.
        if let Some(parent) = parent.filter(|parent| parent.block == page.block)
            && let Some(cached) = self.cached()
        {
            cached.keep_copy(self.store, parent, &page);
        }
        while let Some(key) = next.filter(|key| !special::is_past(&page, *key)) {
            let (link, end) = internal::find_with_end(&page, key);
            let child = Child {
                block: link.child,
                low: link.key,
                // On a damaged page the next position could be one that was met before.
                end: end.filter(|end| *end > key),
            };
            next = each(key, PlannedLeaf::of(key, child));
        }
        true
    }

    /// Forgets the copy of the page above the leaf of `key`: it was split since.
    pub(super) fn forget_copy(&self, space: Space, key: Key) {
        if let (Some(cached), Some((parent, _))) = (self.cached(), self.cached_parent(space, key)) {
            cached.forget_copy(parent);
        }
    }

    pub(crate) fn tree(&self, space: Space) -> Tree<S> {
        Tree::new(self.store, &self.state.meta, space)
    }

    pub(crate) fn cached(&self) -> Option<&'s CachedIndex> {
        self.state.cached.as_deref()
    }
}
