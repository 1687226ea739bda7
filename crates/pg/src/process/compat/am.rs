//! What differs between majors in access methods: the routine, scans of tables, builds, storage
//! parameters, counters. `src/index` calls it.

use super::IS_TESTED;
use pgrx::pg_sys;
use std::ffi::CStr;

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
pub unsafe fn begin_scan(
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
pub unsafe fn release_fetched_page(scan: pg_sys::IndexScanDesc) {
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
pub unsafe fn finish_descriptor(desc: pg_sys::TupleDesc) {
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
pub fn routine_for_server(
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
