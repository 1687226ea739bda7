//! SQL functions that check candidates by cosine, MinHash and a blend of measures.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use crate::errors::{ToError, or_raise};
use crate::row::arguments::{ParsedArguments, in_range, refresh};
use crate::row::text::{ARRAY, add};
use simhash_fingerprint::Error;
use simhash_fingerprint::builder::{Feature, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::methods::distance::blend;
use simhash_fingerprint::methods::minhash::Signature;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::plan::{self, ColumnPlan};
use simhash_fingerprint::options::text_options::TextOptions;
use simhash_fingerprint::similarity::cosine::cosine;
use simhash_fingerprint::similarity::weighted_sets::{by_hash, cosine_of};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::value::Value;

/// Numbers of hash functions.
const FUNCTIONS: std::ops::RangeInclusive<i32> = 1..=10_000;

/// State of a call site of `simhash_cosine`.
struct CosineSite {
    memory: MemoryContext,
    arguments: Option<ParsedArguments<TextOptions>>,
}

impl CosineSite {
    /// Options and preset are arguments 2 and 3.
    fn cosine(&mut self, args: &Args, a: Value<'_>, b: Value<'_>) -> Option<f64> {
        refresh(&mut self.arguments, args, 2, self.memory, parse_text);
        let arguments = self.arguments.as_ref()?;
        let plan = or_raise(plan::text(arguments.preset, arguments.options()));
        cosine_of(&vector(&plan, a), &vector(&plan, b))
    }
}

/// Returns the features of a text by hash.
fn vector(plan: &ColumnPlan, text: Value<'_>) -> Vec<Feature> {
    let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
    add(&mut builder, plan, text);
    let mut features = builder.into_features();
    by_hash(&mut features, &mut check_for_interrupts);
    features
}

pg_function!(simhash_cosine_text);
/// `simhash_cosine(a text, b text, options jsonb, preset text) -> float8`
fn simhash_cosine_text(args: &Args) -> Datum {
    let (Some(a), Some(b)) = (
        args.varlena(0, pg_sys::TEXTOID),
        args.varlena(1, pg_sys::TEXTOID),
    ) else {
        return args.null();
    };
    let new = |memory| CosineSite {
        memory,
        arguments: None,
    };
    args.result(fmgr::with(args, new, |site| site.cosine(args, a, b)))
}

pg_function!(simhash_cosine_array);
/// `simhash_cosine(a float8[], b float8[]) -> float8`, strict
fn simhash_cosine_array(args: &Args) -> Datum {
    let (Some(a), Some(b)) = (args.varlena(0, ARRAY), args.varlena(1, ARRAY)) else {
        return args.null();
    };
    let (a, b) = (a.array().items, b.array().items);
    same_length(a.len(), b.len());
    // A NULL in either makes the result unknown.
    if a.iter().chain(&b).any(Option::is_none) {
        return args.null();
    }
    let number = |item: &Option<Value<'_>>| {
        let bits = item.as_ref()?.integer() as u64;
        Some(f64::from_bits(bits))
    };
    args.result(cosine(
        a.iter()
            .zip(&b)
            .filter_map(|(a, b)| number(a).zip(number(b))),
    ))
}

fn same_length(first: usize, second: usize) {
    if first != second {
        Error::VectorLengths { first, second }.to_error().raise();
    }
}

pg_function!(simhash_blend);
/// `simhash_blend(distance int, jaccard float8, mu float8) -> float8`, strict
fn simhash_blend(args: &Args) -> Datum {
    let (Some(distance), Some(jaccard), Some(mu)) =
        (args.get::<i32>(0), args.get::<f64>(1), args.get::<f64>(2))
    else {
        return args.null();
    };
    args.result(Some(or_raise(blend(distance, jaccard, mu))))
}

pg_function!(simhash_minhash);
/// `minhash(tokens text[], functions int) -> bigint[]`, strict
fn simhash_minhash(args: &Args) -> Datum {
    let (Some(tokens), Some(functions)) = (args.varlena(0, ARRAY), args.get::<i32>(1)) else {
        return args.null();
    };
    let mut signature = Signature::new(in_range("functions", functions, FUNCTIONS));
    let mut any = false;
    for token in tokens.array().items.into_iter().flatten() {
        check_for_interrupts();
        signature.add(to_utf8(token.bytes()).as_bytes());
        any = true;
    }
    let signed = || {
        signature
            .into_values()
            .into_iter()
            .map(|v| v as i64)
            .collect::<Vec<_>>()
    };
    args.result(any.then(signed))
}

pg_function!(simhash_minhash_similarity);
/// `minhash_similarity(a bigint[], b bigint[]) -> float8`, strict
fn simhash_minhash_similarity(args: &Args) -> Datum {
    let (Some(a), Some(b)) = (args.varlena(0, ARRAY), args.varlena(1, ARRAY)) else {
        return args.null();
    };
    let (a, b) = (a.array().items, b.array().items);
    same_length(a.len(), b.len());
    let value = |item: &Option<Value<'_>>| item.as_ref().map(|item| item.integer());
    let equal = a
        .iter()
        .zip(&b)
        .filter(|(a, b)| value(a).is_some() && value(a) == value(b));
    let share = equal.count() as f64 / a.len() as f64;
    args.result((!a.is_empty()).then_some(share))
}
