//! The pages of one index, as the algorithms over them need them: pinned, locked, changed in one
//! logged step. The extension implements [`PageStore`] over the server's buffers, WAL and
//! snapshots, the tests over memory. What a store gives, the algorithms of this crate do not check
//! again.

use crate::Error;
use crate::key::Space;
use crate::page::Page;
use std::cell::Cell;
use std::ops::{Deref, Range};

/// The form in which a page's change is logged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PageImage {
    /// As the bytes that differ.
    Delta,
    /// As a full page image: for pages that are new or rewritten as a whole.
    Full,
}

/// The pages of an index, and what a session knows and wants of them. A handle that is copied.
///
/// A page is unlocked and unpinned when its value is dropped. A method that cannot do its work
/// does not return: the server raises an ERROR.
pub trait PageStore: Copy {
    /// A page that stays in memory. Its content may change.
    type Pinned;
    /// A page locked for reading: nobody changes it.
    type Shared: Deref<Target = Page>;
    /// A page locked for writing: nobody else reads or changes it.
    type Exclusive: Deref<Target = Page>;

    /// Pins a block.
    fn pin(self, block: u32) -> Self::Pinned;
    /// As [`PageStore::pin`]. `recent` is the buffer that held the block last, 0 if that is not known.
    fn pin_recent(self, block: u32, recent: &Cell<i32>) -> Self::Pinned;
    /// Pins the metapage, which every search and every insert reads first.
    fn pin_meta(self) -> Self::Pinned;
    /// The number of a pinned block.
    fn block(page: &Self::Pinned) -> u32;
    /// Waits for the lock.
    fn share(page: Self::Pinned) -> Self::Shared;
    /// Waits for the lock.
    fn exclusive(page: Self::Pinned) -> Self::Exclusive;
    /// Adds a page of zeros to the end of the file.
    fn extend(self) -> Locked<Self::Exclusive>;
    /// Changes pages as one atomic, logged step: after a crash either all have changed or none.
    /// `apply` works on copies; if it fails, the pages stay as they were.
    fn change<const N: usize, R, E>(
        pages: [(&mut Locked<Self::Exclusive>, PageImage); N],
        apply: impl FnOnce([&mut Page; N]) -> Result<R, E>,
    ) -> Result<R, E>;
    /// As [`PageStore::change`], in place: `apply(i, page)` returns the ranges of page `i` that it wrote,
    /// of `BYTES` bytes at most. It must not fail.
    fn patch<const BYTES: usize, const N: usize, const R: usize>(
        pages: [Locked<Self::Exclusive>; N],
        apply: impl FnMut(usize, &mut Page) -> [Range<usize>; R],
    );

    /// Asks for a block of the file ahead of reading it. If a buffer holds it, `recent` becomes that
    /// buffer instead.
    fn read_ahead(self, block: u32, recent: &Cell<i32>);
    /// How many blocks may be asked for ahead of reading them.
    fn read_ahead_limit(self) -> usize;
    /// Pages that this session has read from files so far.
    fn pages_read() -> i64;
    /// Starts fetching ranges of the page in a buffer into the processor's cache. Only a hint.
    fn warm<const N: usize>(buffer: i32, ranges: [Range<usize>; N]);

    /// Ends the search or the insert here if the user wants it. Called while no page is locked.
    fn check_for_interrupts(self);
    /// Called with each leaf that a search has read, and the number of its matches. Ends the search
    /// if it sees the past, and rows of the leaf that it has to see may have been removed.
    fn note_leaf(self, space: Space, leaf: &Locked<Self::Shared>, matches: usize);
    /// Whether the session's memory has room for `bytes` more that are known of this index.
    fn reserve_memory(self, bytes: usize) -> bool;
    /// As [`PageStore::reserve_memory`], without anything else being dropped.
    fn has_spare_memory(self, bytes: usize) -> bool;
    /// Ends the search or the insert: this block is damaged.
    fn raise(self, block: u32, error: &Error) -> !;
    /// Ends the search: the system has no more memory.
    fn out_of_memory() -> !;
}

/// A page that is locked, as [`super::store::PageStore::Shared`] or [`super::store::PageStore::Exclusive`].
pub struct Locked<P> {
    /// Its number in the file.
    pub block: u32,
    /// The store's own handle.
    pub page: P,
}

impl<P: Deref<Target = Page>> Deref for Locked<P> {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        &self.page
    }
}
