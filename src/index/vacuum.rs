//! VACUUM: one pass over the pages in physical order.
//!
//! The pass misses no posting although pages split meanwhile: a split moves postings to a page that is
//! new, hence at the end of the file, and the file's length is read again until it stops growing.

use super::corrupt::corrupted;
use super::key::{BLOCKS, SPACES, Space, Tid};
use super::page::meta::{META_BLOCK, Meta};
use super::page::{is_zero, leaf, special};
use super::tree::{LEAF, read_meta};
use crate::pg::buffer::{Exclusive, Pinned};
use crate::pg::compat::vacuum_delay_point;
use crate::pg::relation::Rel;
use crate::pg::vacuum::{DeadRows, Vacuum};
use crate::pg::wal::{self, Image};
use std::convert::Infallible;

/// What a pass counted.
#[derive(Default)]
pub struct Tally {
    pub pages: u32,
    leaves: [u32; SPACES],
    postings: [u64; SPACES],
    removed: [u64; SPACES],
}

impl Tally {
    /// Of the postings of all spaces, those of one block and of the NULL space: one for each row.
    fn rows_of(counts: &[u64; SPACES]) -> u64 {
        counts[0] + counts[BLOCKS]
    }

    pub fn rows(&self) -> u64 {
        Self::rows_of(&self.postings)
    }

    pub fn rows_removed(&self) -> u64 {
        Self::rows_of(&self.removed)
    }
}

/// Removes the postings of dead rows.
pub fn bulk_delete(vacuum: &Vacuum, dead: &DeadRows) -> Tally {
    let index = vacuum.index();
    let stamp = read_meta(index).page_stamp();
    let mut tally = Tally::default();
    let mut block = META_BLOCK + 1;
    loop {
        let end = index.settled_block_count();
        tally.pages = end;
        if block >= end {
            break;
        }
        while block < end {
            vacuum_delay_point();
            // The cleanup lock, on every leaf: a scan that holds a pin still has to look at the rows
            // it found there, whether or not this pass removes something from the page.
            clean_page(vacuum.read(block).cleanup(), stamp, dead, &mut tally);
            block += 1;
        }
    }
    note_counts(index, &tally);
    tally
}

fn clean_page(mut page: Exclusive, stamp: u32, dead: &DeadRows, tally: &mut Tally) {
    if is_zero(&page) {
        return;
    }
    let who = special::identify(&page, stamp)
        .unwrap_or_else(|fault| corrupted(page.rel(), page.block(), &fault));
    if who.level != LEAF {
        return;
    }
    leaf::check(&page).unwrap_or_else(|fault| corrupted(page.rel(), page.block(), &fault));
    let tids: Vec<Tid> = leaf::entries(&page).map(|key| key.tid).collect();
    let doomed = dead.among(&tids);
    let removed = doomed.iter().filter(|d| **d).count();
    if removed > 0 {
        let Ok(()) = wal::change([(&mut page, Image::Full)], |[page]| {
            leaf::remove(page, who, &doomed);
            Ok::<(), Infallible>(())
        });
    }
    let space = who.space.index();
    tally.leaves[space] += 1;
    tally.postings[space] += (tids.len() - removed) as u64;
    tally.removed[space] += removed as u64;
}

/// Writes the counts to the metapage, for the planner.
fn note_counts(index: Rel, tally: &Tally) {
    let mut page = Pinned::read(index, META_BLOCK).exclusive();
    let Ok(mut meta) = Meta::read(&page) else {
        return;
    };
    meta.leaves = tally.leaves;
    meta.rows = tally.postings[0];
    meta.null_rows = tally.postings[Space::NULL.index()];
    let Ok(()) = wal::change([(&mut page, Image::Delta)], |[page]| {
        meta.write(page);
        Ok::<(), Infallible>(())
    });
}
