//! What the current user may do, checked before the server would check it.

use pgrx::pg_sys;
use pgrx::pg_sys::{AclMode, AclResult, Oid};

/// To read rows.
pub const SELECT: AclMode = pg_sys::ACL_SELECT as AclMode;
/// To add rows.
pub const INSERT: AclMode = pg_sys::ACL_INSERT as AclMode;
/// To change rows.
pub const UPDATE: AclMode = pg_sys::ACL_UPDATE as AclMode;
/// To remove rows.
pub const DELETE: AclMode = pg_sys::ACL_DELETE as AclMode;

/// The user whose rights count now.
pub fn current_user() -> Oid {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetUserId() }
}

/// Returns whether the current user has this privilege on the table, or else on each of these
/// columns. Without columns: on the table.
pub fn may(table: Oid, right: AclMode, columns: &[i16]) -> bool {
    // SAFETY: catalog look-ups.
    unsafe {
        let user = pg_sys::GetUserId();
        pg_sys::pg_class_aclcheck(table, user, right) == AclResult::ACLCHECK_OK
            || !columns.is_empty()
                && columns.iter().all(|column| {
                    let found = pg_sys::pg_attribute_aclcheck(table, *column, user, right);
                    found == AclResult::ACLCHECK_OK
                })
    }
}

/// Returns whether row security decides which rows of the table the current user sees.
pub fn has_row_security(table: Oid) -> bool {
    // SAFETY: catalog look-ups; no ERROR is asked for.
    let applies = unsafe { pg_sys::check_enable_rls(table, Oid::INVALID, true) };
    applies == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
}
