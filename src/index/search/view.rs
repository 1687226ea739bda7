//! An index as one scan sees it, from its start to its end.

use super::cache::{Cached, ScopeCounts, directory, note_effort};
use super::directory::Leaf;
use super::probe::{Even, Radii, WALK, choose, radii};
use super::read_ahead::ReadAhead;
use crate::index::key::{Key, Space};
use crate::index::page::meta::Meta;
use crate::index::page::{LEAF, leaf};
use crate::index::tree::{Tree, read_meta};
use crate::pg::am::scan::Reader;
use crate::pg::catalog::relation::Rel;
use crate::pg::page::buffer::{Exclusive, Pinned, Shared, pages_read, prefetch, prefetch_line};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a scan or an insert reads of the index at its start: the metapage, and the leaf directory
/// if the session has one.
#[derive(Clone)]
pub struct IndexState {
    meta: Meta,
    /// Has the index scope columns?
    scoped: bool,
    /// The leaves of scopes that were counted without a directory; None for many.
    counted: RefCell<BTreeMap<u32, Option<u64>>>,
    directory: Option<Rc<Cached>>,
}

thread_local! {
    /// Whether the leaves of the session's searches are in memory.
    static READ_AHEAD: ReadAhead = const { ReadAhead::new() };
}

/// A leaf that a search is going to visit.
pub enum PlannedLeaf {
    /// By its place in the directory.
    Entry(usize),
    /// As an internal page tells, with the buffer that holds it; 0 if in none.
    Child { block: u32, recent: Cell<i32> },
}

impl IndexState {
    pub fn read(rel: Rel) -> IndexState {
        let meta = read_meta(rel);
        IndexState {
            meta,
            scoped: rel.key_columns() > 1,
            counted: RefCell::default(),
            directory: directory(rel, &meta),
        }
    }
}

/// The index during one call of a scan.
pub struct View<'r, 's> {
    rel: Rel<'r>,
    state: &'s IndexState,
    /// None when rows are inserted.
    reader: Option<Reader<'r>>,
    effort: Cell<u64>,
    /// Pages that the session had read from files when that was last looked at. Between two calls
    /// the executor reads pages of the table.
    pages_read: Cell<i64>,
}

impl<'r, 's> View<'r, 's> {
    pub fn new(rel: Rel<'r>, state: &'s IndexState) -> View<'r, 's> {
        View {
            rel,
            state,
            reader: None,
            effort: Cell::new(0),
            pages_read: Cell::new(pages_read()),
        }
    }

    /// The view of a scan.
    pub fn read_by(mut self, reader: Reader<'r>) -> View<'r, 's> {
        self.reader = Some(reader);
        self
    }

    /// Raises an ERROR if the reader's snapshot is too old for a leaf.
    pub fn check_age(&self, leaf: &Shared) {
        if let Some(reader) = self.reader {
            reader.check_age(self.rel, leaf);
        }
    }

    /// The leaf of `space` that holds `key`, locked for reading; `at_or_left`, if given, is a block
    /// known to be that leaf or left of it.
    pub fn leaf(&self, space: Space, key: Key, at_or_left: Option<u32>) -> Shared<'r> {
        if let Some(block) = at_or_left {
            let start = Pinned::read(self.rel, block);
            return self.tree(space).leaf_from(start, key).0;
        }
        if let Some(cached) = self.known(space) {
            return self.known_leaf(space, key, cached.space(space.index()).find(key), cached);
        }
        self.note_descent(space);
        self.tree(space).leaf(key)
    }

    /// As [`View::leaf`], for a `key` whose leaf was planned.
    pub fn planned_leaf(&self, space: Space, key: Key, planned: &PlannedLeaf) -> Shared<'r> {
        match (planned, self.known(space)) {
            (PlannedLeaf::Entry(entry), Some(cached)) => {
                self.known_leaf(space, key, *entry, cached)
            }
            // The directory stays the same for the whole scan, so this does not happen.
            (PlannedLeaf::Entry(_), None) => self.leaf(space, key, None),
            (PlannedLeaf::Child { block, recent }, _) => {
                self.note_descent(space);
                let start = Pinned::read_recent(self.rel, *block, recent);
                self.tree(space).leaf_from(start, key).0
            }
        }
    }

    fn known_leaf(&self, space: Space, key: Key, entry: usize, cached: &Cached) -> Shared<'r> {
        let known = cached.space(space.index()).leaf(entry);
        let start = Pinned::read_recent(self.rel, known.block, &known.recent);
        let (page, moves) = self.tree(space).leaf_from(start, key);
        self.note_effort(moves);
        page
    }

    /// How many leaves beyond the next one a search that has visited so many asks the operating
    /// system for; 0 where they are expected in buffers.
    pub fn read_ahead(&self, visited: usize) -> usize {
        READ_AHEAD.with(|ahead| match ahead.is_idle() {
            true => 0,
            false => ahead.window(visited, self.rel.io_concurrency()),
        })
    }

    /// Notes whether the pages of a visit had to be read from the file.
    pub fn note_visit(&self) {
        let pages_read = pages_read();
        let was_read = self.pages_read.replace(pages_read) != pages_read;
        READ_AHEAD.with(|ahead| ahead.note_visit(was_read));
    }

    /// Asks the operating system for a leaf, unless it is in a buffer.
    pub fn ask_for(&self, space: Space, planned: &PlannedLeaf) {
        match (planned, self.known(space)) {
            (PlannedLeaf::Entry(entry), Some(cached)) => {
                let leaf = cached.space(space.index()).leaf(*entry);
                Pinned::read_ahead(self.rel, leaf.block, &leaf.recent);
            }
            (PlannedLeaf::Entry(_), None) => {}
            (PlannedLeaf::Child { block, recent }, _) => {
                Pinned::read_ahead(self.rel, *block, recent);
            }
        }
    }

    /// As [`Tree::leaves_from`], for a session that has no directory; false where it has one.
    pub fn leaves_from(
        &self,
        space: Space,
        from: Key,
        each: impl FnMut(Key, u32, Option<Key>) -> Option<Key>,
    ) -> bool {
        !self.has_directory(space) && self.tree(space).leaves_from(from, each)
    }

    /// Are the leaves of this key space in the session's directory?
    pub fn has_directory(&self, space: Space) -> bool {
        self.known(space).is_some()
    }

    /// The leaf in which `key` can be put right now, locked for writing; None when `make_room` has
    /// to be called first. `known` is what [`View::expect_insert`] found.
    pub fn leaf_with_room(
        &self,
        space: Space,
        key: Key,
        known: Option<&Leaf>,
    ) -> Option<Exclusive<'r>> {
        let tree = self.tree(space);
        let start = match known {
            Some(leaf) => Pinned::read_recent(self.rel, leaf.block, &leaf.recent),
            None => {
                self.note_descent(space);
                tree.leaf_by_descent(key)
            }
        };
        let (page, moves) = tree.leaf_with_room(start, key);
        self.note_visit();
        if known.is_some() {
            self.note_effort(moves);
        }
        if let Some(page) = &page {
            leaf::next_posting(page).into_iter().for_each(prefetch_line);
        }
        page
    }

    /// Finds the leaves of an insert in the directory, if there is one, and starts fetching what
    /// the insert reads of them first. The accesses overlap: those to the directory's entries, then
    /// those to the leaves.
    pub fn expect_insert<const N: usize>(
        &self,
        places: &[(Space, Key); N],
    ) -> [Option<&'s Leaf>; N] {
        let known = |(space, key): &(Space, Key)| {
            let leaves = self.known(*space)?.space(space.index());
            prefetch_line(leaves.first_read(*key));
            Some((leaves, *key))
        };
        let places = places.each_ref().map(known);
        // Later each is read with those before it locked.
        let must_read = self.read_ahead(0) > 0;
        places.map(|place| {
            let (leaves, key) = place?;
            let found = leaves.leaf(leaves.find(key));
            if must_read {
                Pinned::read_ahead(self.rel, found.block, &found.recent);
            }
            prefetch(found.recent.get(), [leaf::SPECIAL]);
            Some(found)
        })
    }

    /// Makes room on the leaf of `key`, and finishes splits found on the way.
    pub fn make_room(&self, space: Space, key: Key) {
        self.tree(space).make_room(key);
    }

    /// Finds the leaf that holds `key` in the directory, if there is one, and starts fetching what
    /// a search reads of it. Returns the entry of the leaf and where the next one begins.
    pub fn prefetch(&self, space: Space, key: Key) -> Option<(usize, Option<Key>)> {
        let cached = self.known(space)?;
        let leaves = cached.space(space.index());
        let entry = leaves.find(key);
        let buffer = leaves.leaf(entry).recent.get();
        prefetch(buffer, leaf::likely_bytes(leaves.share_before(entry, key)));
        Some((entry, leaves.low(entry + 1)))
    }

    fn tree(&self, space: Space) -> Tree<'r> {
        Tree::new(self.rel, &self.state.meta, space)
    }

    fn known(&self, space: Space) -> Option<&'s Cached> {
        self.directory().filter(|_| space != Space::NULL)
    }

    fn note_effort(&self, effort: u64) {
        self.effort.set(self.effort.get() + effort);
    }

    /// Notes a descent that a directory would have saved. There is none of the NULL space.
    fn note_descent(&self, space: Space) {
        if space != Space::NULL {
            self.note_effort(1);
        }
    }

    /// Radii for a search within `k` of `query` in a scope: the cheapest by the counts, or evenly
    /// spread ones where nothing is known. With None, in all scopes, which no probe can search.
    pub fn radii(&self, scope: Option<u32>, query: u64, k: u32) -> Radii {
        let Some(scope) = scope else { return WALK };
        match self.counts(scope) {
            Counts::Directory(counts) => choose(query, k, &counts),
            Counts::Leaves(1) => WALK,
            Counts::Leaves(leaves) => choose(query, k, &Even { leaves }),
            Counts::Unknown => radii(k),
        }
    }

    /// What is known of a scope.
    pub fn counts(&self, scope: u32) -> Counts<'s> {
        if let Some(cached) = self.state.directory.as_deref() {
            return Counts::Directory(cached.of_scope(scope));
        }
        if self.state.meta.levels[0] == LEAF {
            return Counts::Leaves(1);
        }
        if !self.state.scoped {
            return Counts::Unknown;
        }
        let counted = self.state.counted.borrow().get(&scope).copied();
        let leaves = counted.unwrap_or_else(|| self.count_leaves(scope));
        leaves.map_or(Counts::Unknown, Counts::Leaves)
    }

    /// Leaves of a scope in the first key space; None when they are many.
    fn count_leaves(&self, scope: u32) -> Option<u64> {
        let space = Space::of_block(0);
        self.note_descent(space);
        let (first, last) = (Key::at(scope, 0), Key::at(scope, u64::MAX));
        let leaves = self.tree(space).leaves_between(first, last);
        self.state.counted.borrow_mut().insert(scope, leaves);
        leaves
    }

    fn directory(&self) -> Option<&'s Cached> {
        self.state.directory.as_deref()
    }
}

/// What is known of a scope before a search.
pub enum Counts<'c> {
    Directory(ScopeCounts<'c>),
    /// Leaves of one key space.
    Leaves(u64),
    Unknown,
}

impl Drop for View<'_, '_> {
    fn drop(&mut self) {
        note_effort(self.rel, self.effort.get());
    }
}
