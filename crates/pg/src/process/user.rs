//! The current user, whose rights count, a switch to another one for a while, and whether the
//! server itself changes rows.

use pgrx::pg_sys;

use crate::catalog::type_name::string;

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
