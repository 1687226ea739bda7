//! Inserting a row (aminsert), and what an index files for a row: the fingerprint, and as its scope the
//! hashes of the columns before it, by the support functions of their operator classes. Builds and
//! verification ask for the same, and scans for the hashes and fingerprints of what they look for.

#![allow(unsafe_code)]

use super::opclass::{FINGERPRINT, FINGERPRINT_ARGUMENTS, HASH};
use super::row_address::tid_from;
use super::store::{IndexPages, read_state};
use pgrx::PgSqlErrorCode::{ERRCODE_PROGRAM_LIMIT_EXCEEDED, ERRCODE_UNDEFINED_FUNCTION};
use pgrx::{pg_guard, pg_sys};
use simhash_base::indexed_row::Tid;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE, scope_of};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::MemoryContext;

#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "the server's signature")]
pub unsafe extern "C-unwind" fn aminsert(
    index: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    nulls: *mut bool,
    tid: pg_sys::ItemPointer,
    _table: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _index_unchanged: bool,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: the server passes an open index and arrays of its columns. A null address and no block
    // stand for the relation as a whole.
    unsafe {
        let index = Rel::from_raw(index);
        let row = indexed_row(index, values, nulls);
        let tid = tid_from(*tid);
        check_tid(tid);
        simhash_hamming::insert::insert(IndexPages::of(index), || read_state(index), row, tid);
        // Under SERIALIZABLE. The server looked for conflicts before the insert: a scan may have begun
        // and ended since.
        pg_sys::CheckForSerializableConflictIn(index.raw(), std::ptr::null_mut(), u32::MAX);
    }
    // No uniqueness is checked.
    false
}

/// Refuses a row address that no posting can hold. The heap has none: at most 291 rows fit a page.
pub fn check_tid(tid: Tid) {
    if tid.offset > Tid::MAX_OFFSET {
        Error::new(
            ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "row offset {} exceeds the {} that access method \"simhash\" can store",
                tid.offset,
                Tid::MAX_OFFSET
            ),
        )
        .raise();
    }
}

/// Returns what an index files for these values of its columns.
///
/// # Safety
/// The index must be open, and the arrays have an element for each of its key columns.
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
        let own = pg_sys::Oid::INVALID;
        let hash = |i: usize| (!*nulls.add(i)).then(|| hash(index, i, own, *values.add(i)));
        IndexedRow {
            scope: scope_of((0..last).map(hash)),
            fingerprint,
        }
    }
}

/// Returns whether the last column of an index holds values of which fingerprints are made.
pub fn makes_fingerprints(index: Rel) -> bool {
    index.operator_class_type(index.key_columns() - 1) != pg_sys::INT8OID
}

/// Returns whether the last column of an index is a fingerprint, or one is made of it.
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

/// The hash of a value that is stored in a scope column or compared with one. `value_type` is that of a
/// condition; if it is invalid, the value is of the type of the column's operator class.
///
/// # Safety
/// The index must be open and have that column, and the value be of that type.
pub unsafe fn hash(
    index: Rel,
    column: usize,
    value_type: pg_sys::Oid,
    value: pg_sys::Datum,
) -> u32 {
    let is_of_class =
        value_type == pg_sys::Oid::INVALID || value_type == index.operator_class_type(column);
    let mut of_family;
    // SAFETY: guaranteed by the caller. The server raises an ERROR if the class has no such function.
    unsafe {
        let function = if is_of_class {
            pg_sys::index_getprocinfo(index.raw(), column as pg_sys::AttrNumber + 1, HASH)
        } else {
            of_family = family_function(index.operator_family(column), value_type);
            &raw mut of_family
        };
        pg_sys::FunctionCall1Coll(function, index.collation(column), value).value() as u32
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
