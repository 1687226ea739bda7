//! CREATE INDEX: reads the table once, sorts its postings for each key space, loads each bottom up.
//!
//! Rows are gathered up to half of maintenance_work_mem (the other half is the sort's target). A
//! table that fits is sorted four times in memory; a larger one leaves sorted runs of each space in
//! temporary files, which are merged at the end. `build_shared` does the same with several
//! processes.

use super::load::BuildOptions;
use super::output::{BuildCounts, BuildOutput, Progress, phase, write_meta};
use super::shared::build_shared;
use super::spool::Spool;
use crate::pg::am::build::{Build, set_phase, set_rows_total};
use crate::pg::am::scan::random_u64;
use crate::pg::catalog::relation::Rel;
use crate::pg::page::bulk::{BulkWriter, Fork, reserve_first};
use crate::pg::process::memory::maintenance_work_mem_bytes;
use crate::pg::process::temp_file::TempFile;
use std::sync::atomic::AtomicU64;

/// Builds the index over the whole table.
pub fn build(build: Build, options: BuildOptions) -> BuildCounts {
    let memory = maintenance_work_mem_bytes();
    let workers = build.planned_workers();
    if workers > 0
        && let Some(counts) = build_shared(build, options, memory, workers)
    {
        return counts;
    }
    let mut spool = Spool::new(memory, &|_| TempFile::new());
    set_phase(phase::SCAN);
    let table_rows = build.scan_table(&mut |fp, tid| spool.add(fp, tid));
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
    write_index(
        index,
        Fork::Init,
        Spool::new(0, &|_| TempFile::new()),
        BuildOptions::OF_NO_ROWS,
        0,
    );
}

/// Writes the index over the rows of a spool.
fn write_index(index: Rel, fork: Fork, spool: Spool, options: BuildOptions, memory: usize) {
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
