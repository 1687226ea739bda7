//! The page formats, as pure functions over the 8,192 bytes of a page.
//!
//! ```text
//!  block 0            metapage: magic, version, build stamp, five roots
//!  every other block  internal page or leaf of one of the five key spaces, or (after a crash while
//!                     the file was being extended) a page of zeros that nothing points to
//!
//!  every page   +---------+------------------ - - ------------------+---------------+
//!               | header  |  items ->        hole        <- items   | special area  |
//!               | 24 B    |  up to pd_lower   ...  from pd_upper    | 112 B         |
//!               +---------+------------------ - - ------------------+---------------+
//! ```
//!
//! What lives here: reading, checking and changing bytes. [`meta`], [`internal`] and [`leaf`] are
//! the three kinds of pages, [`special`] what the last two have in common, with a
//! leaf's slot directory; [`format`](mod@format) says how a leaf holds its postings, and reads and writes
//! one, [`leaf_scan`] searches it by a filter with a [`kernel`] of `near_words`,
//! [`leaf_rewrite`] splits and cleans it. The header is
//! PostgreSQL's PageHeaderData; `pd_lower` and `pd_upper` are kept true, because generic WAL does
//! not log what lies between them. Numbers are in the processor's byte order, as on all of
//! PostgreSQL's pages.

pub(crate) mod format;
pub mod internal;
pub mod kernel;
pub mod leaf;
pub(crate) mod leaf_rewrite;
pub mod leaf_scan;
pub mod meta;
#[cfg(any(test, target_arch = "x86_64"))]
mod near_words;
pub mod special;

use crate::Error;
use simhash_base::bytes::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};

/// Bytes of a page. PostgreSQL can be built with others; such a server is refused at compile time.
pub const PAGE_SIZE: usize = 8192;
/// Bytes of PostgreSQL's page header, MAXALIGNed.
pub const HEADER: usize = 24;
/// Bytes of the special area.
pub const SPECIAL: usize = 112;
/// Where the special area starts.
pub const SPECIAL_START: usize = PAGE_SIZE - SPECIAL;
/// Version of PostgreSQL's page layout that these pages carry (unchanged since 8.3).
const PAGE_LAYOUT_VERSION: u16 = 4;

/// The bytes of one page.
pub type Page = [u8; PAGE_SIZE];

/// Level of the leaves.
pub const LEAF: u8 = 0;

/// "No block": the right link of a rightmost page.
pub const NO_BLOCK: u32 = u32::MAX;

/// Numbers as a message shows them.
#[inline]
pub fn list(numbers: impl IntoIterator<Item: ToString>) -> String {
    let texts: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    texts.join(", ")
}

const PD_LOWER: usize = 12;
const PD_UPPER: usize = 14;
const PD_SPECIAL: usize = 16;
/// The bytes of pd_lower and pd_upper.
const BOUNDS: std::ops::Range<usize> = PD_LOWER..PD_SPECIAL;
const PD_PAGESIZE_VERSION: usize = 18;

#[inline]
pub(crate) fn lower(page: &Page) -> usize {
    usize::from(get_u16(page, PD_LOWER))
}

#[inline]
pub(crate) fn upper(page: &Page) -> usize {
    usize::from(get_u16(page, PD_UPPER))
}

#[inline]
pub(crate) fn set_lower(page: &mut Page, at: usize) {
    put_u16(page, PD_LOWER, at as u16);
}

#[inline]
pub(crate) fn set_upper(page: &mut Page, at: usize) {
    put_u16(page, PD_UPPER, at as u16);
}

/// Clears a page and writes an empty header, with `special` bytes of special area.
/// LSN and checksum are PostgreSQL's to fill.
#[inline]
pub(crate) fn init_header(page: &mut Page, special: usize) {
    page.fill(0);
    set_lower(page, HEADER);
    set_upper(page, PAGE_SIZE - special);
    put_u16(page, PD_SPECIAL, (PAGE_SIZE - special) as u16);
    put_u16(
        page,
        PD_PAGESIZE_VERSION,
        PAGE_SIZE as u16 | PAGE_LAYOUT_VERSION,
    );
}

/// Returns whether the page was never written. (A backend extended the file, and failed or crashed
/// before it logged the page; or a build reserved the block and did not use it.)
#[inline]
pub fn is_zero(page: &Page) -> bool {
    upper(page) == 0 && page.iter().all(|byte| *byte == 0)
}

/// Checks that the page is the expected one and that its content can be read.
#[inline]
pub fn check_page(page: &Page, expected: special::PageKind) -> Result<(), Error> {
    special::expect(page, expected)?;
    if expected.level == LEAF {
        leaf::check(page)
    } else {
        internal::check(page)
    }
}

/// Checks the header against the expected special area.
#[inline]
pub(crate) fn check_header(page: &Page, special: usize) -> Result<(), Error> {
    let version = get_u16(page, PD_PAGESIZE_VERSION);
    let expected = PAGE_SIZE as u16 | PAGE_LAYOUT_VERSION;
    let start = usize::from(get_u16(page, PD_SPECIAL));
    if is_zero(page) {
        return Err(Error::damaged("the page is all zeros"));
    }
    if version != expected || start != PAGE_SIZE - special {
        return Err(Error::damaged("the page header is damaged"));
    }
    if lower(page) < HEADER || lower(page) > upper(page) || upper(page) > start {
        return Err(Error::damaged(format!(
            "free space runs from {} to {}, outside of the page's {HEADER} to {start}",
            lower(page),
            upper(page)
        )));
    }
    Ok(())
}
