//! What differs between majors in access methods and in the planner: the routine, scans of tables, builds,
//! storage parameters, counters; buffers, their locks, files and WAL records; the planner's hook for relations,
//! and fields of its structs. `src/index` and `src/planner` call it.

use super::IS_TESTED;
use crate::process::unguarded;
use crate::process::unguarded::buffer_lock;
use pgrx::{pg_guard, pg_sys};
use std::ffi::CStr;
use std::sync::OnceLock;

/// Lets VACUUM sleep if it has used up its cost limit, and checks for interrupts.
pub fn vacuum_delay_point() {
    // SAFETY: called by the process that runs VACUUM, with no page locked.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    unsafe {
        pg_sys::vacuum_delay_point()
    };
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        pg_sys::vacuum_delay_point(false)
    };
}

/// Begins a scan of all rows that the snapshot sees.
///
/// # Safety
/// `table` must be open, the snapshot registered or active, both until the scan ends.
pub(crate) unsafe fn begin_scan(
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
) -> pg_sys::TableScanDesc {
    let no_keys = std::ptr::null_mut();
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        pg_sys::table_beginscan(table, snapshot, 0, no_keys)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        pg_sys::table_beginscan(table, snapshot, 0, no_keys, pg_sys::ScanOptions::SO_NONE)
    }
}

/// Begins this process's share of a parallel scan.
///
/// # Safety
/// `table` must be open, `description` that of a scan of this table, in shared memory.
pub unsafe fn begin_parallel_scan(
    table: pg_sys::Relation,
    description: pg_sys::ParallelTableScanDesc,
) -> pg_sys::TableScanDesc {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        pg_sys::table_beginscan_parallel(table, description)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        pg_sys::table_beginscan_parallel(table, description, pg_sys::ScanOptions::SO_NONE)
    }
}

/// Begins to fetch rows by their addresses.
///
/// # Safety
/// `table` must be open until the fetching ends.
pub unsafe fn begin_index_fetch(table: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        pg_sys::table_index_fetch_begin(table)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        pg_sys::table_index_fetch_begin(table, pg_sys::ScanOptions::SO_NONE)
    }
}

/// Raises an ERROR if `old_snapshot_threshold` has let VACUUM remove rows that the snapshot should
/// see from a page as new as this one. (The function TestForOldSnapshot; the setting ended with
/// 16.)
///
/// # Safety
/// `snapshot` must be null or live, `rel` open, `page` lead to a page that is locked.
pub unsafe fn test_for_old_snapshot(
    snapshot: pg_sys::Snapshot,
    rel: pg_sys::Relation,
    page: *const pg_sys::PageHeaderData,
) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: guaranteed by the caller; the threshold is a plain int.
    unsafe {
        const OFF: i32 = 0;
        if pg_sys::old_snapshot_threshold < OFF || snapshot.is_null() {
            return;
        }
        let (taken_at, lsn) = ((*snapshot).lsn, (*page).pd_lsn);
        let changed = u64::from(lsn.xlogid) << 32 | u64::from(lsn.xrecoff);
        let mvcc = (*snapshot).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_MVCC;
        if mvcc && taken_at != 0 && changed > taken_at {
            pg_sys::TestForOldSnapshot_impl(snapshot, rel);
        }
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    let _ = (snapshot, rel, page);
}

/// Releases the pin of the table's page that an index scan has fetched a row from, after the scan
/// was begun again. Up to PostgreSQL 18, beginning again has released it.
///
/// # Safety
/// `scan` must be null or live, and the memory context and resource owner those that it was begun
/// in.
pub(crate) unsafe fn release_fetched_page(scan: pg_sys::IndexScanDesc) {
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let _ = scan;
    // SAFETY: guaranteed by the caller; a scan of an index has a fetch while it lives.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        if let Some(scan) = scan.as_mut() {
            let (table, flags) = ((*scan.xs_heapfetch).rel, (*scan.xs_heapfetch).flags);
            pg_sys::table_index_fetch_end(scan.xs_heapfetch);
            scan.xs_heapfetch = pg_sys::table_index_fetch_begin(table, flags);
        }
    }
}

/// Completes a row descriptor that was put together column by column; needed from PostgreSQL 19 on.
///
/// # Safety
/// `desc` must be a live descriptor that is not used yet.
pub(crate) unsafe fn finish_descriptor(desc: pg_sys::TupleDesc) {
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let _ = desc;
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        pg_sys::TupleDescFinalize(desc);
    }
}

/// The wait event of a process that sleeps in a parallel build.
pub const WAIT_FOR_BUILD_WORKERS: u32 = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN;

/// The form in which a handler hands its routine to the server: itself, or up to PostgreSQL 18 a
/// copy, which the server frees.
pub(crate) fn routine_for_server(
    routine: &'static pg_sys::IndexAmRoutine,
) -> *const pg_sys::IndexAmRoutine {
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    // SAFETY: memory of the struct's size; the struct holds no pointers but those to functions.
    unsafe {
        let copy = pg_sys::palloc(size_of::<pg_sys::IndexAmRoutine>()).cast();
        std::ptr::copy_nonoverlapping(routine, copy, 1);
        copy
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    routine
}

/// Lets the server plan workers for builds of the access method, where it can (from 17 on).
pub const fn allow_parallel_builds(am: &mut pg_sys::IndexAmRoutine) {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    {
        am.amcanbuildparallel = IS_TESTED;
    }
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let _ = am;
}

/// Workers for the build of an index. Up to 16 the server plans them for b-trees alone.
///
/// # Safety
/// The relations must be open, and the info must be what ambuild was passed with them.
pub unsafe fn planned_build_workers(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> i32 {
    if !IS_TESTED {
        return 0;
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    unsafe {
        let _ = info;
        pg_sys::plan_create_index_workers((*table).rd_id, (*index).rd_id)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe {
        let _ = (table, index);
        (*info).ii_ParallelWorkers
    }
}

/// The parsed form of a storage option of type int, at `offset` of the parsed options.
pub fn int_option(name: &'static CStr, offset: usize) -> pg_sys::relopt_parse_elt {
    pg_sys::relopt_parse_elt {
        optname: name.as_ptr(),
        opttype: pg_sys::relopt_type::RELOPT_TYPE_INT,
        offset: offset as i32,
        // Only PostgreSQL 18 has this field.
        #[cfg(feature = "pg18")]
        isset_offset: 0,
    }
}

/// Counts one index scan in the statistics.
///
/// # Safety
/// `rel` must be open.
pub unsafe fn count_index_scan(rel: pg_sys::Relation) {
    // SAFETY: guaranteed by the caller; pgstat_info is either null or valid while the relation is
    // open.
    unsafe {
        if (*rel).pgstat_info.is_null() && (*rel).pgstat_enabled {
            pg_sys::pgstat_assoc_relation(rel);
        }
        if let Some(info) = (*rel).pgstat_info.as_mut() {
            #[cfg(feature = "pg15")]
            {
                info.t_counts.t_numscans += 1;
            }
            #[cfg(not(feature = "pg15"))]
            {
                info.counts.numscans += 1;
            }
        }
    }
}

/// Counts one search for the line "Index Searches" of EXPLAIN ANALYZE (from 18 on).
///
/// # Safety
/// `scan` must be live.
pub unsafe fn count_explained_search(scan: &pg_sys::IndexScanDescData) {
    // SAFETY: guaranteed by the caller; the instrumentation is either null or lives as long as the
    // scan.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        if let Some(instrument) = scan.instrument.as_mut() {
            instrument.nsearches += 1;
        }
    }
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = scan;
}

/// The length in XLogRegisterBufData.
#[cfg(feature = "pg15")]
pub(crate) type BufDataLength = std::ffi::c_int;
/// The length in XLogRegisterBufData.
#[cfg(not(feature = "pg15"))]
pub(crate) type BufDataLength = u32;

/// XLogRegisterBufData, whose length argument grew with PostgreSQL 16.
///
/// # Safety
/// As for XLogRegisterBufData: in a critical section, between XLogBeginInsert and XLogInsert, block
/// `id` registered, the bytes alive until then.
pub unsafe fn register_buffer_data(id: u8, bytes: *mut u8, length: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { unguarded::XLogRegisterBufData(id, bytes.cast(), length as _) };
}

#[cfg(feature = "pg15")]
type FileLocator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
type FileLocator = pg_sys::RelFileLocator;

/// Where the server finds a relation's file; renamed with PostgreSQL 16.
///
/// # Safety
/// `rel` must be open; what is returned lives as long as it is.
pub unsafe fn file_locator(rel: pg_sys::Relation) -> *mut FileLocator {
    // SAFETY: guaranteed by the caller.
    #[cfg(feature = "pg15")]
    unsafe {
        &raw mut (*rel).rd_node
    }
    // SAFETY: as above.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        &raw mut (*rel).rd_locator
    }
}

/// ReadRecentBuffer of the main fork.
///
/// # Safety
/// `rel` must be open, `buffer` a valid buffer number of this process.
pub unsafe fn read_recent_buffer(rel: pg_sys::Relation, block: u32, buffer: i32) -> bool {
    let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: guaranteed by the caller.
    unsafe { pg_sys::ReadRecentBuffer(*file_locator(rel), fork, block, buffer) }
}

/// Returns whether this process holds the content lock of a buffer. False for local buffers, which
/// are never locked.
///
/// # Safety
/// `buffer` must be pinned.
pub unsafe fn content_lock_is_held(buffer: pg_sys::Buffer) -> bool {
    let is_local = buffer < 0;
    // SAFETY: a positive number is a shared buffer, whose descriptor lives as long as the server.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let is_locked = || unsafe {
        let descriptor = pg_sys::BufferDescriptors.add(buffer as usize - 1);
        buffer_lock::LWLockHeldByMe(&raw mut (*descriptor).bufferdesc.content_lock)
    };
    // SAFETY: a shared buffer that is pinned.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    let is_locked = || unsafe { buffer_lock::BufferIsLockedByMe(buffer) };
    !is_local && is_locked()
}

/// Locks the content of a buffer; an inline function from PostgreSQL 19 on.
///
/// # Safety
/// `buffer` must be pinned, and not locked by this process.
pub unsafe fn lock_buffer(buffer: pg_sys::Buffer, mode: u32) {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        buffer_lock::LockBuffer(buffer, mode as i32)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        buffer_lock::LockBufferInternal(buffer, mode)
    }
}

/// Unlocks the content of a buffer.
///
/// # Safety
/// `buffer` must be pinned, and locked by this process.
pub unsafe fn unlock_buffer(buffer: pg_sys::Buffer) {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        buffer_lock::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        buffer_lock::UnlockBuffer(buffer)
    }
}

/// Returns whether the relation's file was made by the running transaction.
pub(crate) fn file_is_new(data: &pg_sys::RelationData) -> bool {
    const NOT_IN_THIS_TRANSACTION: pg_sys::SubTransactionId = 0;
    #[cfg(feature = "pg15")]
    let new_file = data.rd_firstRelfilenodeSubid;
    #[cfg(not(feature = "pg15"))]
    let new_file = data.rd_firstRelfilelocatorSubid;
    data.rd_createSubid != NOT_IN_THIS_TRANSACTION || new_file != NOT_IN_THIS_TRANSACTION
}

/// The id of a query, as pg_stat_activity shows it; signed from PostgreSQL 18 on.
#[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
pub(crate) type QueryId = u64;
/// The id of a query, as pg_stat_activity shows it; signed from PostgreSQL 18 on.
#[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
pub(crate) type QueryId = i64;

/// Makes the planner prefer every other path, even one that a setting like enable_seqscan = off
/// disables. Up to 17 such a setting only adds to a path's cost, so a high cost is enough.
///
/// # Safety
/// `path` must be what the planner passes to amcostestimate.
pub unsafe fn disable_path(path: *mut pg_sys::IndexPath) {
    /// More than a setting disables in a scan of one table.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    const DISABLED: i32 = 2;
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        (*path).path.disabled_nodes = DISABLED;
    }
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = path;
}

/// Called with the planner's state, a relation of its query, the table that it stands for, and
/// whether the table's children are scanned as well.
pub type RelationCallback =
    unsafe fn(*mut pg_sys::PlannerInfo, *mut pg_sys::RelOptInfo, pg_sys::Oid, bool);

/// Has the planner call `callback` for each table of a query, after it has collected what it knows
/// of the table and before it distributes the quals. PostgreSQL 19 has another hook for that than
/// the majors before it, which it calls for subqueries and functions as well. May be called once.
pub fn install_relation_hook(callback: RelationCallback) {
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    use pg_sys::{build_simple_rel_hook as hook, build_simple_rel_hook_type as Hook};
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    use pg_sys::{get_relation_info_hook as hook, get_relation_info_hook_type as Hook};
    static CALLBACK: OnceLock<RelationCallback> = OnceLock::new();
    static PREVIOUS: OnceLock<Hook> = OnceLock::new();

    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn on_relation(
        root: *mut pg_sys::PlannerInfo,
        table: pg_sys::Oid,
        parent: bool,
        rel: *mut pg_sys::RelOptInfo,
    ) {
        // SAFETY: the arguments are the server's; another library's hook may raise an ERROR, which
        // the boundary turns into a panic that pg_guard turns back.
        unsafe {
            if let Some(Some(previous)) = PREVIOUS.get() {
                pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, table, parent, rel));
            }
            if let Some(callback) = CALLBACK.get() {
                callback(root, rel, table, parent);
            }
        }
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    #[pg_guard]
    unsafe extern "C-unwind" fn on_relation(
        root: *mut pg_sys::PlannerInfo,
        rel: *mut pg_sys::RelOptInfo,
        entry: *mut pg_sys::RangeTblEntry,
    ) {
        // SAFETY: as above; the entry is that of the relation in the range table.
        unsafe {
            if let Some(Some(previous)) = PREVIOUS.get() {
                pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, rel, entry));
            }
            let is_table = (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION;
            if let (Some(callback), true) = (CALLBACK.get(), is_table) {
                callback(root, rel, (*entry).relid, (*entry).inh);
            }
        }
    }

    if CALLBACK.set(callback).is_ok() {
        // SAFETY: a backend is single-threaded; the server reads the variable only while planning.
        unsafe {
            let _ = PREVIOUS.set(hook);
            hook = Some(on_relation);
        }
    }
}

/// Returns how many elements the planner expects in an array.
///
/// # Safety
/// `root` must be the planner's state, and `array` a live expression of an array type.
pub unsafe fn array_length(root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> f64 {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    {
        let _ = root;
        // SAFETY: guaranteed by the caller.
        f64::from(unsafe { pg_sys::estimate_array_length(array) })
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::estimate_array_length(root, array)
    }
}
