//! The pages of an index in the server: its buffers, WAL, snapshots and interrupts, for the
//! algorithms of `simhash_hamming`. Scans, inserts, VACUUM and checks make one for each call. What
//! is damaged is an ERROR that names the index and the block.

#![forbid(unsafe_code)]

use super::many_matches::ManyMatches;
use super::session_cache::{cached_index, has_room, make_room};
use crate::errors::raise_in_index;
use simhash_hamming::Error;
use simhash_hamming::key::Space;
use simhash_hamming::page::Page;
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::search::cached::read_directory;
use simhash_hamming::search::reader::IndexState;
use simhash_hamming::tree::locked::Locked;
use simhash_hamming::tree::store::{PageImage, PageStore};
use simhash_hamming::tree::{self, Tree};
use simhash_pg::am::scan::ScanSnapshot;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::{self, Exclusive, Pinned, Shared};
use simhash_pg::page::wal;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error as ServerError;
use std::cell::Cell;
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
    /// None when no scan reads them.
    snapshot: Option<ScanSnapshot<'r>>,
    /// Where a scan notes leaves with many matches.
    many_matches: Option<&'r ManyMatches>,
}

impl<'r> IndexPages<'r> {
    pub fn of(rel: Rel<'r>) -> Self {
        Self {
            rel,
            snapshot: None,
            many_matches: None,
        }
    }

    /// Returns the pages of a scan.
    pub fn read_by(self, snapshot: ScanSnapshot<'r>) -> Self {
        Self {
            snapshot: Some(snapshot),
            ..self
        }
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
        let pages = pages.map(|(locked, image)| {
            let image = match image {
                PageImage::Delta => wal::PageImage::Delta,
                PageImage::Full => wal::PageImage::Full,
            };
            (&mut locked.page, image)
        });
        wal::change(pages, apply)
    }

    #[inline]
    fn patch<const BYTES: usize, const N: usize, const R: usize>(
        pages: [Locked<Exclusive<'r>>; N],
        apply: impl FnMut(usize, &mut Page) -> [Range<usize>; R],
    ) {
        wal::patch::<BYTES, N, R>(&mut pages.map(|locked| locked.page), apply);
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
        if let Some(snapshot) = self.snapshot {
            snapshot.check_age(self.rel, &leaf.page);
        }
        if let Some(many_matches) = self.many_matches {
            many_matches.note(space, leaf.block, matches);
        }
    }

    fn has_memory(self, bytes: usize) -> bool {
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
