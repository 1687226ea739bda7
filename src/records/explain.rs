//! simhash_record_explain: why records are so similar. The server calls it from SQL. It reads the
//! relations whole, since what a feature counts depends on all rows, once for all pairs; it returns
//! a row for each column of each pair.

use super::arguments::Arguments;
use super::source::Records;
use crate::pairs::arguments::required;
use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NO_DATA_FOUND};
use pgrx::pg_sys::{self, Datum};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::copies::Candidate;
use std::collections::HashMap;

const NAME: &str = "simhash_record_explain";

/// A row that is asked about: its number, and the values of its columns.
type Shown = (u32, Vec<Option<String>>);

pg_function!(simhash_record_explain);
/// simhash_record_explain(relation, key, a, b, columns, relation_b, key_b, columns_b, rarity, ngram, within, weights,
/// differ) -> SETOF (a, b, column_name, value_a, value_b, shared, against)
fn simhash_record_explain(args: &Args) -> Datum {
    let arguments = Arguments::of_text_keys(args, NAME, [4, 8]);
    match arguments.have_two() {
        false => explain::<1>(&arguments),
        true => explain::<2>(&arguments),
    }
}

/// Explains pairs within a relation or across two.
fn explain<const N: usize>(arguments: &Arguments<'_>) -> Datum {
    let mut out = RowsOut::begin(arguments.args);
    let tables = arguments.tables::<N>();
    // No pairs are looked for.
    let settings = arguments.settings(false, &tables);
    let [asked_a, asked_b] = [keys(arguments, 2, "a"), keys(arguments, 3, "b")];
    if asked_a.len() != asked_b.len() {
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "{NAME} got {} keys \"a\" and {} keys \"b\"",
                asked_a.len(),
                asked_b.len()
            ),
        )
        .hint("The keys at one place are a pair.")
        .raise()
    }
    let mut shown: [HashMap<String, Option<Shown>>; N] = std::array::from_fn(|_| HashMap::new());
    for (side, asked) in [(0, &asked_a), (N - 1, &asked_b)] {
        shown[side].extend(asked.iter().map(|key| (key.clone(), None)));
    }
    let mut activity = Activity::new(NAME);
    let Records { mut found, .. } = Records::read(
        &tables,
        &settings,
        &mut activity,
        &mut |row, side, key, values| {
            if let Some(shown) = shown[side].get_mut(&key.to_text()) {
                let texts = values
                    .iter()
                    .map(|value| value.map(|value| value.to_text()));
                *shown = Some((row, texts.collect()));
            }
        },
    );
    for (key_a, key_b) in asked_a.iter().zip(&asked_b) {
        let row = |side: usize, key: &String| match shown[side].get(key) {
            Some(Some(shown)) => shown,
            _ => no_row(key),
        };
        let (a, b) = (row(0, key_a), row(N - 1, key_b));
        let record = |row| found.copies.record_of(row).unwrap_or(row);
        let pair = Candidate {
            a: record(a.0),
            b: record(b.0),
        };
        let parts = or_out_of_memory(found.parts(pair, settings.columns));
        for (i, name) in tables[0].columns.iter().enumerate() {
            let part = parts.get(i).copied().unwrap_or_default();
            let value = |(_, values): &Shown| values.get(i).cloned().flatten();
            let (value_a, value_b) = (value(a), value(b));
            out.push([
                Some(text(key_a)),
                Some(text(key_b)),
                Some(text(name)),
                value_a.as_deref().map(text),
                value_b.as_deref().map(text),
                Some(ResultValue::from(part.shared)),
                Some(ResultValue::from(part.against)),
            ]);
        }
    }
    arguments.args.null()
}

fn text(text: &str) -> ResultValue<'_> {
    ResultValue::Text(text)
}

/// Reads the keys of rows that are asked about.
fn keys(arguments: &Arguments<'_>, i: usize, argument: &str) -> Vec<String> {
    let array = arguments.args.varlena(i, pg_sys::TEXTARRAYOID);
    let items = required(array, NAME, argument).array().items.into_iter();
    let key = |key: Option<Value<'_>>| required(key, NAME, argument).to_text();
    items.map(key).collect()
}

fn no_row(key: &str) -> ! {
    Error::new(
        ERRCODE_NO_DATA_FOUND,
        format!("there is no row with key \"{key}\""),
    )
    .hint("Name a key of the relation, as text; with within a row without NULL there.")
    .raise()
}
