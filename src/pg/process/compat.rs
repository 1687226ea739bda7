//! What differs between PostgreSQL's majors, in one place: no other file asks which one it is.
//! Conditions name the older majors, so that a new one is compiled like the newest.
//!
//! On a major that is not in [`TESTED`], changes are logged through the server's own generic WAL
//! functions, and indexes are built and pairs searched by one process, which is slower.

use super::unguarded;
use pgrx::pg_sys;
use std::ffi::CStr;

/// The majors on which redo has replayed the WAL records that `wal::patch` puts together
/// (pg_test/t/001_crash.pl, with wal_consistency_checking; 015_crash_points.pl; 010_standby.pl),
/// and several processes have built one index (020_parallel_build.pl) and searched for pairs
/// (025_pairs_clusters.pl).
const TESTED: [u32; 5] = [14, 15, 16, 17, 18];

/// Is the major that this library is compiled for among them?
pub const IS_TESTED: bool = is_tested(pg_sys::PG_MAJORVERSION_NUM);

const fn is_tested(major: u32) -> bool {
    let mut i = 0;
    while i < TESTED.len() {
        if TESTED[i] == major {
            return true;
        }
        i += 1;
    }
    false
}

/// Lets VACUUM sleep if it has used up its cost limit, and checks for interrupts.
pub fn vacuum_delay_point() {
    // SAFETY: called by the process that runs VACUUM, with no page locked.
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17"))]
    unsafe {
        pg_sys::vacuum_delay_point()
    };
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        pg_sys::vacuum_delay_point(false)
    };
}

/// Attribute `i` of a row descriptor.
///
/// # Safety
/// `desc` is a live descriptor with more than `i` attributes.
pub unsafe fn attribute<'a>(
    desc: pg_sys::TupleDesc,
    i: usize,
) -> &'a pg_sys::FormData_pg_attribute {
    // SAFETY: the caller's word; `attrs` has `natts` entries.
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17"))]
    unsafe {
        &*(*desc).attrs.as_ptr().add(i)
    }
    // SAFETY: the caller's word.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        &*pg_sys::TupleDescAttr(desc, i as i32)
    }
}

/// The relation of a variable, as an index in the range table; its type changed with PostgreSQL 15.
pub fn relation_of_variable(var: &pg_sys::Var) -> u32 {
    #[cfg(feature = "pg14")]
    return var.varno;
    #[cfg(not(feature = "pg14"))]
    return var.varno as u32;
}

/// The id of a query, as pg_stat_activity shows it; signed from PostgreSQL 18 on.
#[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17"))]
pub type QueryId = u64;
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
pub type QueryId = i64;

/// Sets search_path as the server does for maintenance commands (from 17 on), until the nest level
/// of settings ends.
pub fn restrict_search_path() {
    // SAFETY: changes a setting. Without a nest level begun by the caller it would last until the
    // transaction ends.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::RestrictSearchPath();
    }
}

/// Does the current user own the relation (or may act as its owner)?
pub fn owns_relation(oid: pg_sys::Oid) -> bool {
    // SAFETY: syscache look-ups.
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    unsafe {
        pg_sys::pg_class_ownercheck(oid, pg_sys::GetUserId())
    }
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    unsafe {
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, oid, pg_sys::GetUserId())
    }
}

/// Sends a message through a queue of shared memory, at once and as far as there is room. From 15 on
/// the sender says that it shall not be kept back.
///
/// # Safety
/// The queue must be attached to.
pub unsafe fn send(
    queue: *mut pg_sys::shm_mq_handle,
    message: &[u8],
) -> pg_sys::shm_mq_result::Type {
    let (length, data) = (message.len(), message.as_ptr().cast());
    // SAFETY: the caller's word; the server copies the message.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::shm_mq_send(queue, length, data, true)
    }
    // SAFETY: as above.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::shm_mq_send(queue, length, data, true, true)
    }
}

/// The length in XLogRegisterBufData.
#[cfg(any(feature = "pg14", feature = "pg15"))]
pub type BufDataLength = std::ffi::c_int;
#[cfg(not(any(feature = "pg14", feature = "pg15")))]
pub type BufDataLength = u32;

/// XLogRegisterBufData, whose length argument grew with PostgreSQL 16.
///
/// # Safety
/// As for XLogRegisterBufData: in a critical section, between XLogBeginInsert and XLogInsert, block
/// `id` registered, the bytes alive until then.
pub unsafe fn register_buffer_data(id: u8, bytes: *mut u8, length: usize) {
    // SAFETY: the caller's word.
    unsafe { unguarded::XLogRegisterBufData(id, bytes.cast(), length as _) };
}

#[cfg(any(feature = "pg14", feature = "pg15"))]
type FileLocator = pg_sys::RelFileNode;
#[cfg(not(any(feature = "pg14", feature = "pg15")))]
type FileLocator = pg_sys::RelFileLocator;

/// Where the server finds a relation's file; renamed with PostgreSQL 16.
///
/// # Safety
/// `rel` must be open; what is returned lives as long as it is.
pub unsafe fn file_locator(rel: pg_sys::Relation) -> *mut FileLocator {
    // SAFETY: the caller's word.
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    unsafe {
        &raw mut (*rel).rd_node
    }
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
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
    // SAFETY: the caller's word.
    unsafe { pg_sys::ReadRecentBuffer(*file_locator(rel), fork, block, buffer) }
}

/// Does this process hold the content lock of a buffer? False for local buffers, which are never
/// locked.
///
/// # Safety
/// `buffer` must be pinned.
pub unsafe fn content_lock_is_held(buffer: pg_sys::Buffer) -> bool {
    // SAFETY: a positive number is a shared buffer, whose descriptor lives as long as the server.
    buffer > 0
        && unsafe {
            let descriptor = pg_sys::BufferDescriptors.add(buffer as usize - 1);
            unguarded::LWLockHeldByMe(&raw mut (*descriptor).bufferdesc.content_lock)
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
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    // SAFETY: the caller's word; the threshold is a plain int.
    unsafe {
        const OFF: i32 = 0;
        if pg_sys::old_snapshot_threshold < OFF || snapshot.is_null() {
            return;
        }
        let (taken, lsn) = ((*snapshot).lsn, (*page).pd_lsn);
        let changed = u64::from(lsn.xlogid) << 32 | u64::from(lsn.xrecoff);
        let mvcc = (*snapshot).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_MVCC;
        if mvcc && taken != 0 && changed > taken {
            pg_sys::TestForOldSnapshot_impl(snapshot, rel);
        }
    }
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    let _ = (snapshot, rel, page);
}

/// The wait event of a process that sleeps in a parallel build.
pub const WAIT_FOR_BUILD_WORKERS: u32 = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN;

/// Lets the server plan workers for builds of the access method, where it can (from 17 on).
pub fn allow_parallel_builds(am: &mut pg_sys::IndexAmRoutine) {
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    {
        am.amcanbuildparallel = IS_TESTED;
    }
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    let _ = am;
}

/// Workers for the build of an index. Up to 16 the server plans them for b-trees alone.
///
/// # Safety
/// Open relations, and the info that ambuild was passed with them.
pub unsafe fn planned_build_workers(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> i32 {
    if !IS_TESTED {
        return 0;
    }
    // SAFETY: the caller's word.
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    unsafe {
        let _ = info;
        pg_sys::plan_create_index_workers((*table).rd_id, (*index).rd_id)
    }
    // SAFETY: the caller's word.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    unsafe {
        let _ = (table, index);
        (*info).ii_ParallelWorkers
    }
}

/// Creates a temporary file in a shared set.
///
/// # Safety
/// The set must be live, and attached to by this process.
pub unsafe fn create_shared_file(
    files: *mut pg_sys::SharedFileSet,
    name: &CStr,
) -> *mut pg_sys::BufFile {
    // SAFETY: the caller's word.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::BufFileCreateShared(files, name.as_ptr())
    }
    // SAFETY: the caller's word.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::BufFileCreateFileSet(&raw mut (*files).fs, name.as_ptr())
    }
}

/// Opens a file of a shared set for reading; an ERROR when it is not there.
///
/// # Safety
/// As for [`create_shared_file`].
pub unsafe fn open_shared_file(
    files: *mut pg_sys::SharedFileSet,
    name: &CStr,
) -> *mut pg_sys::BufFile {
    /// O_RDONLY of the C library.
    const READ_ONLY: i32 = 0;
    // SAFETY: the caller's word.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::BufFileOpenShared(files, name.as_ptr(), READ_ONLY)
    }
    // SAFETY: the caller's word.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::BufFileOpenFileSet(&raw mut (*files).fs, name.as_ptr(), READ_ONLY, false)
    }
}

/// Lets other processes open a file of a shared set.
///
/// # Safety
/// The file must be open, and not be written any more.
pub unsafe fn export_shared_file(file: *mut pg_sys::BufFile) {
    // SAFETY: the caller's word.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::BufFileExportShared(file)
    };
    // SAFETY: the caller's word.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::BufFileExportFileSet(file)
    };
}

/// Was the relation's file made by the running transaction?
pub fn file_is_new(data: &pg_sys::RelationData) -> bool {
    const NOT_IN_THIS_TRANSACTION: pg_sys::SubTransactionId = 0;
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    let new_file = data.rd_firstRelfilenodeSubid;
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    let new_file = data.rd_firstRelfilelocatorSubid;
    data.rd_createSubid != NOT_IN_THIS_TRANSACTION || new_file != NOT_IN_THIS_TRANSACTION
}

/// Makes the planner prefer every other path, even one that a setting like enable_seqscan = off
/// disables. Up to 17 such a setting only adds to a path's cost, so a high cost is enough.
///
/// # Safety
/// `path` must be what the planner passes to amcostestimate.
pub unsafe fn disable_path(path: *mut pg_sys::IndexPath) {
    /// More than a setting disables in a scan of one table.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
    const DISABLED: i32 = 2;
    // SAFETY: the caller's word.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        (*path).path.disabled_nodes = DISABLED;
    }
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = path;
}

/// How many elements the planner expects in an array.
///
/// # Safety
/// `root` must be the planner's state, and `array` a live expression of an array type.
pub unsafe fn array_length(root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> f64 {
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    {
        let _ = root;
        // SAFETY: the caller's word.
        f64::from(unsafe { pg_sys::estimate_array_length(array) })
    }
    // SAFETY: the caller's word.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::estimate_array_length(root, array)
    }
}

/// The parsed form of a storage option of type int, at `offset` of the parsed options.
pub fn int_option(name: &'static CStr, offset: usize) -> pg_sys::relopt_parse_elt {
    pg_sys::relopt_parse_elt {
        optname: name.as_ptr(),
        opttype: pg_sys::relopt_type::RELOPT_TYPE_INT,
        offset: offset as i32,
        // This field is new in PostgreSQL 18.
        #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
        isset_offset: 0,
    }
}

/// Refuses settings whose name begins with `prefix` and a dot and that no module has defined (from
/// 15 on).
pub fn reserve_setting_prefix(prefix: &'static CStr) {
    // SAFETY: called while the library is loaded; the server copies the string.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
    #[cfg(feature = "pg14")]
    let _ = prefix;
}

/// Counts one index scan in the statistics.
///
/// # Safety
/// `rel` must be open.
pub unsafe fn count_index_scan(rel: pg_sys::Relation) {
    // SAFETY: the caller's word; pgstat_info is either null or valid while the relation is open.
    unsafe {
        #[cfg(not(feature = "pg14"))]
        if (*rel).pgstat_info.is_null() && (*rel).pgstat_enabled {
            pg_sys::pgstat_assoc_relation(rel);
        }
        if let Some(info) = (*rel).pgstat_info.as_mut() {
            #[cfg(any(feature = "pg14", feature = "pg15"))]
            {
                info.t_counts.t_numscans += 1;
            }
            #[cfg(not(any(feature = "pg14", feature = "pg15")))]
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
    // SAFETY: the caller's word; the instrumentation is either null or lives as long as the scan.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        if let Some(instrument) = scan.instrument.as_mut() {
            instrument.nsearches += 1;
        }
    }
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = scan;
}

/// The number of the running transaction among those of this backend.
pub fn local_transaction() -> u32 {
    // SAFETY: a backend that runs a function has its PGPROC.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).lxid;
        #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
        return (*pg_sys::MyProc).vxid.lxid;
    }
}

const _: () = assert!(is_tested(15) && !is_tested(13) && !is_tested(19));
