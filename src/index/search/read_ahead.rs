//! How far ahead of a search its pages are asked of the operating system. Pure.
//!
//! Where a search finds its pages in memory, asking would only cost time; where it does not, the
//! reads should overlap, as many as the setting allows. Which of the two holds, the search learns
//! from page to page.

use std::cell::Cell;

/// Pages that a search asks for before it knows whether they are in memory: the first leaf of each
/// key space.
const FIRST: usize = 4;
/// Pages found in memory after which those whose buffers are known are not asked for any more.
const PATIENCE: usize = 64;

/// The read-ahead of one scan.
#[derive(Clone)]
pub struct ReadAhead {
    /// The widest window, by the settings; 0 for no read-ahead.
    most: usize,
    window: Cell<usize>,
    /// Pages that must be found in memory until the scan counts as one from memory.
    doubts: Cell<usize>,
}

impl ReadAhead {
    /// `most`: pages that may be asked for at a time.
    pub fn new(most: usize) -> ReadAhead {
        ReadAhead {
            most,
            window: Cell::new(FIRST.min(most)),
            doubts: Cell::new(0),
        }
    }

    /// How many pages to ask for, beyond the one that is read next.
    pub fn window(&self) -> usize {
        self.window.get()
    }

    /// Must a page be asked for although it was in a known buffer not long ago?
    pub fn is_doubtful(&self) -> bool {
        self.doubts.get() > 0
    }

    /// A page was not in memory.
    pub fn note_read(&self) {
        self.window.set((self.window.get() * 2).min(self.most));
        self.doubts.set(if self.most > 0 { PATIENCE } else { 0 });
    }

    /// A page was in memory.
    pub fn note_hit(&self) {
        let least = FIRST.min(self.most);
        self.window
            .set((self.window.get().saturating_sub(1)).max(least));
        self.doubts.set(self.doubts.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows_what_is_found() {
        let ahead = ReadAhead::new(100);
        assert!(ahead.window() == FIRST && !ahead.is_doubtful());
        for _ in 0..10 {
            ahead.note_read();
        }
        assert!(ahead.window() == 100 && ahead.is_doubtful());
        for _ in 0..PATIENCE {
            assert!(ahead.is_doubtful());
            ahead.note_hit();
        }
        assert!(ahead.window() == 100 - PATIENCE && !ahead.is_doubtful());
        for _ in 0..100 {
            ahead.note_hit();
        }
        assert_eq!(ahead.window(), FIRST);
    }

    #[test]
    fn the_settings_bound_it() {
        for most in [0, 1, 2] {
            let ahead = ReadAhead::new(most);
            assert_eq!(ahead.window(), most);
            ahead.note_read();
            assert_eq!((ahead.window(), ahead.is_doubtful()), (most, most > 0));
            ahead.note_hit();
            assert_eq!(ahead.window(), most);
        }
    }
}
