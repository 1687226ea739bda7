//! The SQL function `simhash_diff`, which shows in what words two texts differ, and which of them
//! decide. The server calls it; `simhash_fingerprint` does the work. Bytes that are not UTF-8 come
//! back as they are.

use super::arguments::in_range;
use crate::errors::or_raise;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_fingerprint::same::differences;
use simhash_fingerprint::similarity::diff::diff;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::sql::fmgr::{Args, pg_function};

pg_function!(simhash_diff);
/// `simhash_diff(a text, b text, context int) -> text`, strict
fn simhash_diff(args: &Args) -> Datum {
    args.result(marked(args))
}

fn marked(args: &Args) -> Option<String> {
    let a = args.varlena(0, pg_sys::TEXTOID)?;
    let b = args.varlena(1, pg_sys::TEXTOID)?;
    let context = in_range("context", args.get::<i32>(2)?, 0..=i32::MAX);
    let (a, b) = (name_to_utf8(a.bytes()), name_to_utf8(b.bytes()));
    let judged = or_raise(differences(&a, &b, &mut check_for_interrupts));
    let marked = diff(&a, &b, context, &judged, &mut check_for_interrupts);
    Some(or_raise(marked))
}
