//! simhash_record_report: how many pairs of records there are from each threshold on, with
//! examples; which threshold is taken if none is given, and how much columns count. The server calls
//! it from SQL. It compares the same pairs as `record_pairs`, and returns none but the examples.

use super::arguments::Arguments;
use super::source::{RecordTable, Records, compare_candidates};
use crate::pairs::value_store::{ValueBuffer, ValueStore};
use pgrx::pg_sys::{self, Datum};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::error::{Error, notice};
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::copies::Candidate;
use simhash_records::partners::Partners;
use simhash_records::report::{Report, step_of, threshold};

const NAME: &str = "simhash_record_report";
const WEIGHTS: &str = "SELECT pg_catalog.jsonb_object_agg(w.name, w.weight)
    FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS w (name, weight)";
/// Many rows are compared with none if they are this part of all.
const MANY: u64 = 10;

pg_function!(simhash_record_report);
/// simhash_record_report(relation, key, columns, relation_b, key_b, columns_b, rare, rarity, ngram,
/// within, weights, differ) -> SETOF (threshold, pairs, one_to_one, alone, examples, taken, weights)
fn simhash_record_report(args: &Args) -> Datum {
    let arguments = Arguments::of_text_keys(args, NAME, [2, 7]);
    match arguments.have_two() {
        false => report::<1>(&arguments),
        true => report::<2>(&arguments),
    }
}

/// Reports on the pairs within a relation or across two. Keys are returned as text.
fn report<const N: usize>(arguments: &Arguments<'_>) -> Datum {
    let rows = RowsOut::begin(arguments.args);
    let tables = arguments.tables::<N>();
    let settings = arguments.settings(true, &tables);
    let mut activity = Activity::new(NAME);
    let Records {
        keys,
        tags,
        mut found,
    } = Records::read(&tables, &settings, &mut activity, &mut |_, _, _, _| {});
    let mut partners = or_out_of_memory(Partners::new(found.copies.records()));
    let mut report = Report::default();
    compare_candidates(
        &mut found,
        &settings,
        &mut activity,
        |copies, pair, similarity| {
            report.add(pair, similarity, copies.count(pair));
            or_out_of_memory(partners.add(pair, similarity));
        },
    );
    or_out_of_memory(report.add_partners(partners, &found.copies));
    let (taken, _) = report.choose(N == 2);
    let shown = Shown {
        keys,
        tags: &tags,
        taken,
        weights: weights(&tables[0], &found.weights),
    };
    shown.push_all(rows, &report, |pair| found.copies.first_pair(pair));
    arguments.args.null()
}

/// Returns how much each column counts, as jsonb; None if columns have no weights of their own.
fn weights(table: &RecordTable, weights: &[f64]) -> Option<KeptValue> {
    let names: Vec<Value<'_>> = table
        .columns
        .iter()
        .map(|name| Value::of_text(name))
        .collect();
    let numbers = (0..names.len()).map(|i| Value::from(weights.get(i).copied().unwrap_or(1.0)));
    let array = |type_id| KeyType::new(type_id).unwrap_or_else(|| Error::out_of_memory().raise());
    let names = array(pg_sys::TEXTOID).array(names.into_iter());
    let numbers = array(pg_sys::FLOAT8OID).array(numbers);
    let mut kept = None;
    for_each_row(WEIGHTS, &[names, numbers], &mut |[weights]| {
        kept = weights.map(|weights| weights.keep());
    });
    kept
}

/// What rows are made of, beside the numbers of pairs.
struct Shown<'a, const N: usize> {
    keys: [ValueStore; N],
    tags: &'a [u64],
    taken: f64,
    weights: Option<KeptValue>,
}

impl<const N: usize> Shown<'_, N> {
    /// Returns a row for each threshold.
    fn push_all(
        mut self,
        mut rows: RowsOut,
        report: &Report,
        first_rows: impl Fn(Candidate) -> [u32; 2],
    ) {
        let all = self.tags.len() as u64;
        let mut compared = 0;
        report.for_each(|least, sums, parts| {
            compared = sums.rows;
            let examples = parts.iter().filter_map(|part| part.example);
            let examples: Vec<[Vec<u8>; 2]> = examples
                .map(|(_, pair)| {
                    let [a, b] = first_rows(pair);
                    [self.key(0, a), self.key(N - 1, b)]
                })
                .collect();
            let slices = examples
                .iter()
                .map(|keys| keys.each_ref().map(Vec::as_slice));
            let examples: Vec<[&[u8]; 2]> = slices.collect();
            let is_taken = least == threshold(step_of(self.taken));
            let weights = self.weights.as_ref().filter(|_| is_taken);
            rows.push([
                Some(ResultValue::from(least)),
                Some(ResultValue::from(sums.pairs as i64)),
                Some(ResultValue::from(sums.mutual as i64)),
                Some(ResultValue::from((all - sums.rows) as i64)),
                (!examples.is_empty()).then_some(ResultValue::TextPairs(&examples)),
                is_taken.then_some(ResultValue::from(self.taken)),
                weights.map(|weights| ResultValue::Value(weights.value())),
            ]);
        });
        if (all - compared) * MANY > all {
            notice(
                format!("{} of {all} rows were compared with none", all - compared),
                Some(
                    "They share nothing that few rows have: a larger \"rare\" or other columns compare more.",
                ),
            );
        }
    }

    /// Returns the key of a row as text.
    fn key(&mut self, side: usize, row: u32) -> Vec<u8> {
        let mut buffer = ValueBuffer::new();
        let key = self.keys[side].get(self.tags[row as usize], &mut buffer);
        key.show_bytes(<[u8]>::to_vec)
    }
}
