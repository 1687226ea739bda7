//! How far ahead of a search its pages are asked of the operating system. Pure.
//!
//! Where a search finds its pages in memory, asking would only cost time; where it does not, the
//! reads should overlap, as many as the setting allows. Which of the two holds is learned from page
//! to page: asking begins when a page had to be read, and ends after many that were in memory.

use std::cell::Cell;

/// The first window: one leaf of each key space.
const FIRST: usize = 4;
/// The widest window, MAX_IO_CONCURRENCY of the server.
const WIDEST: usize = 1000;
/// Pages found in memory one after the other that end the asking.
const PATIENCE: usize = 64;

/// What is known of the pages to come.
#[derive(Default)]
pub struct ReadAhead {
    window: Cell<usize>,
    /// Pages that must be found in memory until all are expected there.
    doubts: Cell<usize>,
}

impl ReadAhead {
    pub const fn new() -> ReadAhead {
        ReadAhead {
            window: Cell::new(0),
            doubts: Cell::new(0),
        }
    }

    /// How many pages to ask for beyond the one that is read next; 0 while they are expected in
    /// memory.
    pub fn window(&self) -> usize {
        match self.doubts.get() {
            0 => 0,
            _ => self.window.get(),
        }
    }

    /// A page that was not asked for had to be read.
    pub fn note_unexpected_read(&self) {
        if self.window() == 0 {
            self.note_read();
        }
    }

    /// A page that was asked for was not in memory.
    pub fn note_read(&self) {
        let twice = self.window() * 2;
        self.window.set(twice.clamp(FIRST, WIDEST));
        self.doubts.set(PATIENCE);
    }

    /// A page that was asked for was in memory.
    pub fn note_hit(&self) {
        self.window.set(self.window().saturating_sub(1).max(FIRST));
        self.doubts.set(self.doubts.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows_what_is_found() {
        let ahead = ReadAhead::new();
        assert_eq!(ahead.window(), 0);
        ahead.note_hit();
        assert_eq!(ahead.window(), 0);
        ahead.note_read();
        assert_eq!(ahead.window(), FIRST);
        ahead.note_read();
        assert_eq!(ahead.window(), 2 * FIRST);
        for _ in 0..20 {
            ahead.note_read();
        }
        assert_eq!(ahead.window(), WIDEST);
        for hits in 1..PATIENCE {
            ahead.note_hit();
            assert_eq!(ahead.window(), WIDEST - hits);
        }
        ahead.note_hit();
        assert_eq!(ahead.window(), 0);
        for _ in 0..2 {
            ahead.note_unexpected_read();
            assert_eq!(ahead.window(), FIRST);
        }
    }
}
