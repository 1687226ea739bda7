//! The equality of a type, and the hash function that agrees with it.

use pgrx::pg_sys;

use super::value::Value;
use crate::catalog::table::Column;

/// Hashes the values of a column: those that `=` finds equal in the column's collation have the
/// same hash.
pub struct TypeHash {
    entry: *mut pg_sys::TypeCacheEntry,
    /// The type below a domain.
    type_id: pg_sys::Oid,
    collation: pg_sys::Oid,
}

impl TypeHash {
    /// None when the type has no hash function.
    pub fn for_column(column: &Column) -> Option<Self> {
        let type_id = column.base_type();
        // SAFETY: a type's cache entry lives as long as the process. Where the type's equality is
        // known, the server takes a hash function of an operator family with this equality only.
        unsafe {
            let flags = pg_sys::TYPECACHE_EQ_OPR_FINFO | pg_sys::TYPECACHE_HASH_PROC_FINFO;
            let entry = pg_sys::lookup_type_cache(type_id, flags as i32);
            ((*entry).hash_proc_finfo.fn_oid != pg_sys::Oid::INVALID).then(|| Self {
                entry,
                type_id,
                collation: column.collation(),
            })
        }
    }

    /// Returns whether `=` finds two values equal. An ERROR when they are not of the column's type.
    pub fn are_equal(&self, values: [Value<'_>; 2]) -> bool {
        let [one, other] = values.map(|value| {
            value.require_type(self.type_id);
            value.datum()
        });
        // SAFETY: values of the type; a type with such a hash function has the equality.
        unsafe {
            let function = &raw mut (*self.entry).eq_opr_finfo;
            pg_sys::FunctionCall2Coll(function, self.collation, one, other).value() != 0
        }
    }

    /// The hash of a value; an ERROR when it is not of the column's type.
    pub fn of_value(&self, value: Value<'_>) -> u32 {
        value.require_type(self.type_id);
        // SAFETY: a value of the type; the function is one of a single argument.
        unsafe {
            let function = &raw mut (*self.entry).hash_proc_finfo;
            pg_sys::FunctionCall1Coll(function, self.collation, value.datum()).value() as u32
        }
    }
}
