//! The pages of an index in the server: its buffers, WAL, snapshots and interrupts, for the
//! algorithms of `simhash_hamming`. Scans, inserts, VACUUM and checks make one for each call. What
//! is damaged is an ERROR that names the index and the block.
//!
//! Changes of pages are logged by generic WAL throughout, by [`change`] and [`patch`] alone: the server's
//! own code replays its records, so crash recovery, standbys and backups work where our library is not
//! even installed.

#![allow(unsafe_code)]

use super::buffer::{self, Exclusive, Pinned, Shared};
use super::dead_postings::ManyMatches;
use super::session_cache::{cached_index, has_room, make_room};
use crate::errors::raise_in_index;
use pgrx::PgSqlErrorCode::ERRCODE_DATA_CORRUPTED;
use pgrx::pg_sys;
use simhash_hamming::Error;
use simhash_hamming::key::Space;
use simhash_hamming::page::Page;
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::search::directory::read_directory;
use simhash_hamming::search::reader::IndexState;
use simhash_hamming::tree::store::{Locked, PageImage, PageStore};
use simhash_hamming::tree::{self, Tree};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error as ServerError;
use simhash_pg::process::{compat, unguarded};
use std::cell::Cell;
use std::convert::Infallible;
use std::ops::Range;

/// Number of metapages whose buffers a session remembers.
const META_PLACES: usize = 64;

thread_local! {
    /// The buffers in which metapages were seen last, by the OIDs of their indexes. Several may
    /// share a place: the server checks what a buffer holds.
    static META_BUFFERS: [Cell<i32>; META_PLACES] = const { [const { Cell::new(0) }; META_PLACES] };
}

/// The pages of an index, as one call sees them.
#[derive(Clone, Copy)]
pub struct IndexPages<'r> {
    rel: Rel<'r>,
    /// The snapshot of the scan that reads them; null when none does.
    snapshot: pg_sys::Snapshot,
    /// Where a scan notes leaves with many matches.
    many_matches: Option<&'r ManyMatches>,
}

impl<'r> IndexPages<'r> {
    pub fn of(rel: Rel<'r>) -> Self {
        Self {
            rel,
            snapshot: std::ptr::null_mut(),
            many_matches: None,
        }
    }

    /// Returns the pages of a scan.
    ///
    /// # Safety
    /// The snapshot must be null, or live for 'r.
    pub unsafe fn read_by(self, snapshot: pg_sys::Snapshot) -> Self {
        Self { snapshot, ..self }
    }

    /// Returns the pages of a scan that may remove the postings of dead rows.
    pub fn noting(self, many_matches: &'r ManyMatches) -> Self {
        Self {
            many_matches: Some(many_matches),
            ..self
        }
    }
}

/// Reads the metapage.
pub fn read_meta(rel: Rel) -> Meta {
    tree::read_meta(IndexPages::of(rel))
}

/// Reads what a scan or an insert has to know at its start.
pub fn read_state(rel: Rel) -> IndexState {
    let pages = IndexPages::of(rel);
    let cached =
        |meta: &Meta| cached_index(rel, meta, |recent| read_directory(pages, meta, recent));
    IndexState::read(pages, rel.key_columns() > 1, cached)
}

/// Returns the tree of a key space as it is now.
pub fn tree_of(rel: Rel, space: Space) -> Tree<IndexPages> {
    Tree::new(IndexPages::of(rel), &read_meta(rel), space)
}

impl<'r> PageStore for IndexPages<'r> {
    type Pinned = Pinned<'r>;
    type Shared = Shared<'r>;
    type Exclusive = Exclusive<'r>;

    #[inline]
    fn pin(self, block: u32) -> Pinned<'r> {
        Pinned::read(self.rel, block)
    }

    #[inline]
    fn pin_recent(self, block: u32, recent: &Cell<i32>) -> Pinned<'r> {
        Pinned::read_recent(self.rel, block, recent)
    }

    #[inline]
    fn pin_meta(self) -> Pinned<'r> {
        // It saves the look-up in the buffer table.
        let place = self.rel.oid().to_u32() as usize % META_PLACES;
        META_BUFFERS.with(|buffers| self.pin_recent(META_BLOCK, &buffers[place]))
    }

    #[inline]
    fn block(page: &Pinned<'r>) -> u32 {
        page.block()
    }

    #[inline]
    fn share(page: Pinned<'r>) -> Shared<'r> {
        page.share()
    }

    #[inline]
    fn exclusive(page: Pinned<'r>) -> Exclusive<'r> {
        page.exclusive()
    }

    fn extend(self) -> Locked<Exclusive<'r>> {
        let page = Exclusive::extend(self.rel);
        Locked {
            block: page.block(),
            page,
        }
    }

    fn change<const N: usize, R, E>(
        pages: [(&mut Locked<Exclusive<'r>>, PageImage); N],
        apply: impl FnOnce([&mut Page; N]) -> Result<R, E>,
    ) -> Result<R, E> {
        change(
            pages.map(|(locked, image)| (&mut locked.page, image)),
            apply,
        )
    }

    #[inline]
    fn patch<const BYTES: usize, const N: usize, const R: usize>(
        pages: [Locked<Exclusive<'r>>; N],
        apply: impl FnMut(usize, &mut Page) -> [Range<usize>; R],
    ) {
        patch::<BYTES, N, R>(&mut pages.map(|locked| locked.page), apply);
    }

    fn read_ahead(self, block: u32, recent: &Cell<i32>) {
        Pinned::read_ahead(self.rel, block, recent);
    }

    fn read_ahead_limit(self) -> usize {
        self.rel.io_concurrency()
    }

    #[inline]
    fn pages_read() -> i64 {
        buffer::pages_read()
    }

    #[inline]
    fn warm<const N: usize>(buffer: i32, ranges: [Range<usize>; N]) {
        buffer::warm(buffer, ranges);
    }

    #[inline]
    fn check_for_interrupts(self) {
        check_for_interrupts();
    }

    #[inline]
    fn note_leaf(self, space: Space, leaf: &Locked<Shared<'r>>, matches: usize) {
        let header = (&raw const *leaf.page).cast();
        // SAFETY: the snapshot is null or live; the page is locked.
        unsafe { compat::test_for_old_snapshot(self.snapshot, self.rel.raw(), header) };
        if let Some(many_matches) = self.many_matches {
            many_matches.note(space, leaf.block, matches);
        }
    }

    fn reserve_memory(self, bytes: usize) -> bool {
        make_room(self.rel, bytes)
    }

    fn has_spare_memory(self, bytes: usize) -> bool {
        has_room(bytes)
    }

    fn raise(self, block: u32, error: &Error) -> ! {
        raise_in_index(self.rel, block, error)
    }

    fn out_of_memory() -> ! {
        ServerError::out_of_memory().raise()
    }
}

/// Changes up to four pages as one atomic, logged step: after a crash either all pages have changed
/// or none. `apply` works on copies; if it fails, the pages stay as they were.
#[inline]
pub fn change<const N: usize, R, E>(
    pages: [(&mut Exclusive, PageImage); N],
    apply: impl FnOnce([&mut Page; N]) -> Result<R, E>,
) -> Result<R, E> {
    const { assert!(N >= 1 && N <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize) };
    // SAFETY: every page is pinned and exclusively locked, and all belong to one relation. The
    // copies that GenericXLogRegisterBuffer hands out are distinct (the `&mut` are), BLCKSZ long,
    // and live until Finish or Abort, which end before the references can be used again: `apply` is
    // done.
    unsafe {
        let state = pg_sys::GenericXLogStart(pages[0].0.rel().raw());
        let copies = pages.map(|(page, image)| {
            let flags = match image {
                PageImage::Delta => 0,
                PageImage::Full => pg_sys::GENERIC_XLOG_FULL_IMAGE as i32,
            };
            pg_sys::GenericXLogRegisterBuffer(state, page.buffer(), flags)
        });
        let result = apply(copies.map(|copy| &mut *copy.cast::<Page>()));
        match result {
            Ok(_) => {
                // A hole of negative length would bring the server down inside its critical
                // section.
                copies
                    .into_iter()
                    .for_each(|copy| check_bounds(copy.cast()));
                pg_sys::GenericXLogFinish(state);
            }
            Err(_) => pg_sys::GenericXLogAbort(state),
        }
        result
    }
}

/// # Safety
/// The pointer must lead to a page.
unsafe fn check_bounds(header: *const pg_sys::PageHeaderData) {
    // SAFETY: guaranteed by the caller.
    let (lower, upper) = unsafe { ((*header).pd_lower, (*header).pd_upper) };
    if lower > upper {
        ServerError::new(
            ERRCODE_DATA_CORRUPTED,
            format!("page would be overfull: free space from {lower} to {upper}"),
        )
        .raise();
    }
}

/// Changes up to four pages as one atomic, logged step, as [`change`] with [`PageImage::Delta`] does,
/// for callers that know which bytes they change. `apply(i, page)` changes page `i` in place and
/// returns the ranges it wrote, pd_lower and pd_upper among them if they moved, of `BYTES` bytes at
/// most. It must not fail: a panic inside is a PANIC of the server, since a shared page is half
/// written.
///
/// The generic WAL API finds the changed bytes by comparing whole pages. For an insert, which
/// changes 70 bytes, that is four copies and four comparisons of 8 kB: most of its cost. This
/// function builds the same record from the ranges, for each page a sequence of (u16 offset, u16
/// length, bytes), and the server's own redo of generic WAL replays it. On majors where no test has
/// shown yet that redo accepts it, the API is used.
#[inline]
pub fn patch<const BYTES: usize, const N: usize, const R: usize>(
    pages: &mut [Exclusive; N],
    mut apply: impl FnMut(usize, &mut Page) -> [Range<usize>; R],
) {
    const { assert!(N >= 1 && N <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize) };
    if !compat::IS_TESTED {
        let pages = pages.each_mut().map(|page| (page, PageImage::Delta));
        let Ok(()) = change(pages, |pages| {
            for (i, page) in pages.into_iter().enumerate() {
                apply(i, page);
            }
            Ok::<(), Infallible>(())
        });
        return;
    }
    let logged = pages[0].rel().needs_wal();
    // Each has room for all ranges: nothing may fail in a critical section.
    const { assert!(BYTES + R * RANGE_HEADER <= MOST_BYTES) };
    let mut records = [PageChanges::EMPTY; N];
    // SAFETY: every page is pinned and exclusively locked. The order is the server's rule for WAL:
    // critical section, change, mark dirty, register, insert the record, set the LSNs. The
    // registered bytes live in `records` until the record is inserted.
    unsafe {
        pg_sys::CritSectionCount += 1;
        for (i, (page, record)) in pages.iter_mut().zip(&mut records).enumerate() {
            let page = page.bytes_in_critical_section();
            for range in apply(i, page) {
                record.add(&(range.start as u16).to_ne_bytes());
                record.add(&(range.len() as u16).to_ne_bytes());
                record.add(&page[range]);
            }
        }
        for page in pages.iter() {
            unguarded::MarkBufferDirty(page.buffer());
        }
        if logged {
            insert_record(pages, &mut records);
        }
        pg_sys::CritSectionCount -= 1;
    }
}

/// Bytes before a range's own: its offset and its length.
const RANGE_HEADER: usize = 2 * size_of::<u16>();
/// Bytes of the ranges of a page, with what stands before each.
const MOST_BYTES: usize = 40;

/// The changes of one page, as the log gets them. On the stack, since four allocations for each row
/// cost more than the bytes.
#[derive(Clone, Copy)]
struct PageChanges {
    bytes: [u8; MOST_BYTES],
    length: usize,
}

impl PageChanges {
    const EMPTY: PageChanges = PageChanges {
        bytes: [0; MOST_BYTES],
        length: 0,
    };

    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }
}

/// # Safety
/// The pages must be exclusively locked and marked dirty, inside a critical section.
unsafe fn insert_record<const N: usize>(pages: &[Exclusive; N], records: &mut [PageChanges; N]) {
    // SAFETY: guaranteed by the caller; block ids are 0 to N - 1, each registered before its data.
    unsafe {
        unguarded::XLogBeginInsert();
        for (i, (page, record)) in pages.iter().zip(records).enumerate() {
            let (id, length) = (i as u8, record.length);
            unguarded::XLogRegisterBuffer(id, page.buffer(), pg_sys::REGBUF_STANDARD as u8);
            compat::register_buffer_data(id, record.bytes.as_mut_ptr(), length);
        }
        let lsn = unguarded::XLogInsert(pg_sys::RmgrIds::RM_GENERIC_ID as pg_sys::RmgrId, 0);
        for page in pages {
            let header = pg_sys::BufferGetPage(page.buffer()).cast::<pg_sys::PageHeaderData>();
            // PageSetLSN: the upper half comes first, whatever the processor's order of bytes.
            let halves = [(lsn >> 32) as u32, lsn as u32];
            (&raw mut (*header).pd_lsn).cast::<[u32; 2]>().write(halves);
        }
    }
}
