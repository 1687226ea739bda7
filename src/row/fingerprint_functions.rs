//! The SQL functions that fingerprint texts and rows; sql/ declares them. The server calls them;
//! [`super::methods`] calls what it shares with them. They keep the parsed options in their call
//! site, and raise each error as an ERROR.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use super::lexemes::lexemes;
use super::record::RowSite;
use super::text::{ARRAY, TextSite, tokens_fingerprint};
use simhash_fingerprint::builder::{Feature, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::lexeme::of_lexemes;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

pub(super) fn row<const W: usize>(args: &Args, width: Width) -> Option<[u64; W]> {
    let row = args.varlena(0, pg_sys::RECORDOID)?;
    let new = |memory| RowSite::<W>::new(memory, width);
    fmgr::with(args, new, |site| site.fingerprint(args, row))
}

pub(super) fn text<const W: usize>(args: &Args, width: Width) -> Option<[u64; W]> {
    let text = args.varlena(0, pg_sys::TEXTOID)?;
    let new = |memory| TextSite::<W>::new(memory, width);
    fmgr::with(args, new, |site| site.fingerprint(args, text))
}

pub(super) fn bigint(args: &Args, fingerprint: Option<[u64; 1]>) -> pg_sys::Datum {
    args.result(fingerprint.map(|[bits]| bits as i64))
}

pub(super) fn tokens(args: &Args, width: Width) -> pg_sys::Datum {
    let Some(tokens) = args.varlena(0, ARRAY) else {
        return args.null();
    };
    args.result(tokens_fingerprint(tokens, args.varlena(1, ARRAY), width))
}

pg_function!(simhash_row64);
/// `simhash64(record record, weights jsonb, preset text) -> bigint`
fn simhash_row64(args: &Args) -> Datum {
    bigint(args, row(args, Width::W64))
}

pg_function!(simhash_text64);
/// `simhash64(text text, options jsonb, preset text) -> bigint`
fn simhash_text64(args: &Args) -> Datum {
    bigint(args, text(args, Width::W64))
}

pg_function!(simhash_tsvector64);
/// `simhash64(lexemes tsvector) -> bigint`, strict
fn simhash_tsvector64(args: &Args) -> Datum {
    let Some(value) = args.varlena(0, pg_sys::TSVECTOROID) else {
        return args.null();
    };
    args.result(of_lexemes(&lexemes(&value)).map(|bits| bits as i64))
}

pg_function!(simhash_tokens64);
/// `simhash64_tokens(tokens text[], weights float8[]) -> bigint`
fn simhash_tokens64(args: &Args) -> Datum {
    tokens(args, Width::W64)
}

pg_function!(simhash_features);
/// `simhash_features(record record, weights jsonb, preset text) -> SETOF (column_name text,
/// feature text, tf float8, weight float8, hash bigint)`
fn simhash_features(args: &Args) -> Datum {
    show(args, pg_sys::RECORDOID, &|builder, row| {
        let new = |memory| RowSite::new(memory, Width::W64);
        fmgr::with(args, new, |site| site.add_to(builder, args, 1, row));
    })
}

pg_function!(simhash_text_features);
/// `simhash_features(text text, options jsonb, preset text)`: the same, `column_name` is NULL
fn simhash_text_features(args: &Args) -> Datum {
    show(args, pg_sys::TEXTOID, &|builder, text| {
        let new = |memory| TextSite::new(memory, Width::W64);
        fmgr::with(args, new, |site| site.add_to(builder, args, 1, text));
    })
}

/// Returns the features that `add` makes of argument 0, one per row of the result.
fn show(
    args: &Args,
    argument: pg_sys::Oid,
    add: &dyn Fn(&mut FingerprintBuilder, Value<'_>),
) -> pg_sys::Datum {
    let mut rows = RowsOut::begin(args);
    if let Some(value) = args.varlena(0, argument) {
        let mut builder = FingerprintBuilder::showing(Width::W64);
        add(&mut builder, value);
        let in_column = argument == pg_sys::RECORDOID;
        for feature in builder.into_features() {
            rows.push(columns(&feature, in_column));
        }
    }
    args.null()
}

fn columns(feature: &Feature, in_column: bool) -> [Option<ResultValue<'_>>; 5] {
    [
        in_column.then_some(ResultValue::Text(&feature.column)),
        Some(ResultValue::Text(&feature.feature)),
        Some(ResultValue::from(feature.tf)),
        Some(ResultValue::from(feature.weight)),
        Some(ResultValue::from(feature.hash as i64)),
    ]
}
