//! Arguments of SQL functions: given at all, and within their limits. The functions of pairs,
//! clusters, records and the report read theirs here; what does not suit is an ERROR that names the
//! function or the argument.

use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::Args;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Returns the value of an argument; raises an ERROR when it is NULL.
pub fn required<T>(value: Option<T>, function: &str, argument: &str) -> T {
    value.unwrap_or_else(|| {
        Error::new(
            ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("argument \"{argument}\" of {function} must not be null"),
        )
        .raise()
    })
}

/// Returns a name of a column, or a list of them: an argument of type text.
pub fn named(args: &Args, i: usize) -> Option<String> {
    let text = args.varlena(i, pg_sys::TEXTOID)?;
    Some(name_to_utf8(text.bytes()).into_owned())
}

/// Returns the value of an argument; raises an ERROR when it is outside of its range.
pub fn in_range<T: PartialOrd + Display>(argument: &str, value: T, range: RangeInclusive<T>) -> T {
    if range.contains(&value) {
        return value;
    }
    let (low, high) = range.into_inner();
    Error::new(
        ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{argument} must be between {low} and {high}, not {value}"),
    )
    .raise()
}

/// Returns an argument of a function that is a number of bits.
pub fn bits(given: Option<i32>, function: &str, argument: &str) -> u32 {
    let given = required(given, function, argument);
    in_range(argument, given, 0..=u64::BITS as i32) as u32
}

/// Returns the argument `radius` of a function, in bits.
pub fn radius(given: Option<i32>, function: &str) -> u32 {
    bits(given, function, "radius")
}
