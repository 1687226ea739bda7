//! Lets the participants of a parallel operation wait for a change of the state that they share.

use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ffi::c_long;

/// The server's condition variable, as a part of a shared state.
#[repr(transparent)]
pub struct ConditionVariable(UnsafeCell<pg_sys::ConditionVariable>);

// SAFETY: the server's functions, which alone use its insides, lock them.
unsafe impl Sync for ConditionVariable {}

impl ConditionVariable {
    pub(crate) fn new() -> Self {
        // SAFETY: a struct of numbers, for which zeros are valid, and which may be moved as long as
        // no process waits.
        unsafe {
            let mut variable = std::mem::zeroed();
            pg_sys::ConditionVariableInit(&mut variable);
            Self(UnsafeCell::new(variable))
        }
    }

    /// Wakes all processes that wait.
    pub(crate) fn broadcast(&self) {
        // SAFETY: initialised by `new`.
        unsafe { pg_sys::ConditionVariableBroadcast(self.0.get()) };
    }

    /// Waits until `done` returns true, and shows `event` as what this process waits for. `done` is
    /// called after every broadcast, and several times a second. Checks for interrupts.
    pub(crate) fn wait_until(&self, event: u32, mut done: impl FnMut() -> bool) {
        const TICK_MILLISECONDS: c_long = 200;
        while !done() {
            // SAFETY: initialised by `new`; sleeping checks for interrupts.
            unsafe {
                pg_sys::ConditionVariableTimedSleep(self.0.get(), TICK_MILLISECONDS, event);
            }
        }
        // SAFETY: harmless when this process does not sleep.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
    }
}
