//! Where a build's pages go, and how it reports its progress.

#![forbid(unsafe_code)]

use simhash_hamming::build::load::{Loaded, PageSink};
use simhash_hamming::key::{SPACES, Space};
use simhash_hamming::page::Page;
use simhash_hamming::page::meta::Meta;
use simhash_pg::am::build::set_rows_done;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::bulk::{BulkWriter, Fork, write_first};
use simhash_pg::process::backend::check_for_interrupts;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of the phases that pg_stat_progress_create_index shows. 1 is the server's own.
pub mod phase {
    pub const SCAN: i64 = 2;
    pub const SORT_AND_LOAD: i64 = 3;
    pub const SYNC: i64 = 4;
}

/// Returns the name of a build phase.
pub fn phase_name(number: i64) -> Option<&'static std::ffi::CStr> {
    Some(match number {
        1 => c"initializing",
        phase::SCAN => c"scanning table",
        phase::SORT_AND_LOAD => c"sorting and loading key spaces",
        phase::SYNC => c"syncing to disk",
        _ => return None,
    })
}

/// Rows seen by a build.
pub struct BuildCounts {
    pub table_rows: f64,
    pub index_rows: u64,
}

/// Where a build's pages go, and the count of what is on them.
pub struct BuildOutput<'o, 'r> {
    pub writer: BulkWriter<'r>,
    pub progress: Progress<'o>,
}

/// Progress of loading, in quarters of rows: each row has four postings (one if NULL).
#[derive(Clone, Copy)]
pub struct Progress<'o> {
    pub quarters: &'o AtomicU64,
    /// Whether this process runs the command, and so reports its progress.
    pub report: bool,
}

impl Progress<'_> {
    fn add(&self, space: Space, postings: usize) {
        let weight = if space == Space::NULL { 4 } else { 1 };
        self.quarters
            .fetch_add(weight * postings as u64, Ordering::Relaxed);
        self.report();
    }

    pub fn report(&self) {
        if self.report {
            set_rows_done(self.quarters.load(Ordering::Relaxed) / 4);
        }
    }
}

impl PageSink for BuildOutput<'_, '_> {
    fn next_block(&self) -> u32 {
        self.writer.next_block()
    }

    fn block_after_next(&mut self) -> u32 {
        self.writer.block_after_next()
    }

    fn count(&mut self, space: Space, postings: usize) {
        self.progress.add(space, postings);
    }

    fn put(&mut self, fill: impl FnOnce(&mut Page)) {
        check_for_interrupts();
        self.writer.append(fill);
    }
}

/// Writes the metapage, with which the index is complete.
pub fn write_meta(
    index: Rel,
    fork: Fork,
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
    write_first(index, fork, |page| meta.init(page));
}
