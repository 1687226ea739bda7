//! Asking for pages ahead of reading them: from the file, and into the processor's cache. Searches
//! and inserts call it before they visit pages. It changes how long they wait, and no answer.
//!
//! Where a search finds its pages in memory, reading ahead only costs time; where it does not, the
//! reads should overlap, as many as the setting allows. The pages that are visited show which of the
//! two holds: reading ahead begins when one of them had to be read, and ends after many that were in
//! memory. A search that ends soon must not read ahead much: the window grows with the visits.

use super::directory::LeafParent;
use super::reader::{IndexReader, PlannedLeaf};
use crate::key::{Key, Space};
use crate::page::{internal, leaf, special};
use crate::tree::store::PageStore;
use std::cell::Cell;

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
    pub(super) fn read_parent_ahead(&self, space: Space, key: Key) -> Option<Key> {
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
    pub(super) fn warm_parent(&self, space: Space, key: Key) {
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
mod tests {
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
