//! Removes the postings of dead rows that a plain scan has met, so that the next one does not meet
//! them again before VACUUM. The scan notes rows and leaves on its way, and calls this when it ends
//! or starts again. A posting is removed only if the line pointer of its row is dead while the
//! posting's leaf is locked: README.md says why it cannot be that of a live row then, and why
//! standbys need no word of it.

use super::many_matches::{MANY, ManyMatches, most_rows};
use super::store::IndexPages;
use simhash_base::tid::Tid;
use simhash_hamming::key::Key;
use simhash_hamming::page::{Page, leaf};
use simhash_hamming::remove;
use simhash_hamming::search::reader::{IndexReader, IndexState};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::is_interrupted;
use simhash_pg::process::memory::reserve;
use simhash_pg::table::dead_line_pointers::DeadLinePointers;

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
            let is_noted = |key: &Key| rows.binary_search(&key.tid).is_ok();
            if leaf::postings(&page).filter(is_noted).count() < MANY {
                continue;
            }
            let mut kept = kept(&page, table, &rows);
            if leaf::count(&page) - kept.len() >= MANY {
                remove::keep::<IndexPages>(&mut page, kind, &mut kept);
            }
        }
    }
}

/// Returns the postings that stay in a leaf, which must be locked for writing: all but those of the
/// sorted `rows` that are dead now. Since a scan noted a row, VACUUM may have freed its address, and
/// another row may have taken it.
fn kept(leaf: &Page, table: Rel, rows: &[Tid]) -> Vec<Key> {
    let mut dead = DeadLinePointers::default();
    let mut kept: Vec<Key> = leaf::postings(leaf).collect();
    // Each page of the table is read once.
    kept.sort_unstable_by_key(|key| key.tid);
    kept.retain(|key| rows.binary_search(&key.tid).is_err() || !dead.has(table, key.tid));
    kept
}
