//! The leaves of a scan on which many postings have matched. The store notes them, and what removes
//! the postings of dead rows looks at no others. How many are noted is bounded by work_mem.

use simhash_base::tid::Tid;
use simhash_hamming::key::Space;
use simhash_pg::process::memory::{reserve, work_mem_bytes};
use std::cell::RefCell;

/// Number of dead postings for which a leaf is written and logged as a whole: a search that looks up
/// eight dead rows does about as much work for them as for the leaf.
pub const MANY: usize = 8;

/// The leaves on which many postings have matched: on others not many can be of dead rows.
#[derive(Default)]
pub struct ManyMatches(RefCell<Vec<(Space, u32)>>);

impl ManyMatches {
    pub fn note(&self, space: Space, leaf: u32, matches: usize) {
        let mut leaves = self.0.borrow_mut();
        // For more of them no scan notes enough rows.
        if matches >= MANY && leaves.len() < most_rows() / MANY {
            reserve(&mut leaves, 1);
            leaves.push((space, leaf));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub fn take(&self) -> Vec<(Space, u32)> {
        self.0.take()
    }
}

/// Rows that one scan notes; the rest is left to the next.
pub fn most_rows() -> usize {
    work_mem_bytes() / size_of::<Tid>()
}
