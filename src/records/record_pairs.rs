//! simhash_record_pairs: the pairs of records that are similar, by the document frequencies of what
//! they have in common. The server calls it from SQL. Each pair comes once; within one relation the
//! smaller key is `a`.

use super::arguments::{Arguments, KeyTypes, TableArguments};
use super::source::{Records, compare_candidates};
use crate::pairs::arguments::{in_range, required};
use crate::pairs::named_columns::not_unique;
use crate::pairs::value_store::ValueBuffer;
use pgrx::pg_sys::Datum;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_records::partners::Partners;
use std::cmp::Ordering;

const NAME: &str = "simhash_record_pairs";
const KEYED: &str = "simhash_record_pairs_keyed";

pg_function! {
    /// simhash_record_pairs(relation, key, threshold, columns, one_to_one, rare, rarity, ngram,
    /// within, weights)
    /// -> SETOF (a, b, similarity)
    fn simhash_record_pairs, pg_finfo_simhash_record_pairs(args) {
        pairs::<1>(&Arguments { args, function: NAME, keys: KeyTypes::Integers })
    }
}

pg_function! {
    /// simhash_record_pairs_keyed(key_type, relation, key, threshold, columns, one_to_one, rare,
    /// rarity, ngram) -> SETOF (a, b, similarity)
    fn simhash_record_pairs_keyed, pg_finfo_simhash_record_pairs_keyed(args) {
        pairs::<1>(&Arguments { args, function: KEYED, keys: KeyTypes::Given })
    }
}

pg_function! {
    /// simhash_record_pairs(relation_a, key_a, relation_b, key_b, threshold, columns_a, columns_b,
    /// one_to_one, rare, rarity, ngram,
    /// within, weights) -> SETOF (a, b, similarity)
    fn simhash_record_pairs_across, pg_finfo_simhash_record_pairs_across(args) {
        pairs::<2>(&Arguments { args, function: NAME, keys: KeyTypes::Integers })
    }
}

pg_function! {
    /// simhash_record_pairs_keyed(key_type_a, key_type_b, relation_a, key_a, relation_b, key_b,
    /// threshold, columns_a, columns_b, one_to_one, rare, rarity, ngram,
    /// within, weights) -> SETOF (a, b, similarity)
    fn simhash_record_pairs_across_keyed, pg_finfo_simhash_record_pairs_across_keyed(args) {
        pairs::<2>(&Arguments { args, function: KEYED, keys: KeyTypes::Given })
    }
}

/// Returns the pairs within a relation or across two.
fn pairs<const N: usize>(arguments: &Arguments<'_>) -> Datum {
    let Arguments { args, function, .. } = *arguments;
    let mut rows = RowsOut::begin(args);
    let threshold_at = arguments.first::<N>() + 2 * N;
    let threshold: f64 = required(args.get(threshold_at), function, "threshold");
    let threshold = in_range("threshold", threshold, 0.0..=1.0);
    let settings_at = threshold_at + 2 + N;
    let places = std::array::from_fn(|side| TableArguments {
        relation: arguments.first::<N>() + 2 * side,
        columns: threshold_at + 1 + side,
        ending: if N == 1 { "" } else { ["_a", "_b"][side] },
    });
    let tables = arguments.tables::<N>(places, settings_at + 3);
    let one_to_one: bool = required(args.get(threshold_at + 1 + N), function, "one_to_one");
    let settings = arguments.settings(Some(settings_at), settings_at + 1, &tables);
    let mut activity = Activity::new(NAME);
    let Records {
        mut keys,
        tags,
        mut found,
    } = Records::read(&tables, &settings, &mut activity, &mut |_, _, _| {});
    let key_order = tables[0].order();
    let mut buffers = [ValueBuffer::new(), ValueBuffer::new()];
    let mut push = |a: u32, b: u32, similarity: f64| {
        check_for_interrupts();
        let [left, right] = &mut buffers;
        let (a, b) = (tags[a as usize], tags[b as usize]);
        let a = keys[0].get(a, left);
        let b = keys[N - 1].get(b, right);
        // Keys of two relations may be of two types.
        let order = match N {
            1 => key_order.compare(a, b),
            _ => Ordering::Less,
        };
        let [a, b] = match order {
            Ordering::Less => [a, b],
            Ordering::Equal => not_unique(&tables[0].key),
            Ordering::Greater => [b, a],
        };
        let row = [a, b].map(ResultValue::Value);
        rows.push([
            Some(row[0]),
            Some(row[1]),
            Some(ResultValue::from(similarity)),
        ]);
    };
    let mut partners = or_out_of_memory(Partners::if_wanted(one_to_one, found.copies.records()));
    compare_candidates(
        &mut found,
        &settings,
        &mut activity,
        |copies, pair, similarity| match (similarity >= threshold, one_to_one) {
            (false, _) => (),
            (true, true) => or_out_of_memory(partners.add(pair, similarity)),
            (true, false) => copies.for_each(pair, |a, b| push(a, b, similarity)),
        },
    );
    or_out_of_memory(partners.for_each(&found.copies, push));
    args.null()
}
