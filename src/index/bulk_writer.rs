//! Where the pages of a build go: past the buffer pool, in order, each batch logged as full page images
//! first. The file is forced to disk at the end, because checkpoints do not know of these writes.
//! Several processes can write one fork: each reserves a batch of blocks at a time at the end of the file.

#![allow(unsafe_code)]

use super::build::set_progress;
use pgrx::pg_sys::{self, ForkNumber};
use simhash_hamming::build::load::{Loaded, PageSink};
use simhash_hamming::key::{SPACES, Space};
use simhash_hamming::page::Page;
use simhash_hamming::page::meta::Meta;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::compat;
use simhash_pg::process::error::Error;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU64, Ordering};

/// The fork of the index itself; logged unless the relation is unlogged or temporary.
pub const MAIN: ForkNumber::Type = ForkNumber::MAIN_FORKNUM;

/// The template from which an unlogged index is restored after a crash; always logged.
pub const INIT: ForkNumber::Type = ForkNumber::INIT_FORKNUM;

/// Pages logged by one WAL record (the server allows 32).
const BATCH: usize = 32;

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

/// Progress of loading, in quarters of rows: each row has four postings (one if NULL).
#[derive(Clone, Copy)]
pub struct Progress<'p> {
    pub quarters: &'p AtomicU64,
    /// Whether this process is the leader, which reports the progress of the command.
    pub report: bool,
}

impl Progress<'_> {
    pub fn report(&self) {
        if self.report {
            let rows = self.quarters.load(Ordering::Relaxed) / 4;
            set_progress(pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE, rows as i64);
        }
    }
}

/// Writes pages after block 0, which [`write_meta`] writes last.
pub struct BulkWriter<'r> {
    rel: Rel<'r>,
    fork: ForkNumber::Type,
    writers: Writers,
    progress: Progress<'r>,
    batch: Vec<AlignedPage>,
    filled: usize,
    /// Block number of the first page of the batch.
    start: u32,
    /// Where the next batch goes, if [`PageSink::block_after_next`] had to know it already.
    next_start: Option<u32>,
}

impl<'r> BulkWriter<'r> {
    /// The only writer of an empty fork. Block 0 is zeros at first: its content is known only at the end.
    pub fn alone(rel: Rel<'r>, fork: ForkNumber::Type, progress: Progress<'r>) -> BulkWriter<'r> {
        let page = AlignedPage::new();
        // SAFETY: the fork is empty; the page is BLCKSZ bytes.
        unsafe { pg_sys::smgrextend(smgr(rel), fork, 0, page.0.cast(), true) };
        Self::starting_at(rel, fork, Writers::One, progress, 1)
    }

    /// One of several writers of the main fork. Blocks reserved and not used stay zero.
    pub fn one_of_many(rel: Rel<'r>, progress: Progress<'r>) -> BulkWriter<'r> {
        Self::starting_at(rel, MAIN, Writers::Many, progress, reserve(rel))
    }

    fn starting_at(
        rel: Rel<'r>,
        fork: ForkNumber::Type,
        writers: Writers,
        progress: Progress<'r>,
        start: u32,
    ) -> BulkWriter<'r> {
        BulkWriter {
            rel,
            fork,
            writers,
            progress,
            batch: (0..BATCH).map(|_| AlignedPage::new()).collect(),
            filled: 0,
            start,
            next_start: None,
        }
    }

    /// Returns where the batch after this one goes.
    fn following(&self) -> u32 {
        match self.writers {
            Writers::One => self.start + BATCH as u32,
            Writers::Many => reserve(self.rel),
        }
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
    pub fn finish(self) {
        self.write_batch();
    }
}

impl PageSink for BulkWriter<'_> {
    fn next_block(&self) -> u32 {
        self.start + self.filled as u32
    }

    fn block_after_next(&mut self) -> u32 {
        if self.filled + 1 < BATCH {
            return self.next_block() + 1;
        }
        let next = self.next_start.unwrap_or_else(|| self.following());
        self.next_start = Some(next);
        next
    }

    fn count(&mut self, space: Space, postings: usize) {
        let weight = if space == Space::NULL { 4 } else { 1 };
        let quarters = self.progress.quarters;
        quarters.fetch_add(weight * postings as u64, Ordering::Relaxed);
        self.progress.report();
    }

    /// `fill` writes the page over zeros or an older one.
    fn put(&mut self, fill: impl FnOnce(&mut Page)) {
        check_for_interrupts();
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
    }
}

/// Writes the metapage, in block 0, with which the index is complete, and forces the fork to disk.
pub fn write_meta(
    rel: Rel,
    fork: ForkNumber::Type,
    stamp: u64,
    spaces: &[Loaded; SPACES],
    rows: u64,
    null_rows: u64,
) {
    let meta = Meta {
        stamp,
        roots: spaces.each_ref().map(|s| s.root),
        levels: spaces.each_ref().map(|s| s.level),
        leaves: spaces.each_ref().map(|s| s.leaves),
        rows,
        null_rows,
    };
    let page = [AlignedPage::new()];
    // SAFETY: the page is ours; block 0 exists since the first writer began.
    unsafe {
        meta.init(&mut *page[0].0);
        log(rel, fork, 0, &page);
        let bytes = page[0].0;
        pg_sys::PageSetChecksumInplace(bytes.cast(), 0);
        pg_sys::smgrwrite(smgr(rel), fork, 0, bytes.cast(), true);
        if !rel.is_temporary() {
            pg_sys::smgrimmedsync(smgr(rel), fork);
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
        // Block 0 is left to `write_meta`.
        let start = rel.block_count().max(1);
        let last = start + BATCH as u32 - 1;
        pg_sys::smgrextend(smgr(rel), MAIN, last, page.0.cast(), true);
        pg_sys::UnlockRelationForExtension(rel.raw(), mode);
        start
    }
}

/// Logs pages as full images of the blocks from `start` on, if the fork is logged; sets their LSN.
fn log(rel: Rel, fork: ForkNumber::Type, start: u32, pages: &[AlignedPage]) {
    let logged = fork == INIT || rel.needs_wal();
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
