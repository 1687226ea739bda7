//! A call of a window function: the rows of its partition, and memory that lives as long as it.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::fmgr::Args;
use crate::pg::process::error::raise;

/// WINDOW_SEEK_HEAD of windowapi.h.
const FROM_FIRST: i32 = 1;

/// Numbers that [`Window::memory`] can give: MaxAllocSize of memutils.h.
pub const MOST_NUMBERS: usize = 0x3FFF_FFFF / size_of::<i32>();

unsafe extern "C-unwind" {
    // Missing from the bindings.
    fn WinGetPartitionRowCount(window: *mut pg_sys::WindowObjectData) -> i64;
    fn WinGetCurrentPosition(window: *mut pg_sys::WindowObjectData) -> i64;
    fn WinGetPartitionLocalMemory(
        window: *mut pg_sys::WindowObjectData,
        size: usize,
    ) -> *mut std::ffi::c_void;
    fn WinGetFuncArgInPartition(
        window: *mut pg_sys::WindowObjectData,
        argument: i32,
        row: i32,
        seek: i32,
        set_mark: bool,
        is_null: *mut bool,
        is_out: *mut bool,
    ) -> pg_sys::Datum;
}

/// The partition in which a window function is called. The server's functions may raise ERRORs, hence
/// the guard around each.
#[derive(Clone, Copy)]
pub struct Window(*mut pg_sys::WindowObjectData);

impl Window {
    /// The window of the running function, which SQL declares as a window function.
    pub fn of(args: &Args) -> Self {
        // SAFETY: the context of a call is null or a live node; of a window function it is this one.
        unsafe {
            let context = (*args.fcinfo()).context;
            let tag = pg_sys::NodeTag::T_WindowObjectData;
            if context.is_null() || (*context).type_ != tag {
                raise(
                    PgSqlErrorCode::ERRCODE_WINDOWING_ERROR,
                    "window function called without a window",
                );
            }
            Window(context.cast())
        }
    }

    /// Rows of the partition.
    pub fn rows(self) -> usize {
        // SAFETY: a live window (`of`).
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetPartitionRowCount(self.0)) as usize }
    }

    /// The current row's place in the partition, from 0.
    pub fn position(self) -> usize {
        // SAFETY: as above.
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetCurrentPosition(self.0)) as usize }
    }

    /// Argument `argument`, of type bigint or int, of a row of the partition; None when NULL.
    pub fn integer(self, argument: i32, row: usize) -> Option<i64> {
        let (mut null, mut out) = (false, false);
        // SAFETY: as above; a place within the partition, counted from its first row. Both types are
        // passed by value, sign-extended.
        let datum = unsafe {
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                WinGetFuncArgInPartition(
                    self.0, argument, row as i32, FROM_FIRST, false, &mut null, &mut out,
                )
            })
        };
        (!null && !out).then(|| datum.value() as i64)
    }

    /// As [`Window::integer`], of every row in turn.
    pub fn integers(self, argument: i32, rows: usize, mut each: impl FnMut(usize, Option<i64>)) {
        // SAFETY: what evaluating an argument leaves behind (a decompressed text, say) would stay until
        // the call is over, for all rows; here it is forgotten after each. The values are passed by
        // value. After an ERROR the server resets the current context and deletes this one.
        unsafe {
            let scratch = pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"simhash argument".as_ptr(),
                0,
                1024,
                8192,
            );
            for row in 0..rows {
                let outer = pg_sys::MemoryContextSwitchTo(scratch);
                let value = self.integer(argument, row);
                pg_sys::MemoryContextSwitchTo(outer);
                pg_sys::MemoryContextReset(scratch);
                each(row, value);
            }
            pg_sys::MemoryContextDelete(scratch);
        }
    }

    /// `count` numbers that live as long as the partition, 0 at first. Every call must ask for as many.
    pub fn memory<'a>(self, count: usize) -> &'a mut [i32] {
        // SAFETY: the server gives zeros of that size, the same at every call for one partition; only
        // the running call refers to them.
        unsafe {
            let size = count * size_of::<i32>();
            let memory =
                pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetPartitionLocalMemory(self.0, size));
            std::slice::from_raw_parts_mut(memory.cast(), count)
        }
    }
}
