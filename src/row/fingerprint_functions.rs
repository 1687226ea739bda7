//! The SQL functions that fingerprint texts and rows; sql/ declares them. The server calls them;
//! [`super::methods`] calls what it shares with them. They keep the parsed options in their call
//! site, and raise each error as an ERROR.

use pgrx::pg_sys;

use super::arguments::{ParsedArguments, refresh};
use super::lexemes::lexemes;
use super::record::RowSite;
use super::stored::checked_digest;
use super::text::{ARRAY, TextSite, tokens_fingerprint};
use crate::errors::or_raise;
use simhash_fingerprint::builder::{Feature, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::lexeme::of_lexemes;
use simhash_fingerprint::options::grammar::{RowOptions, parse_row, parse_text};
use simhash_fingerprint::options::plan::check_stored;
use simhash_fingerprint::options::text_options::TextOptions;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error_context::leave_out_statement;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::call_site;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

pub(super) fn row<const W: usize>(args: &Args, width: Width) -> Option<[u64; W]> {
    let row = args.varlena(0, pg_sys::RECORDOID)?;
    let new = |memory| RowSite::<W>::new(memory, width);
    call_site::with(args, new, |site| site.fingerprint(args, row))
}

pub(super) fn text<const W: usize>(args: &Args, width: Width) -> Option<[u64; W]> {
    let text = args.varlena(0, pg_sys::TEXTOID)?;
    let new = |memory| TextSite::<W>::new(memory, width);
    call_site::with(args, new, |site| site.fingerprint(args, text))
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

pg_function! {
    /// `simhash64(record record, weights jsonb, preset text) -> bigint`
    fn simhash_row64, pg_finfo_simhash_row64 (args) { bigint(args, row(args, Width::W64)) }
}

pg_function! {
    /// `simhash64(text text, options jsonb, preset text) -> bigint`
    fn simhash_text64, pg_finfo_simhash_text64 (args) { bigint(args, text(args, Width::W64)) }
}

pg_function! {
    /// `simhash64_named(record record, name text) -> bigint`, strict
    fn simhash_row_named, pg_finfo_simhash_row_named (args) {
        let Some(row) = args.varlena(0, pg_sys::RECORDOID) else {
            return args.null();
        };
        let new = |memory| RowSite::<1>::new(memory, Width::W64);
        let fingerprint = call_site::with(args, new, |site| site.fingerprint_named(args, row));
        bigint(args, fingerprint)
    }
}

pg_function! {
    /// `simhash64_named_text(text text, name text) -> bigint`, strict
    fn simhash_text_named, pg_finfo_simhash_text_named (args) {
        let Some(text) = args.varlena(0, pg_sys::TEXTOID) else {
            return args.null();
        };
        let new = |memory| TextSite::<1>::new(memory, Width::W64);
        let fingerprint = call_site::with(args, new, |site| site.fingerprint_named(args, text));
        bigint(args, fingerprint)
    }
}

pg_function! {
    /// `simhash_config_digest(name text) -> text`, strict
    fn simhash_config_digest, pg_finfo_simhash_config_digest (args) {
        let name = args.varlena(0, pg_sys::TEXTOID);
        args.result(name.map(|name| checked_digest(&to_utf8(name.bytes()))))
    }
}

pg_function! {
    /// `simhash_check_options(options jsonb, preset text, words boolean, frequencies boolean,
    /// stop_words boolean) -> void`:
    /// an ERROR unless they are weights of a row or options of a text, and use the words and
    /// the frequencies that a stored configuration has
    fn simhash_check_options, pg_finfo_simhash_check_options (args) {
        type Parsed = (Option<RowOptions>, Option<TextOptions>);
        leave_out_statement();
        let new = |memory| (memory, None);
        call_site::with(args, new, |(memory, checked): &mut (MemoryContext, Option<ParsedArguments<Parsed>>)| {
            refresh(checked, args, 0, *memory, |json, check_interrupts| {
                let (row, text) = (parse_row(json, check_interrupts), parse_text(json, check_interrupts));
                match (row, text) {
                    (Err(error), Err(_)) => Err(error),
                    (row, text) => Ok((row.ok(), text.ok())),
                }
            });
            let stored = [(2, "dictionary"), (3, "idf"), (4, "stop_words")];
            for (_, key) in stored.into_iter().filter(|(i, _)| args.get(*i).unwrap_or_default()) {
                if let Some(ParsedArguments { preset, options: (row, text), .. }) = checked {
                    or_raise(check_stored(preset, key, row.as_ref(), text.as_ref()));
                }
            }
        });
        args.null()
    }
}

pg_function! {
    /// `simhash_terms(text text, options jsonb, preset text) -> SETOF text`
    fn simhash_terms, pg_finfo_simhash_terms (args) {
        let mut rows = RowsOut::begin(args);
        if let Some(text) = args.varlena(0, pg_sys::TEXTOID) {
            let new = |memory| TextSite::<1>::new(memory, Width::W64);
            call_site::with(args, new, |site| {
                site.terms(args, text, &mut |term| rows.push([Some(ResultValue::Text(term))]));
            });
        }
        args.null()
    }
}

pg_function! {
    /// `simhash64(lexemes tsvector) -> bigint`, strict
    fn simhash_tsvector64, pg_finfo_simhash_tsvector64 (args) {
        let Some(value) = args.varlena(0, pg_sys::TSVECTOROID) else {
            return args.null();
        };
        args.result(of_lexemes(&lexemes(&value)).map(|bits| bits as i64))
    }
}

pg_function! {
    /// `simhash64_tokens(tokens text[], weights float8[]) -> bigint`
    fn simhash_tokens64, pg_finfo_simhash_tokens64 (args) { tokens(args, Width::W64) }
}

pg_function! {
    /// `simhash_features(record record, weights jsonb, preset text) -> SETOF (column_name text,
    /// feature text, tf float8, weight float8, hash bigint)`
    fn simhash_features, pg_finfo_simhash_features (args) {
        show(args, pg_sys::RECORDOID, &|builder, row| {
            let new = |memory| RowSite::new(memory, Width::W64);
            call_site::with(args, new, |site| site.add_to(builder, args, 1, row));
        })
    }
}

pg_function! {
    /// `simhash_features(text text, options jsonb, preset text)`: the same, `column_name` is NULL
    fn simhash_text_features, pg_finfo_simhash_text_features (args) {
        show(args, pg_sys::TEXTOID, &|builder, text| {
            let new = |memory| TextSite::new(memory, Width::W64);
            call_site::with(args, new, |site| site.add_to(builder, args, 1, text));
        })
    }
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
