//! Single rows of an index's table, and what the index must file for each.

use super::open::{LatestSnapshot, OpenIndex};
use super::scan::tid_to;
use super::scope::indexed_row;
use crate::catalog::relation::Rel;
use crate::process::compat;
use crate::process::memory::MemoryContext;
use pgrx::pg_sys;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::tid::Tid;

/// The row that a snapshot sees at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisibleRow {
    /// Nothing.
    None,
    /// A row that does not satisfy the index's predicate.
    LeftOut,
    /// A row that the index must contain, as its postings have it.
    Stored(IndexedRow),
}

/// Reads single rows and computes the index's columns.
pub struct RowReader<'o> {
    snapshot: &'o LatestSnapshot,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    context: *mut pg_sys::ExprContext,
    index: Rel<'o>,
    info: *mut pg_sys::IndexInfo,
    /// The predicate; null without one.
    predicate: *mut pg_sys::ExprState,
}

impl<'o> RowReader<'o> {
    /// Prepares the evaluation of the index's expressions and predicate, once for many rows.
    #[inline]
    pub fn new(open: &'o OpenIndex, snapshot: &'o LatestSnapshot) -> RowReader<'o> {
        let (table, index) = (open.table().raw(), open.index().raw());
        // SAFETY: both relations are open as long as the reader lives. As the server's own build
        // scan does it: the context reads its columns from the slot, which takes rows of the table.
        unsafe {
            let info = pg_sys::BuildIndexInfo(index);
            let state = pg_sys::CreateExecutorState();
            let context = pg_sys::MakePerTupleExprContext(state);
            let slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
            (*context).ecxt_scantuple = slot;
            RowReader {
                snapshot,
                fetch: compat::begin_index_fetch(table),
                slot,
                state,
                context,
                index: open.index(),
                info,
                predicate: pg_sys::ExecPrepareQual((*info).ii_Predicate, state),
            }
        }
    }

    /// Returns what the snapshot sees at an address, which must be one that the table can have. The
    /// address is that of a HOT chain; the row is its visible version, if there is one.
    #[inline]
    pub fn row(&mut self, tid: Tid) -> VisibleRow {
        let mut tid = tid_to(tid);
        let mut again = false;
        // SAFETY: all was made by `new`; no index has more columns than the arrays have room for.
        // The reset frees what the expressions allocated, after the values were hashed.
        unsafe {
            let (fetch, slot, snapshot) = (self.fetch, self.slot, self.snapshot.raw());
            let none = std::ptr::null_mut();
            let found =
                pg_sys::table_index_fetch_tuple(fetch, &mut tid, snapshot, slot, &mut again, none);
            if !found {
                return VisibleRow::None;
            }
            let memory = MemoryContext::from_raw((*self.context).ecxt_per_tuple_memory);
            let row = memory.run(|| {
                if !self.predicate.is_null() && !pg_sys::ExecQual(self.predicate, self.context) {
                    return None;
                }
                let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
                let mut nulls = [false; pg_sys::INDEX_MAX_KEYS as usize];
                let (to, is_null) = (values.as_mut_ptr(), nulls.as_mut_ptr());
                pg_sys::FormIndexDatum(self.info, slot, self.state, to, is_null);
                Some(indexed_row(self.index, to, is_null))
            });
            memory.reset();
            row.map_or(VisibleRow::LeftOut, VisibleRow::Stored)
        }
    }
}

impl Drop for RowReader<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `new`. The info's expressions were prepared in the state's memory.
            unsafe {
                pg_sys::table_index_fetch_end(self.fetch);
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::FreeExecutorState(self.state);
            }
        }
    }
}
