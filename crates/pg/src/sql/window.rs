//! A call of a window function: the rows of its partition, and memory for the partition.

use std::cell::Cell;
use std::marker::PhantomData;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::fmgr::{Args, ByValue};
use crate::process::compat;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;

/// WINDOW_SEEK_HEAD of windowapi.h.
const FROM_FIRST: i32 = 1;

/// The most numbers that [`Window::memory`] can give: as many as MaxAllocSize of memutils.h has
/// room for, less one for the count.
pub const MOST_NUMBERS: usize = 0x3FFF_FFFF / size_of::<i32>() - 1;

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

/// The partition in which a window function is called. The server's functions may raise ERRORs,
/// hence the guard around each.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    raw: *mut pg_sys::WindowObjectData,
    call: PhantomData<&'a Args>,
}

impl<'a> Window<'a> {
    /// The window of the running function, which SQL declares as a window function.
    pub fn from_arguments(args: &'a Args) -> Self {
        // SAFETY: the context of a call is null or a live node; of a window function it is this
        // one.
        unsafe {
            let context = (*args.fcinfo()).context;
            let tag = pg_sys::NodeTag::T_WindowObjectData;
            if context.is_null() || (*context).type_ != tag {
                Error::new(
                    PgSqlErrorCode::ERRCODE_WINDOWING_ERROR,
                    "window function called without a window",
                )
                .raise();
            }
            compat::refuse_null_treatment(context.cast(), args.fcinfo());
            Window {
                raw: context.cast(),
                call: PhantomData,
            }
        }
    }

    /// Rows of the partition.
    pub fn rows(self) -> usize {
        // SAFETY: a live window (`of`).
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetPartitionRowCount(self.raw)) as usize }
    }

    /// The current row's place in the partition, from 0.
    pub fn position(self) -> usize {
        // SAFETY: as above.
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetCurrentPosition(self.raw)) as usize }
    }

    /// Argument `i` in a row of the partition; None when NULL, or when there is no such row.
    pub fn value<T: ByValue>(self, i: usize, row: usize) -> Option<T> {
        let row = i32::try_from(row).ok()?;
        let (mut null, mut out) = (false, false);
        // SAFETY: as above; there is such an argument, of the type that is read as T.
        unsafe {
            let datum = pg_sys::ffi::pg_guard_ffi_boundary(|| {
                WinGetFuncArgInPartition(
                    self.raw, i as i32, row, FROM_FIRST, false, &mut null, &mut out,
                )
            });
            T::from_datum(datum, null || out)
        }
    }

    /// Calls `each` with the number of every row and with [`Window::value`] of it.
    pub fn values<T: ByValue>(self, i: usize, rows: usize, mut each: impl FnMut(usize, Option<T>)) {
        // What the evaluation of an argument allocates (a detoasted text, say) would otherwise stay
        // until the end of the call, for all rows.
        let scratch = MemoryContext::current().child(c"simhash argument");
        for row in 0..rows {
            let value = scratch.run(|| self.value(i, row));
            // SAFETY: the values are passed by value.
            unsafe { scratch.reset() };
            each(row, value);
        }
        // SAFETY: made above, and used by nothing else.
        unsafe { scratch.delete() };
    }

    /// `count` numbers that live as long as the partition, 0 at first. An ERROR when an earlier
    /// call asked for another count.
    pub fn memory(self, count: usize) -> &'a [Cell<i32>] {
        // SAFETY: at the first call for a partition the server gives zeros of that size, at later
        // ones the same memory. Its first number is the count of all numbers. They are cells,
        // because there may be other references to them during this call.
        unsafe {
            let size = (count + 1) * size_of::<i32>();
            let memory =
                pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetPartitionLocalMemory(self.raw, size));
            let first: *const Cell<i32> = memory.cast();
            let filled = (count + 1) as i32;
            if (*first).get() == 0 {
                (*first).set(filled);
            }
            if (*first).get() != filled {
                Error::new(
                    PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                    "memory of another size was asked for a window partition",
                )
                .raise();
            }
            std::slice::from_raw_parts(first.add(1), count)
        }
    }
}
