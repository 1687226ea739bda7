//! Fingerprints of 32 and 128 bits, and what compares and shows them.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use crate::errors::or_raise;
use crate::row::fingerprint_functions::{bigint, row, text, tokens};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::methods::distance;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::value::BitString;

fn bit128(args: &Args, fingerprint: Option<[u64; 2]>) -> pg_sys::Datum {
    let bits = |[low, high]: [u64; 2]| BitString(u128::from(high) << 64 | u128::from(low));
    args.result(fingerprint.map(bits))
}

pg_function!(simhash_row32);
/// `simhash32(record record, weights jsonb, preset text) -> bigint`, 0 to 2^32 - 1
fn simhash_row32(args: &Args) -> Datum {
    bigint(args, row(args, Width::W32))
}

pg_function!(simhash_text32);
/// `simhash32(text text, options jsonb, preset text) -> bigint`, 0 to 2^32 - 1
fn simhash_text32(args: &Args) -> Datum {
    bigint(args, text(args, Width::W32))
}

pg_function!(simhash_tokens32);
/// `simhash32_tokens(tokens text[], weights float8[]) -> bigint`, 0 to 2^32 - 1
fn simhash_tokens32(args: &Args) -> Datum {
    tokens(args, Width::W32)
}

pg_function!(simhash_row128);
/// `simhash128(record record, weights jsonb, preset text) -> bit(128)`
fn simhash_row128(args: &Args) -> Datum {
    bit128(args, row(args, Width::W64))
}

pg_function!(simhash_text128);
/// `simhash128(text text, options jsonb, preset text) -> bit(128)`
fn simhash_text128(args: &Args) -> Datum {
    bit128(args, text(args, Width::W64))
}

pg_function!(simhash_hamming128);
/// `hamming128(a bit, b bit) -> int`, strict
fn simhash_hamming128(args: &Args) -> Datum {
    let wide = |i| Some(args.varlena(i, pg_sys::BITOID)?.bits());
    let (Some(a), Some(b)) = (wide(0), wide(1)) else {
        return args.null();
    };
    args.result(Some(or_raise(distance::hamming128(a, b)) as i32))
}

pg_function!(simhash_bits);
/// `simhash_bits(fingerprint bigint, bits int) -> text`
fn simhash_bits(args: &Args) -> Datum {
    let (Some(fingerprint), Some(bits)) = (args.get::<i64>(0), args.get::<i32>(1)) else {
        return args.null();
    };
    let width = or_raise(distance::width(bits));
    args.result(Some(or_raise(distance::bits(fingerprint, width))))
}

pg_function!(simhash_similarity);
/// `simhash_similarity(a bigint, b bigint, bits int) -> float8`
fn simhash_similarity(args: &Args) -> Datum {
    let (Some(a), Some(b), Some(bits)) =
        (args.get::<i64>(0), args.get::<i64>(1), args.get::<i32>(2))
    else {
        return args.null();
    };
    let width = or_raise(distance::width(bits));
    args.result(Some(or_raise(distance::similarity(a, b, width))))
}
