//! The SQL functions `simhash_same`, `simhash_same_strict` and `simhash_why`: whether a person would
//! call two texts the same, and why. The server calls them; `simhash_fingerprint` does the work. Each
//! place of a query keeps what the last text of both sides was cut into, since one often stays the same.

use crate::errors::or_raise;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_fingerprint::same::{Prepared, Strictness, differences, same_as, same_prepared};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

/// Bytes of the longest text that is kept: copying it must not need memory that may not be there.
const MOST_KEPT: usize = 1 << 16;

/// The last text of each side.
#[derive(Default)]
pub(super) struct LastTexts([Option<LastText>; 2]);

struct LastText {
    /// As it is stored.
    bytes: Vec<u8>,
    text: String,
    prepared: Prepared,
}

impl LastTexts {
    /// Whether the two texts that are the arguments are the same.
    pub(super) fn are_same(&mut self, args: &Args, strictness: Strictness) -> Option<bool> {
        let texts = [
            args.varlena(0, pg_sys::TEXTOID)?,
            args.varlena(1, pg_sys::TEXTOID)?,
        ];
        let [a, b] = texts.each_ref().map(Value::bytes);
        if a == b {
            return Some(true);
        }
        let check_interrupts = &mut check_for_interrupts;
        if a.len().max(b.len()) > MOST_KEPT {
            let (a, b) = (to_utf8(a), to_utf8(b));
            return Some(or_raise(same_as(&a, &b, strictness, check_interrupts)));
        }
        for (last, bytes) in self.0.iter_mut().zip([a, b]) {
            if last.as_ref().is_none_or(|last| last.bytes != bytes) {
                let text = to_utf8(bytes).into_owned();
                let prepared = or_raise(Prepared::new(&text, check_interrupts));
                let bytes = bytes.to_vec();
                *last = Some(LastText {
                    bytes,
                    text,
                    prepared,
                });
            }
        }
        let [Some(a), Some(b)] = &self.0 else {
            return None;
        };
        let (a, b) = ((&*a.text, &a.prepared), (&*b.text, &b.prepared));
        Some(or_raise(same_prepared(a, b, strictness, check_interrupts)))
    }
}

fn are_same(args: &Args, strictness: Strictness) -> Option<bool> {
    let new = |_| LastTexts::default();
    fmgr::with(args, new, |last| last.are_same(args, strictness))
}

pg_function!(simhash_same);
/// `simhash_same(a text, b text) -> boolean`, strict
fn simhash_same(args: &Args) -> Datum {
    args.result(are_same(args, Strictness::Person))
}

pg_function!(simhash_same_strict);
/// `simhash_same_strict(a text, b text) -> boolean`, strict
fn simhash_same_strict(args: &Args) -> Datum {
    args.result(are_same(args, Strictness::Strict))
}

pg_function!(simhash_why);
/// `simhash_why(a text, b text) -> SETOF (kind, in_a, in_b, decides)`, strict
fn simhash_why(args: &Args) -> Datum {
    let rows = RowsOut::begin(args);
    return_differences(args, rows);
    args.null()
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
