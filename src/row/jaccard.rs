//! SQL functions that compare texts by their n-grams of letters: `simhash_jaccard`, and
//! `jaccard_at_least` for the queries of triggers; `passages` compares by the same call site. A
//! call site keeps the set of n-grams of the text that its calls have in common: the text of a
//! search, or the outer row's in a join.

use super::arguments::in_range;
use crate::errors::or_raise;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::{NgramSet, Scratch, Similarity};
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::reserve;
use simhash_pg::sql::fmgr::{self, Args, pg_function};

/// Lengths of n-grams.
pub const NGRAMS: std::ops::RangeInclusive<i32> = 1..=100;

/// Reads the letters of a text of the database.
pub fn letters(text: &[u8]) -> Letters {
    or_raise(Letters::new(&to_utf8(text), &mut check_for_interrupts))
}

/// Compares a text with others.
#[derive(Default)]
pub struct Comparer {
    set: NgramSet,
    scratch: Scratch,
}

impl Comparer {
    /// Sets the text that is compared, and the letters of an n-gram.
    pub fn set_first(&mut self, letters: &Letters, lengths: GramLengths) {
        or_raise(self.set.fill(
            letters,
            lengths,
            &mut self.scratch,
            &mut check_for_interrupts,
        ));
    }

    /// Compares it with another text; a similarity below `least` need not be exact.
    pub fn compare(&mut self, letters: &Letters, least: f64) -> Similarity {
        or_raise(
            self.set
                .compare(letters, least, &mut self.scratch, &mut check_for_interrupts),
        )
    }

    /// Returns which share of the n-grams of the smaller text the other one has.
    pub fn containment(&mut self, letters: &Letters) -> Option<f64> {
        or_raise(
            self.set
                .containment(letters, &mut self.scratch, &mut check_for_interrupts),
        )
    }
}

/// State of a call site.
#[derive(Default)]
struct Site {
    /// The text that is compared with others, and the letters of its n-grams.
    first: Vec<u8>,
    lengths: Option<GramLengths>,
    /// The second text of the last call.
    second: Vec<u8>,
    comparer: Comparer,
}

impl Site {
    /// Calls `f` with a comparer that has one of two texts, and with the letters of the other one.
    fn with<R>(
        &mut self,
        (a, b): (&[u8], &[u8]),
        lengths: GramLengths,
        f: impl FnOnce(&mut Comparer, &Letters) -> R,
    ) -> R {
        let is_first = |text: &[u8]| self.lengths == Some(lengths) && self.first == text;
        let other = if is_first(a) {
            b
        } else if is_first(b) {
            a
        } else {
            // The second argument may be the one that stays the same.
            let (first, other) = if self.second == b { (b, a) } else { (a, b) };
            // If this ends with an ERROR, which the caller may catch, the comparer has no text.
            self.lengths = None;
            self.comparer.set_first(&letters(first), lengths);
            replace(&mut self.first, first);
            self.lengths = Some(lengths);
            other
        };
        if self.second != b {
            replace(&mut self.second, b);
        }
        f(&mut self.comparer, &letters(other))
    }
}

fn replace(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.clear();
    reserve(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// Calls `f` with a comparer that has one of the texts of the first two arguments, with n-grams of
/// these lengths, and with the letters of the other text; None when one is NULL.
pub fn with_comparer<R>(
    args: &Args,
    lengths: GramLengths,
    f: impl FnOnce(&mut Comparer, &Letters) -> R,
) -> Option<R> {
    let a = args.varlena(0, pg_sys::TEXTOID)?;
    let b = args.varlena(1, pg_sys::TEXTOID)?;
    let call = |site: &mut Site| site.with((a.bytes(), b.bytes()), lengths, f);
    Some(fmgr::with(args, |_| Site::default(), call))
}

/// Returns the lengths of n-grams that argument `i` gives to all scripts, or the usual ones if it is
/// NULL.
pub fn gram_lengths(args: &Args, i: usize, usual: GramLengths) -> GramLengths {
    match args.get::<i32>(i) {
        Some(ngram) => GramLengths::all(in_range("ngram", ngram, NGRAMS)),
        None => usual,
    }
}

/// Compares the texts of the first two arguments; None when one is NULL.
fn compare(args: &Args, lengths: GramLengths, least: f64) -> Option<Similarity> {
    with_comparer(args, lengths, |comparer, other| {
        comparer.compare(other, least)
    })
}

pg_function!(simhash_jaccard);
/// `simhash_jaccard(a text, b text, ngram int) -> float8`
fn simhash_jaccard(args: &Args) -> Datum {
    let lengths = gram_lengths(args, 2, GramLengths::SHINGLES);
    args.result(match compare(args, lengths, 0.0) {
        Some(Similarity::Exactly(similarity)) => Some(similarity),
        _ => None,
    })
}

pg_function!(simhash_jaccard_at_least);
/// `simhash_catalog.jaccard_at_least(a text, b text, min_jaccard float8) -> boolean`, strict
fn simhash_jaccard_at_least(args: &Args) -> Datum {
    let compare = |least| compare(args, GramLengths::SHINGLES, least);
    let similarity = args.get::<f64>(2).and_then(compare);
    args.result(match similarity {
        None | Some(Similarity::Undefined) => None,
        Some(Similarity::TooLow) => Some(false),
        Some(Similarity::Exactly(_)) => Some(true),
    })
}
