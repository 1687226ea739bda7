//! Where checks get pages: in a server from an index's buffers, in tests from a vector. A page is its
//! bytes at the time of the call; nothing is known of it.

#![forbid(unsafe_code)]

use crate::page::Page;

/// The source from which pages are read.
pub trait PageSource {
    /// The page as it is now; None beyond the end of the file.
    fn page(&self, block: u32) -> Option<Box<Page>>;

    /// Returns how many pages may be asked for ahead of reading them.
    fn read_ahead_limit(&self) -> usize {
        0
    }

    /// Asks for a page ahead of reading it.
    fn read_ahead(&self, _block: u32) {}
}
