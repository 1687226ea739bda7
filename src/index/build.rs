//! CREATE INDEX: reads the table once, sorts its postings for each key space, loads each bottom up.
//!
//! Rows are gathered up to half of maintenance_work_mem (the other half is the sort's target). A
//! table that fits is sorted four times in memory; a larger one leaves sorted runs of each space in
//! temporary files, which are merged at the end.

use super::key::{SPACES, Space, Tid};
use super::load::{Loaded, Loader, Sink};
use super::page::Page;
use super::page::meta::Meta;
use super::sort::{Posting, Runs, Store, sort_for};
use crate::pg::build::{TempFile, scan_table, set_phase};
use crate::pg::bulk::{BulkWriter, Fork};
use crate::pg::index_am::{maintenance_work_mem_bytes, random_u64};
use crate::pg::process::check_for_interrupts;
use crate::pg::relation::Rel;
use pgrx::pg_sys;

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
        TempFile::write(self, bytes);
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) {
        check_for_interrupts();
        TempFile::read(self, at, bytes);
    }
}

impl Sink for BulkWriter<'_> {
    fn next_block(&self) -> u32 {
        BulkWriter::next_block(self)
    }

    fn put(&mut self, fill: impl FnOnce(&mut Page)) {
        check_for_interrupts();
        self.append(fill);
    }
}

/// The rows gathered so far.
struct Spool {
    with_fingerprint: Vec<Posting>,
    without: Vec<Posting>,
    spare: Vec<Posting>,
    /// Rows that fit the memory.
    limit: usize,
    /// Runs of each space, once the limit was reached.
    runs: Option<[Runs<TempFile>; SPACES]>,
    rows: u64,
    null_rows: u64,
}

impl Spool {
    fn new(memory: usize) -> Spool {
        Spool {
            with_fingerprint: Vec::new(),
            without: Vec::new(),
            spare: Vec::new(),
            limit: (memory / 2 / size_of::<Posting>()).max(1000),
            runs: None,
            rows: 0,
            null_rows: 0,
        }
    }

    fn add(&mut self, fingerprint: Option<u64>, tid: Tid) {
        super::insert::check_tid(tid);
        match fingerprint {
            Some(fp) => {
                self.rows += 1;
                self.with_fingerprint.push(Posting::new(fp, tid));
            }
            None => {
                self.null_rows += 1;
                self.without.push(Posting::new(0, tid));
            }
        }
        if self.with_fingerprint.len() + self.without.len() >= self.limit {
            self.spill();
        }
    }

    /// Writes what is in memory as one more run of every space.
    fn spill(&mut self) {
        let mut runs = self
            .runs
            .take()
            .unwrap_or_else(|| std::array::from_fn(|_| Runs::new(TempFile::new())));
        for space in Space::all() {
            check_for_interrupts();
            sort_for(
                space,
                of_space(space, &self.with_fingerprint, &self.without),
                &mut self.spare,
            );
            runs[space.index()].add(&self.spare);
        }
        self.with_fingerprint.clear();
        self.without.clear();
        self.runs = Some(runs);
    }

    /// Loads every space.
    fn load(
        mut self,
        writer: &mut BulkWriter,
        stamp: u32,
        fillfactor: u32,
        memory: usize,
    ) -> [Loaded; SPACES] {
        if self.runs.is_some() {
            self.spill();
        }
        let Spool {
            with_fingerprint,
            without,
            mut spare,
            runs,
            ..
        } = self;
        let mut runs = runs.map(|runs| runs.into_iter());
        let mut spaces = Space::all();
        std::array::from_fn(|_| {
            let space = spaces.next().unwrap_or(Space::NULL);
            let mut loader = Loader::new(writer, space, stamp, fillfactor);
            match runs.as_mut().and_then(Iterator::next) {
                Some(runs) => runs.merge(memory / 2, |key| loader.push(key)),
                None => {
                    sort_for(
                        space,
                        of_space(space, &with_fingerprint, &without),
                        &mut spare,
                    );
                    spare.iter().for_each(|posting| loader.push(posting.key()));
                }
            }
            loader.finish()
        })
    }
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
    let mut spool = Spool::new(memory);
    set_phase(phase::SCAN);
    // SAFETY: the caller's word.
    let table_rows = unsafe { scan_table(table, index, info, &mut |fp, tid| spool.add(fp, tid)) };
    let (rows, null_rows) = (spool.rows, spool.null_rows);
    set_phase(phase::SORT_AND_LOAD);
    let stamp = random_u64();
    let mut writer = BulkWriter::new(index, Fork::Main);
    let spaces = spool.load(&mut writer, stamp as u32, fillfactor, memory);
    set_phase(phase::SYNC);
    finish(writer, stamp, &spaces, rows, null_rows);
    Counts {
        table_rows,
        index_rows: rows + null_rows,
    }
}

/// Writes the index over no rows into the init fork, from which an unlogged index is restored.
pub fn build_empty(index: Rel) {
    let stamp = random_u64();
    let mut writer = BulkWriter::new(index, Fork::Init);
    let spaces = Spool::new(0).load(&mut writer, stamp as u32, 100, 0);
    finish(writer, stamp, &spaces, 0, 0);
}

fn finish(writer: BulkWriter, stamp: u64, spaces: &[Loaded; SPACES], rows: u64, null_rows: u64) {
    let meta = Meta {
        stamp,
        roots: spaces.each_ref().map(|s| s.root),
        levels: spaces.each_ref().map(|s| s.level),
        leaves: spaces.each_ref().map(|s| s.leaves),
        rows,
        null_rows,
    };
    writer.finish(|page| meta.write(page));
}
