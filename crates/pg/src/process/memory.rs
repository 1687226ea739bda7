//! The server's memory contexts, the memory limits of an operation, and collections that grow with
//! the data. Every module that collects rows calls it. Lack of memory is an ERROR here, and never
//! ends the process.

use std::ffi::CStr;

use super::backend::check_for_interrupts;
use super::error::Error;
use pgrx::{PgMemoryContexts, pg_sys};

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

/// A memory context of the server: what the server allocates while it is the current one is freed
/// when it is reset or deleted. After an ERROR the server sets the current context again, and deletes
/// a context with its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MemoryContext(pg_sys::MemoryContext);

impl MemoryContext {
    /// The current one. In a trigger function it belongs to the row: the executor resets it before
    /// the next one.
    #[inline]
    pub fn current() -> Self {
        // SAFETY: reads a variable of the backend.
        Self(unsafe { pg_sys::CurrentMemoryContext })
    }

    /// In a row trigger, the memory of the executor that processes the row: it holds the row's own
    /// ([`MemoryContext::current`]), and ends when the statement has its rows.
    #[inline]
    pub(crate) fn around_row() -> Self {
        // SAFETY: the current context is a live one; only the topmost has no parent.
        Self(unsafe { pg_sys::MemoryContextGetParent(pg_sys::CurrentMemoryContext) })
    }

    /// That of the process, which it keeps until it ends.
    #[inline]
    pub(crate) fn of_process() -> Self {
        // SAFETY: reads a variable of the backend.
        Self(unsafe { pg_sys::TopMemoryContext })
    }

    /// # Safety
    /// `raw` must live as long as the result is used.
    #[inline]
    pub unsafe fn from_raw(raw: pg_sys::MemoryContext) -> Self {
        Self(raw)
    }

    #[inline]
    pub(crate) fn raw(self) -> pg_sys::MemoryContext {
        self.0
    }

    /// Creates a small context below this one.
    #[inline]
    pub fn child(self, name: &'static CStr) -> Self {
        // SAFETY: the parent is live, the name static.
        Self(unsafe { pg_sys::AllocSetContextCreateInternal(self.0, name.as_ptr(), 0, 1024, 8192) })
    }

    /// Keeps a value until the memory context is reset or deleted, and drops it then.
    #[inline]
    pub fn keep<T>(self, value: T) -> *mut T {
        PgMemoryContexts::For(self.0).leak_and_drop_on_delete(value)
    }

    /// Runs `f` with this as the current context. What `f` allocates must not be used for longer
    /// than the context lives.
    #[inline]
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        // SAFETY: the context is live.
        unsafe {
            let outer = pg_sys::MemoryContextSwitchTo(self.0);
            let result = f();
            pg_sys::MemoryContextSwitchTo(outer);
            result
        }
    }

    /// Frees all that was allocated in it.
    ///
    /// # Safety
    /// Nothing that was allocated in it may be used afterwards.
    #[inline]
    pub unsafe fn reset(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { pg_sys::MemoryContextReset(self.0) };
    }

    /// # Safety
    /// Neither the context nor what was allocated in it may be used afterwards.
    #[inline]
    pub unsafe fn delete(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { pg_sys::MemoryContextDelete(self.0) };
    }
}

/// Runs `f` in a memory context of its own, and frees what the server has allocated in it: for a
/// step that one call of a function repeats many times. The result must not point into it.
#[inline]
pub fn in_scratch<R>(f: impl FnOnce() -> R) -> R {
    let scratch = MemoryContext::current().child(c"simhash scratch");
    let result = scratch.run(f);
    // SAFETY: the context is ours, and the result does not point into it.
    unsafe { scratch.delete() };
    result
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
