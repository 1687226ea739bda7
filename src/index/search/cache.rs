//! What a session keeps of its indexes: a directory of each, and how the rows of scopes spread over
//! keys.
//!
//! A directory costs as much as a few descents, so it is loaded at once, and again when splits have
//! made it stale. The keys of a scope are counted once searches have visited enough leaves for it
//! to pay, so a session with a few queries never counts. Both are keyed on the build stamp: the
//! file does not identify a tree.

use crate::index::corrupt::corrupted;
use crate::index::tree::Tree;
use pgrx::pg_sys;
use simhash_hamming::key::{BLOCKS, Key, Space};
use simhash_hamming::page::Fault;
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
/// A directory is worn out when searches have moved right once for each group of this many of its
/// pages.
const WORN_SHARE: u64 = 8;
/// Number of moves right for which no directory is loaded again.
const LEAST_MOVES: u64 = 16;

/// Bytes that a session's knowledge of an index takes in addition to its parts, with what
/// allocators add.
const LEAST_SIZE: usize = 512;

/// What a session knows about one index.
pub struct KnownIndex {
    pub directory: Directory,
    /// Moves right from the pages that the directory gave.
    moves: Cell<u64>,
    /// Leaves visited since keys were counted last.
    visits: Cell<u64>,
    /// The scopes whose keys were counted, the oldest first.
    counts: RefCell<Vec<(u32, Rc<ScopeCounts>)>>,
    /// Number of pages above leaves when the oldest counts could be made.
    counted_at: usize,
}

impl KnownIndex {
    pub fn note_moves(&self, moves: u64) {
        self.moves.set(self.moves.get() + moves);
    }

    pub fn note_visit(&self) {
        self.visits.set(self.visits.get() + 1);
    }

    fn is_worn(&self) -> bool {
        self.moves.get() > self.directory.pages() as u64 / WORN_SHARE + LEAST_MOVES
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
        let fits = SESSION.with_borrow_mut(|session| {
            session.keeps(rel.oid(), self) && session.make_room(ScopeCounts::SIZE, limit, rel.oid())
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
    fn inherit(&self, earlier: &KnownIndex) {
        self.visits.set(earlier.visits.get());
        if self.directory.pages() * 4 <= earlier.counted_at * 5 {
            self.counts.swap(&earlier.counts);
        }
    }
}

/// An index's place in a session's memory.
struct Place {
    stamp: u64,
    /// None: it does not fit.
    known: Option<Rc<KnownIndex>>,
    /// When it was last used, by the session's own clock.
    used: u64,
}

impl Place {
    fn size(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.size())
    }
}

/// Maximum number of indexes that a session remembers.
const MOST_INDEXES: usize = 1000;

#[derive(Default)]
struct Session {
    indexes: HashMap<pg_sys::Oid, Place>,
    clock: u64,
    /// The setting at the last look-up, in bytes.
    limit: usize,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Returns what the session knows of an index; None where the setting leaves no room for it.
pub fn known_index(rel: Rel, meta: &Meta) -> Option<Rc<KnownIndex>> {
    let limit = directory_cache_bytes();
    if limit == 0 {
        SESSION.take();
        return None;
    }
    let found = SESSION.with_borrow_mut(|session| {
        session.keep_within(limit);
        session.look_up(rel.oid(), meta.stamp)
    });
    found.unwrap_or_else(|| {
        let recent = SESSION.with_borrow(|session| session.recent(rel.oid(), meta.stamp));
        let directory = read_directory(rel, meta, limit, recent);
        SESSION.with_borrow_mut(|session| session.enter(rel.oid(), meta.stamp, directory, limit))
    })
}

impl Session {
    /// Returns None if a directory is to be loaded.
    fn look_up(&mut self, oid: pg_sys::Oid, stamp: u64) -> Option<Option<Rc<KnownIndex>>> {
        self.clock += 1;
        let place = self.indexes.get_mut(&oid)?;
        place.used = self.clock;
        match &place.known {
            Some(known) if known.is_worn() => None,
            known => (place.stamp == stamp).then(|| known.clone()),
        }
    }

    /// Returns what is known of the buffers of a tree.
    fn recent(&self, oid: pg_sys::Oid, stamp: u64) -> Option<Rc<Recent>> {
        let place = self.indexes.get(&oid).filter(|place| place.stamp == stamp);
        let known = place.and_then(|place| place.known.as_ref());
        known.map(|known| Rc::clone(&known.directory.recent))
    }

    fn enter(
        &mut self,
        oid: pg_sys::Oid,
        stamp: u64,
        directory: Directory,
        limit: usize,
    ) -> Option<Rc<KnownIndex>> {
        let earlier = self.indexes.remove(&oid);
        if self.indexes.len() >= MOST_INDEXES {
            // A session is not notified of dropped indexes.
            self.drop_oldest(oid);
        }
        let mut known = KnownIndex {
            counted_at: directory.pages(),
            directory,
            moves: Cell::new(0),
            visits: Cell::new(0),
            counts: RefCell::default(),
        };
        if let Some(Place {
            known: Some(earlier),
            ..
        }) = earlier.filter(|e| e.stamp == stamp)
        {
            known.inherit(&earlier);
            if !known.counts.borrow().is_empty() {
                known.counted_at = earlier.counted_at;
            }
        }
        let known = (self.make_room(known.size(), limit, oid)).then(|| Rc::new(known));
        let place = Place {
            stamp,
            known: known.clone(),
            used: self.clock,
        };
        self.indexes.insert(oid, place);
        known
    }

    /// Returns whether this is what is remembered of the index.
    fn keeps(&self, oid: pg_sys::Oid, known: &KnownIndex) -> bool {
        let place = self
            .indexes
            .get(&oid)
            .and_then(|place| place.known.as_ref());
        place.is_some_and(|kept| std::ptr::eq(Rc::as_ptr(kept), known))
    }

    /// Drops the index that was used longest ago, but not `kept`; returns false if there is none.
    fn drop_oldest(&mut self, kept: pg_sys::Oid) -> bool {
        let others = self.indexes.iter().filter(|(oid, _)| **oid != kept);
        let oldest = others.min_by_key(|(_, place)| place.used);
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
            self.indexes.retain(|_, place| place.known.is_some());
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
            .and_then(|place| place.known.clone());
        let own_size = |own: &Option<Rc<KnownIndex>>| own.as_ref().map_or(0, |own| own.size());
        if let Some(own) = &own {
            let mut counts = own.counts.borrow_mut();
            while (counts.len() * ScopeCounts::SIZE + size) * 2 > limit && !counts.is_empty() {
                counts.remove(0);
            }
        }
        if own_size(&own) + size > limit {
            return false;
        }
        while self.indexes.values().map(Place::size).sum::<usize>() + size > limit {
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
        let fault = Fault::new("downlinks below it are out of order");
        corrupted(rel, meta.roots[space.index()], &fault);
    }
}
