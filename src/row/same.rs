//! The SQL functions `simhash_same` and `simhash_why`: whether a person would call two texts
//! the same, and why. The server calls them; `simhash_fingerprint` does the work.

use crate::errors::or_raise;
use pgrx::pg_sys;
use simhash_fingerprint::same::{differences, same};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

pg_function! {
    /// `simhash_same(a text, b text) -> boolean`, strict
    fn simhash_same, pg_finfo_simhash_same (args) {
        args.result(are_same(args))
    }
}

/// Whether the two texts that are the arguments are the same for a person.
pub(super) fn are_same(args: &Args) -> Option<bool> {
    let a = args.varlena(0, pg_sys::TEXTOID)?;
    let b = args.varlena(1, pg_sys::TEXTOID)?;
    if a.bytes() == b.bytes() {
        return Some(true);
    }
    let (a, b) = (to_utf8(a.bytes()), to_utf8(b.bytes()));
    Some(or_raise(same(&a, &b, &mut check_for_interrupts)))
}

pg_function! {
    /// `simhash_why(a text, b text) -> SETOF (kind, in_a, in_b, decides)`, strict
    fn simhash_why, pg_finfo_simhash_why (args) {
        let rows = RowsOut::begin(args);
        return_differences(args, rows);
        args.null()
    }
}

fn return_differences(args: &Args, mut rows: RowsOut) -> Option<()> {
    let a = args.varlena(0, pg_sys::TEXTOID)?;
    let b = args.varlena(1, pg_sys::TEXTOID)?;
    let (a, b) = (to_utf8(a.bytes()), to_utf8(b.bytes()));
    for difference in or_raise(differences(&a, &b, &mut check_for_interrupts)) {
        rows.push([
            Some(ResultValue::Text(difference.kind.name())),
            Some(ResultValue::Text(&difference.in_a)),
            Some(ResultValue::Text(&difference.in_b)),
            Some(ResultValue::from(difference.decides)),
        ]);
    }
    Some(())
}
