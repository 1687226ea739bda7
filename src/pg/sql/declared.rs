//! Checks that SQL declares a function's arguments with the types that its getters read.
//!
//! The declarations are in SQL files, the getters in Rust, and a getter that took an int for a text
//! would follow the number as an address. So each getter looks into the catalog, once in a process
//! for each function, argument and type.

use std::sync::atomic::{AtomicU64, Ordering};

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION;
use pgrx::pg_sys::{self, Oid};

use super::value::Storage;
use crate::pg::catalog::table;
use crate::pg::process::error::raise;

/// What a getter can read.
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
            Wanted::ByValue => Storage::of(declared).by_value_and_length().0,
            Wanted::Bytes(bytes) => {
                Storage::of(declared).by_value_and_length() == (false, bytes as i16)
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

/// A hash table of the checks that were passed: function, argument and type in one word; 0 is an
/// empty place, and a new check replaces the one in its place.
static PASSED: [AtomicU64; 1 << PLACES_LOG2] = [const { AtomicU64::new(0) }; 1 << PLACES_LOG2];
const PLACES_LOG2: u32 = 8;

/// Raises an ERROR unless SQL declares argument `i` of a function with the wanted type.
#[inline]
pub fn check(function: Oid, i: usize, wanted: Wanted) {
    let check = u64::from(function.to_u32()) << 32 | (i as u64 & 0xff) << 24 | wanted.code();
    let hash = check.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES_LOG2);
    let place = &PASSED[hash as usize];
    if place.load(Ordering::Relaxed) != check {
        compare(function, i, wanted);
        place.store(check, Ordering::Relaxed);
    }
}

#[cold]
fn compare(function: Oid, i: usize, wanted: Wanted) {
    let (mut types, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: a catalog look-up, an ERROR when there is no such function; the copied list has as
    // many types as it says.
    let declared = unsafe {
        pg_sys::get_func_signature(function, &mut types, &mut count);
        let declared = (i < count as usize).then(|| *types.add(i));
        pg_sys::pfree(types.cast());
        declared
    };
    let (number, name) = (i + 1, || table::function_name(function));
    let message = match declared {
        Some(declared) if wanted.fits(declared) => return,
        Some(declared) => format!(
            "argument {number} of function {} is of type {}, not {}",
            name(),
            table::type_name(declared),
            wanted.name()
        ),
        None => format!("function {} has no argument {number}", name()),
    };
    raise(ERRCODE_INVALID_FUNCTION_DEFINITION, message)
}
