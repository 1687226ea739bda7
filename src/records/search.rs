//! simhash_record_search: which stored records are like one that is in no row. The server calls it
//! from SQL. A question has the names of columns of the relation, and counts as one row more of it.

use super::source::columns_from;
use super::stored::{Stored, StoredRecord};
use crate::pairs::arguments::{in_range, required};
use crate::pairs::named_columns::{column, open_relation};
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::pair::of_equal;

const NAME: &str = "simhash_record_search";

pg_function!(simhash_record_search);
/// simhash_record_search(records, question jsonb, matches, threshold) -> SETOF (key, similarity)
fn simhash_record_search(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let stored = Stored::open(required(args.get(0), NAME, "records"));
    let question = args.varlena(1, pg_sys::JSONBOID);
    let question = required(question, NAME, "question");
    let matches: i32 = required(args.get(2), NAME, "matches");
    let matches = in_range("matches", matches, 1..=i32::MAX) as usize;
    let threshold = required(args.get(3), NAME, "threshold");
    let threshold = in_range("threshold", threshold, 0.0..=1.0);
    let Some(record) = read(&stored, question) else {
        return args.null();
    };
    let equal = record.hash.filter(|hash| stored.has(*hash));
    let mut found: Vec<(f64, i64)> = Vec::new();
    let of_columns = record.features.chunk_by(|a, b| a.1 == b.1);
    let of_equal = of_equal(of_columns.count(), stored.settings.columns);
    let asked = [record];
    let mut keys = stored.compare(&asked, equal.is_some(), |_, hash, similarity| {
        if similarity >= threshold {
            found.push((similarity, hash));
        }
    });
    if let Some(hash) = equal {
        if of_equal >= threshold {
            found.push((of_equal, hash));
        }
        keys.extend(stored.read([hash].into_iter()).1);
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let rows = found.iter().flat_map(|(similarity, hash)| {
        let keys = keys.get(hash).map_or(&[][..], Vec::as_slice);
        keys.iter().map(move |key| (key, *similarity))
    });
    for (key, similarity) in rows.take(matches) {
        out.push([
            Some(ResultValue::Value(Value::of_text(key))),
            Some(ResultValue::from(similarity)),
        ]);
    }
    args.null()
}

/// Reads a question as a row of the relation; None if it is NULL in a column of within.
fn read(stored: &Stored, question: Value<'_>) -> Option<StoredRecord> {
    let (table, relation) = open_relation(stored.relation);
    let keys = "SELECT pg_catalog.jsonb_object_keys($1)";
    let mut names: Vec<String> = Vec::new();
    for_each_row(keys, &[Some(question)], &mut |[name]| {
        names.extend(name.map(|name| name.to_text()));
    });
    for name in names {
        column(&table, &name, "part of the question");
    }
    let from =
        format!("pg_catalog.jsonb_populate_record(NULL::{relation}, $1) AS simhash_question");
    let columns = columns_from(&stored.columns, [&stored.within, &stored.differ], &from);
    let mut record = None;
    for_each_row(
        &format!("SELECT {columns}"),
        &[Some(question)],
        &mut |[columns, scope, differ]| {
            let scope = scope.map_or(0, |scope| scope.integer());
            let ngram = stored.settings.ngram;
            record = columns.map(|columns| StoredRecord::new(columns, scope, differ, ngram));
        },
    );
    record
}
