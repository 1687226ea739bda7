//! VACUUM (ambulkdelete, amvacuumcleanup): one pass over the pages in physical order.
//!
//! The pass misses no posting although pages split during it: a split moves postings to a page that
//! is new, hence at the end of the file, and the file's length is read again until it stops
//! growing. Which rows are dead does not change during the pass, since their addresses are free only
//! when all indexes are cleaned.

#![allow(unsafe_code)]

use super::buffer::{Exclusive, Pinned, Shared};
use super::build::set_progress;
use super::row_address::{RowAddresses, tid_to};
use super::store::{IndexPages, change, read_meta};
use crate::errors::raise_in_index;
use pgrx::{pg_guard, pg_sys};
use simhash_base::indexed_row::Tid;
use simhash_hamming::key::{Position, SPACES, Space};
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::page::{LEAF, is_zero, leaf, special};
use simhash_hamming::remove;
use simhash_hamming::remove::{DeadRowBits, TableSize};
use simhash_hamming::tree::store::{Locked, PageImage};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::compat::vacuum_delay_point;
use simhash_pg::process::memory::maintenance_work_mem_bytes;
use std::convert::Infallible;
use std::ffi::c_void;

#[pg_guard]
pub unsafe extern "C-unwind" fn ambulkdelete(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
    callback: pg_sys::IndexBulkDeleteCallback,
    state: *mut c_void,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: the server's arguments of ambulkdelete: the index stays open during VACUUM.
    unsafe {
        let stats = stats_or_new(stats);
        if let Some(callback) = callback {
            let vacuum = Vacuum::new(&*info, Rel::from_raw((*info).index), callback, state);
            let counts = vacuum.run();
            stats.num_pages = counts.pages;
            stats.num_index_tuples = VacuumCounts::rows(&counts.postings) as f64;
            stats.tuples_removed += VacuumCounts::rows(&counts.removed) as f64;
        }
        stats
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn amvacuumcleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: the server's arguments of amvacuumcleanup.
    unsafe {
        let info = &*info;
        if info.analyze_only {
            return stats;
        }
        // Without a pass there is no count, and the server keeps the old one.
        let without_pass = stats.is_null();
        let stats = stats_or_new(stats);
        stats.num_pages = Rel::from_raw(info.index).block_count();
        stats.estimated_count |= without_pass;
        // A posting that a split moved during the pass may have been counted twice.
        if !info.estimated_count {
            stats.num_index_tuples = stats.num_index_tuples.min(info.num_heap_tuples);
        }
        stats
    }
}

/// The counts that VACUUM reports, allocated at the first call.
///
/// # Safety
/// `stats` must be null or what an earlier call of this VACUUM returned.
unsafe fn stats_or_new<'v>(
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> &'v mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: palloc0 gives a zeroed struct, or raises an ERROR; otherwise guaranteed by the
    // caller.
    unsafe {
        let size = size_of::<pg_sys::IndexBulkDeleteResult>();
        match stats.as_mut() {
            Some(stats) => stats,
            None => &mut *pg_sys::palloc0(size).cast(),
        }
    }
}

/// Bytes that VACUUM of one index may use (maintenance_work_mem, or autovacuum_work_mem). In a
/// worker of a parallel VACUUM the server has set maintenance_work_mem to the worker's share.
fn vacuum_memory_bytes() -> usize {
    // SAFETY: plain settings, the memory in kilobytes or -1.
    let (is_auto, own) = unsafe {
        let is_auto = pg_sys::MyBackendType == pg_sys::BackendType::B_AUTOVAC_WORKER;
        (is_auto, pg_sys::autovacuum_work_mem)
    };
    match usize::try_from(own) {
        Ok(kilobytes) if is_auto => kilobytes * 1024,
        _ => maintenance_work_mem_bytes(),
    }
}

/// Counts of a pass.
#[derive(Default)]
struct VacuumCounts {
    pages: u32,
    leaves: [u32; SPACES],
    postings: [u64; SPACES],
    removed: [u64; SPACES],
}

impl VacuumCounts {
    /// Sums the counts of the spaces that hold each row once: those of one quarter and of the
    /// NULL space.
    fn rows(counts: &[u64; SPACES]) -> u64 {
        Space::all()
            .filter(|s| s.holds_each_row_once())
            .map(|s| counts[s.index()])
            .sum()
    }

    fn add(&mut self, space: Space, postings: usize, removed: usize) {
        let space = space.index();
        self.leaves[space] += 1;
        self.postings[space] += (postings - removed) as u64;
        self.removed[space] += removed as u64;
    }
}

/// One pass over one index.
struct Vacuum<'v> {
    info: &'v pg_sys::IndexVacuumInfo,
    index: Rel<'v>,
    stamp: u32,
    /// The server's test for dead rows.
    callback: unsafe extern "C-unwind" fn(pg_sys::ItemPointer, *mut c_void) -> bool,
    state: *mut c_void,
    /// Whether it is the validation phase of CREATE INDEX or REINDEX CONCURRENTLY, which collects the
    /// rows in the new index and removes none.
    validates: bool,
    /// The server's answers, one bit each. It keeps the addresses of dead rows in order, and the postings
    /// of a leaf lie anywhere in the table: each question would wait for memory. So it is asked for the
    /// table's rows first, in their order.
    known: DeadRowBits,
    addresses: RowAddresses,
}

impl<'v> Vacuum<'v> {
    /// # Safety
    /// The arguments must be what the server passes to ambulkdelete.
    unsafe fn new(
        info: &'v pg_sys::IndexVacuumInfo,
        index: Rel<'v>,
        callback: unsafe extern "C-unwind" fn(pg_sys::ItemPointer, *mut c_void) -> bool,
        state: *mut c_void,
    ) -> Self {
        let mut vacuum = Vacuum {
            info,
            index,
            stamp: read_meta(index).page_stamp(),
            callback,
            state,
            // Only that command asks for progress reports. If VACUUM should do so one day, a valid index
            // would still be vacuumed as a whole, and one that is not valid is never searched.
            validates: info.report_progress && !index.is_valid(),
            known: DeadRowBits::empty(),
            addresses: RowAddresses::default(),
        };
        // A validation must ask about the rows of the index, and no others.
        if !vacuum.validates {
            vacuum.ask_for_table();
        }
        vacuum
    }

    /// Asks the server about the rows of the table, as far as the answers fit the memory of VACUUM.
    fn ask_for_table(&mut self) {
        let rows = self.info.num_heap_tuples;
        let table = TableSize {
            pages: self.addresses.measure(self.index),
            // A count that may be old; -1 when there is none.
            rows: (rows >= 0.0).then_some(rows),
            postings: f64::from(self.index.block_count()) * f64::from(leaf::LIKELY_COUNT),
        };
        self.known = DeadRowBits::covering(table, vacuum_memory_bytes());
        for block in 0..self.known.pages() {
            vacuum_delay_point();
            let asked: Vec<Tid> = self.known.addresses(block).collect();
            for (tid, is_dead) in std::iter::zip(&asked, self.are_dead(&asked)) {
                if is_dead {
                    self.known.add(*tid);
                }
            }
        }
    }

    /// Asks the server which of these rows are to be removed. One guard for all calls: it costs more than
    /// the test.
    fn are_dead(&self, tids: &[Tid]) -> Vec<bool> {
        let mut raw: Vec<_> = tids.iter().map(|tid| tid_to(*tid)).collect();
        let mut dead = vec![false; raw.len()];
        let (callback, state) = (self.callback, self.state);
        let (rows, marks) = (raw.as_mut_slice(), dead.as_mut_slice());
        // SAFETY: the server's own callback (contract of `new`); an ERROR inside it leaves no
        // destructor of this closure behind, since the closure owns nothing.
        unsafe {
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                for (tid, mark) in rows.iter_mut().zip(marks.iter_mut()) {
                    *mark = callback(tid, state);
                }
            });
        }
        dead
    }

    /// Removes the postings of dead rows. A validation gets each row once: an insert files a row in all
    /// its spaces or in none, and no VACUUM, which could be interrupted between two of them, runs at
    /// the same time.
    fn run(mut self) -> VacuumCounts {
        let mut counts = VacuumCounts::default();
        let mut block = META_BLOCK + 1;
        loop {
            let end = block_count_after_extension(self.index);
            counts.pages = end;
            if block >= end {
                break;
            }
            while block < end {
                vacuum_delay_point();
                self.vacuum_block(block, &mut counts);
                block += 1;
                if self.info.report_progress {
                    set_progress(pg_sys::PROGRESS_SCAN_BLOCKS_TOTAL, i64::from(end));
                    set_progress(pg_sys::PROGRESS_SCAN_BLOCKS_DONE, i64::from(block));
                }
            }
        }
        note_counts(self.index, &counts);
        counts
    }

    fn vacuum_block(&mut self, block: u32, counts: &mut VacuumCounts) {
        // SAFETY: VACUUM's own ring of buffers.
        let page = unsafe { Pinned::read_with(self.index, block, self.info.strategy) }.share();
        match self.space_of_leaf(&page) {
            None => {}
            Some(space) if self.validates && !space.holds_each_row_once() => {
                counts.add(space, leaf::count(&page), 0);
            }
            // A cleanup lock on every leaf: a scan that holds a pin still has to look at the
            // rows it found there, whether this pass removes something from the page.
            Some(_) => self.clean_leaf(page.unlock().cleanup(), counts),
        }
    }

    /// Returns the space of a leaf; None for internal pages, and for pages of zeros. What a page is
    /// does not change once VACUUM can see it, since a new page stays locked until it is logged.
    fn space_of_leaf(&self, page: &Shared) -> Option<Space> {
        if is_zero(page) {
            return None;
        }
        let kind = special::kind_of(page, self.stamp)
            .unwrap_or_else(|error| raise_in_index(self.index, page.block(), &error));
        (kind.level == LEAF).then_some(kind.space)
    }

    fn clean_leaf(&mut self, page: Exclusive, counts: &mut VacuumCounts) {
        let (index, stamp, block) = (self.index, self.stamp, page.block());
        let without_dead = |postings: &[Position]| {
            for key in postings {
                self.addresses.check(index, key.tid);
            }
            self.without_dead(postings)
        };
        let (space, postings, removed) =
            remove::clean::<IndexPages>(&mut Locked { block, page }, stamp, without_dead)
                .unwrap_or_else(|fault| raise_in_index(index, block, &fault));
        counts.add(space, postings, removed);
    }

    /// Returns the postings that stay. The server is asked about the rows that are not known.
    fn without_dead(&self, postings: &[Position]) -> Vec<Position> {
        let mut unknown = Vec::new();
        let mut kept = Vec::with_capacity(postings.len());
        for key in postings {
            match self.known.contain(key.tid) {
                Some(true) => {}
                Some(false) => kept.push(*key),
                None => unknown.push(*key),
            }
        }
        if !unknown.is_empty() {
            let tids: Vec<Tid> = unknown.iter().map(|key| key.tid).collect();
            let alive = std::iter::zip(unknown, self.are_dead(&tids)).filter(|(_, dead)| !dead);
            kept.extend(alive.map(|(key, _)| key));
        }
        kept
    }
}

/// Blocks in the main fork, after waiting for a backend that is extending the file: no page that a backend
/// had added before the call lies beyond the answer.
fn block_count_after_extension(index: Rel) -> u32 {
    let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    let local = index.is_temporary();
    // SAFETY: the relation is open; the lock is released right after the file was measured, and
    // by the server if that fails.
    unsafe {
        if !local {
            pg_sys::LockRelationForExtension(index.raw(), mode);
        }
        let count = index.block_count();
        if !local {
            pg_sys::UnlockRelationForExtension(index.raw(), mode);
        }
        count
    }
}

/// Writes the counts to the metapage, for the planner.
fn note_counts(index: Rel, counts: &VacuumCounts) {
    let mut page = Pinned::read(index, META_BLOCK).exclusive();
    let mut meta =
        Meta::read(&page).unwrap_or_else(|error| raise_in_index(index, META_BLOCK, &error));
    meta.leaves = counts.leaves;
    meta.rows = counts.postings[0];
    meta.null_rows = counts.postings[Space::NULL.index()];
    let Ok(()) = change([(&mut page, PageImage::Delta)], |[page]| {
        meta.write(page);
        Ok::<(), Infallible>(())
    });
}
