//! Sorting postings as they come: in memory while they fit, else through runs in a temporary file.

#![forbid(unsafe_code)]

use super::spool::sort;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::runs::Runs;
use simhash_base::tid::Tid;
use simhash_hamming::build::sort::{Posting, merge};
use simhash_hamming::key::{Key, Space};
use simhash_pg::process::memory::{or_out_of_memory, push_within};
use simhash_pg::process::temp_file::TempFile;

/// Rows to be sorted into the order of a key space.
pub struct PostingSorter {
    order: Space,
    rows: Vec<Posting<u32>>,
    spare: Vec<Posting<u32>>,
    /// Rows that fit half of the memory; the other half is the sort's target.
    limit: usize,
    memory: usize,
    runs: Option<Runs<TempFile<'static>, Posting<u32>>>,
}

impl PostingSorter {
    /// `memory` is the number of bytes that it may use.
    pub fn new(order: Space, memory: usize) -> PostingSorter {
        PostingSorter {
            order,
            rows: Vec::new(),
            spare: Vec::new(),
            limit: (memory / 2 / size_of::<Posting<u32>>()).max(1000),
            memory,
            runs: None,
        }
    }

    pub fn add(&mut self, row: IndexedRow, tid: Tid) {
        push_within(&mut self.rows, Posting::new(row, tid), self.limit);
        if self.rows.len() >= self.limit {
            self.spill();
        }
    }

    fn spill(&mut self) {
        sort(self.order, &self.rows, &mut self.spare);
        self.rows.clear();
        self.runs
            .get_or_insert_with(|| Runs::new(TempFile::new()))
            .add(&self.spare);
    }

    /// Calls `emit` with all rows in order, each as the key space files it.
    pub fn finish(mut self, mut emit: impl FnMut(Key)) {
        if self.runs.is_some() && !self.rows.is_empty() {
            self.spill();
        }
        match self.runs {
            Some(runs) => {
                (self.rows, self.spare) = (Vec::new(), Vec::new());
                or_out_of_memory(merge(vec![runs], self.memory, emit));
            }
            None if self.rows.is_empty() => {}
            None => {
                sort(self.order, &self.rows, &mut self.spare);
                self.rows = Vec::new();
                self.spare.iter().for_each(|posting| emit(posting.key()));
            }
        }
    }
}
