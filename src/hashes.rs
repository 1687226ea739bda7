//! Converts hashes that people have already, in the forms in which other programs give them, to
//! fingerprints and back, for SQL. `simhash_fingerprint::hashes` reads and refuses them. Nothing here
//! makes a hash of data.

use pgrx::PgSqlErrorCode::{ERRCODE_ARRAY_ELEMENT_ERROR, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use crate::errors::{ToError, or_raise};
use simhash_fingerprint::hashes::read::{self, Length};
use simhash_hamming::parts::Hash;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::type_output::Output;
use simhash_pg::sql::value::Value;

/// Returns the number of bits that argument 1 asks for.
fn width(args: &Args) -> Option<usize> {
    Some(or_raise(read::width(args.get::<i32>(1)?)))
}

/// Whether a hash may be shorter, by the argument `pad`.
fn length(args: &Args, i: usize) -> Option<Length> {
    Some(match args.get::<bool>(i)? {
        true => Length::Padded,
        false => Length::Exact,
    })
}

/// Returns the parts of a hash, an array of bigint.
pub fn parts_of_hash(value: Value<'_>) -> Vec<i64> {
    read_parts(value).unwrap_or_else(|error| error.raise())
}

/// Returns the parts of a hash, or what is wrong with it.
fn read_parts(value: Value<'_>) -> Result<Vec<i64>, Box<Error>> {
    let array = value.array();
    read::check_parts(&array.dims).map_err(|error| Box::new(error.to_error()))?;
    let parts = array.items.iter();
    let parts: Option<_> = parts
        .map(|item| item.as_ref().map(Value::integer))
        .collect();
    parts.ok_or_else(|| {
        let message = "parts of a hash must not be null";
        Box::new(Error::new(ERRCODE_NULL_VALUE_NOT_ALLOWED, message))
    })
}

/// Returns a fingerprint or the parts of a hash, of type bigint or bigint[] or of a domain over them, or
/// what is wrong with it.
pub fn read_hash(value: Value<'_>) -> Result<Hash, Box<Error>> {
    if value.is_by_value() {
        return Ok(Hash::Fingerprint(value.integer() as u64));
    }
    let parts = read_parts(value)?;
    if parts.is_empty() {
        let message = "a hash must have at least one part";
        return Err(Box::new(Error::new(ERRCODE_ARRAY_ELEMENT_ERROR, message)));
    }
    let parts = parts.into_iter().map(|part| part as u64);
    Ok(Hash::Parts(parts.collect()))
}

/// Returns the parts of a hash; None when the array is NULL.
fn parts(args: &Args, i: usize) -> Option<Vec<i64>> {
    args.varlena(i, pg_sys::INT8ARRAYOID).map(parts_of_hash)
}

/// Returns the distance of two hashes in parts; None when one is NULL.
fn distance(args: &Args) -> Option<i32> {
    let (a, b) = (parts(args, 0)?, parts(args, 1)?);
    Some(or_raise(read::hamming_parts(&a, &b)) as i32)
}

pg_function!(simhash_from_hex);
/// `fingerprint_from_hex(hash text, pad boolean) -> bigint`, strict
fn simhash_from_hex(args: &Args) -> Datum {
    let (Some(text), Some(length)) = (args.varlena(0, pg_sys::TEXTOID), length(args, 1)) else {
        return args.null();
    };
    args.result(Some(or_raise(read::hex(&to_utf8(text.bytes()), length))))
}

pg_function!(simhash_from_unsigned);
/// `fingerprint_from_unsigned(hash numeric) -> bigint`, strict
fn simhash_from_unsigned(args: &Args) -> Datum {
    let Some(number) = args.varlena(0, pg_sys::NUMERICOID) else {
        return args.null();
    };
    let new = |memory| Output::for_type(pg_sys::NUMERICOID, memory);
    let read = |output: &mut Output| output.text(number, |text| read::unsigned(&to_utf8(text)));
    args.result(Some(or_raise(fmgr::with(args, new, read))))
}

pg_function!(simhash_from_bits);
/// `fingerprint_from_bits(hash bit, pad boolean) -> bigint`, strict
fn simhash_from_bits(args: &Args) -> Datum {
    let (Some(string), Some(length)) = (args.varlena(0, pg_sys::BITOID), length(args, 1)) else {
        return args.null();
    };
    args.result(Some(or_raise(read::bits(string.bits(), length))))
}

pg_function!(simhash_from_bytes);
/// `fingerprint_from_bytes(hash bytea, pad boolean) -> bigint`, strict
fn simhash_from_bytes(args: &Args) -> Datum {
    let (Some(bytes), Some(length)) = (args.varlena(0, pg_sys::BYTEAOID), length(args, 1)) else {
        return args.null();
    };
    args.result(Some(or_raise(read::bytes(bytes.bytes(), length))))
}

pg_function!(simhash_parts_from_hex);
/// `fingerprint_parts_from_hex(hash text, bits int, pad boolean) -> bigint[]`, strict
fn simhash_parts_from_hex(args: &Args) -> Datum {
    let (Some(text), Some(bits), Some(length)) = (
        args.varlena(0, pg_sys::TEXTOID),
        width(args),
        length(args, 2),
    ) else {
        return args.null();
    };
    args.result(Some(or_raise(read::hex_parts(
        &to_utf8(text.bytes()),
        bits,
        length,
    ))))
}

pg_function!(simhash_parts_from_bits);
/// `fingerprint_parts_from_bits(hash bit, bits int, pad boolean) -> bigint[]`, strict
fn simhash_parts_from_bits(args: &Args) -> Datum {
    let (Some(string), Some(bits), Some(length)) = (
        args.varlena(0, pg_sys::BITOID),
        width(args),
        length(args, 2),
    ) else {
        return args.null();
    };
    args.result(Some(or_raise(read::bit_parts(string.bits(), bits, length))))
}

pg_function!(simhash_parts_from_bytes);
/// `fingerprint_parts_from_bytes(hash bytea, bits int, pad boolean) -> bigint[]`, strict
fn simhash_parts_from_bytes(args: &Args) -> Datum {
    let (Some(bytes), Some(bits), Some(length)) = (
        args.varlena(0, pg_sys::BYTEAOID),
        width(args),
        length(args, 2),
    ) else {
        return args.null();
    };
    args.result(Some(or_raise(read::byte_parts(
        bytes.bytes(),
        bits,
        length,
    ))))
}

pg_function!(simhash_parts_to_hex);
/// `fingerprint_parts_to_hex(parts bigint[]) -> text`, strict
fn simhash_parts_to_hex(args: &Args) -> Datum {
    args.result(parts(args, 0).map(|parts| read::to_hex(&parts)))
}

pg_function!(simhash_hamming_parts);
/// `hamming_parts(a bigint[], b bigint[]) -> int`, strict
fn simhash_hamming_parts(args: &Args) -> Datum {
    args.result(distance(args))
}

pg_function!(simhash_hamming_parts_within);
/// `hamming_parts_within(a bigint[], b bigint[], radius int) -> boolean`, strict
fn simhash_hamming_parts_within(args: &Args) -> Datum {
    let (Some(distance), Some(radius)) = (distance(args), args.get::<i32>(2)) else {
        return args.null();
    };
    args.result(Some(distance <= radius))
}
