//! The server process: interrupts, stack, how it was started, and the current user, whose rights count.
//! Functions that run long and triggers call it. What is switched here is switched back when a value goes out
//! of scope, or by the server after an ERROR.

use crate::catalog::lookup::string;
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

/// Restores the user that [`AsUser::switch`] has switched from when it is dropped; after an ERROR
/// the server does.
pub struct AsUser {
    user: pg_sys::Oid,
    context: i32,
}

impl AsUser {
    /// Switches to `user`, as the server does for the triggers of rows that it has changed as
    /// another user.
    pub fn switch(user: pg_sys::Oid) -> Self {
        let (mut before, mut context) = (pg_sys::Oid::INVALID, 0);
        // SAFETY: reads and sets variables of the backend.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&mut before, &mut context);
            if user != before {
                let local = pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
                pg_sys::SetUserIdAndSecContext(user, context | local);
            }
        }
        Self {
            user: before,
            context,
        }
    }
}

impl Drop for AsUser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the values that `switch` saved.
            unsafe { pg_sys::SetUserIdAndSecContext(self.user, self.context) };
        }
    }
}

/// The OID of the role that has begun the session, whatever it has switched to since.
pub fn session_role() -> u32 {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetSessionUserId() }.to_u32()
}

/// The name of a role; its number when it is gone.
pub fn role_name(role: u32) -> String {
    // SAFETY: a catalog look-up; null for a role that is gone.
    let name = unsafe { string(pg_sys::GetUserNameFromId(role.into(), true)) };
    name.unwrap_or_else(|| role.to_string())
}

/// Returns whether the running statement is one of the server's own, by which a foreign key changes
/// rows.
pub fn in_foreign_key() -> bool {
    // SAFETY: reads a variable of the backend. Only the queries of foreign keys set it.
    unsafe { pg_sys::InNoForceRLSOperation() }
}

/// Returns whether the session applies what was done elsewhere, as the worker of a subscription: no foreign
/// key changes rows then.
pub fn is_replica() -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 }
}
