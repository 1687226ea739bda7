//! Removes the postings of dead rows that a plain scan has met, so that the next one does not meet
//! them again before VACUUM. The scan notes rows and leaves on its way, and calls this when it ends
//! or starts again. A posting is removed only if the line pointer of its row is dead while the
//! posting's leaf is locked: README.md says why it cannot be that of a live row then, and why
//! standbys need no word of it.

#![allow(unsafe_code)]

use super::buffer::Pinned;
use super::row_address::MAX_HEAP_OFFSET;
use super::store::IndexPages;
use pgrx::pg_sys;
use simhash_base::indexed_row::Tid;
use simhash_hamming::key::{Position, Space};
use simhash_hamming::page::{Page, leaf};
use simhash_hamming::remove;
use simhash_hamming::search::reader::{IndexReader, IndexState};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::is_interrupted;
use simhash_pg::process::memory::{reserve, work_mem_bytes};
use std::cell::RefCell;
use std::mem::offset_of;

/// Number of dead postings for which a leaf is written and logged as a whole: a search that looks up
/// eight dead rows does about as much work for them as for the leaf.
const MANY: usize = 8;

/// The leaves of a scan on which many postings have matched: on others not many can be of dead rows. The
/// store notes them.
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

    fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    fn take(&self) -> Vec<(Space, u32)> {
        self.0.take()
    }
}

/// Rows that one scan notes; the rest is left to the next.
fn most_rows() -> usize {
    work_mem_bytes() / size_of::<Tid>()
}

/// What a scan has met.
#[derive(Default)]
pub struct DeadPostings {
    many_matches: ManyMatches,
    /// Dead rows.
    rows: Vec<Tid>,
    /// What is dead on the page of the last one.
    page: DeadLinePointers,
}

impl DeadPostings {
    pub fn many_matches(&self) -> &ManyMatches {
        &self.many_matches
    }

    /// Notes a row that the executor has found dead. Many such rows are not pruned yet: what VACUUM
    /// would log of their removal, pages of an index cannot say.
    pub fn note(&mut self, table: Rel, row: Tid) {
        let is_wanted = !self.many_matches.is_empty() && self.rows.len() < most_rows();
        if is_wanted && self.page.has(table, row) {
            reserve(&mut self.rows, 1);
            self.rows.push(row);
        }
    }

    /// Removes postings of the noted rows from the noted leaves, and forgets both. Does nothing
    /// where leaves would on average have few.
    pub fn remove(&mut self, index: Rel, table: Rel, state: &IndexState) {
        let (mut leaves, mut rows) = (self.many_matches.take(), std::mem::take(&mut self.rows));
        self.page = DeadLinePointers::default();
        if rows.is_empty() {
            return;
        }
        // Where the nearest are searched, a leaf may be visited more than once.
        leaves.sort_unstable();
        leaves.dedup();
        if rows.len() < MANY * leaves.len() {
            return;
        }
        rows.sort_unstable();
        let reader = IndexReader::new(IndexPages::of(index), state);
        for (space, block) in leaves {
            // Nobody waits for this: it must not fail a query that has ended, or a COMMIT.
            if is_interrupted() {
                return;
            }
            let (mut page, kind) = reader.visited_leaf(space, block);
            let is_noted = |key: &Position| rows.binary_search(&key.tid).is_ok();
            if leaf::postings(&page).filter(is_noted).count() < MANY {
                continue;
            }
            let mut kept = kept(&page, table, &rows);
            if leaf::count(&page) - kept.len() >= MANY {
                remove::rewrite::<IndexPages>(&mut page, kind, &mut kept);
            }
        }
    }
}

/// Returns the postings that stay in a leaf, which must be locked for writing: all but those of the
/// sorted `rows` that are dead now. Since a scan noted a row, VACUUM may have freed its address, and
/// another row may have taken it.
fn kept(leaf: &Page, table: Rel, rows: &[Tid]) -> Vec<Position> {
    let mut dead = DeadLinePointers::default();
    let mut kept: Vec<Position> = leaf::postings(leaf).collect();
    // Each page of the table is read once.
    kept.sort_unstable_by_key(|key| key.tid);
    kept.retain(|key| rows.binary_search(&key.tid).is_err() || !dead.has(table, key.tid));
    kept
}

const BITS: usize = u64::BITS as usize;
const WORDS: usize = MAX_HEAP_OFFSET as usize / BITS + 1;

/// Which row addresses are dead: nothing stands there but a line pointer that waits for VACUUM (LP_DEAD).
/// Only pages that are in buffers are read, so that the caller may hold the lock of an index's page. Known
/// is the page of the last address that was asked for, as it was when it was read.
#[derive(Default)]
struct DeadLinePointers {
    block: Option<u32>,
    /// One bit for each offset.
    dead: [u64; WORDS],
}

impl DeadLinePointers {
    /// Returns whether the address was dead when its page was read, which an earlier call for the
    /// same page may have done. False where that is not known: the page is in no buffer, or the
    /// table's access method is not the heap.
    fn has(&mut self, table: Rel, tid: Tid) -> bool {
        if self.block != Some(tid.block) {
            self.block = Some(tid.block);
            self.dead = read(table, tid.block);
        }
        let offset = usize::from(tid.offset);
        let word = self.dead.get(offset / BITS);
        word.is_some_and(|word| word >> (offset % BITS) & 1 != 0)
    }
}

fn read(table: Rel, block: u32) -> [u64; WORDS] {
    let mut dead = [0; WORDS];
    if !table.is_heap() {
        return dead;
    }
    let Some(page) = Pinned::read_if_cached(table, block) else {
        return dead;
    };
    let page = page.share();
    let header = page.as_ptr().cast::<pg_sys::PageHeaderData>();
    // SAFETY: the page is locked for reading, so its line pointers, which begin at `pd_linp` and end
    // at `pd_lower`, stay; no more are read than fit the page. Each is read by pointer: hints
    // elsewhere on a page of a heap may change meanwhile.
    unsafe {
        let end = usize::from((*header).pd_lower);
        let count = end.saturating_sub(offset_of!(pg_sys::PageHeaderData, pd_linp))
            / size_of::<pg_sys::ItemIdData>();
        let pointers = (&raw const (*header).pd_linp).cast::<pg_sys::ItemIdData>();
        for i in 0..count.min(usize::from(MAX_HEAP_OFFSET)) {
            let is_dead = (*pointers.add(i)).lp_flags() == pg_sys::LP_DEAD;
            // The first offset is 1.
            dead[(i + 1) / BITS] |= u64::from(is_dead) << ((i + 1) % BITS);
        }
    }
    dead
}
