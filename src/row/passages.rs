//! SQL functions that find parts of texts in others: `simhash_passages`, `simhash_containment` and
//! `simhash_shared_passages`. The server calls them; `simhash_fingerprint` does the work. A text
//! counts by its letters and digits in normal form alone.

use super::jaccard::{NGRAMS, letters, with_comparer};
use super::similarity::in_range;
use crate::errors::or_raise;
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use simhash_fingerprint::similarity::passages::passages;
use simhash_fingerprint::similarity::shared_passages::shared_passages;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

/// Letters that a shared passage has at least.
const LENGTHS: std::ops::RangeInclusive<i32> = 1..=10_000;

pg_function! {
    /// `simhash_passages(text text, ngram int, min_length int) -> bigint[]`, strict
    fn simhash_passages, pg_finfo_simhash_passages (args) {
        args.result(chosen(args))
    }
}

fn chosen(args: &Args) -> Option<Vec<i64>> {
    let text = args.varlena(0, pg_sys::TEXTOID)?;
    let ngram = in_range("ngram", args.get::<i32>(1)?, NGRAMS);
    let least = in_range("min_length", args.get::<i32>(2)?, LENGTHS);
    if least < ngram {
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("min_length must be at least ngram, which is {ngram}, not {least}"),
        )
        .raise();
    }
    let mut chosen = Vec::new();
    let letters = letters(text.bytes());
    or_raise(passages(
        &letters,
        ngram,
        least,
        &mut chosen,
        &mut check_for_interrupts,
    ));
    // In the order of bigint: the upper half of the hashes is negative.
    let positive = chosen.partition_point(|hash| *hash <= i64::MAX as u64);
    chosen.rotate_left(positive);
    Some(chosen.into_iter().map(|hash| hash as i64).collect())
}

pg_function! {
    /// `simhash_containment(a text, b text, ngram int) -> float8`, strict
    fn simhash_containment, pg_finfo_simhash_containment (args) {
        let contained = with_comparer(args, |comparer, other| comparer.containment(other));
        args.result(contained.flatten())
    }
}

pg_function! {
    /// `simhash_shared_passages(a text, b text, min_length int)
    /// -> SETOF (start_a, length_a, start_b, length_b, passage)`, strict
    fn simhash_shared_passages, pg_finfo_simhash_shared_passages (args) {
        let rows = RowsOut::begin(args);
        return_passages(args, rows);
        args.null()
    }
}

/// Returns a row for each passage. Characters are counted from 1, as substr does.
fn return_passages(args: &Args, mut rows: RowsOut) -> Option<()> {
    let a = args.varlena(0, pg_sys::TEXTOID)?;
    let b = args.varlena(1, pg_sys::TEXTOID)?;
    let least = in_range("min_length", args.get::<i32>(2)?, LENGTHS);
    let (a, b) = (to_utf8(a.bytes()), to_utf8(b.bytes()));
    let found = or_raise(shared_passages(&a, &b, least, &mut check_for_interrupts));
    for passage in found {
        let number = |n: usize| Some(ResultValue::from(n as i32));
        rows.push([
            number(passage.start[0] + 1),
            number(passage.length[0]),
            number(passage.start[1] + 1),
            number(passage.length[1]),
            Some(ResultValue::Text(&a[passage.bytes_of_a.clone()])),
        ]);
    }
    Some(())
}
