//! CREATE INDEX: reads the table once, sorts its postings for each key space, loads each bottom up.
//!
//! Rows are gathered up to half of maintenance_work_mem (the other half is the sort's target). A
//! table that fits is sorted four times in memory; a larger one leaves sorted runs of each space in
//! temporary files, which are merged at the end. `build_in_parallel` does the same with several
//! processes.

use super::output::{BuildCounts, BuildOutput, Progress, phase, write_meta};
use super::parallel::build_in_parallel;
use super::spool::Spool;
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION;
use pgrx::pg_sys;
use simhash_hamming::build::load::BuildOptions;
use simhash_hamming::build::sort::SortScope;
use simhash_pg::am::build::{Build, set_phase, set_rows_total};
use simhash_pg::am::scan::random_u64;
use simhash_pg::am::scope::{has_fingerprint, makes_fingerprints};
use simhash_pg::catalog::fingerprint_index::key_expression;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table_name;
use simhash_pg::page::bulk::{BulkWriter, Fork, reserve_first};
use simhash_pg::process::error::{Error, warn};
use simhash_pg::process::memory::maintenance_work_mem_bytes;
use simhash_pg::process::temp_file::TempFile;
use std::sync::atomic::AtomicU64;

/// Builds the index over the whole table.
pub fn build(build: Build, options: BuildOptions) -> BuildCounts {
    check_columns(build.index);
    let memory = maintenance_work_mem_bytes();
    let workers = build.planned_workers();
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
    if let Some(column) = (0..last).find(|column| !index.compares_as_its_type(*column)) {
        let name = index.column_name(column);
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
            index.column_name(last),
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
            index.column_name(made),
            index.name(),
            index.column_name(last)
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
        Some(expression) if index.is_expression(column) => format!("({expression})"),
        _ => table_name::identifier(&index.column_name(column)),
    }
}

/// Builds the index in this process.
fn build_alone<S: SortScope>(build: Build, options: BuildOptions, memory: usize) -> BuildCounts {
    let mut spool = Spool::<S>::new(memory, &|_| TempFile::new());
    set_phase(phase::SCAN);
    let table_rows = build.scan_table(&mut |row, tid| spool.add(row, tid));
    let (rows, null_rows) = (spool.rows, spool.null_rows);
    set_phase(phase::SORT_AND_LOAD);
    set_rows_total(rows + null_rows);
    write_index(build.index, Fork::Main, spool, options, memory);
    BuildCounts {
        table_rows,
        index_rows: rows + null_rows,
    }
}

/// Writes the index over no rows into the init fork, from which an unlogged index is restored.
pub fn build_empty(index: Rel) {
    check_columns(index);
    write_index(
        index,
        Fork::Init,
        Spool::<()>::new(0, &|_| TempFile::new()),
        BuildOptions::OF_NO_ROWS,
        0,
    );
}

/// Writes the index over the rows of a spool.
fn write_index<S: SortScope>(
    index: Rel,
    fork: Fork,
    spool: Spool<S>,
    options: BuildOptions,
    memory: usize,
) {
    let (rows, null_rows) = (spool.rows, spool.null_rows);
    let stamp = random_u64();
    reserve_first(index, fork);
    let mut output = BuildOutput {
        writer: BulkWriter::new(index, fork),
        progress: Progress {
            quarters: &AtomicU64::new(0),
            report: fork == Fork::Main,
        },
    };
    let spaces = spool.load(&mut output, stamp as u32, options, memory);
    output.writer.finish();
    if fork == Fork::Main {
        set_phase(phase::SYNC);
    }
    write_meta(index, fork, stamp, &spaces, rows, null_rows);
}
