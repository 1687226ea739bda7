//! Writing a relation's fork from start to end, past the buffer pool: what CREATE INDEX does.
//!
//! Pages go to the file in order, each batch logged as full page images first; the file is forced to
//! disk at the end, because checkpoints do not know of these writes.

use super::relation::Rel;
use pgrx::pg_sys;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// The bytes of a page.
pub use super::buffer::Page;

/// Pages logged by one WAL record (the server allows 32).
const BATCH: usize = 32;

/// Which fork is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    Main,
    /// The template from which an unlogged index is restored after a crash; always logged.
    Init,
}

/// A page at the alignment that direct writes want.
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
            handle_alloc_error(Self::LAYOUT);
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

/// Appends pages to an empty fork. Block 0 is reserved, and written by [`BulkWriter::finish`].
pub struct BulkWriter<'r> {
    rel: Rel<'r>,
    fork: pg_sys::ForkNumber::Type,
    logged: bool,
    batch: Vec<AlignedPage>,
    filled: usize,
    /// Block number of the first page of the batch.
    start: u32,
}

impl<'r> BulkWriter<'r> {
    pub fn new(rel: Rel<'r>, fork: Fork) -> BulkWriter<'r> {
        let mut writer = BulkWriter {
            rel,
            fork: match fork {
                Fork::Main => pg_sys::ForkNumber::MAIN_FORKNUM,
                Fork::Init => pg_sys::ForkNumber::INIT_FORKNUM,
            },
            logged: fork == Fork::Init || rel.needs_wal(),
            batch: (0..BATCH).map(|_| AlignedPage::new()).collect(),
            filled: 0,
            start: 0,
        };
        // Block 0, as zeros for now: only `finish` knows what the metapage says.
        writer.append(|_| ());
        writer
    }

    /// The block number that the next appended page will have.
    pub fn next_block(&self) -> u32 {
        self.start + self.filled as u32
    }

    /// Appends a page that `fill` writes (it is handed zeros or an old page) and returns its block.
    pub fn append(&mut self, fill: impl FnOnce(&mut Page)) -> u32 {
        let block = self.next_block();
        // SAFETY: the batch owns its pages; `filled` is below BATCH.
        fill(unsafe { &mut *self.batch[self.filled].0 });
        self.filled += 1;
        if self.filled == BATCH {
            self.flush();
        }
        block
    }

    fn flush(&mut self) {
        let blocks: Vec<u32> = (0..self.filled as u32).map(|i| self.start + i).collect();
        self.log(&blocks);
        for (&block, page) in blocks.iter().zip(&self.batch) {
            // SAFETY: the page is BLCKSZ bytes; the fork ends right before `block`, since blocks are
            // appended in order.
            unsafe {
                pg_sys::PageSetChecksumInplace(page.0.cast(), block);
                pg_sys::smgrextend(self.smgr(), self.fork, block, page.0.cast(), true);
            }
        }
        self.start += self.filled as u32;
        self.filled = 0;
    }

    /// Logs the first pages of the batch as full images of `blocks`; sets their LSN.
    fn log(&self, blocks: &[u32]) {
        // An all-zero page (the reserved block 0) needs no record: `finish` logs its content.
        let mut pages: Vec<_> = self
            .batch
            .iter()
            .take(blocks.len())
            .map(|p| p.0.cast())
            .collect();
        let mut blocks = blocks.to_vec();
        if !self.logged || blocks.is_empty() {
            return;
        }
        // SAFETY: pages and block numbers are parallel arrays, at most 32 long; the pages carry
        // standard headers (or are zero).
        unsafe {
            pg_sys::log_newpages(
                &mut (*self.rel.raw()).rd_node,
                self.fork,
                blocks.len() as i32,
                blocks.as_mut_ptr(),
                pages.as_mut_ptr(),
                true,
            );
        }
    }

    /// The relation's storage handle; asked for each time, since any invalidation may close it.
    fn smgr(&self) -> pg_sys::SMgrRelation {
        // SAFETY: the relation is open.
        unsafe { pg_sys::RelationGetSmgr(self.rel.raw()) }
    }

    /// Writes what is left and then block 0, and forces the fork to disk. Returns its block count.
    pub fn finish(mut self, fill_first: impl FnOnce(&mut Page)) -> u32 {
        self.flush();
        let page = self.batch[0].0;
        // SAFETY: the batch is flushed, so its first page is free; block 0 exists since `new`.
        unsafe {
            fill_first(&mut *page);
            self.log(&[0]);
            pg_sys::PageSetChecksumInplace(page.cast(), 0);
            pg_sys::smgrwrite(self.smgr(), self.fork, 0, page.cast(), true);
            if !self.rel.is_temporary() {
                pg_sys::smgrimmedsync(self.smgr(), self.fork);
            }
        }
        self.start
    }
}
