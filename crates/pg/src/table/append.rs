//! Stores a row in a table of one column without a query, whose cost would be most of that of a
//! trigger that stores one value.

use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
};
use pgrx::pg_sys;

use crate::catalog::lookup::base_type;
use crate::catalog::privilege::{INSERT, may};
use crate::catalog::relation::Rel;
use crate::catalog::table_name;
use crate::process::compat::attribute;
use crate::process::error::Error;
use crate::sql::value::Value;

/// Stores a row with this value, None for NULL, with the current user's rights.
#[inline]
pub fn append(table: pg_sys::Oid, value: Option<Value<'_>>) {
    if !may(table, INSERT, &[]) {
        Error::new(
            ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for table {}", table_name::shown(table)),
        )
        .raise();
    }
    // SAFETY: opened, with the lock of INSERT, for as long as it is used; the row has the columns
    // of the descriptor, of their types (`suits`). The lock is held until the transaction ends, as
    // INSERT does.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::RowExclusiveLock as i32);
        if !suits(Rel::from_raw(relation), value) {
            let message = format!(
                "table \"{}\" is not a plain table of one column of the key's type, \
                 without indexes, triggers, rules, constraints and row security",
                table_name::shown(table)
            );
            Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint(
                    "Notes are stored in the table that simhash_keep_clusters made, as it made it.",
                )
                .raise();
        }
        let (mut datum, mut null) = (
            value.map_or(pg_sys::Datum::null(), |value| value.datum()),
            value.is_none(),
        );
        let row = pg_sys::heap_form_tuple((*relation).rd_att, &raw mut datum, &raw mut null);
        pg_sys::simple_heap_insert(relation, row);
        pg_sys::heap_freetuple(row);
        pg_sys::table_close(relation, pg_sys::NoLock as i32);
    }
}

/// Returns whether a row with this value may be stored with nothing else to do.
fn suits(table: Rel<'_>, value: Option<Value<'_>>) -> bool {
    // SAFETY: an open relation has its pg_class row and its descriptor; the only attribute is read.
    unsafe {
        let raw = table.raw();
        let (class, desc) = (&*(*raw).rd_rel, (*raw).rd_att);
        class.relkind as u8 == pg_sys::RELKIND_RELATION
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && !(class.relhasindex && has_indexes(raw))
            && (*raw).rd_rules.is_null()
            && (*raw).trigdesc.is_null()
            && !(class.relispartition || class.relrowsecurity)
            && (*desc).natts == 1
            && (*desc).constr.is_null()
            && value.is_none_or(|value| attribute(desc, 0).atttypid == base_type(value.type_id()))
    }
}

/// Returns whether the table has an index. pg_class may say so for a while after the last one was
/// dropped.
///
/// # Safety
/// `table` must be open.
unsafe fn has_indexes(table: pg_sys::Relation) -> bool {
    // SAFETY: guaranteed by the caller; the list is a copy.
    unsafe { !pg_sys::RelationGetIndexList(table).is_null() }
}
