//! What CREATE INDEX needs of the server: the table's rows, temporary files, progress.

use super::compat;
use super::error::report;
use super::index_am::tid_from;
use super::relation::Rel;
use crate::index::key::Tid;
use pgrx::PgSqlErrorCode::ERRCODE_IO_ERROR;
use pgrx::{pg_guard, pg_sys};
use std::ffi::{CStr, c_void};

/// Takes rows of a table: the index's (only) key column, None when NULL, and the address.
pub type RowSink<'f> = &'f mut dyn FnMut(Option<u64>, Tid);

/// Shows `row` each row that the index must contain: its (only) key column, None when NULL, and its
/// address, in physical order. Returns how many rows the table has.
///
/// # Safety
/// `info` must be the index's IndexInfo, as the server passed it to ambuild.
pub unsafe fn scan_table(
    table: Rel,
    index: Rel,
    info: *mut pg_sys::IndexInfo,
    row: RowSink,
) -> f64 {
    let mut row = row;
    // SAFETY: both relations are open and `info` is the index's; the callback is given `row` back,
    // which outlives the call.
    unsafe {
        pg_sys::table_index_build_scan(
            table.raw(),
            index.raw(),
            info,
            true,
            true,
            Some(build_callback),
            (&raw mut row).cast(),
            std::ptr::null_mut(),
        )
    }
}

/// As [`scan_table`], for one participant's share of a parallel scan. Also tells whether a broken HOT
/// chain was met.
///
/// # Safety
/// The relations must be open, `description` be the shared one of the scan; `concurrent` tells whether
/// its snapshot is an MVCC one.
pub unsafe fn scan_share(
    table: Rel,
    index: Rel,
    concurrent: bool,
    progress: bool,
    description: pg_sys::ParallelTableScanDesc,
    row: RowSink,
) -> (f64, bool) {
    let mut row = row;
    // SAFETY: the caller's word; the callback is given `row` back, which outlives the call.
    unsafe {
        let info = pg_sys::BuildIndexInfo(index.raw());
        (*info).ii_Concurrent = concurrent;
        let scan = pg_sys::table_beginscan_parallel(table.raw(), description);
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

/// As [`scan_table`], for the rows that a snapshot sees, when the index exists already.
///
/// # Safety
/// The relations must be open, the table locked, the snapshot registered.
pub unsafe fn scan_visible(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    row: RowSink,
) {
    let mut row = row;
    // SAFETY: the caller's word. As CREATE INDEX CONCURRENTLY does it: with an MVCC snapshot, and no
    // constraint checked again. The scan is ended by the server's build scan.
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
    _index: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    nulls: *mut bool,
    _alive: bool,
    state: *mut c_void,
) {
    // SAFETY: the server passes arrays of one key column, a valid address, and the state that
    // `scan_table` gave it.
    unsafe {
        let row = &mut *state.cast::<RowSink>();
        let bits = (!*nulls).then(|| (*values).value() as u64);
        row(bits, tid_from(*tid));
    }
}

/// SEEK_SET of the C library.
const SEEK_SET: i32 = 0;

/// A temporary file, removed when it goes out of scope or the transaction aborts.
pub struct TempFile(*mut pg_sys::BufFile);

impl TempFile {
    pub fn new() -> TempFile {
        // SAFETY: creates a file that belongs to the current resource owner.
        TempFile(unsafe { pg_sys::BufFileCreateTemp(false) })
    }

    /// Creates a file that other processes of the parallel operation can open, once it was published.
    pub fn create_shared(files: *mut pg_sys::SharedFileSet, name: &CStr) -> TempFile {
        // SAFETY: the set lives in shared memory as long as the operation.
        TempFile(unsafe { compat::create_shared_file(files, name) })
    }

    /// Opens a published file for reading.
    pub fn open_shared(files: *mut pg_sys::SharedFileSet, name: &CStr) -> TempFile {
        // SAFETY: as above.
        TempFile(unsafe { compat::open_shared_file(files, name) })
    }

    /// Ends the writing of a file made by [`TempFile::create_shared`].
    pub fn publish(self) {
        // SAFETY: the file is open; `drop` closes it.
        unsafe { compat::export_shared_file(self.0) };
    }

    /// Bytes in a file of [`TempFile::open_shared`].
    pub fn size(&self) -> u64 {
        // SAFETY: the file is open.
        unsafe { pg_sys::BufFileSize(self.0) as u64 }
    }

    /// Appends, after writes only, at the end.
    pub fn write(&mut self, bytes: &[u8]) {
        // SAFETY: the file is open; the server only reads the bytes.
        unsafe { pg_sys::BufFileWrite(self.0, bytes.as_ptr().cast_mut().cast(), bytes.len()) };
    }

    /// Fills `bytes` from position `at`; an ERROR when the file is shorter.
    pub fn read(&mut self, at: u64, bytes: &mut [u8]) {
        // SAFETY: the file is open and `bytes` is as long as we say.
        let read = unsafe {
            let sought = pg_sys::BufFileSeek(self.0, 0, at as i64, SEEK_SET);
            if sought == 0 {
                pg_sys::BufFileRead(self.0, bytes.as_mut_ptr().cast(), bytes.len())
            } else {
                0
            }
        };
        if read != bytes.len() {
            let detail = format!("Read {read} of {} bytes at position {at}.", bytes.len());
            unreadable(detail);
        }
    }
}

/// Raises the ERROR for a temporary file of `size` bytes that does not hold what was written to it.
pub fn damaged_temporary_file(size: u64) -> ! {
    unreadable(format!("Its {size} bytes are not what was written."))
}

fn unreadable(detail: String) -> ! {
    let message = "could not read a temporary file";
    report(ERRCODE_IO_ERROR, message.into(), Some(detail), None)
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the file is open and ours.
            unsafe { pg_sys::BufFileClose(self.0) };
        }
    }
}

/// Tells pg_stat_progress_create_index which phase of the build runs (named by ambuildphasename).
pub fn set_phase(phase: i64) {
    // SAFETY: writes to this backend's status entry.
    unsafe {
        pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32, phase);
    }
}

/// Tells pg_stat_progress_create_index how many rows are to be loaded.
pub fn set_rows_total(rows: u64) {
    // SAFETY: writes to this backend's status entry.
    unsafe {
        let parameter = pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL as i32;
        pg_sys::pgstat_progress_update_param(parameter, rows as i64);
    }
}

/// Tells pg_stat_progress_create_index how many blocks of those to read are done.
pub fn set_blocks(done: u32, total: u32) {
    let set = |parameter: u32, blocks: u32| {
        // SAFETY: writes to this backend's status entry.
        unsafe { pg_sys::pgstat_progress_update_param(parameter as i32, i64::from(blocks)) };
    };
    set(pg_sys::PROGRESS_SCAN_BLOCKS_TOTAL, total);
    set(pg_sys::PROGRESS_SCAN_BLOCKS_DONE, done);
}

/// Tells pg_stat_progress_create_index how many rows are loaded.
pub fn set_rows_done(rows: u64) {
    // SAFETY: writes to this backend's status entry.
    unsafe {
        let parameter = pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE as i32;
        pg_sys::pgstat_progress_update_param(parameter, rows as i64);
    }
}
