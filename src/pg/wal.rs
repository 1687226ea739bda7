//! Changes of pages, logged: the one way to write to an [`Exclusive`] page.
//!
//! Generic WAL is used throughout: its records are replayed by the server's own code, so crash
//! recovery, standbys and backups work where our library is not even installed.

use super::buffer::{Exclusive, Page};
use pgrx::pg_sys;

/// How a page's change is logged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// As the bytes that differ.
    Delta,
    /// As a whole: for pages that are new or written from scratch.
    Full,
}

/// Changes up to four pages as one atomic, logged step: after a crash either all of it happened or
/// nothing. `apply` works on copies; if it fails, the pages stay as they were.
pub fn change<const N: usize, R, E>(
    pages: [(&mut Exclusive, Image); N],
    apply: impl FnOnce([&mut Page; N]) -> Result<R, E>,
) -> Result<R, E> {
    const { assert!(N >= 1 && N <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize) };
    // SAFETY: every page is pinned and exclusively locked, and all belong to one relation. The
    // copies that GenericXLogRegisterBuffer hands out are distinct (the `&mut` are), BLCKSZ long, and
    // live until Finish or Abort, which end before the references can be used again: `apply` is done.
    unsafe {
        let state = pg_sys::GenericXLogStart(pages[0].0.rel().raw());
        let copies = pages.map(|(page, image)| {
            let flags = match image {
                Image::Delta => 0,
                Image::Full => pg_sys::GENERIC_XLOG_FULL_IMAGE as i32,
            };
            let copy = pg_sys::GenericXLogRegisterBuffer(state, page.buffer(), flags);
            &mut *copy.cast::<Page>()
        });
        let result = apply(copies);
        match result {
            Ok(_) => {
                pg_sys::GenericXLogFinish(state);
            }
            Err(_) => pg_sys::GenericXLogAbort(state),
        }
        result
    }
}
