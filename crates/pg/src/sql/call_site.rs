//! What a function remembers from one call to the next at the same place in a query.

use std::any::TypeId;

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;

use super::fmgr::Args;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;

/// Calls `f` with the state of the call site, which `new` makes at the first call, in memory that
/// lives as long. An ERROR in `f`
/// discards the state, so `f` need not keep it consistent when it fails.
///
/// An ERROR when the SQL function has used another `T` before.
#[inline]
pub fn with<T: 'static, R>(
    args: &Args,
    new: impl FnOnce(MemoryContext) -> T,
    f: impl FnOnce(&mut T) -> R,
) -> R {
    // SAFETY: `flinfo` is set in every call that the executor makes, and lives in `fn_mcxt`.
    let info = unsafe { &mut *(*args.fcinfo()).flinfo };
    let mut state =
        std::mem::replace(&mut info.fn_extra, std::ptr::null_mut()).cast::<CallSiteState<T>>();
    if state.is_null() {
        // SAFETY: the context lives as long as the call site.
        let memory = unsafe { MemoryContext::from_raw(info.fn_mcxt) };
        let (kind, value) = (TypeId::of::<T>(), new(memory));
        state = memory.keep(CallSiteState { kind, value });
    }
    // SAFETY: `fn_extra` is set here alone, to a CallSiteState, whose first field is its kind.
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
struct CallSiteState<T> {
    kind: TypeId,
    value: T,
}
