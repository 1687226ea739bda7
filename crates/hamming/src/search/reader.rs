//! An index as one scan or one insert sees it, from its start to its end: the pages that lead to a
//! position, by what the session remembers of them or by a descent. The walks of searches and
//! [`crate::insert`] call it. What is remembered may be stale: it leads to the right page or left of
//! it, and the tree moves right from there.
//!
//! [`ReadAhead`] asks for pages before they are read: from the file, and into the processor's cache. It changes how
//! long a search waits, and no answer. Where a search finds its pages in memory, reading ahead only costs time;
//! where it does not, the reads should overlap, as many as the setting allows. The pages that are visited show
//! which of the two holds: reading ahead begins when one of them had to be read, and ends after many that were
//! in memory. A search that ends soon must not read ahead much: the window grows with the visits.

use crate::key::{Position, Space};
use crate::page::meta::Meta;
use crate::page::{internal, leaf, special};
use crate::search::directory::{CachedIndex, LeafParent};
use crate::search::downlinks::Child;
use crate::search::key_counts::Counts;
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
    pub end: Option<Position>,
    /// Approximate share of its rows before the position of the visit, 0 to 1.
    pub(super) share: f32,
}

impl PlannedLeaf {
    fn of(key: Position, child: Child) -> PlannedLeaf {
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
        key: Position,
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
        key: Position,
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
        key: Position,
    ) -> Option<(&'s LeafParent, Option<Position>)> {
        self.cached()?.directory.parents(space).find(key)
    }

    /// The page above the leaf that holds `key`, locked for reading; None if the root is a leaf.
    pub(super) fn parent(&self, space: Space, key: Position) -> Option<Locked<S::Shared>> {
        let cached = self.cached_parent(space, key).map(|(page, _)| page);
        self.read_parent(space, key, cached)
    }

    /// As [`IndexReader::parent`], by what [`IndexReader::cached_parent`] found.
    pub(crate) fn read_parent(
        &self,
        space: Space,
        key: Position,
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
        from: Position,
        mut each: impl FnMut(Position, PlannedLeaf) -> Option<Position>,
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
    pub(super) fn forget_copy(&self, space: Space, key: Position) {
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

thread_local! {
    /// Whether the leaves of the session's searches are in memory.
    static READ_AHEAD: ReadAhead = const { ReadAhead::new() };
}

impl<S: PageStore> IndexReader<'_, S> {
    /// How many leaves beyond the next one a search that has visited `visited` leaves asks for; 0
    /// where they are expected in buffers.
    pub(crate) fn window(&self, visited: usize) -> usize {
        READ_AHEAD.with(|ahead| match ahead.is_idle() {
            true => 0,
            false => ahead.window(visited, self.store.read_ahead_limit()),
        })
    }

    /// Notes whether the pages of a visit had to be read from the file.
    pub(crate) fn note_visit(&self) {
        let pages_read = S::pages_read();
        let was_read = self.pages_read.replace(pages_read) != pages_read;
        READ_AHEAD.with(|ahead| ahead.note_visit(was_read));
        if let Some(cached) = self.cached() {
            cached.note_visit();
        }
    }

    /// Asks for a leaf of the file, unless it is in a buffer.
    pub(crate) fn read_ahead(&self, block: u32) {
        let unknown = Cell::new(0);
        let recent = self
            .cached()
            .map(|cached| cached.directory.recent.cell(block));
        self.store.read_ahead(block, recent.unwrap_or(&unknown));
    }

    /// As [`IndexReader::read_ahead`], for the page above the leaf that holds `key`, if the directory
    /// names it; returns where that page ends.
    pub(super) fn read_parent_ahead(&self, space: Space, key: Position) -> Option<Position> {
        let (parent, end) = self.cached_parent(space, key)?;
        self.read_ahead(parent.block);
        end
    }

    /// Starts fetching what every visit of a leaf reads into the processor's cache: its head and its
    /// special area. They are the two ends of the page, so the processor also finds out where both halves
    /// are in memory, which takes as long.
    pub(super) fn warm_ends(&self, leaf: &PlannedLeaf) {
        S::warm(self.recent(leaf.block), [special::BYTES]);
    }

    /// As [`IndexReader::warm_ends`], and the words that a search is likely to test.
    pub(super) fn warm(&self, leaf: &PlannedLeaf) {
        S::warm(self.recent(leaf.block), leaf::likely_bytes(leaf.share));
    }

    /// As [`IndexReader::warm`], for the page above the leaf that holds `key`.
    pub(super) fn warm_parent(&self, space: Space, key: Position) {
        if let Some((parent, end)) = self.cached_parent(space, key) {
            match parent.copy() {
                Some(copy) => copy.warm(key),
                None => self.warm_links(parent, key.share_between(parent.low, end)),
            }
        }
    }

    /// Starts fetching what a search reads of a page above the leaves, `share` (0 to 1) of the way
    /// into it.
    pub(crate) fn warm_links(&self, parent: &LeafParent, share: f32) {
        let bytes = internal::likely_bytes(share, parent.links());
        S::warm(self.recent(parent.block), bytes);
    }

    /// The buffer that held a block last; 0 if that is not known.
    pub(crate) fn recent(&self, block: u32) -> i32 {
        self.cached()
            .map_or(0, |cached| cached.directory.recent.cell(block).get())
    }
}

/// Pages that a search reads ahead before it has visited any: one leaf of each key space.
const FIRST: usize = 4;
/// Pages visited one after the other without reading that end the reading ahead.
const PATIENCE: usize = 64;

/// Whether pages are expected in memory.
#[derive(Default)]
pub struct ReadAhead {
    /// Pages that must be found in memory until all are expected there.
    visits_left: Cell<usize>,
}

impl ReadAhead {
    /// Expects all pages in memory.
    #[inline]
    pub const fn new() -> ReadAhead {
        ReadAhead {
            visits_left: Cell::new(0),
        }
    }

    /// Notes that a page was visited, and whether it was read from a file.
    #[inline]
    pub fn note_visit(&self, was_read: bool) {
        match (was_read, self.visits_left.get()) {
            (true, _) => self.visits_left.set(PATIENCE),
            (false, 0) => {}
            (false, left) => self.visits_left.set(left - 1),
        }
    }

    /// Returns whether pages are expected in memory.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.visits_left.get() == 0
    }

    /// Returns how many pages a search reads ahead beyond the one that it reads next, when it has
    /// visited `visited` pages and the settings allow `most`.
    #[inline]
    pub fn window(&self, visited: usize, most: usize) -> usize {
        match self.is_idle() {
            true => 0,
            false => (FIRST + 2 * visited).min(most),
        }
    }
}

#[cfg(test)]
mod read_ahead_tests {
    use super::*;

    #[test]
    fn reading_ahead_begins_with_a_read_and_ends_in_memory() {
        let ahead = ReadAhead::new();
        ahead.note_visit(false);
        assert!(ahead.is_idle() && ahead.window(1000, 1000) == 0);
        ahead.note_visit(true);
        for _ in 1..PATIENCE {
            ahead.note_visit(false);
            assert!(!ahead.is_idle());
        }
        ahead.note_visit(true);
        for _ in 0..PATIENCE {
            assert!(!ahead.is_idle());
            ahead.note_visit(false);
        }
        assert!(ahead.is_idle());
    }

    #[test]
    fn the_window_grows_with_the_visits_up_to_the_setting() {
        let ahead = ReadAhead::new();
        ahead.note_visit(true);
        let windows = [0, 1, 10, 100].map(|visited| ahead.window(visited, 100));
        assert_eq!(windows, [4, 6, 24, 100]);
        assert_eq!([0, 1, 2].map(|most| ahead.window(50, most)), [0, 1, 2]);
    }
}
