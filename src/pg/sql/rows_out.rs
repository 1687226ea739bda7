//! Results of set-returning functions, collected in a tuple store.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::fmgr::Args;
use crate::pg::process::error::raise;

/// Collects the rows of the running function.
pub struct RowsOut {
    store: *mut pg_sys::Tuplestorestate,
    desc: pg_sys::TupleDesc,
    /// Memory for the values of one row, reset after each.
    scratch: pg_sys::MemoryContext,
}

impl RowsOut {
    /// Starts the result; the function returns NULL after its last row.
    pub fn begin(args: &Args) -> Self {
        // SAFETY: `resultinfo` is null or a node; a ReturnSetInfo lives as long as the call, and
        // its per-query memory as long as the result.
        unsafe {
            let info: *mut pg_sys::ReturnSetInfo = (*args.fcinfo()).resultinfo.cast();
            let mode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            let usable = !info.is_null()
                && (*info).type_ == pg_sys::NodeTag::T_ReturnSetInfo
                && (*info).allowedModes & mode as i32 != 0;
            if !usable {
                let message = "set-valued function called in context that cannot accept a set";
                raise(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message);
            }
            let outer = pg_sys::MemoryContextSwitchTo((*(*info).econtext).ecxt_per_query_memory);
            let (mut desc, mut result) = (std::ptr::null_mut(), pg_sys::InvalidOid);
            pg_sys::get_call_result_type(args.fcinfo(), &mut result, &mut desc);
            if desc.is_null() {
                // A set of scalars: rows of one column.
                desc = pg_sys::CreateTemplateTupleDesc(1);
                pg_sys::TupleDescInitEntry(desc, 1, c"".as_ptr(), result, -1, 0);
            }
            let store = pg_sys::tuplestore_begin_heap(true, false, pg_sys::work_mem);
            pg_sys::MemoryContextSwitchTo(outer);
            (*info).returnMode = mode;
            (*info).setResult = store;
            (*info).setDesc = desc;
            let scratch = pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"simhash row".as_ptr(),
                0,
                1024,
                8192,
            );
            Self {
                store,
                desc,
                scratch,
            }
        }
    }

    /// Adds the row that `make` makes; None is NULL.
    pub fn push<const N: usize>(&mut self, make: impl FnOnce() -> [Option<pg_sys::Datum>; N]) {
        // SAFETY: the context lives as long as the function's call; an ERROR inside of `make`
        // resets the current context on its own.
        let row = unsafe {
            let outer = pg_sys::MemoryContextSwitchTo(self.scratch);
            let row = make();
            pg_sys::MemoryContextSwitchTo(outer);
            row
        };
        let mut nulls = row.map(|d| d.is_none());
        let mut datums = row.map(|d| d.unwrap_or(pg_sys::Datum::null()));
        // SAFETY: store and descriptor live as long as the query; a row has N columns, which SQL
        // declares with the types that the caller gives. The store copies the row.
        unsafe {
            if (*self.desc).natts as usize != N {
                let message = format!("a row has {} columns, not {N}", (*self.desc).natts);
                raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message);
            }
            let (datums, nulls) = (datums.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::tuplestore_putvalues(self.store, self.desc, datums, nulls);
            pg_sys::MemoryContextReset(self.scratch);
        }
    }
}
