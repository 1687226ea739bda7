//! Values of a type that users order rows by: compared, and kept as bytes.

use std::cmp::Ordering;

use pgrx::{pg_sys, varlena};

use super::value::Storage;

/// A type with a default order.
pub struct KeyType {
    entry: *mut pg_sys::TypeCacheEntry,
    collation: pg_sys::Oid,
    by_value: bool,
    length: i16,
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
            let (by_value, length) = Storage::of(type_id).by_value_and_length();
            Some(KeyType {
                entry,
                collation: (*entry).typcollation,
                by_value,
                length,
            })
        }
    }

    /// Is a value its datum, or behind it?
    pub fn is_by_value(&self) -> bool {
        self.by_value
    }

    /// By the type's default order and collation.
    pub fn compare(&self, a: pg_sys::Datum, b: pg_sys::Datum) -> Ordering {
        // SAFETY: both are values of the type.
        let order = unsafe {
            let function = &raw mut (*self.entry).cmp_proc_finfo;
            pg_sys::FunctionCall2Coll(function, self.collation, a, b).value() as i32
        };
        order.cmp(&0)
    }

    /// Shows the bytes of a value that is behind its datum, decompressed: [`KeyType::datum`] reads them.
    pub fn bytes<R>(&self, datum: pg_sys::Datum, f: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: a value of this type's length; a copy that was made of it is ours to free.
        unsafe {
            let stored: *mut pg_sys::varlena = datum.cast_mut_ptr();
            if self.length != -1 {
                let length = match self.length {
                    -2 => std::ffi::CStr::from_ptr(stored.cast()).count_bytes() + 1,
                    length => length as usize,
                };
                return f(std::slice::from_raw_parts(stored.cast(), length));
            }
            let plain = pg_sys::pg_detoast_datum_packed(stored);
            let length = varlena::varsize_any(plain);
            let result = f(std::slice::from_raw_parts(plain.cast(), length));
            if plain != stored {
                pg_sys::pfree(plain.cast());
            }
            result
        }
    }

    /// The value whose bytes stand in `aligned`; it lives as long as they.
    pub fn datum(aligned: &[u64]) -> pg_sys::Datum {
        pg_sys::Datum::from(aligned.as_ptr().cast_mut())
    }

    /// The type of arrays of such values.
    pub fn array_type(&self) -> Option<pg_sys::Oid> {
        // SAFETY: a catalog look-up; the cache entry lives as long as the process.
        let array = unsafe { pg_sys::get_array_type((*self.entry).type_id) };
        (array != pg_sys::Oid::INVALID).then_some(array)
    }

    /// An array of values, in the current memory context, and its type.
    pub fn array(&self, values: &mut [pg_sys::Datum]) -> Option<(pg_sys::Oid, pg_sys::Datum)> {
        let array_type = self.array_type()?;
        // SAFETY: values of this type; its cache entry lives as long as the process.
        let array = unsafe {
            let entry = &*self.entry;
            pg_sys::construct_array(
                values.as_mut_ptr(),
                values.len() as i32,
                entry.type_id,
                i32::from(self.length),
                self.by_value,
                entry.typalign,
            )
        };
        Some((array_type, pg_sys::Datum::from(array)))
    }

    /// The collation in which values are compared, as SQL text; None when the type has none.
    pub fn collation(&self) -> Option<String> {
        let cache = pg_sys::SysCacheIdentifier::COLLOID as i32;
        // SAFETY: a catalog look-up; the row is read before it is released, its name is zero-terminated.
        unsafe {
            let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(self.collation));
            if row.is_null() {
                return None;
            }
            let form: *const pg_sys::FormData_pg_collation = pg_sys::GETSTRUCT(row).cast();
            let schema = crate::pg::catalog::table::schema_name((*form).collnamespace);
            let name = std::ffi::CStr::from_ptr((*form).collname.data.as_ptr());
            let name = crate::pg::catalog::table::quoted(&crate::pg::process::encoding::to_utf8(
                name.to_bytes(),
            ));
            pg_sys::ReleaseSysCache(row);
            schema.map(|schema| format!("{}.{name}", crate::pg::catalog::table::quoted(&schema)))
        }
    }

    /// The type's equality.
    pub fn equality(&self) -> Option<Equality> {
        // SAFETY: the cache entry lives as long as the process.
        Equality::of(unsafe { (*self.entry).type_id })
    }
}

/// The message of an ERROR that a type has no order.
pub fn no_order(type_id: pg_sys::Oid) -> String {
    let name = crate::pg::catalog::table::type_name(type_id);
    format!("could not identify a comparison function for type {name}")
}

/// A type's own equality, as SQL text that neither a search_path alters nor operators beside it that
/// fit better.
pub struct Equality {
    operator: String,
    /// Stand behind an operand, and behind an array of such. Empty where nobody may add operators: there
    /// a column of another type that the server knows to compare keeps its index.
    cast: String,
    array_cast: String,
}

impl Equality {
    /// None when the type has no equality.
    pub fn of(type_id: pg_sys::Oid) -> Option<Self> {
        // SAFETY: catalog look-ups; the row is read before it is released, its name is zero-terminated.
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
            let name = crate::pg::process::encoding::to_utf8(name.to_bytes()).into_owned();
            let found = ((*form).oprnamespace, name, (*form).oprleft);
            pg_sys::ReleaseSysCache(row);
            found
        };
        let of_server = schema.to_u32() == pg_sys::PG_CATALOG_NAMESPACE;
        let cast = |type_id| match of_server || type_id == pg_sys::Oid::INVALID {
            true => String::new(),
            false => format!(
                "::{}",
                crate::pg::catalog::table::qualified_type_name(type_id)
            ),
        };
        // SAFETY: a catalog look-up.
        let array = unsafe { pg_sys::get_array_type(operand) };
        let schema =
            crate::pg::catalog::table::quoted(&crate::pg::catalog::table::schema_name(schema)?);
        Some(Self {
            operator: format!("OPERATOR({schema}.{name})"),
            cast: cast(operand),
            array_cast: cast(array),
        })
    }

    /// `left = right`: columns or parameters, of the type or of domains over it.
    pub fn clause(&self, left: &str, right: &str) -> String {
        let Self { operator, cast, .. } = self;
        format!("{left}{cast} {operator} {right}{cast}")
    }

    /// `left` is the value of `column` in a row that the query of `rows` returns.
    pub fn among(&self, left: &str, column: &str, rows: &str) -> String {
        let Self { operator, cast, .. } = self;
        format!("{left}{cast} {operator} ANY (ARRAY(SELECT {column}{cast} {rows}))")
    }

    /// `left` is an element of the array that a parameter is, of values of the type that operands have.
    pub fn any_of(&self, left: &str, parameter: &str) -> String {
        let Self {
            operator,
            cast,
            array_cast,
        } = self;
        format!("{left}{cast} {operator} ANY ({parameter}{array_cast})")
    }
}
