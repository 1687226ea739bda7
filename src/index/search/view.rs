//! An index as one scan sees it, from its start to its end.

use super::cache::{CachedIndex, cached_index};
use crate::index::dead_postings::CrowdedLeaves;
use crate::index::tree::{Tree, read_meta};
use simhash_base::processor::prefetch_line;
use simhash_hamming::key::{Key, Space};
use simhash_hamming::page::meta::Meta;
use simhash_hamming::page::special::PageKind;
use simhash_hamming::page::{LEAF, Page, internal, leaf, special};
use simhash_hamming::search::directory::Parent;
use simhash_hamming::search::key_counts::ScopeCounts;
use simhash_hamming::search::probe::{Even, Radii, WALK, choose, radii};
use simhash_hamming::search::read_ahead::ReadAhead;
use simhash_hamming::search::scopes::Scopes;
use simhash_pg::am::scan::IndexReader;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::{Exclusive, Pinned, Shared, pages_read, prefetch};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a scan or an insert reads of the index at its start: the metapage, and what the session
/// knows of it.
#[derive(Clone)]
pub struct IndexState {
    meta: Meta,
    /// Whether the index has scope columns.
    scoped: bool,
    cached: Option<Rc<CachedIndex>>,
    /// What has been found out about scopes.
    counts: RefCell<BTreeMap<u32, Counts>>,
}

/// What is known of a scope before a search.
#[derive(Clone)]
pub enum Counts {
    Keys(Rc<ScopeCounts>),
    /// Leaves of one key space, about.
    Leaves(u64),
    Unknown,
}

thread_local! {
    /// Whether the leaves of the session's searches are in memory.
    static READ_AHEAD: ReadAhead = const { ReadAhead::new() };
}

/// A leaf that a search is going to visit.
pub struct PlannedLeaf {
    pub block: u32,
    /// Where it ended when the page above it was read; None for the last.
    pub end: Option<Key>,
    /// Approximate share of its rows before the position of the visit, 0 to 1.
    share: f32,
}

impl IndexState {
    pub fn read(rel: Rel) -> IndexState {
        let meta = read_meta(rel);
        IndexState {
            meta,
            scoped: rel.key_columns() > 1,
            cached: cached_index(rel, &meta),
            counts: RefCell::default(),
        }
    }
}

/// The index during one call of a scan.
pub struct View<'r, 's> {
    rel: Rel<'r>,
    state: &'s IndexState,
    /// None when rows are inserted.
    reader: Option<IndexReader<'r>>,
    /// Where a scan notes leaves with many matches.
    crowded: Option<&'s CrowdedLeaves>,
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
            crowded: None,
            pages_read: Cell::new(pages_read()),
        }
    }

    /// Returns the view of a scan.
    pub fn read_by(mut self, reader: IndexReader<'r>) -> View<'r, 's> {
        self.reader = Some(reader);
        self
    }

    /// Returns the view of a scan that may remove the postings of dead rows.
    pub fn noting(mut self, crowded: &'s CrowdedLeaves) -> View<'r, 's> {
        self.crowded = Some(crowded);
        self
    }

    /// Notes how many postings of a leaf have matched.
    pub fn note_matches(&self, space: Space, leaf: &Shared, matches: usize) {
        if let Some(crowded) = self.crowded {
            crowded.note(space, leaf, matches);
        }
    }

    /// Notes which leaf holds the position of a search's query.
    pub fn note_searched(&self, space: Space, position: Key, leaf: &Shared) {
        if let Some(cached) = self.cached() {
            cached.note_searched(space, position, leaf.block());
        }
    }

    /// Raises an ERROR if the reader's snapshot is too old for a leaf.
    pub fn check_age(&self, leaf: &Shared) {
        if let Some(reader) = self.reader {
            reader.check_age(self.rel, leaf);
        }
    }

    /// Returns the leaf of `space` that holds `key`, locked for reading; `at_or_left`, if given, is
    /// a block known to be that leaf or left of it.
    pub fn leaf(&self, space: Space, key: Key, at_or_left: Option<u32>) -> Shared<'r> {
        let start = at_or_left.unwrap_or_else(|| self.leaf_block(space, key));
        self.tree(space).leaf_from(self.pin(start), key)
    }

    /// Returns the leaf at which the search for `key` begins.
    fn leaf_block(&self, space: Space, key: Key) -> u32 {
        self.leaf_below(self.parent(space, key), space, key)
    }

    /// As [`View::leaf_block`], below a page that [`View::parent`] has found.
    fn leaf_below(&self, page: Option<Shared>, space: Space, key: Key) -> u32 {
        match page {
            Some(page) => internal::find(&page, key).child,
            None => self.tree(space).leaf_block(key),
        }
    }

    /// Returns the page above the leaf that holds `key`, as far as the session knows, and where it
    /// ends.
    fn cached_parent(&self, space: Space, key: Key) -> Option<(&'s Parent, Option<Key>)> {
        self.cached()?.directory.parents(space).find(key)
    }

    /// Returns the page above the leaf that holds `key`, locked for reading; None if the root is a
    /// leaf.
    fn parent(&self, space: Space, key: Key) -> Option<Shared<'r>> {
        let cached = self.cached_parent(space, key).map(|(page, _)| page);
        self.read_parent(space, key, cached)
    }

    /// As [`View::parent`], by what [`View::cached_parent`] found.
    fn read_parent(&self, space: Space, key: Key, parent: Option<&Parent>) -> Option<Shared<'r>> {
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
    fn pin(&self, block: u32) -> Pinned<'r> {
        match self.cached() {
            Some(cached) => {
                Pinned::read_recent(self.rel, block, cached.directory.recent.cell(block))
            }
            None => Pinned::read(self.rel, block),
        }
    }

    /// Calls `each` with `from`, the leaf that holds it and the page above that; then with the
    /// positions that `each` returns, which ascend, as long as this page leads to them. Reads no
    /// leaf. Returns false if the root is a leaf.
    pub fn plan(
        &self,
        space: Space,
        from: Key,
        mut each: impl FnMut(Key, PlannedLeaf, &Page) -> Option<Key>,
    ) -> bool {
        let Some(page) = self.parent(space, from) else {
            return false;
        };
        let mut next = Some(from);
        while let Some(key) = next.filter(|key| !special::is_past(&page, *key)) {
            let (link, end) = internal::find_with_end(&page, key);
            let leaf = PlannedLeaf {
                block: link.child,
                share: key.share_between(link.key, end),
                // On a damaged page the next position could be one that was met before.
                end: end.filter(|end| *end > key),
            };
            next = each(key, leaf, &page);
        }
        true
    }

    /// Returns how many leaves beyond the next one a search that has visited `visited` leaves
    /// prefetches; 0 where they are expected in buffers.
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
        if let Some(cached) = self.cached() {
            cached.note_visit();
        }
    }

    /// Prefetches a leaf from the file, unless it is in a buffer.
    pub fn prefetch(&self, block: u32) {
        let unknown = Cell::new(0);
        let recent = self
            .cached()
            .map(|cached| cached.directory.recent.cell(block));
        Pinned::read_ahead(self.rel, block, recent.unwrap_or(&unknown));
    }

    /// Prefetches the page above the leaf that holds `key`, if the directory names it; returns
    /// where that page ends.
    pub fn prefetch_parent(&self, space: Space, key: Key) -> Option<Key> {
        let (parent, end) = self.cached_parent(space, key)?;
        self.prefetch(parent.block);
        end
    }

    /// Starts fetching what a search reads of a leaf first into the processor's cache.
    pub fn fetch(&self, leaf: &PlannedLeaf) {
        prefetch(self.recent(leaf.block), leaf::likely_bytes(leaf.share));
    }

    /// As [`View::fetch`], for the page above the leaf that holds `key`.
    pub fn fetch_parent(&self, space: Space, key: Key) {
        if let Some((parent, end)) = self.cached_parent(space, key) {
            self.fetch_share(parent, key.share_between(parent.low, end));
        }
    }

    /// Starts fetching what a search reads of a page above the leaves, `share` (0 to 1) of the way
    /// into it.
    fn fetch_share(&self, parent: &Parent, share: f32) {
        let bytes = internal::likely_bytes(share, parent.links());
        prefetch(self.recent(parent.block), bytes);
    }

    /// Returns the buffer that held a block last; 0 if that is not known.
    fn recent(&self, block: u32) -> i32 {
        self.cached()
            .map_or(0, |cached| cached.directory.recent.cell(block).get())
    }

    /// Returns the leaf in which `key` can be put right now, locked for writing; None when
    /// `make_room` has to be called first. The search starts at the block `start`, which
    /// [`View::expect_insert`] found.
    pub fn leaf_with_room(&self, space: Space, key: Key, start: u32) -> Option<Exclusive<'r>> {
        let page = self.tree(space).leaf_with_room(self.pin(start), key);
        self.note_visit();
        if let Some(page) = &page {
            leaf::next_posting(page).into_iter().for_each(prefetch_line);
        }
        page
    }

    /// Returns the leaves of an insert, and starts to fetch what it reads of them first. The
    /// accesses overlap: those to the pages above, then those to the leaves. A trigger may just have
    /// searched for the same fingerprint.
    pub fn expect_insert<const N: usize>(&self, places: &[(Space, Key); N]) -> [u32; N] {
        let searched = places.map(|(space, key)| self.cached()?.take_searched_leaf(space, key));
        let parents: [_; N] = std::array::from_fn(|i| {
            let (space, key) = places[i];
            let (parent, end) = match searched[i] {
                Some(_) => None,
                None => self.cached_parent(space, key),
            }?;
            self.fetch_share(parent, key.share_between(parent.low, end));
            Some(parent)
        });
        let blocks: [u32; N] = std::array::from_fn(|i| {
            let (space, key) = places[i];
            searched[i].unwrap_or_else(|| {
                self.leaf_below(self.read_parent(space, key, parents[i]), space, key)
            })
        });
        if self.read_ahead(0) > 0 {
            // Each is read later, with those before it locked.
            blocks.iter().for_each(|block| self.prefetch(*block));
        }
        // An atomic operation waits for the accesses before it, so none comes between these.
        for buffer in blocks.map(|block| self.recent(block)) {
            prefetch(buffer, [special::BYTES]);
        }
        blocks
    }

    /// Locks a leaf that a search has visited for writing, and returns what kind of page it is.
    pub fn visited_leaf(&self, space: Space, block: u32) -> (Exclusive<'r>, PageKind) {
        self.tree(space).lock_leaf(self.pin(block))
    }

    /// Makes room on the leaf of `key`, and finishes splits found on the way.
    pub fn make_room(&self, space: Space, key: Key) {
        self.tree(space).make_room(key);
    }

    fn tree(&self, space: Space) -> Tree<'r> {
        Tree::new(self.rel, &self.state.meta, space)
    }

    fn cached(&self) -> Option<&'s CachedIndex> {
        self.state.cached.as_deref()
    }

    /// Returns radii for a search within `k` of `query` in a scope: the cheapest by the counts, or
    /// evenly spread ones where nothing is known. Several scopes cannot be probed at once.
    pub fn radii(&self, scopes: &Scopes, query: u64, k: u32) -> Radii {
        let Some(scope) = scopes.one() else {
            return WALK;
        };
        match self.counts(scope) {
            Counts::Keys(counts) => choose(query, k, &*counts),
            Counts::Leaves(1) => WALK,
            Counts::Leaves(leaves) => choose(query, k, &Even { leaves }),
            Counts::Unknown => radii(k),
        }
    }

    /// Returns what is known of a scope; the same throughout the scan.
    pub fn counts(&self, scope: u32) -> Counts {
        let counted = self.state.counts.borrow().get(&scope).cloned();
        counted.unwrap_or_else(|| {
            let counts = self.count(scope);
            let mut counts_by_scope = self.state.counts.borrow_mut();
            if counts_by_scope.len() >= MOST_COUNTS {
                counts_by_scope.clear();
            }
            counts_by_scope.insert(scope, counts.clone());
            counts
        })
    }

    fn count(&self, scope: u32) -> Counts {
        if self.state.meta.levels[0] == LEAF {
            return Counts::Leaves(1);
        }
        let Some(cached) = self.cached() else {
            return match self.state.scoped {
                true => Counts::Leaves(self.count_leaves(scope)),
                false => Counts::Unknown,
            };
        };
        if let Some(counts) = cached.counted(scope) {
            return Counts::Keys(counts);
        }
        let parents = cached.directory.parents(Space::of_block(0));
        let leaves = match parents.leaves() {
            Some(leaves) if !self.state.scoped => leaves,
            _ => self.count_leaves(scope),
        };
        let counts = cached.count_if_due(self.rel, &self.state.meta, scope, leaves);
        counts.map_or(Counts::Leaves(leaves), Counts::Keys)
    }

    /// Returns the number of leaves of a scope in the first key space: those below the pages that
    /// its first and its last position lead to, and about as many as there are below the pages
    /// between.
    fn count_leaves(&self, scope: u32) -> u64 {
        let space = Space::of_block(0);
        let (first, last) = (Key::at(scope, 0), Key::at(scope, u64::MAX));
        let links = |at: Key| {
            let page = self.parent(space, at);
            let links = page.map(|page| {
                let links = internal::links_between(&page, first, last).len() as u64;
                (links, special::is_past(&page, last))
            });
            links.unwrap_or((1, false))
        };
        let (leaves, goes_on) = links(first);
        if !goes_on {
            return leaves.max(1);
        }
        let between =
            |cached: &CachedIndex| cached.directory.parents(space).leaves_between(first, last);
        leaves + self.cached().map_or(0, between) + links(last).0
    }
}

/// Maximum number of scopes whose counts one scan keeps.
const MOST_COUNTS: usize = 64;
