//! Inserting a row: four postings, one in each quarter's key space, logged as one record. The access
//! method calls it for each row. After a crash a row has all its postings or none.
//!
//! The four leaves are locked in the order of the spaces, each after a descent that takes one share
//! lock at a time. If one has no room, all are unlocked, that leaf is split alone, and the insert
//! starts again: no backend splits a page while it holds a leaf of another space.

use crate::key::{Position, QUARTERS, Space};
use crate::page::{leaf, special};
use crate::search::reader::{IndexReader, IndexState};
use crate::tree::store::{Locked, PageStore};
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use simhash_base::processor::prefetch_line;

/// Files a row: under its fingerprint, or in the NULL space. `state` reads the index: once for each
/// attempt, since splits change it.
pub fn insert<S: PageStore>(store: S, state: impl Fn() -> IndexState, row: IndexedRow, tid: Tid) {
    let place = |space: Space| (space, space.key(row, tid));
    match row.fingerprint {
        Some(_) => {
            let places: [_; QUARTERS] = std::array::from_fn(|b| place(Space::of_quarter(b)));
            insert_at(store, state, places);
        }
        None => insert_at(store, state, [place(Space::NULL)]),
    }
}

/// Appends one posting in each space, atomically.
fn insert_at<S: PageStore, const N: usize>(
    store: S,
    state: impl Fn() -> IndexState,
    places: [(Space, Position); N],
) {
    loop {
        store.check_for_interrupts();
        let state = state();
        let reader = IndexReader::new(store, &state);
        let starts = reader.expect_insert(&places);
        let mut leaves: Vec<Locked<S::Exclusive>> = Vec::with_capacity(N);
        let blocked = places.iter().zip(starts).find(|((space, key), start)| {
            let page = reader.leaf_with_room(*space, *key, *start);
            let found = page.is_some();
            leaves.extend(page);
            !found
        });
        match (blocked, <[Locked<S::Exclusive>; N]>::try_from(leaves)) {
            (None, Ok(leaves)) => {
                return S::patch::<{ leaf::APPENDED }, _, _>(leaves, |i, page| {
                    leaf::append(page, places[i].1)
                });
            }
            (Some(((space, key), _)), locked) => {
                drop(locked);
                reader.tree(*space).make_room(*key);
            }
            // Every leaf had room, so there are N of them.
            (None, Err(_)) => unreachable!(),
        }
    }
}

impl<S: PageStore> IndexReader<'_, S> {
    /// Returns the leaf in which `key` can be put right now, locked for writing; None when room has
    /// to be made first. The search starts at the block `start`, which
    /// [`IndexReader::expect_insert`] found.
    fn leaf_with_room(
        &self,
        space: Space,
        key: Position,
        start: u32,
    ) -> Option<Locked<S::Exclusive>> {
        let page = self.tree(space).leaf_with_room(self.pin(start), key);
        self.note_visit();
        if let Some(page) = &page {
            leaf::next_posting(page).into_iter().for_each(prefetch_line);
        }
        page
    }

    /// Returns the leaves of an insert, and starts to fetch what it reads of them first. The
    /// accesses overlap: those to the pages above, then those to the leaves.
    fn expect_insert<const N: usize>(&self, places: &[(Space, Position); N]) -> [u32; N] {
        let parents = places.map(|(space, key)| {
            let (parent, end) = self.cached_parent(space, key)?;
            self.warm_links(parent, key.share_between(parent.low, end));
            Some(parent)
        });
        let blocks: [u32; N] = std::array::from_fn(|i| {
            let (space, key) = places[i];
            self.leaf_below(self.read_parent(space, key, parents[i]), space, key)
        });
        if self.window(0) > 0 {
            // Each is read later, with those before it locked.
            blocks.iter().for_each(|block| self.read_ahead(*block));
        }
        // An atomic operation waits for the accesses before it, so none comes between these.
        for buffer in blocks.map(|block| self.recent(block)) {
            S::warm(buffer, [special::BYTES]);
        }
        blocks
    }
}
