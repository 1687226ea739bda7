//! Cancellation.

use pgrx::pg_sys;

/// Lets a pending cancel, timeout or shutdown take effect (raises its ERROR). Costs one load when
/// nothing is pending; does nothing while a page is locked.
#[inline]
pub fn check_for_interrupts() {
    // SAFETY: a flag that signal handlers set; a stale value only delays the reaction.
    if unsafe { std::ptr::read_volatile(&raw const pg_sys::InterruptPending) } != 0 {
        // SAFETY: the server's own reaction, on the server's thread.
        unsafe { pg_sys::ProcessInterrupts() };
    }
}
