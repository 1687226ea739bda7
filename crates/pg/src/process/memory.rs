//! How much memory an operation may use, and collections that grow with the data: running out of
//! memory is an ERROR and does not abort the process.

use super::backend::check_for_interrupts;
use super::error::Error;
use pgrx::pg_sys;

/// Bytes that one operation of a query may use (work_mem).
#[inline]
pub fn work_mem_bytes() -> usize {
    // SAFETY: a plain int setting, in kilobytes.
    unsafe { pg_sys::work_mem as usize * 1024 }
}

/// Bytes that a build may use (maintenance_work_mem).
#[inline]
pub fn maintenance_work_mem_bytes() -> usize {
    // SAFETY: a plain int setting, in kilobytes.
    unsafe { pg_sys::maintenance_work_mem as usize * 1024 }
}

/// Makes room for at least `more` more elements.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) {
    if vec.try_reserve(more).is_err() {
        out_of_memory::<T>(more);
    }
}

/// A copy of a text of any length.
#[inline]
pub fn owned(text: &str) -> String {
    let mut copy = String::new();
    or_out_of_memory(copy.try_reserve_exact(text.len()));
    copy.push_str(text);
    copy
}

/// Raises the ERROR for memory that the system did not give.
#[inline]
pub fn or_out_of_memory<T>(result: Result<T, std::collections::TryReserveError>) -> T {
    result.unwrap_or_else(|_| Error::out_of_memory().raise())
}

/// Gives memory back to the system that the C library keeps after large pieces were freed: for work
/// that a session does once and whose result it keeps. Only glibc has such a function.
#[inline]
pub fn give_back_freed() {
    #[cfg(target_env = "gnu")]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: glibc's function takes any number, and looks only at memory that is free.
        unsafe { malloc_trim(0) };
    }
}

/// Runs `f` in a memory context of its own, and frees what the server has allocated in it: for a
/// step that one call of a function repeats many times. The result must not point into it.
#[inline]
pub fn in_scratch<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: the context is ours, and the result does not point into it. After an ERROR inside of
    // `f` the server switches to another context, and deletes this one with its parent.
    unsafe {
        let scratch = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"simhash scratch".as_ptr(),
            0,
            1024,
            8192,
        );
        let outer = pg_sys::MemoryContextSwitchTo(scratch);
        let result = f();
        pg_sys::MemoryContextSwitchTo(outer);
        pg_sys::MemoryContextDelete(scratch);
        result
    }
}

/// Appends an element, growing by doubling but never beyond `limit` elements.
#[inline]
pub fn push_within<T>(vec: &mut Vec<T>, value: T, limit: usize) {
    if vec.len() == vec.capacity() {
        let growth = vec
            .len()
            .max(1024)
            .min(limit.saturating_sub(vec.len()))
            .max(1);
        if vec.try_reserve_exact(growth).is_err() {
            out_of_memory::<T>(growth);
        }
    }
    vec.push(value);
}

/// Raises the out-of-memory ERROR while there is still memory to report it. For loops that allocate
/// in small pieces: they would leave so little that the server, which needs some to report an
/// ERROR, would abort.
#[inline]
pub fn keep_reserve() {
    const RESERVE: usize = 1 << 20;
    let mut reserve: Vec<u8> = Vec::new();
    let result = reserve.try_reserve_exact(RESERVE);
    // The compiler would remove code whose result is not used.
    std::hint::black_box(&mut reserve);
    or_out_of_memory(result);
}

/// The items of an iterator. Running out of memory is an ERROR; interrupts are checked for.
#[inline]
pub fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    if all.try_reserve_exact(items.len()).is_err() {
        out_of_memory::<T>(items.len());
    }
    items.for_each(|item| {
        check_for_interrupts();
        push_within(&mut all, item, usize::MAX);
    });
    all
}

/// `count` copies of a value.
#[inline]
pub fn filled<T: Copy>(count: usize, value: T) -> Vec<T> {
    collected(std::iter::repeat_n(value, count))
}

fn out_of_memory<T>(elements: usize) -> ! {
    Error::out_of_memory()
        .detail(format!(
            "Failed on request of {} bytes.",
            elements * size_of::<T>()
        ))
        .raise()
}
