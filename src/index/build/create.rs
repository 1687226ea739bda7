//! CREATE INDEX: reads the table once, sorts its postings for each key space, loads each bottom up.
//!
//! Rows are gathered up to half of maintenance_work_mem (the other half is the sort's target). A
//! table that fits is sorted four times in memory; a larger one leaves sorted runs of each space in
//! temporary files, which are merged at the end. `build_shared` does the same with several processes.

use super::load::{Loaded, Loader, Sink};
use super::shared::build_shared;
use super::sort::{Posting, Runs, Store, merge, sort_for};
use crate::index::key::{SPACES, Space};
use crate::index::page::Page;
use crate::index::page::meta::{FORMAT_VERSION, Meta};
use crate::pg::am::build::{scan_table, set_phase, set_rows_done, set_rows_total};
use crate::pg::am::scan::random_u64;
use crate::pg::catalog::relation::Rel;
use crate::pg::page::bulk::{BulkWriter, Fork, reserve_first, write_first};
use crate::pg::process::backend::check_for_interrupts;
use crate::pg::process::memory::maintenance_work_mem_bytes;
use crate::pg::process::memory::{push_within, reserve};
use crate::pg::process::parallel::planned_workers;
use crate::pg::process::temp_file::TempFile;
use crate::tid::Tid;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicU64, Ordering};

/// Phases of a build, as pg_stat_progress_create_index names them. 1 is the server's own.
pub mod phase {
    pub const SCAN: i64 = 2;
    pub const SORT_AND_LOAD: i64 = 3;
    pub const SYNC: i64 = 4;
}

/// The name of a build phase.
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
pub struct Counts {
    pub table_rows: f64,
    pub index_rows: u64,
}

impl Store for TempFile {
    fn write(&mut self, bytes: &[u8]) {
        check_for_interrupts();
        TempFile::write(self, bytes);
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) {
        check_for_interrupts();
        TempFile::read(self, at, bytes);
    }
}

/// Where a build's pages go, and the count of what is on them.
pub struct Output<'o, 'r> {
    pub writer: BulkWriter<'r>,
    pub progress: Progress<'o>,
}

/// How far loading has come, in quarters of rows: each row is filed four times (or once, as NULL).
#[derive(Clone, Copy)]
pub struct Progress<'o> {
    pub quarters: &'o AtomicU64,
    /// Does this process run the command, and so report it?
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

impl Sink for Output<'_, '_> {
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

/// Makes the file for the runs of one space.
type NewFile<'f> = &'f dyn Fn(Space) -> TempFile;

/// The rows gathered so far.
pub struct Spool<'f> {
    with_fingerprint: Vec<Posting>,
    without: Vec<Posting>,
    spare: Vec<Posting>,
    /// Rows that fit the memory.
    limit: usize,
    new_file: NewFile<'f>,
    /// Runs of each space, once the limit was reached.
    runs: Option<[Runs<TempFile>; SPACES]>,
    pub rows: u64,
    pub null_rows: u64,
}

impl<'f> Spool<'f> {
    pub fn new(memory: usize, new_file: NewFile<'f>) -> Spool<'f> {
        Spool {
            with_fingerprint: Vec::new(),
            without: Vec::new(),
            spare: Vec::new(),
            limit: (memory / 2 / size_of::<Posting>()).max(1000),
            new_file,
            runs: None,
            rows: 0,
            null_rows: 0,
        }
    }

    pub fn add(&mut self, fingerprint: Option<u64>, tid: Tid) {
        crate::index::insert::check_tid(tid);
        match fingerprint {
            Some(fp) => {
                self.rows += 1;
                push_within(
                    &mut self.with_fingerprint,
                    Posting::new(fp, tid),
                    self.limit,
                );
            }
            None => {
                self.null_rows += 1;
                push_within(&mut self.without, Posting::new(0, tid), self.limit);
            }
        }
        if self.with_fingerprint.len() + self.without.len() >= self.limit {
            self.spill();
        }
    }

    /// Writes what is in memory as one more run of every space.
    fn spill(&mut self) {
        let mut runs = self.runs.take().unwrap_or_else(|| {
            let mut spaces = Space::all();
            std::array::from_fn(|_| {
                let space = spaces.next().unwrap_or(Space::NULL);
                Runs::new((self.new_file)(space))
            })
        });
        for space in Space::all() {
            sort(
                space,
                of_space(space, &self.with_fingerprint, &self.without),
                &mut self.spare,
            );
            runs[space.index()].add(&self.spare);
        }
        // Given back: kept, both would in the end be as large as the limit allows one of them.
        self.with_fingerprint = Vec::new();
        self.without = Vec::new();
        self.runs = Some(runs);
    }

    /// All rows as runs of each space.
    pub fn into_runs(mut self) -> Option<[Runs<TempFile>; SPACES]> {
        if self.rows + self.null_rows > 0 {
            self.spill();
        }
        self.runs
    }

    /// Loads every space.
    fn load(
        mut self,
        output: &mut Output,
        stamp: u32,
        fillfactor: u32,
        memory: usize,
    ) -> [Loaded; SPACES] {
        if self.runs.is_some() {
            self.spill();
        }
        let mut runs = self.runs.take().map(IntoIterator::into_iter);
        let mut spaces = Space::all();
        std::array::from_fn(|_| {
            let space = spaces.next().unwrap_or(Space::NULL);
            let mut loader = Loader::new(output, space, stamp, fillfactor);
            match runs.as_mut().and_then(Iterator::next) {
                Some(runs) => merge(vec![runs], memory / 2, |key| loader.push(key)),
                None => {
                    sort(
                        space,
                        of_space(space, &self.with_fingerprint, &self.without),
                        &mut self.spare,
                    );
                    let postings = self.spare.iter();
                    postings.for_each(|posting| loader.push(posting.key()));
                }
            }
            loader.finish()
        })
    }
}

/// Sorts into `spare`.
pub fn sort(space: Space, postings: &[Posting], spare: &mut Vec<Posting>) {
    reserve(spare, postings.len().saturating_sub(spare.len()));
    sort_for(space, postings, spare, &mut check_for_interrupts);
}

fn of_space<'p>(space: Space, rows: &'p [Posting], null_rows: &'p [Posting]) -> &'p [Posting] {
    if space == Space::NULL {
        null_rows
    } else {
        rows
    }
}

/// Builds the index over the whole table.
///
/// # Safety
/// `info` must be what the server passed to ambuild together with the two relations.
pub unsafe fn build(
    table: Rel,
    index: Rel,
    info: *mut pg_sys::IndexInfo,
    fillfactor: u32,
) -> Counts {
    let memory = maintenance_work_mem_bytes();
    let workers = planned_workers(table, index, info);
    if workers > 0 {
        // SAFETY: the caller's word.
        let done = unsafe { build_shared(table, index, info, fillfactor, memory, workers) };
        if let Some(counts) = done {
            return counts;
        }
    }
    let mut spool = Spool::new(memory, &|_| TempFile::new());
    set_phase(phase::SCAN);
    // SAFETY: the caller's word.
    let table_rows = unsafe { scan_table(table, index, info, &mut |fp, tid| spool.add(fp, tid)) };
    let (rows, null_rows) = (spool.rows, spool.null_rows);
    set_phase(phase::SORT_AND_LOAD);
    set_rows_total(rows + null_rows);
    write_index(index, Fork::Main, spool, fillfactor, memory);
    Counts {
        table_rows,
        index_rows: rows + null_rows,
    }
}

/// Writes the index over no rows into the init fork, from which an unlogged index is restored.
pub fn build_empty(index: Rel) {
    write_index(
        index,
        Fork::Init,
        Spool::new(0, &|_| TempFile::new()),
        100,
        0,
    );
}

/// Writes the index over the rows of a spool.
fn write_index(index: Rel, fork: Fork, spool: Spool, fillfactor: u32, memory: usize) {
    let (rows, null_rows) = (spool.rows, spool.null_rows);
    let stamp = random_u64();
    reserve_first(index, fork);
    let mut output = Output {
        writer: BulkWriter::new(index, fork),
        progress: Progress {
            quarters: &AtomicU64::new(0),
            report: fork == Fork::Main,
        },
    };
    let spaces = spool.load(&mut output, stamp as u32, fillfactor, memory);
    output.writer.finish();
    if fork == Fork::Main {
        set_phase(phase::SYNC);
    }
    write_meta(index, fork, stamp, &spaces, rows, null_rows);
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
        version: FORMAT_VERSION,
        stamp,
        roots: spaces.each_ref().map(|s| s.root),
        levels: spaces.each_ref().map(|s| s.level),
        leaves: spaces.each_ref().map(|s| s.leaves),
        rows,
        null_rows,
    };
    write_first(index, fork, |page| meta.init(page));
}
