//! Finds which of numbered rows are connected by pairs within a radius. `array_functions` adds the
//! rows in the order of their numbers and reads the sets.

use crate::pairs::search::{PairSearch, Pairs};
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::sets::UnionFind;
use simhash_hamming::pairs::sink::Row;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{or_out_of_memory, work_mem_bytes};
use simhash_pg::process::temp_file::TempFile;

/// Unites rows that are paired; tags are the rows' numbers.
struct UnitedRows(UnionFind);

impl Pairs for UnitedRows {
    fn pair(&mut self, a: u64, b: u64, _distance: u32) {
        self.0.union(a as u32, b as u32);
    }

    fn is_transitive(&self) -> bool {
        true
    }

    fn wants_distinct(&self) -> bool {
        true
    }
}

/// Rows that were added, in the order of their numbers.
pub struct Components<'a> {
    search: PairSearch<'a, UnitedRows>,
    rows: Gathered<TempFile<'static>, 1>,
}

impl<'a> Components<'a> {
    pub fn new(activity: &'a mut Activity) -> Self {
        let pairs = UnitedRows(UnionFind::new());
        Self {
            search: PairSearch::new(pairs, activity),
            rows: Gathered::new(work_mem_bytes()),
        }
    }

    /// Adds the next row.
    pub fn add(&mut self, fingerprint: u64) {
        check_for_interrupts();
        let tag = u64::from(or_out_of_memory(self.search.pairs.0.add()));
        let row = Row { fingerprint, tag };
        or_out_of_memory(self.rows.add(0, row, &mut self.search));
    }

    /// Returns the sets of rows that are connected by distances of at most `radius` bits.
    pub fn sets(mut self, radius: u32) -> UnionFind {
        let rows = &mut self.rows;
        self.search
            .compare(|search| rows.find_pairs(search, radius));
        self.search.pairs.0
    }
}
