//! The server process: interrupts, stack, how it was started.

use pgrx::pg_sys;
use std::ffi::CStr;

/// Lets a pending cancel, timeout or shutdown take effect (raises its ERROR). Costs one load when
/// nothing is pending; does nothing while a page is locked.
#[inline]
pub fn check_for_interrupts() {
    if is_interrupted() {
        // SAFETY: the server's own reaction, on the server's thread.
        unsafe { pg_sys::ProcessInterrupts() };
    }
}

/// Returns whether a cancel, a timeout or a shutdown waits for [`check_for_interrupts`].
#[inline]
pub fn is_interrupted() -> bool {
    // SAFETY: a flag that signal handlers set.
    unsafe { std::ptr::read_volatile(&raw const pg_sys::InterruptPending) != 0 }
}

/// Raises an ERROR when the stack is nearly used up; for recursion whose depth users decide.
#[inline]
pub fn check_stack_depth() {
    // SAFETY: measures the stack.
    unsafe { pg_sys::check_stack_depth() };
}

/// Raises an ERROR in a read-only transaction, such as those of a standby.
#[inline]
pub fn refuse_read_only(command: &CStr) {
    // SAFETY: a zero-terminated text.
    unsafe { pg_sys::PreventCommandIfReadOnly(command.as_ptr()) };
}

/// Returns whether the postmaster is loading this library, for its children to share.
#[inline]
pub fn is_preloading() -> bool {
    // SAFETY: reads a variable of the process.
    unsafe { pg_sys::process_shared_preload_libraries_in_progress }
}

/// The OID of the session's database.
pub fn database() -> u32 {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}
