//! How many pages a search reads ahead from the file. Pure; the session's searches note each visit.
//!
//! Where a search finds its pages in memory, reading ahead only costs time; where it does not, the
//! reads should overlap, as many as the setting allows. The pages that are visited show which of the
//! two holds: reading ahead begins when one of them had to be read, and ends after many that were in
//! memory. A search that ends soon must not read ahead much: the window grows with the visits.

use std::cell::Cell;

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
