//! Changes of pages, logged: the one way to write to an [`Exclusive`] page.
//!
//! Generic WAL is used throughout: its records are replayed by the server's own code, so crash
//! recovery, standbys and backups work where our library is not even installed.

use super::buffer::{Exclusive, Page};
use crate::process::error::Error;
use crate::process::{compat, unguarded};
use pgrx::PgSqlErrorCode::ERRCODE_DATA_CORRUPTED;
use pgrx::pg_sys;
use std::convert::Infallible;
use std::ops::Range;

/// The form in which a page's change is logged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PageImage {
    /// As the bytes that differ.
    Delta,
    /// As a full page image: for pages that are new or rewritten as a whole.
    Full,
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
        Error::new(
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
