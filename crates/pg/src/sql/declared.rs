//! Checks that SQL declares a function's arguments with the types that its getters read, and its
//! result with the type that it returns.
//!
//! The declarations are in SQL files, the getters in Rust, and a getter that took an int for a text
//! would follow the number as an address; so would the server with a result. So each getter looks
//! into the catalog, once in a process for each function, argument and type.

use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_FUNCTION_DEFINITION, ERRCODE_UNDEFINED_FUNCTION};
use pgrx::pg_sys::{self, Oid};

use super::passed_checks::PassedChecks;
use super::value::Storage;
use crate::catalog::table;
use crate::process::error::raise;

/// What a getter can read, or a function return.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// This type.
    Type(Oid),
    /// Arrays of some type.
    Array,
    /// A type that is passed by value.
    ByValue,
    /// A type of so many bytes that is passed by reference.
    Bytes(usize),
}

impl Wanted {
    /// A number below 2^24. The types are built-in ones, whose OIDs are below 2^14.
    const fn code(self) -> u64 {
        match self {
            Wanted::Type(type_id) => type_id.to_u32() as u64,
            Wanted::Array => 1 << 20,
            Wanted::ByValue => 2 << 20,
            Wanted::Bytes(length) => 3 << 20 | length as u64,
        }
    }

    fn fits(self, declared: Oid) -> bool {
        match self {
            Wanted::Type(type_id) => declared == type_id,
            // SAFETY: a catalog look-up.
            Wanted::Array => unsafe { pg_sys::get_element_type(declared) != Oid::INVALID },
            Wanted::ByValue => Storage::for_type(declared).by_value_and_length().0,
            Wanted::Bytes(bytes) => {
                Storage::for_type(declared).by_value_and_length() == (false, bytes as i16)
            }
        }
    }

    fn name(self) -> String {
        match self {
            Wanted::Type(type_id) => table::type_name(type_id),
            Wanted::Array => "an array".to_owned(),
            Wanted::ByValue => "a type that is passed by value".to_owned(),
            Wanted::Bytes(bytes) => format!("a type of {bytes} bytes"),
        }
    }
}

/// The checks that were passed: function, argument and type in one word.
static PASSED: PassedChecks = PassedChecks::new();

/// Where an argument's number stands, the mark of the result. (A function has 100 arguments at
/// most.)
const RESULT: usize = 0xff;

/// Raises an ERROR unless SQL declares argument `i` of a function with the wanted type.
#[inline]
pub fn check(function: Oid, i: usize, wanted: Wanted) {
    check_once(function, i, wanted);
}

/// Raises an ERROR unless SQL declares the result of a function, or of a set its rows, with the
/// wanted type.
#[inline]
pub fn check_result(function: Oid, wanted: Wanted) {
    check_once(function, RESULT, wanted);
}

#[inline]
fn check_once(function: Oid, i: usize, wanted: Wanted) {
    let check = u64::from(function.to_u32()) << 32 | (i as u64 & 0xff) << 24 | wanted.code();
    if !PASSED.holds(check) {
        compare(function, i, wanted);
        PASSED.note(check);
    }
}

#[cold]
fn compare(function: Oid, i: usize, wanted: Wanted) {
    let Some(DeclaredTypes { arguments, result }) = DeclaredTypes::look_up(function) else {
        // An open cursor goes on after the function was dropped.
        let message = format!("function with OID {} does not exist", function.to_u32());
        raise(ERRCODE_UNDEFINED_FUNCTION, message)
    };
    let (what, declared) = match i {
        RESULT => ("the result".to_owned(), Some(&result)),
        _ => (format!("argument {}", i + 1), arguments.get(i)),
    };
    let name = || table::function_name(function);
    let message = match declared {
        Some(&declared) if wanted.fits(declared) => return,
        Some(&declared) => format!(
            "{what} of function {} is of type {}, not {}",
            name(),
            table::type_name(declared),
            wanted.name()
        ),
        None => format!("function {} has no {what}", name()),
    };
    raise(ERRCODE_INVALID_FUNCTION_DEFINITION, message)
}

/// What pg_proc says of a function.
struct DeclaredTypes {
    arguments: Vec<Oid>,
    result: Oid,
}

impl DeclaredTypes {
    /// None when the function is gone.
    fn look_up(function: Oid) -> Option<Self> {
        // SAFETY: a syscache look-up; the row, whose oidvector has `pronargs` types, is read before
        // it is released.
        unsafe {
            let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
            let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(function));
            if row.is_null() {
                return None;
            }
            let form: *const pg_sys::FormData_pg_proc = pg_sys::GETSTRUCT(row).cast();
            let count = (*form).pronargs as usize;
            let types = DeclaredTypes {
                arguments: (*form).proargtypes.values.as_slice(count).to_vec(),
                result: (*form).prorettype,
            };
            pg_sys::ReleaseSysCache(row);
            Some(types)
        }
    }
}
