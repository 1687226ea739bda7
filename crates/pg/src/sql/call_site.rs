//! What a function remembers from one call to the next at the same place in a query.

use std::any::TypeId;

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::{PgMemoryContexts, pg_sys};

use super::fmgr::Args;
use crate::process::error::Error;

/// Memory that lives as long as a call site, or until the current row is processed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Memory(pg_sys::MemoryContext);

impl Memory {
    /// The current memory context. In a trigger function it belongs to the row: the executor resets
    /// it before the next one.
    #[inline]
    pub fn current() -> Self {
        // SAFETY: reads a variable of the backend.
        Self(unsafe { pg_sys::CurrentMemoryContext })
    }

    /// In a row trigger, the memory of the executor that processes the row: it holds the row's own
    /// ([`Memory::current`]), and ends when the statement has its rows.
    #[inline]
    pub fn around_row() -> Self {
        // SAFETY: the current context is a live one; only the topmost has no parent.
        Self(unsafe { pg_sys::MemoryContextGetParent(pg_sys::CurrentMemoryContext) })
    }

    /// Keeps a value until the memory context is reset or deleted, and drops it then.
    #[inline]
    pub fn keep<T>(self, value: T) {
        PgMemoryContexts::For(self.0).leak_and_drop_on_delete(value);
    }

    /// The memory context itself, for the wrappers of this module.
    #[inline]
    pub fn context(self) -> pg_sys::MemoryContext {
        self.0
    }

    /// Runs `f` with this memory as the current context. What `f` makes there lives as long as the
    /// memory, which must not be shorter than the lifetimes of the values that `f` hands out.
    #[inline]
    pub(crate) fn scope<R>(self, f: impl FnOnce() -> R) -> R {
        // SAFETY: the context lives as long as the call site. When `f` raises an ERROR, the server
        // sets the current context anew.
        unsafe {
            let outer = pg_sys::MemoryContextSwitchTo(self.0);
            let result = f();
            pg_sys::MemoryContextSwitchTo(outer);
            result
        }
    }
}

/// Calls `f` with the state of the call site, which `new` makes at the first call. An ERROR in `f`
/// discards the state, so `f` need not keep it consistent when it fails.
///
/// An ERROR when the SQL function has used another `T` before.
#[inline]
pub fn with<T: 'static, R>(
    args: &Args,
    new: impl FnOnce(Memory) -> T,
    f: impl FnOnce(&mut T) -> R,
) -> R {
    // SAFETY: `flinfo` is set in every call that the executor makes, and lives in `fn_mcxt`.
    let info = unsafe { &mut *(*args.fcinfo()).flinfo };
    let mut state = std::mem::replace(&mut info.fn_extra, std::ptr::null_mut()).cast::<State<T>>();
    if state.is_null() {
        let (kind, memory) = (TypeId::of::<T>(), Memory(info.fn_mcxt));
        let value = new(memory);
        state = PgMemoryContexts::For(info.fn_mcxt).leak_and_drop_on_delete(State { kind, value });
    }
    // SAFETY: `fn_extra` is set here alone, to a State, whose first field is its kind.
    if unsafe { *state.cast::<TypeId>() } != TypeId::of::<T>() {
        Error::new(
            ERRCODE_INTERNAL_ERROR,
            "the state of a call site is of another type",
        )
        .raise();
    }
    // SAFETY: the state is of this kind. It was taken out of `fn_extra`, so there is no other
    // reference to it.
    let result = f(unsafe { &mut (*state).value });
    info.fn_extra = state.cast();
    result
}

/// The state of a call site, and which type it is of.
#[repr(C)]
struct State<T> {
    kind: TypeId,
    value: T,
}
