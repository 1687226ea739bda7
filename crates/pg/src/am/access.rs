//! Checks rights to look into an index. Only catalogs are read, without a lock, so that a role
//! without rights does not wait for a lock and nobody waits behind it.

use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_UNDEFINED_TABLE, ERRCODE_WRONG_OBJECT_TYPE,
};
use pgrx::pg_sys::{self, Oid};
use std::ffi::CStr;

use crate::catalog::indexes::is_partitioned_index;
use crate::catalog::lookup::{index_access_method, is_access_method};
use crate::catalog::privilege::{SELECT, has_row_security, may};
use crate::catalog::table;
use crate::process::compat;
use crate::process::error::Error;

/// Purpose for which an index is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OpenPurpose {
    /// Opened by its owner.
    Verification,
    /// Opened by a user who may read the table.
    Statistics,
}

/// The table of an index of the access method `am`. Raises an ERROR if the relation is something
/// else, or if the current user lacks the rights for this purpose. Both purposes show what all rows
/// have, so row security must not apply.
#[inline]
pub fn table_of_index(index: Oid, am: &CStr, purpose: OpenPurpose) -> Oid {
    // What other sessions have granted and revoked by now counts.
    // SAFETY: in a transaction; catalog caches are brought up to date.
    unsafe { pg_sys::AcceptInvalidationMessages() };
    let Some(name) = table::name(index) else {
        Error::new(
            ERRCODE_UNDEFINED_TABLE,
            format!("relation with OID {} does not exist", index.to_u32()),
        )
        .raise();
    };
    check_kind(index, &name, am);
    // SAFETY: a syscache look-up; with true, it yields an invalid OID if the index is gone.
    let table = unsafe { pg_sys::IndexGetRelation(index, true) };
    check_privilege(index, &name, table, purpose);
    check_row_security(&name, table);
    table
}

fn check_kind(index: Oid, name: &str, am: &CStr) {
    let is_of_am = index_access_method(index).is_some_and(|found| is_access_method(found, am));
    if !is_of_am {
        let am = am.to_string_lossy();
        Error::new(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is not a {am} index"),
        )
        .raise();
    }
    if is_partitioned_index(index) {
        Error::new(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is a partitioned index"),
        )
        .hint("Name the index of a partition: a partitioned one has no pages.")
        .raise();
    }
}

fn check_privilege(index: Oid, name: &str, table: Oid, purpose: OpenPurpose) {
    let missing = match purpose {
        OpenPurpose::Verification if !compat::owns_relation(index) => "must be owner of index",
        OpenPurpose::Statistics if !may(table, SELECT, &[]) => {
            "permission denied for the table of index"
        }
        _ => return,
    };
    Error::new(ERRCODE_INSUFFICIENT_PRIVILEGE, format!("{missing} {name}")).raise();
}

fn check_row_security(name: &str, table: Oid) {
    if has_row_security(table) {
        let table = table::name(table).unwrap_or_default();
        Error::new(
            ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for index {name}"),
        )
        .detail(format!(
            "Row-level security of table \"{table}\" applies to the current user, and the index \
                 shows what all rows have."
        ))
        .hint(
            "Ask as a superuser, as a role with BYPASSRLS or, unless row-level security is \
                 forced, as the owner of the table.",
        )
        .raise();
    }
}
