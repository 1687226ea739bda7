//! VACUUM: one pass over the pages in physical order.
//!
//! The pass misses no posting although pages split during it: a split moves postings to a page that
//! is new, hence at the end of the file, and the file's length is read again until it stops
//! growing.

use super::dead_rows::KnownDeadRows;
use super::store::{IndexPages, read_meta};
use crate::errors::raise_in_index;
use simhash_hamming::key::{Key, SPACES, Space};
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::page::{LEAF, is_zero, leaf, special};
use simhash_hamming::remove;
use simhash_hamming::tree::locked::Locked;
use simhash_pg::am::row_address::RowAddresses;
use simhash_pg::am::vacuum::{DeadRows, Vacuum};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::{Exclusive, Pinned, Shared};
use simhash_pg::page::wal::{self, PageImage};
use simhash_pg::process::compat::vacuum_delay_point;
use std::convert::Infallible;

/// Counts of a pass.
#[derive(Default)]
pub struct VacuumCounts {
    pub pages: u32,
    leaves: [u32; SPACES],
    postings: [u64; SPACES],
    removed: [u64; SPACES],
}

impl VacuumCounts {
    /// Sums the counts of the spaces that hold each row once: those of one quarter and of the
    /// NULL space.
    fn count_rows(counts: &[u64; SPACES]) -> u64 {
        Space::all()
            .filter(|s| s.holds_each_row_once())
            .map(|s| counts[s.index()])
            .sum()
    }

    fn add(&mut self, space: Space, postings: usize, removed: usize) {
        let space = space.index();
        self.leaves[space] += 1;
        self.postings[space] += (postings - removed) as u64;
        self.removed[space] += removed as u64;
    }

    pub fn rows(&self) -> u64 {
        Self::count_rows(&self.postings)
    }

    pub fn rows_removed(&self) -> u64 {
        Self::count_rows(&self.removed)
    }
}

/// Removes the postings of dead rows. A validation gets each row once: an insert files a row in all
/// its spaces or in none, and no VACUUM, which could be interrupted between two of them, runs at
/// the same time.
pub fn bulk_delete(vacuum: &Vacuum, dead: &DeadRows) -> VacuumCounts {
    let index = vacuum.index();
    let stamp = read_meta(index).page_stamp();
    let once = vacuum.is_validation();
    let mut counts = VacuumCounts::default();
    let mut addresses = RowAddresses::default();
    let dead = if once {
        KnownDeadRows::of_validation(dead)
    } else {
        KnownDeadRows::of_table(vacuum, dead, &mut addresses)
    };
    let mut block = META_BLOCK + 1;
    loop {
        let end = index.block_count_after_extension();
        counts.pages = end;
        if block >= end {
            break;
        }
        while block < end {
            vacuum_delay_point();
            let page = vacuum.read(block).share();
            match space_of_leaf(index, &page, stamp) {
                None => {}
                Some(space) if once && !space.holds_each_row_once() => {
                    counts.add(space, leaf::count(&page), 0);
                }
                // A cleanup lock on every leaf: a scan that holds a pin still has to look at the
                // rows it found there, whether this pass removes something from the page.
                Some(_) => {
                    let page = page.unlock().cleanup();
                    clean_leaf(page, stamp, &dead, &mut addresses, &mut counts);
                }
            }
            block += 1;
            vacuum.report_progress(block, end);
        }
    }
    note_counts(index, &counts);
    counts
}

/// Returns the space of a leaf; None for internal pages, and for pages of zeros. What a page is
/// does not change once VACUUM can see it, since a new page stays locked until it is logged.
fn space_of_leaf(index: Rel, page: &Shared, stamp: u32) -> Option<Space> {
    if is_zero(page) {
        return None;
    }
    let kind = special::kind_of(page, stamp)
        .unwrap_or_else(|error| raise_in_index(index, page.block(), &error));
    (kind.level == LEAF).then_some(kind.space)
}

fn clean_leaf(
    page: Exclusive,
    stamp: u32,
    dead: &KnownDeadRows,
    addresses: &mut RowAddresses,
    counts: &mut VacuumCounts,
) {
    let (index, block) = (page.rel(), page.block());
    let without_dead = |postings: &[Key]| {
        postings
            .iter()
            .for_each(|key| addresses.check(index, key.tid));
        dead.without_dead(postings)
    };
    let (space, postings, removed) =
        remove::clean::<IndexPages>(&mut Locked { block, page }, stamp, without_dead)
            .unwrap_or_else(|fault| raise_in_index(index, block, &fault));
    counts.add(space, postings, removed);
}

/// Writes the counts to the metapage, for the planner.
fn note_counts(index: Rel, counts: &VacuumCounts) {
    let mut page = Pinned::read(index, META_BLOCK).exclusive();
    let mut meta =
        Meta::read(&page).unwrap_or_else(|error| raise_in_index(index, META_BLOCK, &error));
    meta.leaves = counts.leaves;
    meta.rows = counts.postings[0];
    meta.null_rows = counts.postings[Space::NULL.index()];
    let Ok(()) = wal::change([(&mut page, PageImage::Delta)], |[page]| {
        meta.write(page);
        Ok::<(), Infallible>(())
    });
}
