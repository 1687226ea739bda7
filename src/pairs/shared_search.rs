//! What the two processes of a search share: the state in shared memory, and the division of all
//! rows, which both compute alike.
//!
//! [`super::row_exchange`] gives each process all rows, and [`super::parallel_search`] searches
//! them branch by branch.

use pgrx::pg_sys;
use simhash_hamming::pairs::find::{Branches, Finder, PairSink, Row, Sides, reborrow};
use simhash_hamming::pairs::split::Size;
use simhash_pg::parallel::operation::Leader;
use simhash_pg::parallel::shared_memory::{SharedResources, SharedScan};
use simhash_pg::table::scan::WordColumn;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A table that both processes read.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct SharedTable {
    pub oid: pg_sys::Oid,
    pub columns: [WordColumn; 2],
}

/// State that both processes share.
#[repr(C)]
pub struct SharedSearch {
    /// Number of sides that are used, 1 or 2.
    pub sides: usize,
    pub radius: u32,
    /// As [`PairSink::is_across`].
    pub is_across: bool,
    /// Bytes of memory for the rows, in each process.
    pub memory: usize,
    /// The tables of the sides, if both processes read them.
    pub tables: Option<[SharedTable; 2]>,
    /// The next branch to be searched.
    next_branch: AtomicU32,
    /// The share of the work that the worker has done, as the bits of a float.
    pub worker_progress: AtomicU64,
}

/// The bits that are 1, and those that are 0, in some of the rows.
#[derive(Clone, Copy, Default)]
pub struct BitValues {
    ones: u64,
    zeros: u64,
}

impl BitValues {
    pub fn add(&mut self, rows: &[Row]) {
        for row in rows {
            self.ones |= row.fingerprint;
            self.zeros |= !row.fingerprint;
        }
    }

    /// Returns the bits in which rows differ.
    pub fn varying(self) -> u64 {
        self.ones & self.zeros
    }
}

/// Returns the division of all rows, which differ in these bits; None when
/// there are not enough branches for two processes.
pub fn branches<const N: usize>(counts: [u64; N], varying: u64, radius: u32) -> Option<Branches> {
    Branches::for_rows(Size::from_counts(counts), varying, radius)
        .filter(|branches| branches.count() > 1)
}

impl SharedSearch {
    pub fn new<const N: usize>(
        radius: u32,
        is_across: bool,
        memory: usize,
        tables: Option<[SharedTable; 2]>,
    ) -> Self {
        SharedSearch {
            sides: N,
            radius,
            is_across,
            memory,
            tables,
            next_branch: AtomicU32::new(0),
            worker_progress: AtomicU64::new(0),
        }
    }

    /// Searches branches until none is left.
    pub fn search<S: PairSink, const N: usize>(
        &self,
        finder: &mut Finder<S>,
        group: &mut Sides<N>,
        branches: &Branches,
    ) {
        loop {
            let branch = self.next_branch.fetch_add(1, Ordering::Relaxed) as usize;
            if branch >= branches.count() {
                return;
            }
            finder.branch(reborrow(group), branches, branch);
        }
    }
}

/// Launches a worker; `scans` are those of the state's tables, if it has any.
#[allow(unsafe_code)]
pub fn launch(state: SharedSearch, scans: &[SharedScan]) -> Option<Leader<SharedSearch>> {
    let shared = SharedResources {
        scans,
        files: false,
        queues: true,
    };
    // SAFETY: the state is numbers, and the worker's function is for it.
    unsafe { Leader::launch(c"simhash_pairs_worker", 1, state, &shared) }
}
