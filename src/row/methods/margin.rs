//! SQL functions about the bits of least margin.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use crate::errors::or_raise;
use crate::row::arguments::in_range;
use crate::row::record::RowSite;
use crate::row::text::TextSite;
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::methods::margin;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

/// Returns the number of bits, which is argument 3.
fn bits(args: &Args) -> Option<usize> {
    Some(in_range("bits", args.get::<i32>(3)?, 0..=64))
}

pg_function!(simhash_row_margin);
/// `simhash64_margin(record record, weights jsonb, preset text, bits int) -> bigint`
fn simhash_row_margin(args: &Args) -> Datum {
    let (Some(row), Some(bits)) = (args.varlena(0, pg_sys::RECORDOID), bits(args)) else {
        return args.null();
    };
    let new = |memory| RowSite::<1>::new(memory, Width::W64);
    args.result(fmgr::with(args, new, |site| site.margin(args, row, bits)))
}

pg_function!(simhash_text_margin);
/// `simhash64_margin(text text, options jsonb, preset text, bits int) -> bigint`
fn simhash_text_margin(args: &Args) -> Datum {
    let (Some(text), Some(bits)) = (args.varlena(0, pg_sys::TEXTOID), bits(args)) else {
        return args.null();
    };
    let new = |memory| TextSite::<1>::new(memory, Width::W64);
    args.result(fmgr::with(args, new, |site| site.margin(args, text, bits)))
}

pg_function!(simhash_probes);
/// `simhash_probes(fingerprint bigint, mask bigint, flips int) -> SETOF bigint`, strict
fn simhash_probes(args: &Args) -> Datum {
    let mut rows = RowsOut::begin(args);
    let (Some(fingerprint), Some(mask), Some(flips)) =
        (args.get::<i64>(0), args.get::<i64>(1), args.get::<i32>(2))
    else {
        return args.null();
    };
    let flips = in_range("flips", flips, 0..=64) as u32;
    or_raise(margin::probes(fingerprint, mask, flips, &mut |probe| {
        check_for_interrupts();
        rows.push([Some(ResultValue::from(probe))]);
    }));
    args.null()
}

pg_function!(simhash_hamming_masked);
/// `hamming_masked(a bigint, b bigint, mask_a bigint, mask_b bigint) -> int`, strict
fn simhash_hamming_masked(args: &Args) -> Datum {
    let [a, b, mask_a, mask_b] = [0, 1, 2, 3].map(|i| args.by_value(i) as i64);
    args.result(Some(margin::hamming_masked(a, b, mask_a | mask_b) as i32))
}
