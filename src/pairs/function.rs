//! simhash_pairs: every pair of rows within a radius, without an index.

use super::file::Gathered;
use super::keys::{KeyBuffer, Keys};
use super::search::{PairSearch, Pairs, Tags};
use super::source::{SourceTable, radius, required};
use crate::pg::process::activity::Activity;
use crate::pg::process::memory::work_mem_bytes;
use crate::pg::process::temp_file::TempFile;
use crate::pg::sql::fmgr::{Args, pg_function};
use crate::pg::sql::rows_out::RowsOut;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

const NAME: &str = "simhash_pairs";

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
        self.rows
            .push(|| [Some(a), Some(b), (distance as i32).into_datum()]);
    }

    fn is_transitive(&self) -> bool {
        false
    }
}

impl Tags for PairRows {
    fn tag(&mut self, key: Datum) -> u64 {
        self.keys.add(key)
    }
}

pg_function! {
    /// simhash_pairs(rel, key, fp, k) -> SETOF (a, b, distance)
    fn simhash_pairs, pg_finfo_simhash_pairs(args) {
        pairs(args, 3, None)
    }
}

pg_function! {
    /// simhash_pairs(rel, key, fp, key_type, k) -> SETOF (a, b, distance)
    fn simhash_pairs_keyed, pg_finfo_simhash_pairs_keyed(args) {
        pairs(args, 4, Some(3))
    }
}

fn pairs(args: &Args, k: usize, key_type: Option<usize>) -> Datum {
    let rows = RowsOut::begin(args);
    let source = SourceTable::of(args, NAME, key_type);
    let radius = radius(required(args.get::<i32>(k), NAME, "k"));
    let order = source.order();
    // Keys that are no tags by themselves get a quarter.
    let memory = work_mem_bytes();
    let of_keys = if order.is_by_value() { 0 } else { memory / 4 };
    let pair_rows = PairRows {
        rows,
        keys: Keys::new(order, of_keys),
        buffers: Default::default(),
    };
    find(&source, radius, Gathered::new(memory - of_keys), pair_rows);
    args.null()
}

fn find(source: &SourceTable, radius: u32, mut rows: Gathered<TempFile>, pair_rows: PairRows) {
    let mut search = PairSearch {
        pairs: pair_rows,
        activity: &mut Activity::new(NAME),
    };
    source.read(&mut rows, &mut search);
    search.pairs.keys.finish();
    rows.find_pairs(&mut search, radius);
}
