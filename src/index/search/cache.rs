//! The leaf directories that a session keeps, one for each index.
//!
//! A directory is loaded from the internal pages once the session has descended often enough for it
//! to pay, so a session with a few queries never loads one. It is keyed on the build stamp: the
//! file does not identify a tree. It is loaded again when splits have made it too stale to be
//! useful.

use super::directory::{Directory, SpaceDirectory};
use super::probe::KeyCounts;
use crate::index::corrupt::corrupted;
use crate::index::key::{BLOCKS, Key, Space};
use crate::index::page::meta::Meta;
use crate::index::page::{Fault, internal};
use crate::index::tree::Tree;
use crate::pg::catalog::relation::Rel;
use crate::pg::process::settings::directory_cache_bytes;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Leaves that are entered into a directory in the time that one descent takes.
const LEAVES_PER_DESCENT: u64 = 16;
/// Blocks that an index must have to get a directory: below, a descent is as good, and a directory
/// takes at least 2 MB.
const WORTH_KNOWING: u32 = 32;
/// Indexes to remember before those without a directory are forgotten.
const MOST_INDEXES: usize = 1000;
/// A directory is worn out when searches have moved right once for every so many of its leaves.
const WORN_SHARE: u64 = 8;

/// A loaded directory.
pub struct Cached {
    directory: Directory,
}

impl Cached {
    pub fn space(&self, b: usize) -> &SpaceDirectory {
        &self.directory[b]
    }

    /// What the directory tells of one scope.
    pub fn of_scope(&self, scope: u32) -> ScopeCounts<'_> {
        ScopeCounts {
            directory: &self.directory,
            scope,
        }
    }
}

/// The counts of one scope.
pub struct ScopeCounts<'c> {
    directory: &'c Directory,
    scope: u32,
}

impl KeyCounts for ScopeCounts<'_> {
    fn leaves(&self, b: usize) -> u64 {
        self.directory[b].leaves_of(self.scope)
    }

    fn rows(&self, b: usize, key: u16) -> u64 {
        u64::from(self.directory[b].rows(self.scope, key))
    }
}

/// What a session knows of one index.
struct KnownIndex {
    stamp: u64,
    state: DirectoryState,
    /// When it was last used, by the session's own clock.
    used: u64,
}

enum DirectoryState {
    /// Descents so far, and after how many loading is considered.
    Waiting { effort: u64, due: u64 },
    /// The directory, the bytes that it takes, and moves right so far.
    Loaded {
        cached: Rc<Cached>,
        size: usize,
        moves: u64,
    },
}

#[derive(Default)]
struct Session {
    indexes: HashMap<pg_sys::Oid, KnownIndex>,
    clock: u64,
    /// The setting at the last look-up, in bytes.
    limit: usize,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// The directory of an index, if this session has one or it is time to load it.
pub fn directory(rel: Rel, meta: &Meta) -> Option<Rc<Cached>> {
    let limit = directory_cache_bytes();
    let found = SESSION.with_borrow_mut(|session| {
        session.keep_within(limit);
        match limit {
            0 => Lookup::NotYet,
            _ => session.look_up(rel.oid(), meta.stamp),
        }
    });
    match found {
        Lookup::Loaded(cached) => Some(cached),
        Lookup::NotYet => None,
        Lookup::Due(effort) => consider(rel, meta, effort, limit),
    }
}

/// Notes the work of a search: descents without a directory, or moves right with one.
pub fn note_effort(rel: Rel, work: u64) {
    if work == 0 {
        return;
    }
    SESSION.with_borrow_mut(|session| {
        match session
            .indexes
            .get_mut(&rel.oid())
            .map(|known| &mut known.state)
        {
            Some(DirectoryState::Waiting { effort, .. }) => *effort = effort.saturating_add(work),
            Some(DirectoryState::Loaded { moves, .. }) => *moves += work,
            None => {}
        }
    });
}

enum Lookup {
    Loaded(Rc<Cached>),
    NotYet,
    /// Loading is to be considered, after this effort.
    Due(u64),
}

impl Session {
    fn look_up(&mut self, oid: pg_sys::Oid, stamp: u64) -> Lookup {
        self.clock += 1;
        let used = self.clock;
        let fresh = || {
            let state = DirectoryState::Waiting {
                effort: 0,
                due: LEAVES_PER_DESCENT,
            };
            KnownIndex { stamp, state, used }
        };
        if self.indexes.len() > MOST_INDEXES && !self.indexes.contains_key(&oid) {
            // A session is not told of dropped indexes. Entries without a directory hold little.
            self.indexes
                .retain(|_, known| matches!(known.state, DirectoryState::Loaded { .. }));
        }
        let known = self.indexes.entry(oid).or_insert_with(fresh);
        if known.stamp != stamp {
            *known = fresh();
        }
        known.used = used;
        match &known.state {
            DirectoryState::Waiting { effort, due } if effort >= due => Lookup::Due(*effort),
            DirectoryState::Waiting { .. } => Lookup::NotYet,
            DirectoryState::Loaded { cached, moves, .. } => {
                let leaves: u64 = (0..BLOCKS).map(|b| cached.space(b).leaves() as u64).sum();
                if *moves <= leaves / WORN_SHARE + LEAVES_PER_DESCENT {
                    Lookup::Loaded(Rc::clone(cached))
                } else {
                    // So many moves have paid for a new one, unless the index is much larger now.
                    Lookup::Due(leaves)
                }
            }
        }
    }

    fn set(&mut self, oid: pg_sys::Oid, state: DirectoryState) {
        if let Some(known) = self.indexes.get_mut(&oid) {
            known.state = state;
        }
    }

    /// Drops directories when the setting was lowered.
    fn keep_within(&mut self, limit: usize) {
        if limit < self.limit {
            self.make_room(0, limit);
        }
        self.limit = limit;
    }

    /// Drops the directories used longest ago until `size` more bytes fit.
    fn make_room(&mut self, size: usize, limit: usize) {
        let size_of = |known: &KnownIndex| match known.state {
            DirectoryState::Loaded { size, .. } => size,
            DirectoryState::Waiting { .. } => 0,
        };
        while self.indexes.values().map(size_of).sum::<usize>() + size > limit {
            let loaded = self.indexes.iter().filter(|(_, known)| size_of(known) > 0);
            let Some((oid, _)) = loaded.min_by_key(|(_, known)| known.used) else {
                return;
            };
            let oid = *oid;
            self.indexes.remove(&oid);
        }
    }
}

/// Loads a directory if the effort so far has paid for it and memory allows.
fn consider(rel: Rel, meta: &Meta, effort: u64, limit: usize) -> Option<Rc<Cached>> {
    // Almost every block is a leaf.
    let blocks = rel.block_count();
    let scoped = rel.key_columns() > 1;
    let size = SpaceDirectory::size(blocks as usize / BLOCKS, scoped) * BLOCKS;
    let price = u64::from(blocks) / LEAVES_PER_DESCENT;
    if effort < price || size > limit || blocks < WORTH_KNOWING {
        // Considered again after as much effort: the setting may be raised, and the index grow.
        let due = price.max(effort);
        let waiting = DirectoryState::Waiting { effort: 0, due };
        SESSION.with_borrow_mut(|session| session.set(rel.oid(), waiting));
        return None;
    }
    let cached = Rc::new(read(rel, meta));
    SESSION.with_borrow_mut(|session| {
        session.set(rel.oid(), DirectoryState::Waiting { effort: 0, due: 0 });
        session.make_room(size, limit);
        let state = DirectoryState::Loaded {
            cached: Rc::clone(&cached),
            size,
            moves: 0,
        };
        session.set(rel.oid(), state);
    });
    Some(cached)
}

fn read(rel: Rel, meta: &Meta) -> Cached {
    let scoped = rel.key_columns() > 1;
    let directory: Directory = std::array::from_fn(|b| {
        let tree = Tree::new(rel, meta, Space::of_block(b));
        let mut leaves: Vec<(Key, u32)> = Vec::new();
        tree.parents_of_leaves(|page| {
            leaves.extend(internal::links(page).map(|link| (link.key, link.child)));
        });
        if leaves.is_empty() {
            leaves.push((Key::MIN, meta.roots[b]));
        }
        // A search reads one downlink of a page and does not notice; this reads all of them.
        if !leaves.is_sorted_by_key(|leaf| leaf.0) {
            let fault = Fault::new("downlinks below it are out of order");
            corrupted(rel, meta.roots[b], &fault);
        }
        SpaceDirectory::new(&leaves, scoped)
    });
    Cached { directory }
}
