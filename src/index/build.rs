//! CREATE INDEX and REINDEX (ambuild, ambuildempty): reads the table once, sorts its postings for each
//! key space, loads each bottom up.
//!
//! Rows are gathered up to half of maintenance_work_mem (the other half is the sort's target). A
//! table that fits is sorted four times in memory; a larger one leaves sorted runs of each space in
//! temporary files, which are merged at the end. `parallel_build` does the same with several
//! processes. Every scan of the table is the server's own, so that a build indexes the rows that the
//! server would.

#![allow(unsafe_code)]

use super::bulk_writer::{BulkWriter, INIT, MAIN, Progress, write_meta};
use super::handler::fillfactor;
use super::insert::{has_fingerprint, indexed_row, makes_fingerprints};
use super::parallel_build::build_in_parallel;
use super::row_address::tid_from;
use super::spool::Spool;
use pgrx::PgSqlErrorCode::{ERRCODE_INTERNAL_ERROR, ERRCODE_INVALID_OBJECT_DEFINITION};
use pgrx::{pg_guard, pg_sys};
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use simhash_hamming::build::load::BuildOptions;
use simhash_hamming::build::sort::SortScope;
use simhash_pg::catalog::fingerprint_index::key_expression;
use simhash_pg::catalog::lookup::string;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table_name;
use simhash_pg::process::compat;
use simhash_pg::process::error::{Error, warn};
use simhash_pg::process::memory::maintenance_work_mem_bytes;
use simhash_pg::process::temp_file::TempFile;
use std::ffi::{c_char, c_void};
use std::sync::atomic::AtomicU64;

/// Numbers of the phases that pg_stat_progress_create_index shows. 1 is the server's own.
pub mod phase {
    pub const SCAN: i64 = 2;
    pub const SORT_AND_LOAD: i64 = 3;
    pub const SYNC: i64 = 4;
}

#[pg_guard]
pub unsafe extern "C-unwind" fn ambuildphasename(number: i64) -> *mut c_char {
    let name = match number {
        1 => c"initializing",
        phase::SCAN => c"scanning table",
        phase::SORT_AND_LOAD => c"sorting and loading key spaces",
        phase::SYNC => c"syncing to disk",
        _ => return std::ptr::null_mut(),
    };
    name.as_ptr().cast_mut()
}

/// Tells pg_stat_progress_create_index a number, such as that of the rows that are to be loaded.
pub fn set_progress(parameter: u32, value: i64) {
    // SAFETY: writes to this backend's status entry.
    unsafe { pg_sys::pgstat_progress_update_param(parameter as i32, value) };
}

/// Tells it which phase of the build runs.
pub fn set_phase(phase: i64) {
    set_progress(pg_sys::PROGRESS_CREATEIDX_SUBPHASE, phase);
}

/// The build of an index, as the server asks for it.
#[derive(Clone, Copy)]
pub struct Build<'b> {
    pub table: Rel<'b>,
    /// Still empty, under the lock of CREATE INDEX or REINDEX.
    pub index: Rel<'b>,
    pub info: *mut pg_sys::IndexInfo,
}

/// Rows seen by a build.
pub struct BuildCounts {
    /// Live rows of the table, also those that a partial index leaves out.
    pub table_rows: f64,
    pub index_rows: u64,
}

#[pg_guard]
pub unsafe extern "C-unwind" fn ambuild(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // SAFETY: the server passes open relations and the index's info; palloc0 gives zeroed memory.
    unsafe {
        let (table, index) = (Rel::from_raw(table), Rel::from_raw(index));
        if index.block_count() != 0 {
            let message = format!("index \"{}\" already contains data", index.name());
            Error::new(ERRCODE_INTERNAL_ERROR, message).raise();
        }
        crate::flag::tell_of_triggers(table, index.oid());
        let counts = build(Build { table, index, info });
        let result = pg_sys::palloc0(size_of::<pg_sys::IndexBuildResult>())
            .cast::<pg_sys::IndexBuildResult>();
        (*result).heap_tuples = counts.table_rows;
        (*result).index_tuples = counts.index_rows as f64;
        result
    }
}

/// Writes the index over no rows into the init fork, from which an unlogged index is restored.
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuildempty(index: pg_sys::Relation) {
    // SAFETY: the server passes an open index.
    let index = unsafe { Rel::from_raw(index) };
    check_columns(index);
    let no_rows = Spool::<()>::new(0, &|_| TempFile::new());
    write_index(index, INIT, no_rows, BuildOptions::OF_NO_ROWS, 0);
}

/// Builds the index over the whole table.
fn build(build: Build) -> BuildCounts {
    check_columns(build.index);
    let options = BuildOptions {
        fillfactor: fillfactor(build.index),
    };
    let memory = maintenance_work_mem_bytes();
    let workers = planned_workers(build);
    if workers > 0
        && let Some(counts) = build_in_parallel(build, options, memory, workers)
    {
        return counts;
    }
    match build.index.key_columns() {
        1 => build_alone::<()>(build, options, memory),
        _ => build_alone::<u32>(build, options, memory),
    }
}

/// Refuses an index whose last column is neither a fingerprint nor something of which one is made, one
/// whose last column is a text that stands where the fingerprint belongs, and one with a scope that no
/// condition fits. Warns of a plain number where the fingerprint belongs.
fn check_columns(index: Rel) {
    let last = index.key_columns() - 1;
    if let Some(column) = (0..last).find(|column| !compares_as_its_type(index, *column)) {
        let name = column_name(index, column);
        let message = format!(
            "column \"{name}\" of index \"{}\" is compared by another = than the index has",
            index.name()
        );
        let hint = format!(
            "Take an expression of it, and ask by the same: USING simhash (lower({}::text), ...).",
            key(index, column)
        );
        Error::new(ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .hint(hint)
            .raise();
    }
    if !has_fingerprint(index) {
        let message = format!(
            "last column \"{}\" of index \"{}\" is not a fingerprint",
            column_name(index, last),
            index.name()
        );
        let hint = "A text comes last, or a fingerprint of type bigint, after any number of columns that are \
                    compared with =, as in (tenant_id, body).";
        Error::new(ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .hint(hint)
            .raise();
    }
    let is_of_text = makes_fingerprints(index);
    if (is_of_text || !is_made_fingerprint(index, last))
        && let Some(made) = (0..last).find(|column| is_made_fingerprint(index, *column))
    {
        let order = (0..=last).filter(|column| *column != made).chain([made]);
        let keys: Vec<String> = order.map(|column| key(index, column)).collect();
        let message = format!(
            "column \"{}\" of index \"{}\" is a fingerprint, but \"{}\" comes last",
            column_name(index, made),
            index.name(),
            column_name(index, last)
        );
        let hint = format!(
            "What is compared comes last: CREATE INDEX ON {} USING simhash ({});",
            table_name::sql(index.table()),
            keys.join(", ")
        );
        if !is_of_text {
            return warn(message, hint);
        }
        Error::new(ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .hint(hint)
            .raise();
    }
}

/// Returns whether a key column is a fingerprint by its expression, or as a generated column by that.
fn is_made_fingerprint(index: Rel, column: usize) -> bool {
    let made = || key_expression(index, column);
    index.operator_class_type(column) == pg_sys::INT8OID
        && made().is_some_and(|made| {
            ["simhash64", "fingerprint_from_"]
                .iter()
                .any(|function| made.contains(function))
        })
}

/// A key column, as CREATE INDEX names it.
fn key(index: Rel, column: usize) -> String {
    match key_expression(index, column) {
        Some(expression) if is_expression(index, column) => format!("({expression})"),
        _ => table_name::identifier(&column_name(index, column)),
    }
}

fn column_name(index: Rel, column: usize) -> String {
    let number = column as pg_sys::AttrNumber + 1;
    // SAFETY: the server looks the name up and copies it; with true, it returns null for a
    // column that does not exist.
    unsafe { string(pg_sys::get_attname(index.oid(), number, true)).unwrap_or_default() }
}

fn is_expression(index: Rel, column: usize) -> bool {
    assert!(column < index.key_columns());
    // SAFETY: an open index has its row of pg_index, with a number for each key.
    unsafe {
        (*(*index.raw()).rd_index)
            .indkey
            .values
            .as_slice(column + 1)[column]
            == 0
    }
}

/// Returns whether conditions on a key column use the `=` of its operator class. Not those on a
/// column of a type that the class takes without a conversion, but that has an `=` of its own.
fn compares_as_its_type(index: Rel, column: usize) -> bool {
    let family = index.operator_family(column);
    // SAFETY: an open index has its row descriptor; a type's cache entry lives as long as the process.
    unsafe {
        let own = compat::attribute((*index.raw()).rd_att, column).atttypid;
        let own = pg_sys::getBaseType(own);
        let equality = pg_sys::lookup_type_cache(own, pg_sys::TYPECACHE_EQ_OPR as i32);
        own == index.operator_class_type(column)
            || pg_sys::op_in_opfamily((*equality).eq_opr, family)
    }
}

/// Returns how many workers the server's settings, the table's size and its options allow.
fn planned_workers(build: Build) -> usize {
    let (table, index) = (build.table.raw(), build.index.raw());
    // SAFETY: the relations are open, and the index has its row of pg_index; a catalog look-up.
    unsafe {
        // An exclusion constraint that is not in the catalogs, as when REPACK (CONCURRENTLY) of PostgreSQL
        // 19 builds an index that will take the place of the constraint's. Only the leader is given its
        // operators: workers would look for them in the constraint, and fail.
        if (*(*index).rd_index).indisexclusion
            && pg_sys::get_index_constraint((*index).rd_id) == pg_sys::InvalidOid
        {
            return 0;
        }
        compat::planned_build_workers(table, index, build.info).max(0) as usize
    }
}

/// Builds the index in this process.
fn build_alone<S: SortScope>(build: Build, options: BuildOptions, memory: usize) -> BuildCounts {
    let Build { table, index, info } = build;
    let mut spool = Spool::<S>::new(memory, &|_| TempFile::new());
    set_phase(phase::SCAN);
    let no_scan = std::ptr::null_mut();
    // SAFETY: the relations are open, and the info is the server's.
    let table_rows = unsafe {
        scan_table(table, index, info, true, no_scan, &mut |row, tid| {
            spool.add(row, tid)
        })
    };
    let index_rows = spool.rows + spool.null_rows;
    set_phase(phase::SORT_AND_LOAD);
    set_progress(pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL, index_rows as i64);
    write_index(index, MAIN, spool, options, memory);
    BuildCounts {
        table_rows,
        index_rows,
    }
}

/// Writes the index over the rows of a spool.
fn write_index<S: SortScope>(
    index: Rel,
    fork: pg_sys::ForkNumber::Type,
    spool: Spool<S>,
    options: BuildOptions,
    memory: usize,
) {
    let (rows, null_rows) = (spool.rows, spool.null_rows);
    let stamp = random_u64();
    let progress = Progress {
        quarters: &AtomicU64::new(0),
        report: fork == MAIN,
    };
    let mut writer = BulkWriter::alone(index, fork, progress);
    let spaces = spool.load(&mut writer, stamp as u32, options, memory);
    writer.finish();
    if fork == MAIN {
        set_phase(phase::SYNC);
    }
    write_meta(index, fork, stamp, &spaces, rows, null_rows);
}

/// 64 random bits from the server's strong generator.
pub fn random_u64() -> u64 {
    let mut value = 0u64;
    // SAFETY: writes 8 bytes to a u64.
    let strong = unsafe { pg_sys::pg_strong_random((&raw mut value).cast(), size_of::<u64>()) };
    if !strong {
        let message = "could not generate a random build stamp";
        Error::new(ERRCODE_INTERNAL_ERROR, message).raise();
    }
    value
}

/// Takes rows of a table: what the index files, and the address.
pub type RowSink<'f> = &'f mut dyn FnMut(IndexedRow, Tid);

/// Calls `row` with each row that the index must contain, in physical order. Returns the number of rows in
/// the table, as far as the scan reads it.
///
/// # Safety
/// The relations must be open, the info be the index's, and `scan` be null or a scan of the table, which
/// the server ends.
pub unsafe fn scan_table(
    table: Rel,
    index: Rel,
    info: *mut pg_sys::IndexInfo,
    progress: bool,
    scan: pg_sys::TableScanDesc,
    mut row: RowSink,
) -> f64 {
    let allow_sync = true;
    // SAFETY: guaranteed by the caller; the callback is given `row` back, which outlives the call.
    unsafe {
        pg_sys::table_index_build_scan(
            table.raw(),
            index.raw(),
            info,
            allow_sync,
            progress,
            Some(build_callback),
            (&raw mut row).cast(),
            scan,
        )
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
