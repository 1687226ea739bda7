//! simhash_record_pairs: the pairs of records that are similar, by the document frequencies of what
//! they have in common. The server calls it from SQL. Each pair comes once; within one relation the
//! smaller key is `a`.

use super::arguments::Arguments;
use super::source::Records;
use super::threshold::compare_from;
use crate::pairs::arguments::{in_range, required};
use crate::pairs::named_columns::not_unique;
use crate::pairs::value_store::ValueBuffer;
use pgrx::pg_sys::{self, Datum};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_records::partners::Partners;
use std::cmp::Ordering;

const NAME: &str = "simhash_record_pairs";

pg_function!(simhash_record_pairs);
/// simhash_record_pairs(relation, key, threshold, columns, relation_b, key_b, columns_b, one_to_one, rare, rarity, ngram,
/// within, weights, differ) -> SETOF (a, b, similarity)
fn simhash_record_pairs(args: &Args) -> Datum {
    of_key_type(args, pg_sys::INT8OID, 0)
}

pg_function!(simhash_record_pairs_keyed);
/// simhash_record_pairs_keyed(key_type, ...) -> SETOF (a, b, similarity): the same, of keys of this type
fn simhash_record_pairs_keyed(args: &Args) -> Datum {
    of_key_type(args, args.type_of(0), 1)
}

/// Returns the pairs of relations from this argument on, whose keys have a type.
fn of_key_type(args: &Args, key_type: pg_sys::Oid, relation: usize) -> Datum {
    let arguments = Arguments {
        args,
        function: NAME,
        key_type,
        relation,
        columns: relation + 3,
        rarity: relation + 9,
    };
    match arguments.have_two() {
        false => pairs::<1>(&arguments),
        true => pairs::<2>(&arguments),
    }
}

/// Returns the pairs within a relation or across two.
fn pairs<const N: usize>(arguments: &Arguments<'_>) -> Datum {
    let Arguments { args, relation, .. } = *arguments;
    let mut rows = RowsOut::begin(args);
    let threshold: Option<f64> = args.get(relation + 2);
    let threshold = threshold.map(|threshold| in_range("threshold", threshold, 0.0..=1.0));
    let tables = arguments.tables::<N>();
    let one_to_one: bool = required(args.get(relation + 7), NAME, "one_to_one");
    let settings = arguments.settings(true, &tables);
    let mut activity = Activity::new(NAME);
    let Records {
        mut keys,
        tags,
        mut found,
    } = Records::read(&tables, &settings, &mut activity, &mut |_, _, _, _| {});
    let key_order = tables[0].order();
    let mut buffers = [ValueBuffer::new(), ValueBuffer::new()];
    let mut push = |a: u32, b: u32, similarity: f64| {
        check_for_interrupts();
        let [left, right] = &mut buffers;
        let (a, b) = (tags[a as usize], tags[b as usize]);
        let a = keys[0].get(a, left);
        let b = keys[N - 1].get(b, right);
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
    compare_from(
        &mut found,
        &settings,
        &mut activity,
        threshold,
        N == 2,
        |copies, pair, similarity| match one_to_one {
            true => or_out_of_memory(partners.add(pair, similarity)),
            false => copies.for_each(pair, |a, b| push(a, b, similarity)),
        },
    );
    or_out_of_memory(partners.for_each(&found.copies, push));
    args.null()
}
