//! What a session keeps of its indexes: a directory of each, and how the rows of scopes spread over
//! keys.
//!
//! A directory costs as much as a few descents, so it is loaded at once, and again when splits have
//! made it stale. The keys of a scope are counted once searches have visited enough leaves for it
//! to pay, so a session with a few queries never counts. Both are keyed on the build stamp: the
//! file does not identify a tree.

use crate::errors::raise_in_index;
use crate::index::tree::Tree;
use pgrx::pg_sys;
use simhash_hamming::Error;
use simhash_hamming::key::{BLOCKS, Key, SPACES, Space};
use simhash_hamming::page::meta::Meta;
use simhash_hamming::search::directory::{Directory, Parent, Parents, Recent};
use simhash_hamming::search::key_counts::{KeyCounter, ScopeCounts};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::settings::directory_cache_bytes;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
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
    pub directory: Directory,
    /// Moves right from the pages that the directory gave.
    moves_right: Cell<u64>,
    /// Leaves visited since keys were counted last.
    visits: Cell<u64>,
    /// The scopes whose keys were counted, the oldest first.
    counts: RefCell<Vec<(u32, Rc<ScopeCounts>)>>,
    /// Number of pages above leaves when the oldest counts could be made.
    counted_at: usize,
    /// For each key space the position of the last search's query, and the leaf that held it.
    searched: [Cell<Option<(Key, u32)>>; SPACES],
}

impl CachedIndex {
    /// Notes which leaf holds the position of a search's query.
    pub fn note_searched(&self, space: Space, position: Key, leaf: u32) {
        self.searched[space.index()].set(Some((position, leaf)));
    }

    /// Returns the leaf that held a fingerprint's position when it was searched for, if that was the
    /// last search, and forgets it: a row whose near-duplicates were looked up is inserted next. The
    /// leaf of the key is this one, or right of it where leaves were split since. An insert that finds
    /// no room starts again by a descent, as making room does: if both began at different leaves, an
    /// unfinished split of this one would stop the insert each time, and never be finished.
    pub fn take_searched_leaf(&self, space: Space, key: Key) -> Option<u32> {
        let searched = &self.searched[space.index()];
        let (position, leaf) = searched.get()?;
        (position == Key::at(key.scope, key.rotated)).then(|| {
            searched.set(None);
            leaf
        })
    }

    pub fn note_moves_right(&self, count: u64) {
        self.moves_right.set(self.moves_right.get() + count);
    }

    pub fn note_visit(&self) {
        self.visits.set(self.visits.get() + 1);
    }

    fn is_stale(&self) -> bool {
        self.moves_right.get() > self.directory.pages() as u64 / STALE_SHARE + LEAST_MOVES
    }

    fn size(&self) -> usize {
        LEAST_SIZE + self.directory.size() + self.counts.borrow().len() * ScopeCounts::SIZE
    }

    /// Returns how the rows of a scope spread over keys, if that is known.
    pub fn counted(&self, scope: u32) -> Option<Rc<ScopeCounts>> {
        let counts = self.counts.borrow();
        let (_, counts) = counts.iter().find(|(counted, _)| *counted == scope)?;
        Some(Rc::clone(counts))
    }

    /// Counts the keys of a scope with `leaves` leaves in a key space, if it is time for that.
    pub fn count_if_due(
        &self,
        rel: Rel,
        meta: &Meta,
        scope: u32,
        leaves: u64,
    ) -> Option<Rc<ScopeCounts>> {
        let price = LEAST_VISITS + leaves * BLOCKS as u64 / COUNTED_PER_VISIT;
        if leaves < WORTH_COUNTING || self.visits.get() < price {
            return None;
        }
        self.visits.set(0);
        let limit = directory_cache_bytes();
        let fits = CACHE.with_borrow_mut(|cache| {
            cache.keeps(rel.oid(), self) && cache.make_room(ScopeCounts::SIZE, limit, rel.oid())
        });
        if !fits {
            return None;
        }
        let counts = Rc::new(count_keys(rel, meta, scope));
        self.counts.borrow_mut().push((scope, Rc::clone(&counts)));
        Some(counts)
    }

    /// Takes over what was counted with an earlier directory of the same tree, unless the tree has
    /// grown by more than a quarter since.
    fn inherit(&self, earlier: &CachedIndex) {
        self.visits.set(earlier.visits.get());
        if self.directory.pages() * 4 <= earlier.counted_at * 5 {
            self.counts.swap(&earlier.counts);
        }
    }
}

/// An index's entry in a session's memory.
struct CacheEntry {
    stamp: u64,
    /// None: it does not fit.
    cached: Option<Rc<CachedIndex>>,
    /// When it was last used, by the session's own clock.
    used: u64,
}

impl CacheEntry {
    fn size(&self) -> usize {
        self.cached.as_ref().map_or(0, |cached| cached.size())
    }
}

/// Maximum number of indexes that a session remembers.
const MOST_INDEXES: usize = 1000;

#[derive(Default)]
struct IndexCache {
    indexes: HashMap<pg_sys::Oid, CacheEntry>,
    clock: u64,
    /// The setting at the last look-up, in bytes.
    limit: usize,
}

thread_local! {
    static CACHE: RefCell<IndexCache> = RefCell::default();
}

/// Returns what the session knows of an index; None where the setting leaves no room for it.
pub fn cached_index(rel: Rel, meta: &Meta) -> Option<Rc<CachedIndex>> {
    let limit = directory_cache_bytes();
    if limit == 0 {
        CACHE.take();
        return None;
    }
    let found = CACHE.with_borrow_mut(|cache| {
        cache.keep_within(limit);
        cache.look_up(rel.oid(), meta.stamp)
    });
    found.unwrap_or_else(|| {
        let recent = CACHE.with_borrow(|cache| cache.recent(rel.oid(), meta.stamp));
        let directory = read_directory(rel, meta, limit, recent);
        CACHE.with_borrow_mut(|cache| cache.enter(rel.oid(), meta.stamp, directory, limit))
    })
}

impl IndexCache {
    /// Returns None if a directory is to be loaded.
    fn look_up(&mut self, oid: pg_sys::Oid, stamp: u64) -> Option<Option<Rc<CachedIndex>>> {
        self.clock += 1;
        let entry = self.indexes.get_mut(&oid)?;
        entry.used = self.clock;
        match &entry.cached {
            Some(cached) if cached.is_stale() => None,
            cached => (entry.stamp == stamp).then(|| cached.clone()),
        }
    }

    /// Returns what is known of the buffers of a tree.
    fn recent(&self, oid: pg_sys::Oid, stamp: u64) -> Option<Rc<Recent>> {
        let entry = self.indexes.get(&oid).filter(|entry| entry.stamp == stamp);
        let cached = entry.and_then(|entry| entry.cached.as_ref());
        cached.map(|cached| Rc::clone(&cached.directory.recent))
    }

    fn enter(
        &mut self,
        oid: pg_sys::Oid,
        stamp: u64,
        directory: Directory,
        limit: usize,
    ) -> Option<Rc<CachedIndex>> {
        let earlier = self.indexes.remove(&oid);
        if self.indexes.len() >= MOST_INDEXES {
            // A session is not notified of dropped indexes.
            self.drop_oldest(oid);
        }
        let mut cached = CachedIndex {
            counted_at: directory.pages(),
            directory,
            moves_right: Cell::new(0),
            visits: Cell::new(0),
            counts: RefCell::default(),
            searched: Default::default(),
        };
        if let Some(CacheEntry {
            cached: Some(earlier),
            ..
        }) = earlier.filter(|e| e.stamp == stamp)
        {
            cached.inherit(&earlier);
            if !cached.counts.borrow().is_empty() {
                cached.counted_at = earlier.counted_at;
            }
        }
        let cached = (self.make_room(cached.size(), limit, oid)).then(|| Rc::new(cached));
        let entry = CacheEntry {
            stamp,
            cached: cached.clone(),
            used: self.clock,
        };
        self.indexes.insert(oid, entry);
        cached
    }

    /// Returns whether this is what is remembered of the index.
    fn keeps(&self, oid: pg_sys::Oid, cached: &CachedIndex) -> bool {
        let entry = self
            .indexes
            .get(&oid)
            .and_then(|entry| entry.cached.as_ref());
        entry.is_some_and(|kept| std::ptr::eq(Rc::as_ptr(kept), cached))
    }

    /// Drops the index that was used longest ago, but not `kept`; returns false if there is none.
    fn drop_oldest(&mut self, kept: pg_sys::Oid) -> bool {
        let others = self.indexes.iter().filter(|(oid, _)| **oid != kept);
        let oldest = others.min_by_key(|(_, entry)| entry.used);
        let Some(oid) = oldest.map(|(oid, _)| *oid) else {
            return false;
        };
        self.indexes.remove(&oid);
        true
    }

    /// Follows a change of the setting.
    fn keep_within(&mut self, limit: usize) {
        if limit < self.limit {
            self.make_room(0, limit, pg_sys::InvalidOid);
        } else if limit > self.limit {
            self.indexes.retain(|_, entry| entry.cached.is_some());
        }
        self.limit = limit;
    }

    /// Makes room for `size` more bytes of the index `kept`; returns false if it cannot have them.
    /// Its own oldest counts go first where they take more than half of the limit, then what was
    /// used longest ago.
    fn make_room(&mut self, size: usize, limit: usize, kept: pg_sys::Oid) -> bool {
        let own = self
            .indexes
            .get(&kept)
            .and_then(|entry| entry.cached.clone());
        let own_size = |own: &Option<Rc<CachedIndex>>| own.as_ref().map_or(0, |own| own.size());
        if let Some(own) = &own {
            let mut counts = own.counts.borrow_mut();
            while (counts.len() * ScopeCounts::SIZE + size) * 2 > limit && !counts.is_empty() {
                counts.remove(0);
            }
        }
        if own_size(&own) + size > limit {
            return false;
        }
        while self.indexes.values().map(CacheEntry::size).sum::<usize>() + size > limit {
            if !self.drop_oldest(kept) {
                return false;
            }
        }
        true
    }
}

/// `recent` is what an earlier directory of the tree knew of buffers.
fn read_directory(rel: Rel, meta: &Meta, limit: usize, recent: Option<Rc<Recent>>) -> Directory {
    let parents = Space::ALL.map(|space| {
        let mut pages: Vec<Parent> = Vec::new();
        Tree::new(rel, meta, space)
            .parents_of_leaves(|low, block| pages.push(Parent::new(low, block)));
        check_order(rel, meta, space, pages.is_sorted_by_key(|page| page.low));
        Parents::new(pages)
    });
    let blocks = rel.block_count();
    let recent = recent.filter(|recent| recent.serves(blocks));
    let recent = recent.unwrap_or_else(|| Rc::new(Recent::new(blocks, limit / 2)));
    Directory::new(parents, recent)
}

fn count_keys(rel: Rel, meta: &Meta, scope: u32) -> ScopeCounts {
    let (first, last) = (Key::at(scope, 0), Key::at(scope, u64::MAX));
    ScopeCounts::new(std::array::from_fn(|b| {
        let space = Space::of_block(b);
        let (mut counter, mut before, mut is_sorted) = (KeyCounter::default(), None, true);
        Tree::new(rel, meta, space).each_leaf_between(first, last, |low| {
            is_sorted &= before.is_none_or(|before| before <= low);
            // The first one may begin in an earlier scope.
            if before.replace(low).is_some() {
                counter.next_leaf(low.rotated);
            }
        });
        check_order(rel, meta, space, is_sorted);
        counter.finish()
    }))
}

/// Raises an ERROR unless the downlinks are sorted. A search reads one downlink of a page and does
/// not notice, but the session's knowledge comes from all of them.
fn check_order(rel: Rel, meta: &Meta, space: Space, is_sorted: bool) {
    if !is_sorted {
        let fault = Error::damaged("downlinks below it are out of order");
        raise_in_index(rel, meta.roots[space.index()], &fault);
    }
}
