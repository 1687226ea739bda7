//! The dynamic shared memory of a parallel operation: its chunks, and the keys by which the
//! server's table of contents finds them.
//!
//! A worker loads the library when it starts. If the file was replaced since the leader loaded it,
//! the two may be of versions that lay out their chunks differently. So the keys hold the version:
//! a worker of another version finds no chunk, and says why.

use crate::catalog::relation::Rel;
use crate::process::error::Error;
use pgrx::{PgSqlErrorCode, pg_sys};
use std::ffi::{CStr, c_char, c_void};

/// Keys of the chunks.
pub(super) mod key {
    use super::before_first;
    /// The keys of this version follow this number. The server's own have high bits set.
    const BEFORE_FIRST: u64 = before_first(env!("CARGO_PKG_VERSION"));
    pub const STATE: u64 = BEFORE_FIRST + 1;
    pub const BUFFER_USAGE: u64 = BEFORE_FIRST + 2;
    pub const WAL_USAGE: u64 = BEFORE_FIRST + 3;
    pub const QUERY: u64 = BEFORE_FIRST + 4;
    pub const FILES: u64 = BEFORE_FIRST + 5;
    pub const SCAN: u64 = BEFORE_FIRST + 6;
}

/// A hash of the version (FNV-1a, 32 bits), with room for 65,536 keys behind it.
const fn before_first(version: &str) -> u64 {
    let bytes = version.as_bytes();
    let mut hash: u32 = 0x811c_9dc5;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash as u64) << 16
}

/// A chunk, for a worker. Raises an ERROR if the leader's library is another.
///
/// # Safety
/// As for the server's `shm_toc_lookup`.
pub(super) unsafe fn chunk_of_leader(toc: *mut pg_sys::shm_toc, key: u64) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    let chunk = unsafe { pg_sys::shm_toc_lookup(toc, key, true) };
    if chunk.is_null() {
        Error::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "the library simhash_dedup was replaced while this session was open",
        )
        .hint("Reconnect and try again.")
        .raise();
    }
    chunk
}

/// The scan of a table in which all participants take part.
#[derive(Clone, Copy)]
pub(crate) struct SharedScan<'s> {
    table: Rel<'s>,
    snapshot: pg_sys::Snapshot,
}

impl<'s> SharedScan<'s> {
    /// # Safety
    /// For 's, the snapshot must be SnapshotAny, or one that is registered or active.
    pub(crate) unsafe fn new(table: Rel<'s>, snapshot: pg_sys::Snapshot) -> Self {
        Self { table, snapshot }
    }
}

/// Creates the shared memory of an operation with this state and scan; false when there is none.
///
/// # Safety
/// The context must be one for which no memory was created yet.
pub(super) unsafe fn create<S>(
    context: &mut pg_sys::ParallelContext,
    state: S,
    scan: SharedScan<'_>,
) -> bool {
    // shm_toc_allocate gives addresses of this alignment.
    const ALIGNMENT: usize = pg_sys::ALIGNOF_BUFFER as usize;
    const { assert!(align_of::<S>() <= ALIGNMENT) };
    let workers = context.nworkers as usize;
    let table = scan.table.raw();
    let query = query_text().to_bytes_with_nul();
    // SAFETY: guaranteed by the caller, and by that of `SharedScan::new`; each chunk has room for
    // what is written to it.
    unsafe {
        let chunks = [
            (key::STATE, size_of::<S>()),
            (
                key::BUFFER_USAGE,
                workers * size_of::<pg_sys::BufferUsage>(),
            ),
            (key::WAL_USAGE, workers * size_of::<pg_sys::WalUsage>()),
            (key::QUERY, query.len()),
            (key::FILES, size_of::<pg_sys::SharedFileSet>()),
            (
                key::SCAN,
                pg_sys::table_parallelscan_estimate(table, scan.snapshot),
            ),
        ];
        for (_, bytes) in chunks {
            // As the macros shm_toc_estimate_chunk and shm_toc_estimate_keys.
            context.estimator.space_for_chunks += bytes.next_multiple_of(ALIGNMENT);
            context.estimator.number_of_keys += 1;
        }
        pg_sys::InitializeParallelDSM(context);
        if context.seg.is_null() {
            return false;
        }
        for (key, bytes) in chunks {
            let chunk = pg_sys::shm_toc_allocate(context.toc, bytes);
            pg_sys::shm_toc_insert(context.toc, key, chunk);
        }
        let chunk = |key| pg_sys::shm_toc_lookup(context.toc, key, false);
        chunk(key::STATE).cast::<S>().write(state);
        chunk(key::QUERY)
            .cast::<u8>()
            .copy_from_nonoverlapping(query.as_ptr(), query.len());
        pg_sys::SharedFileSetInit(chunk(key::FILES).cast(), context.seg);
        pg_sys::table_parallelscan_initialize(table, chunk(key::SCAN).cast(), scan.snapshot);
        true
    }
}

/// The text of the running statement, for pg_stat_activity; empty when there is none.
fn query_text() -> &'static CStr {
    // SAFETY: null or a NUL-terminated string that lives as long as the statement, which outlives
    // the use in this module.
    unsafe {
        let text: *const c_char = pg_sys::debug_query_string;
        if text.is_null() {
            c""
        } else {
            CStr::from_ptr(text)
        }
    }
}
