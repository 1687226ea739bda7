//! The scope of a row and of a condition: the hashes of the index's scope columns, by the support
//! functions of their operator classes.

use crate::catalog::relation::Rel;
use crate::process::error::raise;
use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION;
use pgrx::pg_sys;
use simhash_base::filed::{Filed, NO_SCOPE, scope_of};

/// Number of the support function that hashes a value, as in sql/.
pub const HASH: u16 = 1;

/// What an index files for these values of its columns.
///
/// # Safety
/// The index must be open, and the arrays have an element for each of its key columns.
pub unsafe fn filed(index: Rel, values: *const pg_sys::Datum, nulls: *const bool) -> Filed {
    // SAFETY: the caller's word; values of types that are passed by reference are detoasted by
    // their hash functions.
    unsafe {
        let last = index.key_columns() - 1;
        if last == 0 {
            return Filed {
                scope: NO_SCOPE,
                fingerprint: (!*nulls).then(|| (*values).value() as u64),
            };
        }
        let hash = |i: usize| (!*nulls.add(i)).then(|| hash(index, i, *values.add(i)));
        Filed {
            scope: scope_of((0..last).map(hash)),
            fingerprint: (!*nulls.add(last)).then(|| (*values.add(last)).value() as u64),
        }
    }
}

/// The hash of a value of a scope column's type.
///
/// # Safety
/// The index must be open and have that column, and the value be of the type of its operator class.
unsafe fn hash(index: Rel, column: usize, value: pg_sys::Datum) -> u32 {
    // SAFETY: the caller's word. The server raises an ERROR if the class has no such function.
    unsafe {
        let number = column as pg_sys::AttrNumber + 1;
        let function = pg_sys::index_getprocinfo(index.raw(), number, HASH);
        pg_sys::FunctionCall1Coll(function, index.collation(column), value).value() as u32
    }
}

/// The hash of a value of `value_type` that a condition compares with a scope column.
///
/// # Safety
/// As for [`hash`], but the value is of `value_type`, or with an invalid one of the type of the
/// column's operator class.
pub unsafe fn hash_of(
    index: Rel,
    column: usize,
    value_type: pg_sys::Oid,
    value: pg_sys::Datum,
) -> u32 {
    // SAFETY: the caller's word.
    unsafe {
        if value_type == pg_sys::Oid::INVALID || value_type == index.operator_class_type(column) {
            return hash(index, column, value);
        }
        let family = index.operator_family(column);
        let function = pg_sys::get_opfamily_proc(family, value_type, value_type, HASH as i16);
        if function == pg_sys::Oid::INVALID {
            raise(
                ERRCODE_UNDEFINED_FUNCTION,
                format!(
                    "operator family {} lacks support function {HASH} for type {}",
                    family.to_u32(),
                    value_type.to_u32()
                ),
            );
        }
        pg_sys::OidFunctionCall1Coll(function, index.collation(column), value).value() as u32
    }
}
