//! The shared memory of a parallel build ([`super::parallel`]): its parts and their sizes.

use crate::catalog::relation::Rel;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Keys of the parts of the shared memory.
pub mod part {
    use crate::process::shared_parts::BEFORE_FIRST;
    pub const COMMON: u64 = BEFORE_FIRST + 1;
    pub const SCAN: u64 = BEFORE_FIRST + 2;
    pub const BUFFER_USAGE: u64 = BEFORE_FIRST + 3;
    pub const WAL_USAGE: u64 = BEFORE_FIRST + 4;
    pub const QUERY: u64 = BEFORE_FIRST + 5;
    pub const COUNT: usize = 5;
}

/// Data that all participants share. `B` must mean the same in every process: no pointers.
#[repr(C)]
pub struct Common<B> {
    pub table: pg_sys::Oid,
    pub index: pg_sys::Oid,
    pub concurrent: bool,
    /// Changed by the server's code, in all processes.
    pub changed: UnsafeCell<pg_sys::ConditionVariable>,
    pub files: UnsafeCell<pg_sys::SharedFileSet>,
    /// Participants that are scanning, or have not yet handed over the rows that they scanned.
    pub scanning: AtomicU32,
    pub table_rows: AtomicU64,
    pub broken_hot_chain: AtomicBool,
    pub board: B,
}

impl<B> Common<B> {
    /// The state before the scan. [`fill`] initialises the server's parts of it.
    #[inline]
    pub fn new(table: pg_sys::Oid, index: pg_sys::Oid, concurrent: bool, board: B) -> Self {
        // shm_toc_allocate gives addresses of this alignment.
        const { assert!(align_of::<Self>() <= pg_sys::ALIGNOF_BUFFER as usize) };
        Common {
            table,
            index,
            concurrent,
            // SAFETY: structs of numbers, for which zeros are valid.
            changed: UnsafeCell::new(unsafe { std::mem::zeroed() }),
            // SAFETY: as above.
            files: UnsafeCell::new(unsafe { std::mem::zeroed() }),
            scanning: AtomicU32::new(0),
            table_rows: AtomicU64::new(0),
            broken_hot_chain: AtomicBool::new(false),
            board,
        }
    }
}

/// Bytes of the parts of the shared memory.
pub struct Sizes {
    common: usize,
    scan: usize,
    buffer_usage: usize,
    wal_usage: usize,
    /// With the final NUL.
    query: usize,
}

impl Sizes {
    /// # Safety
    /// The snapshot must be valid.
    #[inline]
    pub unsafe fn for_workers<B>(table: Rel, snapshot: pg_sys::Snapshot, workers: usize) -> Sizes {
        // SAFETY: guaranteed by the caller; the query's text is NUL-terminated.
        let (scan, query) = unsafe {
            (
                pg_sys::table_parallelscan_estimate(table.raw(), snapshot),
                std::ffi::CStr::from_ptr(query_text()).count_bytes() + 1,
            )
        };
        Sizes {
            common: size_of::<Common<B>>(),
            scan,
            buffer_usage: workers * size_of::<pg_sys::BufferUsage>(),
            wal_usage: workers * size_of::<pg_sys::WalUsage>(),
            query,
        }
    }

    /// As the macros shm_toc_estimate_chunk and shm_toc_estimate_keys: each part is aligned.
    #[inline]
    pub fn estimate(&self, estimator: &mut pg_sys::shm_toc_estimator) {
        let parts: [usize; part::COUNT] = [
            self.common,
            self.scan,
            self.buffer_usage,
            self.wal_usage,
            self.query,
        ];
        const ALIGNMENT: usize = pg_sys::ALIGNOF_BUFFER as usize;
        let bytes: usize = parts.iter().map(|n| n.next_multiple_of(ALIGNMENT)).sum();
        estimator.space_for_chunks += bytes;
        estimator.number_of_keys += parts.len();
    }
}

/// The text of the running statement, for pg_stat_activity; empty when there is none.
fn query_text() -> *const c_char {
    // SAFETY: null or a NUL-terminated string that lives as long as the statement.
    let text = unsafe { pg_sys::debug_query_string };
    if text.is_null() { c"".as_ptr() } else { text }
}

/// Allocates a zeroed part of the shared memory under its key.
///
/// # Safety
/// The context's shared memory must be initialised, and estimated for this part.
unsafe fn allocate(context: *mut pg_sys::ParallelContext, key: u64, bytes: usize) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let place = pg_sys::shm_toc_allocate((*context).toc, bytes);
        place.cast::<u8>().write_bytes(0, bytes);
        pg_sys::shm_toc_insert((*context).toc, key, place);
        place
    }
}

/// Allocates all parts and fills them, except the description of the scan. Returns pointers to what
/// the participants share and to that description, which live as long as the shared memory.
///
/// # Safety
/// The context's shared memory must be initialised, and estimated by these sizes for this `B`.
#[inline]
pub unsafe fn fill<B>(
    context: *mut pg_sys::ParallelContext,
    sizes: &Sizes,
    common: Common<B>,
) -> (*mut Common<B>, pg_sys::ParallelTableScanDesc) {
    // SAFETY: guaranteed by the caller: each part has room for what is written to it.
    unsafe {
        let place = allocate(context, part::COMMON, sizes.common).cast::<Common<B>>();
        place.write(common);
        pg_sys::ConditionVariableInit((*place).changed.get());
        pg_sys::SharedFileSetInit((*place).files.get(), (*context).seg);
        let scan = allocate(context, part::SCAN, sizes.scan).cast();
        allocate(context, part::BUFFER_USAGE, sizes.buffer_usage);
        allocate(context, part::WAL_USAGE, sizes.wal_usage);
        let query = allocate(context, part::QUERY, sizes.query).cast::<c_char>();
        query.copy_from(query_text(), sizes.query - 1);
        (place, scan)
    }
}
