//! The scope of a row and of a condition: the hashes of the index's scope columns, by the support
//! functions of their operator classes.

use crate::catalog::relation::Rel;
use crate::process::error::Error;
use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION;
use pgrx::pg_sys;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE, scope_of};

/// Number of the support function that hashes a value, as in sql/.
pub const HASH: u16 = 1;

/// Returns what an index files for these values of its columns.
///
/// # Safety
/// The index must be open, and the arrays have an element for each of its key columns.
#[inline]
pub unsafe fn indexed_row(
    index: Rel,
    values: *const pg_sys::Datum,
    nulls: *const bool,
) -> IndexedRow {
    // SAFETY: guaranteed by the caller; values of types that are passed by reference are detoasted
    // by their hash functions.
    unsafe {
        let last = index.key_columns() - 1;
        if last == 0 {
            return IndexedRow {
                scope: NO_SCOPE,
                fingerprint: (!*nulls).then(|| (*values).value() as u64),
            };
        }
        let hash = |i: usize| (!*nulls.add(i)).then(|| hash(index, i, *values.add(i)));
        IndexedRow {
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
    // SAFETY: guaranteed by the caller.
    unsafe {
        hash_by(
            class_function(index, column),
            index.collation(column),
            value,
        )
    }
}

/// The hash function of a scope column's operator class.
///
/// # Safety
/// The index must be open and have that column.
unsafe fn class_function(index: Rel, column: usize) -> *mut pg_sys::FmgrInfo {
    let number = column as pg_sys::AttrNumber + 1;
    // SAFETY: guaranteed by the caller. The server raises an ERROR if the class has no such
    // function.
    unsafe { pg_sys::index_getprocinfo(index.raw(), number, HASH) }
}

/// # Safety
/// It must be a hash function for values of this type.
unsafe fn hash_by(
    function: *mut pg_sys::FmgrInfo,
    collation: pg_sys::Oid,
    value: pg_sys::Datum,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { pg_sys::FunctionCall1Coll(function, collation, value).value() as u32 }
}

/// Hashes the values that a condition compares with a scope column.
pub struct ConditionHash {
    function: Function,
    collation: pg_sys::Oid,
}

enum Function {
    OfClass(*mut pg_sys::FmgrInfo),
    OfFamily(pg_sys::FmgrInfo),
}

impl ConditionHash {
    /// Makes the hash for values of `value_type`; if that is invalid, for those of the type of the
    /// column's operator class.
    ///
    /// # Safety
    /// The index must be open and have that column.
    #[inline]
    pub unsafe fn for_condition(
        index: Rel,
        column: usize,
        value_type: pg_sys::Oid,
    ) -> ConditionHash {
        let is_of_class =
            value_type == pg_sys::Oid::INVALID || value_type == index.operator_class_type(column);
        let function = match is_of_class {
            // SAFETY: guaranteed by the caller.
            true => Function::OfClass(unsafe { class_function(index, column) }),
            false => Function::OfFamily(family_function(index.operator_family(column), value_type)),
        };
        ConditionHash {
            function,
            collation: index.collation(column),
        }
    }

    /// # Safety
    /// The value must be of the type for which this was made, the index still be open, and the
    /// memory context still be there.
    #[inline]
    pub unsafe fn of_value(&mut self, value: pg_sys::Datum) -> u32 {
        let function = match &mut self.function {
            Function::OfClass(function) => *function,
            Function::OfFamily(function) => function,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { hash_by(function, self.collation, value) }
    }
}

/// The hash function of an operator family for values of a type.
fn family_function(family: pg_sys::Oid, value_type: pg_sys::Oid) -> pg_sys::FmgrInfo {
    let mut function = pg_sys::FmgrInfo::default();
    // SAFETY: look-ups in the catalogs.
    unsafe {
        let found = pg_sys::get_opfamily_proc(family, value_type, value_type, HASH as i16);
        if found == pg_sys::Oid::INVALID {
            Error::new(
                ERRCODE_UNDEFINED_FUNCTION,
                format!(
                    "operator family {} lacks support function {HASH} for type {}",
                    family.to_u32(),
                    value_type.to_u32()
                ),
            )
            .raise();
        }
        pg_sys::fmgr_info(found, &mut function);
    }
    function
}
