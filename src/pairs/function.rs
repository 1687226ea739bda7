//! simhash_pairs: every pair of rows within a radius, without an index.

use super::keys::{KeyBuffer, Keys};
use super::parallel_scan::find_pairs_of_tables;
use super::parallel_search::find_pairs;
use super::scope_columns::ScopeColumns;
use super::search::{PairSearch, Pairs, Tags};
use super::source::{SourceTable, first_argument_after, radius};
use pgrx::pg_sys::Datum;
use simhash_hamming::pairs::file::Gathered;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::memory::work_mem_bytes;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

/// Puts pairs into the function's result.
struct PairRows<const N: usize> {
    rows: RowsOut,
    /// The keys of each relation.
    keys: [Keys; N],
    buffers: [KeyBuffer; 2],
}

impl<const N: usize> Pairs for PairRows<N> {
    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let [left, right] = &mut self.buffers;
        let (a, b) = (self.keys[0].get(a, left), self.keys[N - 1].get(b, right));
        let (a, b) = match N == 1 && self.keys[0].key_type.compare(a, b).is_gt() {
            true => (b, a),
            false => (a, b),
        };
        let distance = ResultValue::from(distance as i32);
        let row = [ResultValue::Value(a), ResultValue::Value(b), distance];
        self.rows.push(row.map(Some));
    }

    fn is_transitive(&self) -> bool {
        false
    }
}

impl<const N: usize> Tags for PairRows<N> {
    fn tag(&mut self, side: usize, key: Value<'_>) -> u64 {
        self.keys[side].add(key)
    }
}

pg_function! {
    /// simhash_pairs(relation, key, fingerprint, radius, within) -> SETOF (a, b, distance)
    fn simhash_pairs, pg_finfo_simhash_pairs(args) {
        pairs::<1>(args, "simhash_pairs", false)
    }
}

pg_function! {
    /// simhash_pairs_keyed(key_type, relation, key, fingerprint, radius, within)
    /// -> SETOF (a, b, distance)
    fn simhash_pairs_keyed, pg_finfo_simhash_pairs_keyed(args) {
        pairs::<1>(args, "simhash_pairs_keyed", true)
    }
}

pg_function! {
    /// simhash_pairs(relation_a, key_a, fingerprint_a, relation_b, key_b, fingerprint_b, radius,
    /// within) -> SETOF (a, b, distance)
    fn simhash_pairs_across, pg_finfo_simhash_pairs_across(args) {
        pairs::<2>(args, "simhash_pairs", false)
    }
}

pg_function! {
    /// simhash_pairs_keyed(key_type_a, key_type_b, relation_a, key_a, fingerprint_a, relation_b,
    /// key_b, fingerprint_b, radius, within) -> SETOF (a, b, distance)
    fn simhash_pairs_across_keyed, pg_finfo_simhash_pairs_across_keyed(args) {
        pairs::<2>(args, "simhash_pairs_keyed", true)
    }
}

/// Returns the pairs of the SQL function `name`, within a relation or across two. If `keyed`, it
/// has an argument for the type of each relation's keys before the others.
fn pairs<const N: usize>(args: &Args, name: &'static str, keyed: bool) -> Datum {
    let rows = RowsOut::begin(args);
    let sources: [SourceTable; N] = SourceTable::from_arguments(args, name, keyed);
    let radius_at = first_argument_after::<N>(keyed);
    let radius = radius(args.get::<i32>(radius_at), name);
    let within = ScopeColumns::from_arguments(args, radius_at + 1, name, &sources);
    // Keys that do not fit a tag get a quarter of the memory.
    let (memory, mut memory_of_keys) = (work_mem_bytes(), 0);
    let keys = sources.each_ref().map(|source| {
        let order = source.order();
        let memory_of_side = if order.is_by_value() {
            0
        } else {
            memory / 4 / N
        };
        memory_of_keys += memory_of_side;
        Keys::new(order, memory_of_side)
    });
    let mut search = PairSearch {
        pairs: PairRows {
            rows,
            keys,
            buffers: Default::default(),
        },
        activity: &mut Activity::new(name),
    };
    let mut gathered = Gathered::new(memory - memory_of_keys);
    let is_done =
        within.is_empty() && find_pairs_of_tables(&sources, &mut gathered, &mut search, radius);
    if is_done {
        return args.null();
    }
    within.read(&sources, &mut search, &mut gathered, |search, group| {
        search.pairs.keys.iter_mut().for_each(Keys::finish);
        find_pairs(group, search, radius);
        search.pairs.keys.iter_mut().for_each(Keys::clear);
    });
    args.null()
}
