//! simhash_record_sample: pairs of records for a person to label, of all similarities. The server
//! calls it from SQL. It compares the same pairs as `record_pairs`, and reads the relations a
//! second time for the values of what was drawn.

use super::arguments::Arguments;
use super::source::{RecordTable, Records, compare_candidates};
use crate::pairs::arguments::{in_range, required};
use crate::pairs::value_store::ValueBuffer;
use pgrx::pg_sys::Datum;
use simhash_fingerprint::hash::city64;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{or_out_of_memory, push_within};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::partners::Partners;
use simhash_records::sample::Sample;
use std::collections::HashMap;

const NAME: &str = "simhash_record_sample";
/// Nobody labels more, and each step keeps as many while pairs are drawn.
const MOST: i32 = 10_000;

pg_function!(simhash_record_sample);
/// simhash_record_sample(relation, key, columns, relation_b, key_b, columns_b, rare, rarity, ngram,
/// within, weights, differ, one_to_one, size, seed)
/// -> SETOF (stratum, stratum_pairs, a, b, similarity, values_a, values_b)
fn simhash_record_sample(args: &Args) -> Datum {
    let arguments = Arguments::of_text_keys(args, NAME, [2, 7]);
    match arguments.have_two() {
        false => sample::<1>(&arguments),
        true => sample::<2>(&arguments),
    }
}

/// Draws of the pairs within a relation or across two.
fn sample<const N: usize>(arguments: &Arguments<'_>) -> Datum {
    let args = arguments.args;
    let rows = RowsOut::begin(args);
    let tables = arguments.tables::<N>();
    let settings = arguments.settings(true, &tables);
    let one_to_one: bool = required(args.get(12), NAME, "one_to_one");
    let size: i32 = required(args.get(13), NAME, "size");
    let size = in_range("size", size, 1..=MOST) as usize;
    let seed: i64 = required(args.get(14), NAME, "seed");
    let mut activity = Activity::new(NAME);
    // The hash of the key of each row.
    let mut hashes: Vec<u64> = Vec::new();
    let Records {
        mut keys,
        tags,
        mut found,
    } = Records::read(&tables, &settings, &mut activity, &mut |_, _, key, _| {
        push_within(&mut hashes, key.show_bytes(city64), u32::MAX as usize);
    });
    let mut sample = Sample::new(size, seed);
    let mut add = |a: u32, b: u32, similarity| {
        check_for_interrupts();
        let keys = [hashes[a as usize], hashes[b as usize]];
        or_out_of_memory(sample.add([a, b], keys, similarity));
    };
    let mut partners = or_out_of_memory(Partners::if_wanted(one_to_one, found.copies.records()));
    compare_candidates(
        &mut found,
        &settings,
        &mut activity,
        |copies, pair, similarity| match one_to_one {
            true => or_out_of_memory(partners.add(pair, similarity)),
            false => copies.for_each(pair, |a, b| add(a, b, similarity)),
        },
    );
    or_out_of_memory(partners.for_each(&found.copies, add));
    let drawn = sample.finish();
    let mut key_of = |side: usize, row: u32| {
        let mut buffer = ValueBuffer::new();
        keys[side].get(tags[row as usize], &mut buffer).to_text()
    };
    let mut out = DrawnRows {
        rows,
        values: std::array::from_fn(|_| HashMap::new()),
    };
    let mut pairs = Vec::new();
    for (threshold, count, drawn) in &drawn {
        for pair in drawn {
            let [a, b] = [key_of(0, pair.a), key_of(N - 1, pair.b)];
            // The order of a pair says nothing in one relation; that of the rows may change.
            let [a, b] = if N == 1 && b < a { [b, a] } else { [a, b] };
            out.values[0].insert(a.clone(), None);
            out.values[N - 1].insert(b.clone(), None);
            pairs.push((*threshold, *count as i64, a, b, pair.similarity));
        }
    }
    out.read(&tables);
    pairs.iter().for_each(|pair| out.push(pair));
    args.null()
}

/// A pair that was drawn: its stratum with the number of pairs, both keys and the similarity.
type DrawnPair = (f64, i64, String, String, f64);

/// The rows that are returned.
struct DrawnRows<const N: usize> {
    rows: RowsOut,
    /// The columns of each row that was drawn, by its key.
    values: [HashMap<String, Option<KeptValue>>; N],
}

impl<const N: usize> DrawnRows<N> {
    fn read(&mut self, tables: &[RecordTable; N]) {
        for (table, wanted) in tables.iter().zip(&mut self.values) {
            table.for_each_row(&mut |[key, columns, _, _]| {
                if let (Some(key), Some(columns)) = (key, columns)
                    && let Some(values) = wanted.get_mut(&key.to_text())
                {
                    *values = Some(columns.keep());
                }
            });
        }
    }

    fn push(&mut self, (threshold, count, a, b, similarity): &DrawnPair) {
        let values = |side: usize, key: &String| self.values[side].get(key)?.as_ref();
        let [values_a, values_b] = [values(0, a), values(N - 1, b)];
        self.rows.push([
            Some(ResultValue::from(*threshold)),
            Some(ResultValue::from(*count)),
            Some(ResultValue::Value(Value::of_text(a))),
            Some(ResultValue::Value(Value::of_text(b))),
            Some(ResultValue::from(*similarity)),
            values_a.map(|values| ResultValue::Value(values.value())),
            values_b.map(|values| ResultValue::Value(values.value())),
        ]);
    }
}
