//! The SQL functions; sql/ declares them. Functions that are not here are expressions in SQL.

use pgrx::PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED;
use pgrx::pg_sys;

use crate::errors::or_raise;
use simhash_fingerprint::hashes::read;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::sql::call_site;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::type_output::Output;
use simhash_pg::sql::value::Value;

/// Returns the number of bits that argument 1 asks for.
fn width(args: &Args) -> Option<usize> {
    Some(or_raise(read::width(args.get::<i32>(1)?)))
}

/// Returns the elements of a bigint[]; None when one is NULL.
fn bigints(args: &Args, i: usize) -> Option<Vec<i64>> {
    let value = args.varlena(i, pg_sys::INT8ARRAYOID)?;
    let array = value.array();
    or_raise(read::check_parts(&array.dims));
    array
        .items
        .iter()
        .map(|item| item.as_ref().map(Value::integer))
        .collect()
}

pg_function! {
    /// `fingerprint_from_hex(hash text) -> bigint`, strict
    fn simhash_from_hex, pg_finfo_simhash_from_hex (args) {
        let hash = args.varlena(0, pg_sys::TEXTOID);
        args.result(hash.map(|text| or_raise(read::hex(&to_utf8(text.bytes())))))
    }
}

pg_function! {
    /// `fingerprint_from_unsigned(hash numeric) -> bigint`, strict
    fn simhash_from_unsigned, pg_finfo_simhash_from_unsigned (args) {
        let Some(number) = args.varlena(0, pg_sys::NUMERICOID) else {
            return args.null();
        };
        let new = |memory| Output::for_type(pg_sys::NUMERICOID, memory);
        let read = |output: &mut Output| output.text(number, |text| read::unsigned(&to_utf8(text)));
        args.result(Some(or_raise(call_site::with(args, new, read))))
    }
}

pg_function! {
    /// `fingerprint_from_bits(hash bit) -> bigint`, strict
    fn simhash_from_bits, pg_finfo_simhash_from_bits (args) {
        let hash = args.varlena(0, pg_sys::BITOID);
        args.result(hash.map(|string| or_raise(read::bits(string.bits()))))
    }
}

pg_function! {
    /// `fingerprint_from_bytes(hash bytea) -> bigint`, strict
    fn simhash_from_bytes, pg_finfo_simhash_from_bytes (args) {
        let hash = args.varlena(0, pg_sys::BYTEAOID);
        args.result(hash.map(|bytes| or_raise(read::bytes(bytes.bytes()))))
    }
}

pg_function! {
    /// `fingerprint_parts_from_hex(hash text, bits int) -> bigint[]`, strict
    fn simhash_parts_from_hex, pg_finfo_simhash_parts_from_hex (args) {
        let (Some(text), Some(bits)) = (args.varlena(0, pg_sys::TEXTOID), width(args)) else {
            return args.null();
        };
        args.result(Some(or_raise(read::hex_parts(&to_utf8(text.bytes()), bits))))
    }
}

pg_function! {
    /// `fingerprint_parts_from_bits(hash bit, bits int) -> bigint[]`, strict
    fn simhash_parts_from_bits, pg_finfo_simhash_parts_from_bits (args) {
        let (Some(string), Some(bits)) = (args.varlena(0, pg_sys::BITOID), width(args)) else {
            return args.null();
        };
        args.result(Some(or_raise(read::bit_parts(string.bits(), bits))))
    }
}

pg_function! {
    /// `fingerprint_parts_to_hex(parts bigint[]) -> text`, strict
    fn simhash_parts_to_hex, pg_finfo_simhash_parts_to_hex (args) {
        let Some(parts) = bigints(args, 0) else {
            Error::new(ERRCODE_NULL_VALUE_NOT_ALLOWED, "parts of a hash must not be null").raise()
        };
        args.result(Some(read::to_hex(&parts)))
    }
}

pg_function! {
    /// `hamming256(a bigint[], b bigint[]) -> int`, strict; NULL when a part is
    fn simhash_hamming256, pg_finfo_simhash_hamming256 (args) {
        let (Some(a), Some(b)) = (bigints(args, 0), bigints(args, 1)) else {
            return args.null();
        };
        args.result(Some(or_raise(read::hamming256(&a, &b)) as i32))
    }
}
