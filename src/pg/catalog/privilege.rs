//! What the current user may do, checked before the server would check it.

use pgrx::pg_sys;
use pgrx::pg_sys::{AclMode, AclResult, Oid};

pub const SELECT: AclMode = pg_sys::ACL_SELECT as AclMode;
pub const INSERT: AclMode = pg_sys::ACL_INSERT as AclMode;
pub const UPDATE: AclMode = pg_sys::ACL_UPDATE as AclMode;

/// Has the current user this privilege on the table, or else on each of these columns?
pub fn may(table: Oid, right: AclMode, columns: &[i16]) -> bool {
    // SAFETY: catalog look-ups.
    unsafe {
        let user = pg_sys::GetUserId();
        pg_sys::pg_class_aclcheck(table, user, right) == AclResult::ACLCHECK_OK
            || columns.iter().all(|column| {
                pg_sys::pg_attribute_aclcheck(table, *column, user, right) == AclResult::ACLCHECK_OK
            })
    }
}
