//! The server process: interrupts, stack, how it was started.

use pgrx::pg_sys;

/// Lets a pending cancel or shutdown through, as an ERROR. Cheap: reads a flag.
pub fn check_for_interrupts() {
    pgrx::check_for_interrupts!();
}

/// Raises an ERROR when the stack is nearly used up; for recursion whose depth users decide.
pub fn check_stack_depth() {
    // SAFETY: measures the stack.
    unsafe { pg_sys::check_stack_depth() };
}

/// Is the postmaster loading this library, for its children to share?
pub fn is_preloading() -> bool {
    // SAFETY: reads a variable of the process.
    unsafe { pg_sys::process_shared_preload_libraries_in_progress }
}
