//! Writing a whole fork of a relation past the buffer pool, as CREATE INDEX does.
//!
//! Pages go to the file in order, each batch logged as full page images first; the file is forced
//! to disk at the end, because checkpoints do not know of these writes. Several processes can write
//! one fork: each reserves a batch of blocks at a time at the end of the file.

use crate::catalog::relation::Rel;
use crate::process::compat;
use crate::process::error::Error;
use pgrx::pg_sys;
use std::alloc::{Layout, alloc_zeroed, dealloc};

/// The bytes of a page.
pub use super::buffer::Page;

/// Pages logged by one WAL record (the server allows 32).
const BATCH: usize = 32;

/// The fork that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The index itself; logged unless the relation is unlogged or temporary.
    Main,
    /// The template from which an unlogged index is restored after a crash; always logged.
    Init,
}

/// A page with the alignment that direct I/O requires.
struct AlignedPage(*mut Page);

impl AlignedPage {
    const LAYOUT: Layout = match Layout::from_size_align(size_of::<Page>(), 4096) {
        Ok(layout) => layout,
        Err(_) => panic!("a page has a layout"),
    };

    fn new() -> Self {
        // SAFETY: the layout is not empty; zeros are a valid page.
        let page = unsafe { alloc_zeroed(Self::LAYOUT) };
        if page.is_null() {
            Error::out_of_memory().raise();
        }
        AlignedPage(page.cast())
    }
}

impl Drop for AlignedPage {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { dealloc(self.0.cast(), Self::LAYOUT) };
    }
}

/// Number of processes that write the fork.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writers {
    /// This process alone: each page extends the file.
    One,
    /// Several: each writes to blocks that it has reserved, a batch at a time.
    Many,
}

/// Writes pages after block 0, which [`write_first`] writes last.
pub struct BulkWriter<'r> {
    rel: Rel<'r>,
    fork: pg_sys::ForkNumber::Type,
    writers: Writers,
    batch: Vec<AlignedPage>,
    filled: usize,
    /// Block number of the first page of the batch.
    start: u32,
    /// Where the next batch goes, if [`BulkWriter::block_after_next`] had to know it already.
    next_start: Option<u32>,
}

impl<'r> BulkWriter<'r> {
    /// The only writer of a fork that has block 0 and no other.
    #[inline]
    pub fn new(rel: Rel<'r>, fork: Fork) -> BulkWriter<'r> {
        Self::starting_at(rel, fork, Writers::One, 1)
    }

    /// One of several writers of the main fork. Blocks reserved and not used stay zero.
    #[inline]
    pub fn one_of_many(rel: Rel<'r>) -> BulkWriter<'r> {
        Self::starting_at(rel, Fork::Main, Writers::Many, reserve(rel))
    }

    fn starting_at(rel: Rel<'r>, fork: Fork, writers: Writers, start: u32) -> BulkWriter<'r> {
        BulkWriter {
            rel,
            fork: fork.number(),
            writers,
            batch: (0..BATCH).map(|_| AlignedPage::new()).collect(),
            filled: 0,
            start,
            next_start: None,
        }
    }

    /// The block number that the next appended page will have.
    #[inline]
    pub fn next_block(&self) -> u32 {
        self.start + self.filled as u32
    }

    /// The block number of the page after that one.
    #[inline]
    pub fn block_after_next(&mut self) -> u32 {
        if self.filled + 1 < BATCH {
            return self.next_block() + 1;
        }
        let next = self.next_start.unwrap_or_else(|| self.following());
        self.next_start = Some(next);
        next
    }

    /// Returns where the batch after this one goes.
    fn following(&self) -> u32 {
        match self.writers {
            Writers::One => self.start + BATCH as u32,
            Writers::Many => reserve(self.rel),
        }
    }

    /// Appends a page and returns its block. `fill` writes it, over zeros or an older page.
    #[inline]
    pub fn append(&mut self, fill: impl FnOnce(&mut Page)) -> u32 {
        let block = self.next_block();
        // SAFETY: the batch owns its pages; `filled` is below BATCH.
        fill(unsafe { &mut *self.batch[self.filled].0 });
        self.filled += 1;
        if self.filled == BATCH {
            self.write_batch();
            self.start = match self.next_start.take() {
                Some(start) => start,
                None => self.following(),
            };
            self.filled = 0;
        }
        block
    }

    /// Logs and writes the pages of the batch.
    fn write_batch(&self) {
        let pages = &self.batch[..self.filled];
        log(self.rel, self.fork, self.start, pages);
        for (block, page) in (self.start..).zip(pages) {
            let smgr = smgr(self.rel);
            // SAFETY: the page is BLCKSZ bytes; with one writer the fork ends right before `block`,
            // since blocks are appended in order, with many the block exists, since it was
            // reserved.
            unsafe {
                pg_sys::PageSetChecksumInplace(page.0.cast(), block);
                match self.writers {
                    Writers::One => {
                        pg_sys::smgrextend(smgr, self.fork, block, page.0.cast(), true);
                    }
                    Writers::Many => {
                        pg_sys::smgrwrite(smgr, self.fork, block, page.0.cast(), true);
                    }
                }
            }
        }
    }

    /// Writes the last, incomplete batch.
    #[inline]
    pub fn finish(self) {
        self.write_batch();
    }
}

impl Fork {
    fn number(self) -> pg_sys::ForkNumber::Type {
        match self {
            Fork::Main => pg_sys::ForkNumber::MAIN_FORKNUM,
            Fork::Init => pg_sys::ForkNumber::INIT_FORKNUM,
        }
    }
}

/// Adds block 0 to an empty fork, as zeros: its content is known only at the end.
#[inline]
pub fn reserve_first(rel: Rel, fork: Fork) {
    let page = AlignedPage::new();
    // SAFETY: the fork is empty; the page is BLCKSZ bytes.
    unsafe { pg_sys::smgrextend(smgr(rel), fork.number(), 0, page.0.cast(), true) };
}

/// Writes block 0, after all others, and forces the fork to disk.
#[inline]
pub fn write_first(rel: Rel, fork: Fork, fill: impl FnOnce(&mut Page)) {
    let page = [AlignedPage::new()];
    // SAFETY: the page is ours; block 0 exists since `reserve_first`.
    unsafe {
        fill(&mut *page[0].0);
        log(rel, fork.number(), 0, &page);
        let bytes = page[0].0;
        pg_sys::PageSetChecksumInplace(bytes.cast(), 0);
        pg_sys::smgrwrite(smgr(rel), fork.number(), 0, bytes.cast(), true);
        if !rel.is_temporary() {
            pg_sys::smgrimmedsync(smgr(rel), fork.number());
        }
    }
}

/// Extends the main fork by a batch of blocks, which read as zeros until they are written, and
/// returns the first. The file grows only under the extension lock: when the server begins a new
/// segment it pads the one before with zeros, which must not overwrite another process's pages.
fn reserve(rel: Rel) -> u32 {
    let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    let page = AlignedPage::new();
    // SAFETY: the relation is open, the page BLCKSZ bytes. If an ERROR is raised in between, the
    // server releases the lock.
    unsafe {
        pg_sys::LockRelationForExtension(rel.raw(), mode);
        // Block 0 is left to `write_first`.
        let start = rel.block_count().max(1);
        let last = start + BATCH as u32 - 1;
        pg_sys::smgrextend(
            smgr(rel),
            pg_sys::ForkNumber::MAIN_FORKNUM,
            last,
            page.0.cast(),
            true,
        );
        pg_sys::UnlockRelationForExtension(rel.raw(), mode);
        start
    }
}

/// Logs pages as full images of the blocks from `start` on, if the fork is logged; sets their LSN.
fn log(rel: Rel, fork: pg_sys::ForkNumber::Type, start: u32, pages: &[AlignedPage]) {
    let logged = fork == pg_sys::ForkNumber::INIT_FORKNUM || rel.needs_wal();
    if !logged || pages.is_empty() {
        return;
    }
    let mut blocks: Vec<u32> = (start..).take(pages.len()).collect();
    let mut pages: Vec<_> = pages.iter().map(|page| page.0.cast()).collect();
    // SAFETY: pages and block numbers are parallel arrays, at most 32 long; the pages carry
    // standard headers.
    unsafe {
        pg_sys::log_newpages(
            compat::file_locator(rel.raw()),
            fork,
            blocks.len() as i32,
            blocks.as_mut_ptr(),
            pages.as_mut_ptr(),
            true,
        );
    }
}

/// The relation's storage handle; asked for each time, since any invalidation may close it.
fn smgr(rel: Rel) -> pg_sys::SMgrRelation {
    // SAFETY: the relation is open.
    unsafe { pg_sys::RelationGetSmgr(rel.raw()) }
}
