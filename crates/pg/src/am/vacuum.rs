//! What VACUUM passes to an index access method.

use super::build::set_blocks;
use super::scan::tid_to;
use crate::catalog::relation::Rel;
use crate::page::buffer::Pinned;
use pgrx::pg_sys;
use simhash_base::tid::Tid;
use std::ffi::c_void;

/// One VACUUM of one index.
pub struct Vacuum<'v> {
    info: &'v pg_sys::IndexVacuumInfo,
}

impl<'v> Vacuum<'v> {
    /// # Safety
    /// `info` must be what the server passes to ambulkdelete or amvacuumcleanup.
    #[inline]
    pub unsafe fn from_raw(info: *mut pg_sys::IndexVacuumInfo) -> Vacuum<'v> {
        // SAFETY: guaranteed by the caller.
        let info = unsafe { &*info };
        Vacuum { info }
    }

    /// The index that is vacuumed.
    #[inline]
    pub fn index(&self) -> Rel<'v> {
        // SAFETY: the server keeps the index open during VACUUM.
        unsafe { Rel::from_raw(self.info.index) }
    }

    /// Returns whether it is a call from ANALYZE.
    #[inline]
    pub fn analyze_only(&self) -> bool {
        self.info.analyze_only
    }

    /// Rows of the table, when VACUUM has counted them.
    #[inline]
    pub fn exact_table_rows(&self) -> Option<f64> {
        (!self.info.estimated_count).then_some(self.info.num_heap_tuples)
    }

    /// Rows of the table, by a count that may be old; None when there is none.
    #[inline]
    pub fn likely_table_rows(&self) -> Option<f64> {
        let rows = self.info.num_heap_tuples;
        (rows >= 0.0).then_some(rows)
    }

    /// Returns whether it is the validation phase of CREATE INDEX or REINDEX CONCURRENTLY, which
    /// collects the rows in the new index and removes none. Only that command asks for progress
    /// reports. If VACUUM should do so one day, a valid index would still be vacuumed as a whole,
    /// and one that is not valid is never searched.
    #[inline]
    pub fn is_validation(&self) -> bool {
        self.info.report_progress && !self.index().is_valid()
    }

    /// Tells pg_stat_progress_create_index how many blocks have been read, if it is that command.
    #[inline]
    pub fn report_progress(&self, done: u32, total: u32) {
        if self.info.report_progress {
            set_blocks(done, total);
        }
    }

    /// Reads a block through VACUUM's own ring of buffers.
    #[inline]
    pub fn read(&self, block: u32) -> Pinned<'v> {
        // SAFETY: the server's ring.
        unsafe { Pinned::read_with(self.index(), block, self.info.strategy) }
    }
}

/// The server's test for rows to be removed.
#[derive(Clone, Copy)]
pub struct DeadRows {
    callback: unsafe extern "C-unwind" fn(pg_sys::ItemPointer, *mut c_void) -> bool,
    state: *mut c_void,
}

impl DeadRows {
    /// # Safety
    /// `callback` and `state` must be what the server passes to ambulkdelete.
    #[inline]
    pub unsafe fn from_raw(
        callback: pg_sys::IndexBulkDeleteCallback,
        state: *mut c_void,
    ) -> Option<DeadRows> {
        callback.map(|callback| DeadRows { callback, state })
    }

    /// Returns which of these rows are to be removed. One guard for all calls: it costs more than
    /// the test.
    #[inline]
    pub fn contain_each(&self, tids: &[Tid]) -> Vec<bool> {
        let mut raw: Vec<_> = tids.iter().map(|tid| tid_to(*tid)).collect();
        let mut dead = vec![false; raw.len()];
        let (callback, state) = (self.callback, self.state);
        let (rows, marks) = (raw.as_mut_slice(), dead.as_mut_slice());
        // SAFETY: the server's own callback (contract of `from_raw`); an ERROR inside it leaves no
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
}

/// The counts that VACUUM reports, allocated at the first call.
///
/// # Safety
/// `stats` must be null or what an earlier call of this VACUUM returned.
#[inline]
pub unsafe fn stats_or_new<'v>(
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> &'v mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: palloc0 gives a zeroed struct, or raises an ERROR; otherwise guaranteed by the
    // caller.
    unsafe {
        let size = size_of::<pg_sys::IndexBulkDeleteResult>();
        let place = if stats.is_null() {
            pg_sys::palloc0(size).cast()
        } else {
            stats
        };
        &mut *place
    }
}
