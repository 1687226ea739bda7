//! Inserting a row into an index: `simhash_hamming::insert` over the server's pages.

use super::store::{IndexPages, read_state};
use pgrx::PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::tid::Tid;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::error::Error;

/// Refuses a row address that no posting can hold. The heap has none: at most 291 rows fit a page.
pub fn check_tid(tid: Tid) {
    if tid.offset > Tid::MAX_OFFSET {
        Error::new(
            ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "row offset {} exceeds the {} that access method \"simhash\" can store",
                tid.offset,
                Tid::MAX_OFFSET
            ),
        )
        .raise();
    }
}

/// Files a row: under its fingerprint, or in the NULL space.
pub fn insert(rel: Rel, row: IndexedRow, tid: Tid) {
    check_tid(tid);
    simhash_hamming::insert::insert(IndexPages::of(rel), || read_state(rel), row, tid);
}
