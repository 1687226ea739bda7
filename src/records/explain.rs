//! simhash_record_explain: why two records are so similar. The server calls it from SQL. It reads
//! the whole relation, since what a feature counts depends on all rows, and returns a row for each
//! column.

use super::arguments::{Arguments, KeyTypes, TableArguments};
use super::source::Records;
use crate::pairs::arguments::required;
use pgrx::PgSqlErrorCode::ERRCODE_NO_DATA_FOUND;
use pgrx::pg_sys;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::copies::Candidate;

const NAME: &str = "simhash_record_explain";

/// A row that is asked about: its number, and the values of its columns.
type Shown = Option<(u32, Vec<Option<String>>)>;

pg_function! {
    /// simhash_record_explain(relation, key, a, b, columns, rarity, ngram, within, weights) -> SETOF
    /// (column_name, a, b, shared, against)
    fn simhash_record_explain, pg_finfo_simhash_record_explain(args) {
        let mut out = RowsOut::begin(args);
        let arguments = Arguments { args, function: NAME, keys: KeyTypes::Text };
        let place = TableArguments { relation: 0, columns: 4, ending: "" };
        let tables = arguments.tables([place], 7);
        // No pairs are looked for.
        let settings = arguments.settings(None, 5, &tables);
        let wanted = [key_argument(args, 2, "a"), key_argument(args, 3, "b")];
        let mut shown: [Shown; 2] = [None, None];
        let mut activity = Activity::new(NAME);
        let Records { mut found, .. } = Records::read(&tables, &settings, &mut activity, &mut |row, key, values| {
            let key = key.to_text();
            for (wanted, shown) in wanted.iter().zip(&mut shown) {
                if *wanted == key {
                    let texts = values.iter().map(|value| value.map(|value| value.to_text()));
                    *shown = Some((row, texts.collect()));
                }
            }
        });
        let [a, b] = std::array::from_fn(|side| shown[side].take().unwrap_or_else(|| no_row(&wanted[side])));
        let record = |row| found.copies.record_of(row).unwrap_or(row);
        let pair = Candidate { a: record(a.0), b: record(b.0) };
        let parts = or_out_of_memory(found.parts(pair, settings.aligned));
        for (i, name) in tables[0].columns.iter().enumerate() {
            let part = parts.get(i).copied().unwrap_or_default();
            out.push([
                Some(ResultValue::Value(Value::of_text(name))),
                a.1[i].as_deref().map(|text| ResultValue::Value(Value::of_text(text))),
                b.1[i].as_deref().map(|text| ResultValue::Value(Value::of_text(text))),
                Some(ResultValue::from(part.shared)),
                Some(ResultValue::from(part.against)),
            ]);
        }
        args.null()
    }
}

/// Reads the key of a row that is asked about.
fn key_argument(args: &Args, i: usize, argument: &str) -> String {
    let key = args.varlena(i, pg_sys::TEXTOID).map(|key| key.to_text());
    required(key, NAME, argument)
}

fn no_row(key: &str) -> ! {
    Error::new(
        ERRCODE_NO_DATA_FOUND,
        format!("there is no row with key \"{key}\""),
    )
    .hint("Name a key of the relation, as text; with within a row without NULL there.")
    .raise()
}
