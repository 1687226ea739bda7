//! simhash_record_report: how many pairs of records there are from each threshold on, with
//! examples. The server calls it from SQL. It compares the same pairs as `record_pairs`, and
//! returns none but the examples.

use super::arguments::{Arguments, KeyTypes, TableArguments};
use super::source::{Records, compare_candidates};
use crate::pairs::value_store::{ValueBuffer, ValueStore};
use pgrx::pg_sys::Datum;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_records::copies::Candidate;
use simhash_records::partners::Partners;
use simhash_records::report::Report;

const NAME: &str = "simhash_record_report";

pg_function! {
    /// simhash_record_report(relation, key, columns, relation_b, key_b, columns_b, rare, rarity, ngram,
    /// within, weights) -> SETOF (threshold, pairs, one_to_one, low_example, high_example)
    fn simhash_record_report, pg_finfo_simhash_record_report(args) {
        let [first, second] = TableArguments::OF_TWO;
        match second.are_given(args) {
            false => report(args, [first]),
            true => report(args, [first, second]),
        }
    }
}

/// Reports on the pairs within a relation or across two. Keys are returned as text.
fn report<const N: usize>(args: &Args, places: [TableArguments; N]) -> Datum {
    let rows = RowsOut::begin(args);
    let arguments = Arguments {
        args,
        function: NAME,
        keys: KeyTypes::Text,
    };
    let tables = arguments.tables(places, 9);
    let settings = arguments.settings(Some(6), 7, &tables);
    let mut activity = Activity::new(NAME);
    let Records {
        keys,
        tags,
        mut found,
    } = Records::read(&tables, &settings, &mut activity, &mut |_, _, _| {});
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
    let add = |_, _, similarity| report.add_mutual(similarity);
    or_out_of_memory(partners.for_each(&found.copies, add));
    let first_rows = |pair| found.copies.first_pair(pair);
    return_rows(rows, &report, keys, &tags, first_rows);
    args.null()
}

/// Returns a row for each threshold.
fn return_rows<const N: usize>(
    mut rows: RowsOut,
    report: &Report,
    mut keys: [ValueStore; N],
    tags: &[u64],
    first_rows: impl Fn(Candidate) -> [u32; 2],
) {
    let mut example = |pair: Candidate| {
        let mut text = |side: usize, row: u32| {
            let mut buffer = ValueBuffer::new();
            let key = keys[side].get(tags[row as usize], &mut buffer);
            key.show_bytes(<[u8]>::to_vec)
        };
        let [a, b] = first_rows(pair);
        [text(0, a), text(N - 1, b)]
    };
    report.for_each(|threshold, [pairs, mutual], step| {
        let examples = step
            .examples
            .map(|examples| examples.map(|(_, pair)| example(pair)));
        let texts = examples
            .as_ref()
            .map(|examples| examples.each_ref().map(slices));
        let [low, high] = match &texts {
            Some([low, high]) => [Some(low), Some(high)],
            None => [None, None],
        };
        rows.push([
            Some(ResultValue::from(threshold)),
            Some(ResultValue::from(pairs as i64)),
            Some(ResultValue::from(mutual as i64)),
            low.map(|keys| ResultValue::Texts(keys)),
            high.map(|keys| ResultValue::Texts(keys)),
        ]);
    });
}

fn slices(keys: &[Vec<u8>; 2]) -> [&[u8]; 2] {
    keys.each_ref().map(Vec::as_slice)
}
