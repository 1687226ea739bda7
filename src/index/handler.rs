//! The access method's handler and callbacks. Each callback turns the server's pointers into this
//! crate's types and calls the file of its role.

#![allow(unsafe_code)]

use super::build::{create, output};
use super::scan_request::operator;
use super::{cost_estimate, insert, scan, vacuum};
use pgrx::{PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, pg_guard, pg_sys};
use simhash_hamming::build::load::BuildOptions;
use simhash_pg::am::build::Build;
use simhash_pg::am::scan::{Bitmap, Scan, tid_from};
use simhash_pg::am::scope;
use simhash_pg::am::storage_parameters;
use simhash_pg::am::vacuum::{DeadRows, Vacuum, stats_or_new};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::planner::path::IndexPath;
use simhash_pg::process::activity::search_begins;
use simhash_pg::process::compat;
use simhash_pg::sql::fmgr::pg_function;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

pg_function! {
    /// simhash_catalog.simhash_handler(internal) -> index_am_handler.
    fn simhash_handler, pg_finfo_simhash_handler(args) {
        args.routine(&ROUTINE)
    }
}

/// What the access method can do, and its callbacks.
static ROUTINE: pg_sys::IndexAmRoutine = routine();

const fn routine() -> pg_sys::IndexAmRoutine {
    // SAFETY: zero is a value of each field: a number, false, no function.
    let mut am: pg_sys::IndexAmRoutine = unsafe { MaybeUninit::zeroed().assume_init() };
    am.type_ = pg_sys::NodeTag::T_IndexAmRoutine;
    am.amstrategies = operator::SAME;
    am.amsupport = scope::FINGERPRINT;
    am.amcanmulticol = true;
    am.amcanorderbyop = true;
    // A scan may come without a condition: ORDER BY alone, or a partial index read as a whole.
    am.amoptionalkey = true;
    am.amsearchnulls = true;
    // VACUUM keeps there which rows are dead (dead_rows.rs).
    am.amusemaintenanceworkmem = true;
    // The cleanup is not parallel: it takes no longer than starting a worker.
    am.amparallelvacuumoptions = pg_sys::VACUUM_OPTION_PARALLEL_BULKDEL as u8;
    compat::allow_parallel_builds(&mut am);
    am.ambuild = Some(ambuild);
    am.ambuildempty = Some(ambuildempty);
    am.aminsert = Some(aminsert);
    am.ambulkdelete = Some(ambulkdelete);
    am.amvacuumcleanup = Some(amvacuumcleanup);
    am.amcostestimate = Some(amcostestimate);
    am.amoptions = Some(amoptions);
    am.ambuildphasename = Some(ambuildphasename);
    am.amvalidate = Some(super::amvalidate::amvalidate);
    am.ambeginscan = Some(ambeginscan);
    am.amrescan = Some(amrescan);
    am.amgettuple = Some(amgettuple);
    am.amgetbitmap = Some(amgetbitmap);
    am.amendscan = Some(amendscan);
    am
}

fn build_options(index: Rel) -> BuildOptions {
    BuildOptions {
        fillfactor: storage_parameters::fillfactor(index),
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn ambuild(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // SAFETY: the server passes open relations and the index's info; palloc0 gives zeroed memory.
    unsafe {
        let build = Build::from_raw(table, index, info);
        if build.index.block_count() != 0 {
            simhash_pg::process::error::Error::new(
                ERRCODE_INTERNAL_ERROR,
                format!("index \"{}\" already contains data", build.index.name()),
            )
            .raise();
        }
        let counts = create::build(build, build_options(build.index));
        let result = pg_sys::palloc0(size_of::<pg_sys::IndexBuildResult>())
            .cast::<pg_sys::IndexBuildResult>();
        (*result).heap_tuples = counts.table_rows;
        (*result).index_tuples = counts.index_rows as f64;
        result
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn ambuildempty(index: pg_sys::Relation) {
    // SAFETY: the server passes an open index.
    create::build_empty(unsafe { Rel::from_raw(index) });
}

#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "the server's signature")]
unsafe extern "C-unwind" fn aminsert(
    index: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    nulls: *mut bool,
    tid: pg_sys::ItemPointer,
    _table: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _index_unchanged: bool,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: the server passes an open index and arrays of its columns.
    unsafe {
        let index = Rel::from_raw(index);
        let row = scope::indexed_row(index, values, nulls);
        insert::insert(index, row, tid_from(*tid));
        // The server looked for conflicts before the insert: a scan may have begun and ended since.
        index.check_for_serializable_conflict();
    }
    // No uniqueness is checked.
    false
}

#[pg_guard]
unsafe extern "C-unwind" fn ambulkdelete(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
    callback: pg_sys::IndexBulkDeleteCallback,
    state: *mut c_void,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: the server's arguments of ambulkdelete.
    unsafe {
        let stats = stats_or_new(stats);
        if let Some(dead) = DeadRows::from_raw(callback, state) {
            let counts = vacuum::bulk_delete(&Vacuum::from_raw(info), &dead);
            stats.num_pages = counts.pages;
            stats.num_index_tuples = counts.rows() as f64;
            stats.tuples_removed += counts.rows_removed() as f64;
        }
        stats
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn amvacuumcleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: the server's arguments of amvacuumcleanup.
    unsafe {
        let vacuum = Vacuum::from_raw(info);
        if vacuum.analyze_only() {
            return stats;
        }
        // Without a pass there is no count, and the server keeps the old one.
        let without_pass = stats.is_null();
        let stats = stats_or_new(stats);
        stats.num_pages = vacuum.index().block_count();
        stats.estimated_count |= without_pass;
        // A posting that a split moved during the pass may have been counted twice.
        if let Some(rows) = vacuum.exact_table_rows() {
            stats.num_index_tuples = stats.num_index_tuples.min(rows);
        }
        stats
    }
}

#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "the server's signature")]
unsafe extern "C-unwind" fn amcostestimate(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    loops: f64,
    startup: *mut f64,
    total: *mut f64,
    selectivity: *mut f64,
    correlation: *mut f64,
    pages: *mut f64,
) {
    // SAFETY: the planner's arguments of amcostestimate: valid structs and places for five results.
    unsafe {
        let index_path = IndexPath::from_raw(root, path, loops);
        let estimate = cost_estimate::estimate(&index_path);
        if estimate.never {
            compat::disable_path(path);
        }
        *startup = estimate.startup;
        *total = estimate.total;
        *selectivity = estimate.selectivity;
        // Fingerprints say nothing about where a row lies in the table.
        *correlation = 0.0;
        *pages = estimate.pages;
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn amoptions(text: pg_sys::Datum, validate: bool) -> *mut pg_sys::bytea {
    storage_parameters::parse(text, validate)
}

#[pg_guard]
unsafe extern "C-unwind" fn ambuildphasename(number: i64) -> *mut c_char {
    output::phase_name(number).map_or(std::ptr::null_mut(), |name| name.as_ptr().cast_mut())
}

#[pg_guard]
unsafe extern "C-unwind" fn ambeginscan(
    index: pg_sys::Relation,
    keys: c_int,
    order_bys: c_int,
) -> pg_sys::IndexScanDesc {
    // SAFETY: the server passes an open index.
    let index = unsafe { Rel::from_raw(index) };
    Scan::begin(index, keys, order_bys, scan::ScanState::default())
}

#[pg_guard]
unsafe extern "C-unwind" fn amrescan(
    raw: pg_sys::IndexScanDesc,
    keys: pg_sys::ScanKey,
    nkeys: c_int,
    order_bys: pg_sys::ScanKey,
    norder_bys: c_int,
) {
    search_begins();
    // SAFETY: the server passes the live scan, whose state `ambeginscan` made, and its keys.
    unsafe {
        let mut scan = Scan::from_raw(raw);
        scan.state::<scan::ScanState>().reset(&scan);
        scan.set_keys(keys, nkeys, order_bys, norder_bys);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn amgettuple(
    raw: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    // SAFETY: the server passes the live scan, whose state `ambeginscan` made.
    unsafe {
        let mut scan = Scan::from_raw(raw);
        let state = scan.state::<scan::ScanState>();
        scan::next_row(&mut scan, state)
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn amgetbitmap(
    raw: pg_sys::IndexScanDesc,
    bitmap: *mut pg_sys::TIDBitmap,
) -> i64 {
    // SAFETY: the server passes the live scan, whose state `ambeginscan` made, and a bitmap.
    unsafe {
        let mut scan = Scan::from_raw(raw);
        let state = scan.state::<scan::ScanState>();
        scan::all_rows(&scan, state, &mut Bitmap::from_raw(bitmap))
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn amendscan(raw: pg_sys::IndexScanDesc) {
    // SAFETY: the server passes the live scan, whose state `ambeginscan` made.
    unsafe {
        let mut scan = Scan::from_raw(raw);
        scan.state::<scan::ScanState>().reset(&scan);
        scan.end::<scan::ScanState>();
    }
}
