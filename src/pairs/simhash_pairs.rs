//! simhash_pairs and simhash_pairs_between: every pair of rows within a radius that passes a check,
//! without an index; `near_rows` says when rows are read by one. The server calls them from SQL.
//! Each pair comes once; within one relation the smaller key is `a`.

use super::hashes_in_parts::{find_pairs_of_hashes, memory_of_rows};
use super::near_rows::read_by_index;
use super::row_keys::RowKeys;
use super::scope_columns::ScopeColumns;
use super::search::{PairSearch, Pairs, Tags};
use super::source::{SourceTable, radius_of};
use super::value_store::ValueBuffer;
use crate::checked_pairs::check::{Check, CheckArguments};
use crate::checked_pairs::paired_rows::{PairedRows, for_each_edge, no_edges};
use crate::checked_pairs::passing::{Asked, PassingPairs};
use crate::checked_pairs::value_reader::ValueReader;
use pgrx::pg_sys::Datum;
use simhash_hamming::pairs::file::Gathered;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, work_mem_bytes};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

/// Puts pairs into the function's result.
struct PairRows<const N: usize> {
    rows: RowsOut,
    /// The order of keys, and the keys of each relation.
    orders: [KeyType; N],
    keys: [RowKeys; N],
    is_across: bool,
    buffers: [ValueBuffer; 2],
}

impl<const N: usize> Pairs for PairRows<N> {
    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let [left, right] = &mut self.buffers;
        let (a, b) = (self.keys[0].get(a, left), self.keys[N - 1].get(b, right));
        let (a, b) = match N == 1 && self.orders[0].compare(a, b).is_gt() {
            true => (b, a),
            false => (a, b),
        };
        push_pair(&mut self.rows, [a, b], distance);
    }

    fn is_transitive(&self) -> bool {
        false
    }

    fn is_across(&self) -> bool {
        self.is_across
    }
}

impl<const N: usize> Tags for PairRows<N> {
    fn tag(&mut self, side: usize, key: Value<'_>, set: Option<u32>) -> u64 {
        self.keys[side].add(key, set)
    }
}

pg_function!(simhash_pairs);
/// simhash_pairs(relation regclass, key text, ...) and (relation regclass, key_type anyelement, ...)
/// -> SETOF (a, b, distance)
fn simhash_pairs(args: &Args) -> Datum {
    pairs::<1>(args, "simhash_pairs")
}

pg_function!(simhash_pairs_between);
/// simhash_pairs_between(relation_a regclass, key_a text, ...) and (relation_a regclass, key_type_a anyelement, ...)
/// -> SETOF (a, b, distance)
fn simhash_pairs_between(args: &Args) -> Datum {
    pairs::<2>(args, "simhash_pairs_between")
}

/// Returns the pairs of the SQL function `name`, within a relation or across two.
fn pairs<const N: usize>(args: &Args, name: &'static str) -> Datum {
    let rows = RowsOut::begin(args);
    let mut sources: [SourceTable; N] = SourceTable::from_arguments(args, name);
    let checked = CheckArguments::from_arguments(args, name);
    let radius = args.get::<i32>(args.at("radius"));
    let radius = radius_of(radius, name, &sources, checked.texts[0].is_some());
    let columns = ScopeColumns::from_arguments(args, name, &sources);
    read_by_index(&mut sources, &columns, radius, args.function());
    match Check::new(checked, &sources) {
        None => return_all(rows, &sources, &columns, radius, &mut Activity::new(name)),
        Some(check) => {
            let activity = &mut Activity::new(name);
            let paired_rows = PairedRows::find(
                &sources,
                &columns,
                radius,
                check.needed(&sources[0]),
                activity,
            );
            return_passing(rows, &sources, paired_rows, check, activity);
        }
    }
    args.null()
}

fn push_pair(rows: &mut RowsOut, pair: [Value<'_>; 2], distance: u32) {
    let [a, b] = pair.map(ResultValue::Value);
    rows.push([a, b, ResultValue::from(distance as i32)].map(Some));
}

/// Returns all pairs.
fn return_all<const N: usize>(
    rows: RowsOut,
    sources: &[SourceTable; N],
    columns: &ScopeColumns<'_>,
    radius: u32,
    activity: &mut Activity,
) {
    // Keys that do not fit a tag get a quarter of the memory.
    let (memory, mut memory_of_keys) = (work_mem_bytes(), 0);
    let orders = sources.each_ref().map(SourceTable::order);
    let keys = orders.map(|order| {
        let memory_of_side = if order.storage.is_by_value() {
            0
        } else {
            memory / 4 / N
        };
        memory_of_keys += memory_of_side;
        RowKeys::new(order.storage, memory_of_side)
    });
    let pairs = PairRows {
        rows,
        orders,
        keys,
        is_across: columns.is_across(),
        buffers: Default::default(),
    };
    let mut search = PairSearch::new(pairs, activity);
    let mut gathered = Gathered::new(memory_of_rows(sources, memory - memory_of_keys));
    columns.read(sources, &mut search, &mut gathered, |search, group| {
        search.pairs.keys.iter_mut().for_each(RowKeys::finish);
        if !find_pairs_of_hashes(sources, group, search, radius) {
            group.find_pairs(search, radius);
        }
        search.pairs.keys.iter_mut().for_each(RowKeys::clear);
    });
}

/// Returns the pairs that pass.
fn return_passing(
    mut rows: RowsOut,
    sources: &[SourceTable],
    mut paired_rows: PairedRows,
    check: Check,
    activity: &mut Activity,
) {
    let edges = std::mem::replace(&mut paired_rows.edges, no_edges());
    let values = ValueReader::new(sources, &check.values, &paired_rows);
    let asked = Asked {
        method: None,
        similarities: false,
    };
    let passing = PassingPairs::find(&values, check.judge, None, edges, asked, activity);
    drop(values);
    let PassingPairs {
        classes, mut pairs, ..
    } = passing;
    let mut by_class = collected(0..classes.rows() as u32);
    by_class.sort_unstable_by_key(|row| {
        check_for_interrupts();
        (classes.class_of(*row), *row)
    });
    let rows_of = |class: u32| {
        let start = by_class.partition_point(|row| classes.class_of(*row) < class);
        &by_class[start..start + classes.size(class) as usize]
    };
    // Rows are numbered by their keys, those of the first relation first.
    let mut push = |a: u32, b: u32, distance: u32| {
        check_for_interrupts();
        let pair = [a.min(b), a.max(b)].map(|row| paired_rows.key(row));
        push_pair(&mut rows, pair, distance);
    };
    for class in by_class.chunk_by(|a, b| classes.class_of(*a) == classes.class_of(*b)) {
        for (i, b) in class.iter().enumerate() {
            class[..i].iter().for_each(|a| push(*a, *b, 0));
        }
    }
    for_each_edge(&mut pairs, |pair| {
        for a in rows_of(pair.a) {
            rows_of(pair.b)
                .iter()
                .for_each(|b| push(*a, *b, pair.distance));
        }
    });
}
