//! The scope of a row and of a condition: the hashes of the index's scope columns, by the support
//! functions of their operator classes.

use crate::catalog::relation::Rel;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;
use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION;
use pgrx::pg_sys;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE, scope_of};

/// Number of the support function that hashes a value, as in sql/.
pub const HASH: u16 = 1;

/// Number of the support function that makes the fingerprint of a value, as in sql/. Classes of
/// fingerprints have none.
pub const FINGERPRINT: u16 = 2;

/// Most arguments of such a function; all but the first are passed as NULL.
pub const FINGERPRINT_ARGUMENTS: usize = 4;

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
        let value = (!*nulls.add(last)).then(|| *values.add(last));
        let fingerprint = value.and_then(|value| fingerprint(index, value));
        if last == 0 {
            return IndexedRow {
                scope: NO_SCOPE,
                fingerprint,
            };
        }
        let hash = |i: usize| (!*nulls.add(i)).then(|| hash(index, i, *values.add(i)));
        IndexedRow {
            scope: scope_of((0..last).map(hash)),
            fingerprint,
        }
    }
}

/// Returns whether the last column of an index holds values of which fingerprints are made.
#[inline]
pub fn makes_fingerprints(index: Rel) -> bool {
    index.operator_class_type(index.key_columns() - 1) != pg_sys::INT8OID
}

/// Returns whether the last column of an index is a fingerprint, or one is made of it.
#[inline]
pub fn has_fingerprint(index: Rel) -> bool {
    let number = index.key_columns() as pg_sys::AttrNumber;
    // SAFETY: the index is open and has that column.
    let function = unsafe { pg_sys::index_getprocid(index.raw(), number, FINGERPRINT) };
    !makes_fingerprints(index) || function != pg_sys::Oid::INVALID
}

/// The fingerprint of a value of the last column of an index.
///
/// # Safety
/// The index must be open, and the value be of the type of that column's operator class.
#[inline]
pub unsafe fn fingerprint(index: Rel, value: pg_sys::Datum) -> Option<u64> {
    if !makes_fingerprints(index) {
        return Some(value.value() as u64);
    }
    let last = index.key_columns() - 1;
    // SAFETY: guaranteed by the caller. A build calls this for each row in memory that lasts as
    // long as the build: what the function allocates, as the copy of a toasted value, is freed.
    unsafe {
        let number = last as pg_sys::AttrNumber + 1;
        let function = pg_sys::index_getprocinfo(index.raw(), number, FINGERPRINT);
        let memory = MemoryContext::current().child(c"simhash fingerprint");
        let result = memory.run(|| call(function, index.collation(last), value));
        memory.delete();
        result
    }
}

#[repr(C)]
struct Call {
    info: pg_sys::FunctionCallInfoBaseData,
    args: [pg_sys::NullableDatum; FINGERPRINT_ARGUMENTS],
}

/// Calls a function that returns bigint, which may be NULL.
///
/// # Safety
/// It must be a function of at most [`FINGERPRINT_ARGUMENTS`] arguments, the first of this type.
unsafe fn call(
    function: *mut pg_sys::FmgrInfo,
    collation: pg_sys::Oid,
    value: pg_sys::Datum,
) -> Option<u64> {
    let null = pg_sys::NullableDatum {
        value: pg_sys::Datum::null(),
        isnull: true,
    };
    // SAFETY: guaranteed by the caller; zero is a value of each field. pgrx does not guard calls by
    // pointer.
    unsafe {
        let mut call = Call {
            info: std::mem::zeroed(),
            args: [null; FINGERPRINT_ARGUMENTS],
        };
        call.args[0] = pg_sys::NullableDatum {
            value,
            isnull: false,
        };
        call.info.flinfo = function;
        call.info.fncollation = collation;
        call.info.nargs = (*function).fn_nargs;
        let address = (*function).fn_addr?;
        let info = (&raw mut call).cast();
        let result = pg_sys::ffi::pg_guard_ffi_boundary(|| address(info));
        (!call.info.isnull).then(|| result.value() as u64)
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
