//! simhash_pairs: every pair of rows within a radius, without an index.

use super::file::Gathered;
use super::keys::{KeyBuffer, Keys};
use super::search::{PairSearch, Pairs, Tags};
use super::source::{SourceTable, radius};
use crate::pg::process::activity::Activity;
use crate::pg::process::memory::work_mem_bytes;
use crate::pg::process::temp_file::TempFile;
use crate::pg::sql::fmgr::{Args, pg_function};
use crate::pg::sql::rows_out::{ResultValue, RowsOut};
use crate::pg::sql::value::Value;
use pgrx::pg_sys::Datum;

/// Puts pairs into the function's result.
struct PairRows {
    rows: RowsOut,
    keys: Keys,
    buffers: [KeyBuffer; 2],
}

impl Pairs for PairRows {
    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let [left, right] = &mut self.buffers;
        let (a, b) = (self.keys.get(a, left), self.keys.get(b, right));
        let (a, b) = match self.keys.of_type.compare(a, b).is_gt() {
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

impl Tags for PairRows {
    fn tag(&mut self, key: Value<'_>) -> u64 {
        self.keys.add(key)
    }
}

pg_function! {
    /// simhash_pairs(relation, key, fingerprint, radius) -> SETOF (a, b, distance)
    fn simhash_pairs, pg_finfo_simhash_pairs(args) {
        pairs(args, "simhash_pairs", false)
    }
}

pg_function! {
    /// simhash_pairs_keyed(key_type, relation, key, fingerprint, radius) -> SETOF (a, b, distance)
    fn simhash_pairs_keyed, pg_finfo_simhash_pairs_keyed(args) {
        pairs(args, "simhash_pairs_keyed", true)
    }
}

/// The pairs of the SQL function `name`; one that is `keyed` has the argument key_type before the
/// others.
fn pairs(args: &Args, name: &'static str, keyed: bool) -> Datum {
    let rows = RowsOut::begin(args);
    let source = SourceTable::of(args, name, keyed);
    let radius = radius(args.get::<i32>(usize::from(keyed) + 3), name);
    let order = source.order();
    // Keys that do not fit a tag get a quarter of the memory.
    let memory = work_mem_bytes();
    let of_keys = if order.is_by_value() { 0 } else { memory / 4 };
    let pair_rows = PairRows {
        rows,
        keys: Keys::new(order, of_keys),
        buffers: Default::default(),
    };
    let mut search = PairSearch {
        pairs: pair_rows,
        activity: &mut Activity::new(name),
    };
    let mut gathered: Gathered<TempFile> = Gathered::new(memory - of_keys);
    source.read(&mut gathered, &mut search);
    search.pairs.keys.finish();
    gathered.find_pairs(&mut search, radius);
    args.null()
}
