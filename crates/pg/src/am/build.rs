//! What CREATE INDEX needs of the server: the rows of the table and the progress views. The access
//! method's build, its VACUUM and simhash_index_verify call it. Every scan is the server's own, so
//! that a build indexes the rows that the server would.

use super::scan::tid_from;
use super::scope::indexed_row;
use crate::catalog::relation::Rel;
use crate::process::compat;
use pgrx::{pg_guard, pg_sys};
use simhash_base::indexed_row::IndexedRow;
use simhash_base::tid::Tid;
use std::ffi::c_void;

/// Takes rows of a table: what the index files, and the address.
pub type RowSink<'f> = &'f mut dyn FnMut(IndexedRow, Tid);

/// The build of an index, as the server asks for it.
#[derive(Clone, Copy)]
pub struct Build<'b> {
    pub(crate) table: Rel<'b>,
    /// The index, still empty, under the lock of CREATE INDEX or REINDEX.
    pub index: Rel<'b>,
    info: *mut pg_sys::IndexInfo,
}

impl Build<'_> {
    /// # Safety
    /// The arguments must be what the server passes to ambuild, and its call last for the lifetime.
    #[inline]
    pub unsafe fn from_raw(
        table: pg_sys::Relation,
        index: pg_sys::Relation,
        info: *mut pg_sys::IndexInfo,
    ) -> Self {
        // SAFETY: guaranteed by the caller.
        let (table, index) = unsafe { (Rel::from_raw(table), Rel::from_raw(index)) };
        Build { table, index, info }
    }

    /// Returns whether it is CREATE INDEX CONCURRENTLY, during which the table can be written to.
    #[inline]
    pub(crate) fn is_concurrent(self) -> bool {
        // SAFETY: contract of `from_raw`.
        unsafe { (*self.info).ii_Concurrent }
    }

    /// Returns how many workers the server's settings, the table's size and its options allow.
    #[inline]
    pub fn planned_workers(self) -> usize {
        let (table, index) = (self.table.raw(), self.index.raw());
        if self.lacks_its_constraint() {
            return 0;
        }
        // SAFETY: contract of `from_raw`.
        let workers = unsafe { compat::planned_build_workers(table, index, self.info) };
        workers.max(0) as usize
    }

    /// Returns whether it is of an exclusion constraint that is not in the catalogs, as when REPACK
    /// (CONCURRENTLY) of PostgreSQL 19 builds an index that will take the place of the constraint's.
    /// Only the leader is given its operators: workers would look for them in the constraint, and
    /// fail.
    fn lacks_its_constraint(self) -> bool {
        // SAFETY: contract of `from_raw`: the relation is open, and has its row of pg_index; a
        // catalog look-up.
        unsafe {
            let index = self.index.raw();
            (*(*index).rd_index).indisexclusion
                && pg_sys::get_index_constraint((*index).rd_id) == pg_sys::InvalidOid
        }
    }

    /// Calls `row` with each row that the index must contain, in physical order. Returns the number
    /// of rows in the table.
    #[inline]
    pub fn scan_table(self, row: RowSink) -> f64 {
        let mut row = row;
        // SAFETY: contract of `from_raw`; the callback is given `row` back, which outlives the
        // call.
        unsafe {
            pg_sys::table_index_build_scan(
                self.table.raw(),
                self.index.raw(),
                self.info,
                true,
                true,
                Some(build_callback),
                (&raw mut row).cast(),
                std::ptr::null_mut(),
            )
        }
    }

    /// Tells the server that a HOT chain was broken: older transactions must not use the index.
    #[inline]
    pub fn has_broken_hot_chain(self) {
        // SAFETY: contract of `from_raw`; the server reads it after the build.
        unsafe { (*self.info).ii_BrokenHotChain = true };
    }
}

/// As [`Build::scan_table`], for one participant's share of a parallel scan. Also returns whether
/// it found a broken HOT chain.
///
/// # Safety
/// The relations must be open; `description` must be the scan's, in shared memory; `concurrent`
/// must be true exactly if its snapshot is an MVCC one.
#[inline]
pub(crate) unsafe fn scan_share(
    table: Rel,
    index: Rel,
    concurrent: bool,
    progress: bool,
    description: pg_sys::ParallelTableScanDesc,
    row: RowSink,
) -> (f64, bool) {
    let mut row = row;
    // SAFETY: guaranteed by the caller; the callback is given `row` back, which outlives the call.
    unsafe {
        let info = pg_sys::BuildIndexInfo(index.raw());
        (*info).ii_Concurrent = concurrent;
        let scan = compat::begin_parallel_scan(table.raw(), description);
        let rows = pg_sys::table_index_build_scan(
            table.raw(),
            index.raw(),
            info,
            true,
            progress,
            Some(build_callback),
            (&raw mut row).cast(),
            scan,
        );
        (rows, (*info).ii_BrokenHotChain)
    }
}

/// As [`Build::scan_table`], for an existing index and the rows that a snapshot sees.
///
/// # Safety
/// The relations must be open, the table locked, the snapshot registered.
#[inline]
pub(crate) unsafe fn scan_visible(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    row: RowSink,
) {
    let mut row = row;
    // SAFETY: guaranteed by the caller. As CREATE INDEX CONCURRENTLY does it: with an MVCC
    // snapshot, and no constraint checked again. The scan is ended by the server's build scan.
    unsafe {
        let scan =
            pg_sys::table_beginscan_strat(table, snapshot, 0, std::ptr::null_mut(), true, true);
        let info = pg_sys::BuildIndexInfo(index);
        (*info).ii_Concurrent = true;
        (*info).ii_ExclusionOps = std::ptr::null_mut();
        (*info).ii_ExclusionProcs = std::ptr::null_mut();
        (*info).ii_ExclusionStrats = std::ptr::null_mut();
        pg_sys::table_index_build_scan(
            table,
            index,
            info,
            true,
            false,
            Some(build_callback),
            (&raw mut row).cast(),
            scan,
        );
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn build_callback(
    index: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    nulls: *mut bool,
    _alive: bool,
    state: *mut c_void,
) {
    // SAFETY: the server passes the open index, arrays of its key columns, a valid address, and the
    // state that the scan was given.
    unsafe {
        let row = &mut *state.cast::<RowSink>();
        row(
            indexed_row(Rel::from_raw(index), values, nulls),
            tid_from(*tid),
        );
    }
}

/// Tells pg_stat_progress_create_index which phase of the build runs (named by ambuildphasename).
#[inline]
pub fn set_phase(phase: i64) {
    // SAFETY: writes to this backend's status entry.
    unsafe {
        pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32, phase);
    }
}

/// Tells pg_stat_progress_create_index how many rows are to be loaded.
#[inline]
pub fn set_rows_total(rows: u64) {
    // SAFETY: writes to this backend's status entry.
    unsafe {
        let parameter = pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL as i32;
        pg_sys::pgstat_progress_update_param(parameter, rows as i64);
    }
}

/// Tells pg_stat_progress_create_index how many blocks have been read, and how many there are.
#[inline]
pub(crate) fn set_blocks(done: u32, total: u32) {
    let set = |parameter: u32, blocks: u32| {
        // SAFETY: writes to this backend's status entry.
        unsafe { pg_sys::pgstat_progress_update_param(parameter as i32, i64::from(blocks)) };
    };
    set(pg_sys::PROGRESS_SCAN_BLOCKS_TOTAL, total);
    set(pg_sys::PROGRESS_SCAN_BLOCKS_DONE, done);
}

/// Tells pg_stat_progress_create_index how many rows are loaded.
#[inline]
pub fn set_rows_done(rows: u64) {
    // SAFETY: writes to this backend's status entry.
    unsafe {
        let parameter = pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE as i32;
        pg_sys::pgstat_progress_update_param(parameter, rows as i64);
    }
}
