//! Keys: values of any type with a default order. The searches for pairs and clusters sort and
//! return them, and the triggers compare them. Two keys are equal if the default
//! operator class of their type says so.

use super::value::{Storage, Value};
use crate::catalog::table::Column;
use crate::process::error::Error;
use crate::process::memory::collected;
use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION;
use pgrx::pg_sys;
use std::cmp::Ordering;

/// Types whose default order is that of numbers.
const INTEGERS: [pg_sys::Oid; 3] = [pg_sys::INT2OID, pg_sys::INT4OID, pg_sys::INT8OID];

/// A type with a default order.
#[derive(Clone, Copy)]
pub struct KeyType {
    entry: *mut pg_sys::TypeCacheEntry,
    collation: pg_sys::Oid,
    /// How values of the type are stored.
    pub storage: Storage,
}

impl KeyType {
    /// None when the type has no order.
    pub fn new(type_id: pg_sys::Oid) -> Option<Self> {
        // SAFETY: a type's cache entry lives as long as the process.
        unsafe {
            let flags = pg_sys::TYPECACHE_CMP_PROC_FINFO as i32;
            let entry = pg_sys::lookup_type_cache(type_id, flags);
            if (*entry).cmp_proc_finfo.fn_oid == pg_sys::Oid::INVALID {
                return None;
            }
            Some(KeyType {
                entry,
                collation: (*entry).typcollation,
                storage: Storage::for_type(type_id),
            })
        }
    }

    /// Compares by the type's default order and collation.
    pub fn compare(&self, a: Value<'_>, b: Value<'_>) -> Ordering {
        if INTEGERS.contains(&a.type_id()) && a.type_id() == b.type_id() {
            // Each call into the server costs a guard, and most keys need none.
            return a.integer().cmp(&b.integer());
        }
        let (a, b) = (self.storage.datum(a), self.storage.datum(b));
        // SAFETY: both are values of the type.
        let order = unsafe {
            let function = &raw mut (*self.entry).cmp_proc_finfo;
            pg_sys::FunctionCall2Coll(function, self.collation, a, b).value() as i32
        };
        order.cmp(&0)
    }

    /// The type of arrays of such values.
    pub fn array_type(&self) -> Option<pg_sys::Oid> {
        // SAFETY: a catalog look-up; the cache entry lives as long as the process.
        let array = unsafe { pg_sys::get_array_type((*self.entry).type_id) };
        (array != pg_sys::Oid::INVALID).then_some(array)
    }

    /// An array of values, in the current memory context; None when the type has no arrays.
    pub fn array<'a>(&self, values: impl ExactSizeIterator<Item = Value<'a>>) -> Option<Value<'a>> {
        let array_type = self.array_type()?;
        let mut datums = collected(values.map(|value| self.storage.datum(value)));
        let (by_value, length) = self.storage.by_value_and_length();
        // SAFETY: values of this type; its cache entry lives as long as the process.
        unsafe {
            let entry = &*self.entry;
            let array = pg_sys::construct_array(
                datums.as_mut_ptr(),
                datums.len() as i32,
                entry.type_id,
                i32::from(length),
                by_value,
                entry.typalign,
            );
            Some(Value::new(array.into(), Storage::varlena(array_type)))
        }
    }

    /// The collation in which values are compared, as SQL text; None when the type has none.
    pub fn collation(&self) -> Option<String> {
        let cache = pg_sys::SysCacheIdentifier::COLLOID as i32;
        // SAFETY: a catalog look-up; the row is read before it is released, its name is
        // zero-terminated.
        unsafe {
            let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(self.collation));
            if row.is_null() {
                return None;
            }
            let form: *const pg_sys::FormData_pg_collation = pg_sys::GETSTRUCT(row).cast();
            let schema = crate::catalog::table::schema_name((*form).collnamespace);
            let name = std::ffi::CStr::from_ptr((*form).collname.data.as_ptr());
            let name = crate::catalog::table::quoted(&crate::process::encoding::name_to_utf8(
                name.to_bytes(),
            ));
            pg_sys::ReleaseSysCache(row);
            schema.map(|schema| format!("{}.{name}", crate::catalog::table::quoted(&schema)))
        }
    }

    /// The type's equality.
    pub fn equality(&self) -> Option<Equality> {
        // SAFETY: the cache entry lives as long as the process.
        Equality::for_type(unsafe { (*self.entry).type_id })
    }
}

/// Returns the error for a type without an order.
pub fn no_order(type_id: pg_sys::Oid) -> Error {
    let name = crate::catalog::table::type_name(type_id);
    Error::new(
        ERRCODE_UNDEFINED_FUNCTION,
        format!("could not identify a comparison function for type {name}"),
    )
}

/// A type's default equality, as SQL text whose meaning depends neither on the search_path nor on
/// other operators of that name that would match the operands better.
pub struct Equality {
    operator: String,
    /// The casts to write behind an operand, and behind an array of operands. Empty for operators
    /// of pg_catalog, where users cannot add any: without a cast, an index on a column of another
    /// type of the same operator family remains usable.
    cast: String,
    array_cast: String,
}

impl Equality {
    /// None when the type has no equality.
    pub fn for_type(type_id: pg_sys::Oid) -> Option<Self> {
        // SAFETY: catalog look-ups; the row is read before it is released, its name is
        // zero-terminated.
        let (schema, name, operand) = unsafe {
            let flags = pg_sys::TYPECACHE_EQ_OPR as i32;
            let operator = (*pg_sys::lookup_type_cache(type_id, flags)).eq_opr;
            let cache = pg_sys::SysCacheIdentifier::OPEROID as i32;
            let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(operator));
            if row.is_null() {
                return None;
            }
            let form: *const pg_sys::FormData_pg_operator = pg_sys::GETSTRUCT(row).cast();
            let name = std::ffi::CStr::from_ptr((*form).oprname.data.as_ptr());
            let name = crate::process::encoding::name_to_utf8(name.to_bytes()).into_owned();
            let found = ((*form).oprnamespace, name, (*form).oprleft);
            pg_sys::ReleaseSysCache(row);
            found
        };
        let of_server = schema.to_u32() == pg_sys::PG_CATALOG_NAMESPACE;
        let cast = |type_id| match of_server || type_id == pg_sys::Oid::INVALID {
            true => String::new(),
            false => format!("::{}", crate::catalog::table::qualified_type_name(type_id)),
        };
        // SAFETY: a catalog look-up.
        let array = unsafe { pg_sys::get_array_type(operand) };
        let schema = crate::catalog::table::quoted(&crate::catalog::table::schema_name(schema)?);
        Some(Self {
            operator: format!("OPERATOR({schema}.{name})"),
            cast: cast(operand),
            array_cast: cast(array),
        })
    }

    /// `left = right`; both are columns or parameters, of the type or of domains over it.
    pub fn clause(&self, left: &str, right: &str) -> String {
        let Self { operator, cast, .. } = self;
        format!("{left}{cast} {operator} {right}{cast}")
    }

    /// `left = ANY` of the values of `column` in the rows that the FROM clause `rows` gives.
    pub fn among(&self, left: &str, column: &str, rows: &str) -> String {
        let Self { operator, cast, .. } = self;
        format!("{left}{cast} {operator} ANY (ARRAY(SELECT {column}{cast} {rows}))")
    }

    /// `left = ANY (parameter)`; the parameter is an array of values of the operands' type.
    pub fn any_of(&self, left: &str, parameter: &str) -> String {
        let Self {
            operator,
            cast,
            array_cast,
        } = self;
        format!("{left}{cast} {operator} ANY ({parameter}{array_cast})")
    }
}

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
