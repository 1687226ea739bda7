//! SQL functions that find parts of texts in others: `simhash_passages`, `simhash_containment` and
//! `simhash_shared_passages`. The server calls them; `simhash_fingerprint` does the work. A text
//! counts by its letters and digits in normal form alone.

use super::arguments::in_range;
use super::jaccard::{gram_lengths, letters, with_comparer};
use crate::errors::or_raise;
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_fingerprint::similarity::passages::passages;
use simhash_fingerprint::similarity::shared_passages::{Least, shared_passages};
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

/// Letters that a shared passage has at least.
const LENGTHS: std::ops::RangeInclusive<i32> = 1..=10_000;
/// The same by default, where they are letters of an alphabet.
const LEAST: usize = 40;

pg_function!(simhash_passages);
/// `simhash_passages(text text, ngram int, min_length int) -> bigint[]`
fn simhash_passages(args: &Args) -> Datum {
    args.result(chosen(args))
}

fn chosen(args: &Args) -> Option<Vec<i64>> {
    let text = args.varlena(0, pg_sys::TEXTOID)?;
    let lengths = gram_lengths(args, 1, GramLengths::PASSAGES);
    let ngram = lengths.others;
    let least = match args.get::<i32>(2) {
        Some(least) => in_range("min_length", least, LENGTHS),
        None => LEAST.max(ngram),
    };
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
        lengths,
        least,
        &mut chosen,
        &mut check_for_interrupts,
    ));
    // In the order of bigint: the upper half of the hashes is negative.
    let positive = chosen.partition_point(|hash| *hash <= i64::MAX as u64);
    chosen.rotate_left(positive);
    Some(chosen.into_iter().map(|hash| hash as i64).collect())
}

pg_function!(simhash_containment);
/// `simhash_containment(a text, b text, ngram int) -> float8`
fn simhash_containment(args: &Args) -> Datum {
    let lengths = gram_lengths(args, 2, GramLengths::PASSAGES);
    let lengths = short_text(args, lengths).unwrap_or(lengths);
    let contained = with_comparer(args, lengths, |comparer, other| comparer.containment(other));
    args.result(contained.flatten())
}

/// Returns the lengths for a text that is too short for an n-gram, if one of the first two arguments
/// is: all its letters are looked for in the other text.
fn short_text(args: &Args, lengths: GramLengths) -> Option<GramLengths> {
    // The letters of a longer text are more than an n-gram.
    const SHORT: usize = 1024;
    let count = |i| {
        let text = args.varlena(i, pg_sys::TEXTOID)?;
        let letters = (text.bytes().len() <= SHORT).then(|| letters(text.bytes()))?;
        let is_short = letters.count() > 0 && !lengths.has_ngram(&letters);
        is_short.then(|| letters.count())
    };
    [count(0), count(1)]
        .into_iter()
        .flatten()
        .min()
        .map(GramLengths::all)
}

pg_function!(simhash_shared_passages);
/// `simhash_shared_passages(a text, b text, min_length int)
/// -> SETOF (start_a, length_a, start_b, length_b, passage)`
fn simhash_shared_passages(args: &Args) -> Datum {
    let rows = RowsOut::begin(args);
    return_passages(args, rows);
    args.null()
}

/// Returns a row for each passage. Characters are counted from 1, as substr does.
fn return_passages(args: &Args, mut rows: RowsOut) -> Option<()> {
    let a = args.varlena(0, pg_sys::TEXTOID)?;
    let b = args.varlena(1, pg_sys::TEXTOID)?;
    let least = (args.get::<i32>(2)).map(|least| in_range("min_length", least, LENGTHS));
    let least = least.map_or(Least::ByScript(LEAST), Least::Letters);
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
