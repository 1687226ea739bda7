//! How far ahead of a search its pages are asked of the operating system. Pure.
//!
//! Where a search finds its pages in memory, asking would only cost time; where it does not, the
//! reads should overlap, as many as the setting allows. Which of the two holds is learned from the
//! pages that are visited: asking begins when one of them had to be read, and ends after many that
//! were in memory. A search that ends soon must not ask for much: it asks for more the more it has
//! visited.

use std::cell::Cell;

/// Pages that a search asks for before it has visited any: one leaf of each key space.
const FIRST: usize = 4;
/// Pages visited one after the other without reading that end the asking.
const PATIENCE: usize = 64;

/// Whether pages are expected in memory.
#[derive(Default)]
pub struct ReadAhead {
    /// Pages that must be found in memory until all are expected there.
    doubts: Cell<usize>,
}

impl ReadAhead {
    #[inline]
    pub const fn new() -> ReadAhead {
        ReadAhead {
            doubts: Cell::new(0),
        }
    }

    /// Notes that a page was visited, and whether it was read from a file.
    #[inline]
    pub fn note_visit(&self, was_read: bool) {
        match (was_read, self.doubts.get()) {
            (true, _) => self.doubts.set(PATIENCE),
            (false, 0) => {}
            (false, doubts) => self.doubts.set(doubts - 1),
        }
    }

    /// Returns whether pages are expected in memory.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.doubts.get() == 0
    }

    /// Returns how many pages a search asks for beyond the one that it reads next, when it has
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
    fn asking_begins_with_a_read_and_ends_in_memory() {
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
