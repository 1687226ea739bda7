//! Single rows of an index's table, and the key that the index must have for each.

use super::open::{LatestSnapshot, OpenIndex};
use super::scan::tid_to;
use crate::tid::Tid;
use pgrx::pg_sys;

/// What a snapshot sees at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisibleRow {
    /// Nothing.
    None,
    /// A row that does not satisfy the index's predicate.
    LeftOut,
    /// A row with this value of the index's (only) key column; None when it is NULL.
    Filed(Option<u64>),
}

/// Reads single rows and computes the index's key column.
pub struct RowReader<'o> {
    snapshot: &'o LatestSnapshot,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    context: *mut pg_sys::ExprContext,
    info: *mut pg_sys::IndexInfo,
    /// The predicate; null without one.
    predicate: *mut pg_sys::ExprState,
}

impl<'o> RowReader<'o> {
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
                fetch: pg_sys::table_index_fetch_begin(table),
                slot,
                state,
                context,
                info,
                predicate: pg_sys::ExecPrepareQual((*info).ii_Predicate, state),
            }
        }
    }

    /// What the snapshot sees at an address, which must be one that the table can have. The address
    /// is that of a HOT chain; the row is its visible version, if there is one.
    pub fn row(&mut self, tid: Tid) -> VisibleRow {
        let mut tid = tid_to(tid);
        let (mut again, mut value, mut null) = (false, pg_sys::Datum::null(), false);
        // SAFETY: all was made by `new`; the index has one key column. The reset frees what the
        // expressions allocated; the value is passed by value.
        unsafe {
            let (fetch, slot, snapshot) = (self.fetch, self.slot, self.snapshot.raw());
            let none = std::ptr::null_mut();
            let found =
                pg_sys::table_index_fetch_tuple(fetch, &mut tid, snapshot, slot, &mut again, none);
            if !found {
                return VisibleRow::None;
            }
            let memory = (*self.context).ecxt_per_tuple_memory;
            let outer = pg_sys::MemoryContextSwitchTo(memory);
            let wanted = self.predicate.is_null() || pg_sys::ExecQual(self.predicate, self.context);
            if wanted {
                pg_sys::FormIndexDatum(self.info, slot, self.state, &mut value, &mut null);
            }
            pg_sys::MemoryContextSwitchTo(outer);
            pg_sys::MemoryContextReset(memory);
            match wanted {
                true => VisibleRow::Filed((!null).then_some(value.value() as u64)),
                false => VisibleRow::LeftOut,
            }
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
