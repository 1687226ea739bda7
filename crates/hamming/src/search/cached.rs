//! What a session keeps of one index: a directory of its leaves with copies of the pages above
//! them, and how the rows of scopes spread over keys. Searches and inserts read it through
//! [`super::reader`]; the extension keeps one for each index.
//!
//! A directory costs as much as a few descents, so it is loaded at once, and again when splits have
//! made it stale. The keys of a scope are counted once searches have visited enough leaves for it
//! to pay, so a session with a few queries never counts.

use super::directory::{Directory, LeafParent, LeafParents, RecentBuffers};
use super::downlinks::Downlinks;
use super::key_counts::{KeyCounter, ScopeCounts};
use crate::Error;
use crate::key::{Key, QUARTERS, Space};
use crate::page::Page;
use crate::page::meta::Meta;
use crate::tree::Tree;
use crate::tree::store::PageStore;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Number of leaves that are counted in the time that one visit of a leaf takes.
const COUNTED_PER_VISIT: u64 = 8;
/// Number of visits of leaves that take as long as the shortest count.
const LEAST_VISITS: u64 = 1000;
/// Number of leaves that a key space of a scope must have to be counted: the rows of a smaller one
/// are taken to be evenly spread.
const WORTH_COUNTING: u64 = 64;
/// A directory is stale when searches have moved right once for each group of this many of its
/// pages.
const STALE_SHARE: u64 = 8;
/// Number of moves right for which no directory is loaded again.
const LEAST_MOVES: u64 = 16;

/// Bytes that a session's knowledge of an index takes in addition to its parts, with what
/// allocators add.
const LEAST_SIZE: usize = 512;

/// What a session knows about one index.
pub struct CachedIndex {
    /// Where the pages above the leaves are, and the buffers of its pages.
    pub directory: Directory,
    /// Bytes of the directory's copies of downlinks.
    copied: Cell<usize>,
    /// Moves right from the pages that the directory gave.
    moves_right: Cell<u64>,
    /// Leaves visited since keys were counted last.
    visits: Cell<u64>,
    /// The scopes whose keys were counted, the oldest first.
    counts: RefCell<Vec<(u32, Rc<ScopeCounts>)>>,
    /// Number of pages above leaves when the oldest counts could be made.
    counted_at: usize,
}

impl CachedIndex {
    /// Knows where the pages are. `earlier` is what was known of the same tree before: its counts are
    /// taken over, unless the tree has grown by more than a quarter since.
    pub fn new(directory: Directory, earlier: Option<&CachedIndex>) -> CachedIndex {
        let mut cached = CachedIndex {
            counted_at: directory.pages(),
            directory,
            copied: Cell::new(0),
            moves_right: Cell::new(0),
            visits: Cell::new(0),
            counts: RefCell::default(),
        };
        if let Some(earlier) = earlier {
            cached.visits.set(earlier.visits.get());
            if cached.directory.pages() * 4 <= earlier.counted_at * 5 {
                cached.counts.swap(&earlier.counts);
            }
            if !cached.counts.borrow().is_empty() {
                cached.counted_at = earlier.counted_at;
            }
        }
        cached
    }

    pub(super) fn note_moves_right(&self, count: u64) {
        self.moves_right.set(self.moves_right.get() + count);
    }

    pub(super) fn note_visit(&self) {
        self.visits.set(self.visits.get() + 1);
    }

    /// Keeps a copy of the downlinks of a page that the directory has, where memory is to spare: it is
    /// not worth what is known of another index.
    pub(super) fn keep_copy<S: PageStore>(&self, store: S, parent: &LeafParent, page: &Page) {
        let size = parent
            .keep_copy(|| Downlinks::of(page).filter(|copy| store.has_spare_memory(copy.size())));
        self.copied.set(self.copied.get() + size);
    }

    /// Forgets the copy of the downlinks of a page.
    pub(super) fn forget_copy(&self, parent: &LeafParent) {
        self.copied.set(self.copied.get() - parent.forget_copy());
    }

    /// Bytes of the copies of downlinks.
    pub fn copied(&self) -> usize {
        self.copied.get()
    }

    /// Whether splits have made the directory stale.
    pub fn is_stale(&self) -> bool {
        self.moves_right.get() > self.directory.pages() as u64 / STALE_SHARE + LEAST_MOVES
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        LEAST_SIZE
            + self.directory.size()
            + self.copied.get()
            + self.counts.borrow().len() * ScopeCounts::SIZE
    }

    /// Forgets the oldest counts until what is left and `more` bytes take at most half of `limit`.
    pub fn forget_counts(&self, more: usize, limit: usize) {
        let mut counts = self.counts.borrow_mut();
        while (counts.len() * ScopeCounts::SIZE + more) * 2 > limit && !counts.is_empty() {
            counts.remove(0);
        }
    }

    /// Returns how the rows of a scope spread over keys, if that is known.
    pub(super) fn counted(&self, scope: u32) -> Option<Rc<ScopeCounts>> {
        let counts = self.counts.borrow();
        let (_, counts) = counts.iter().find(|(counted, _)| *counted == scope)?;
        Some(Rc::clone(counts))
    }

    /// Counts the keys of a scope with `leaves` leaves in a key space, if it is time for that.
    pub(super) fn count_if_due<S: PageStore>(
        &self,
        store: S,
        meta: &Meta,
        scope: u32,
        leaves: u64,
    ) -> Option<Rc<ScopeCounts>> {
        let price = LEAST_VISITS + leaves * QUARTERS as u64 / COUNTED_PER_VISIT;
        if leaves < WORTH_COUNTING || self.visits.get() < price {
            return None;
        }
        self.visits.set(0);
        if !store.has_memory(ScopeCounts::SIZE) {
            return None;
        }
        let counts = Rc::new(count_keys(store, meta, scope));
        self.counts.borrow_mut().push((scope, Rc::clone(&counts)));
        Some(counts)
    }
}

/// Reads the pages two levels above the leaves, or the root. `recent` is what is known of buffers.
pub fn read_directory<S: PageStore>(store: S, meta: &Meta, recent: Rc<RecentBuffers>) -> Directory {
    let parents = Space::ALL.map(|space| {
        let mut pages: Vec<LeafParent> = Vec::new();
        Tree::new(store, meta, space)
            .parents_of_leaves(|low, block| pages.push(LeafParent::new(low, block)));
        check_order(store, meta, space, pages.is_sorted_by_key(|page| page.low));
        LeafParents::new(pages)
    });
    Directory::new(parents, recent)
}

fn count_keys<S: PageStore>(store: S, meta: &Meta, scope: u32) -> ScopeCounts {
    let (first, last) = (Key::at(scope, 0), Key::at(scope, u64::MAX));
    ScopeCounts::new(std::array::from_fn(|b| {
        let space = Space::of_quarter(b);
        let (mut counter, mut before, mut is_sorted) = (KeyCounter::default(), None, true);
        Tree::new(store, meta, space).each_leaf_between(first, last, |low| {
            is_sorted &= before.is_none_or(|before| before <= low);
            // The first one may begin in an earlier scope.
            if before.replace(low).is_some() {
                counter.next_leaf(low.rotated);
            }
        });
        check_order(store, meta, space, is_sorted);
        counter.finish()
    }))
}

/// Refuses downlinks that are not sorted. A search reads one downlink of a page and does not notice,
/// but the session's knowledge comes from all of them.
fn check_order<S: PageStore>(store: S, meta: &Meta, space: Space, is_sorted: bool) {
    if !is_sorted {
        let fault = Error::damaged("downlinks below it are out of order");
        store.raise(meta.roots[space.index()], &fault);
    }
}
