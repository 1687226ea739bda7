//! What a session knows of its indexes, within the memory that the setting allows. Scans and inserts
//! ask for it at their start.
//!
//! It is keyed on the build stamp: the file does not identify a tree.

#![allow(unsafe_code)]

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::pg_sys;
use simhash_hamming::page::meta::Meta;
use simhash_hamming::search::directory::{CachedIndex, Directory, RecentBuffers};
use simhash_pg::catalog::relation::Rel;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// simhash_dedup.directory_cache, in kilobytes.
static DIRECTORY_CACHE: GucSetting<i32> = GucSetting::<i32>::new(64 * 1024);
/// MAX_KILOBYTES of the server on 64-bit machines.
const MAX_KILOBYTES: i32 = i32::MAX;

/// Registers the setting; called once, when the library is loaded.
pub fn register_setting() {
    GucRegistry::define_int_guc(
        c"simhash_dedup.directory_cache",
        c"Memory in which a session remembers where the pages of simhash indexes are.",
        c"0 remembers nothing: searches then descend from the root with fixed radii.",
        &DIRECTORY_CACHE,
        0,
        MAX_KILOBYTES,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    // SAFETY: called while the library is loaded; the server copies the string.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"simhash_dedup".as_ptr()) };
}

/// Bytes that a session's leaf directories may take.
fn directory_cache_bytes() -> usize {
    DIRECTORY_CACHE.get().max(0) as usize * 1024
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

/// Returns what the session knows of an index; None where the setting leaves no room for it. `read` reads
/// its directory, given what is known of its buffers.
pub fn cached_index(
    rel: Rel,
    meta: &Meta,
    read: impl FnOnce(Rc<RecentBuffers>) -> Directory,
) -> Option<Rc<CachedIndex>> {
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
        let blocks = rel.block_count();
        let known = CACHE.with_borrow(|cache| cache.recent(rel.oid(), meta.stamp));
        let recent = match known {
            Some(known) if known.serves(blocks, limit / 2) => known,
            known => Rc::new(RecentBuffers::new(blocks, limit / 2, known.as_deref())),
        };
        let directory = read(recent);
        CACHE.with_borrow_mut(|cache| cache.enter(rel.oid(), meta.stamp, directory, limit))
    })
}

/// Makes room for `size` more bytes that are known of an index; returns false if there is none.
pub fn make_room(rel: Rel, size: usize) -> bool {
    let limit = directory_cache_bytes();
    CACHE.with_borrow_mut(|cache| cache.make_room(size, limit, rel.oid()))
}

/// Returns whether `size` more bytes fit beside all that the session knows.
pub fn has_room(size: usize) -> bool {
    CACHE.with_borrow(|cache| cache.size() + size <= directory_cache_bytes())
}

impl IndexCache {
    /// Bytes of all that is known.
    fn size(&self) -> usize {
        self.indexes.values().map(CacheEntry::size).sum()
    }

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
    fn recent(&self, oid: pg_sys::Oid, stamp: u64) -> Option<Rc<RecentBuffers>> {
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
        let earlier = earlier.filter(|entry| entry.stamp == stamp);
        let earlier = earlier.and_then(|entry| entry.cached);
        let cached = CachedIndex::new(directory, earlier.as_deref());
        let cached = (self.make_room(cached.size(), limit, oid)).then(|| Rc::new(cached));
        let entry = CacheEntry {
            stamp,
            cached: cached.clone(),
            used: self.clock,
        };
        self.indexes.insert(oid, entry);
        cached
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
        if let Some(own) = &own {
            own.forget_counts(size, limit);
        }
        if own.map_or(0, |own| own.size()) + size > limit {
            return false;
        }
        while self.size() + size > limit {
            if !self.drop_oldest(kept) {
                return false;
            }
        }
        true
    }
}
