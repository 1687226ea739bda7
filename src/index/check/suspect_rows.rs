//! Looks up again what looked wrong to simhash_index_verify. What is still wrong then is a fault.
//!
//! Each row is checked under a snapshot that is taken first and kept. If it sees a row at the
//! address, the postings of that row must all be in the index: the transaction that wrote it has
//! ended, and VACUUM removes none of them while the snapshot is held. There is also no posting left
//! of an earlier row at the same address: VACUUM frees a row's place only after the index has been
//! cleaned. So rows that were inserted or removed during the check are never reported.

use crate::index::build::posting_sorter::PostingSorter;
use crate::index::store::tree_of;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE};
use simhash_base::tid::Tid;
use simhash_hamming::check::pages::Finding;
use simhash_hamming::key::{Key, QUARTERS, SPACES, Space};
use simhash_hamming::page::filter::Filter;
use simhash_hamming::page::kernel::Candidates;
use simhash_hamming::page::leaf_scan;
use simhash_hamming::page::list;
use simhash_hamming::page::meta::META_BLOCK;
use simhash_pg::am::open::{LatestSnapshot, OpenIndex};
use simhash_pg::am::row_reader::{RowReader, VisibleRow};
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use std::cell::RefCell;

/// A row, and the postings that were found of it.
type SuspectRow = (Tid, IndexedRow);

/// Rows whose postings may be wrong.
pub struct SuspectRows {
    with_fingerprint: PostingSorter,
    without: PostingSorter,
    memory: usize,
}

impl SuspectRows {
    /// `memory` is the number of bytes that they may use.
    pub fn new(memory: usize) -> SuspectRows {
        SuspectRows {
            with_fingerprint: PostingSorter::new(Space::of_quarter(0), memory / 2),
            without: PostingSorter::new(Space::NULL, memory / 4),
            memory: memory / 4,
        }
    }

    /// Notes a row as a key space files it, or would.
    pub fn add(&mut self, space: Space, key: Key) {
        let sorter = if space == Space::NULL {
            &mut self.without
        } else {
            &mut self.with_fingerprint
        };
        sorter.add(space.indexed_row(key), key.tid);
    }

    /// Looks each up again, in the spaces whose pages are sound, and reports the faults.
    pub fn recheck(
        self,
        open: &OpenIndex,
        sound: &[bool; SPACES],
        activity: &RefCell<Activity>,
        report: &mut dyn FnMut(Finding),
    ) {
        let mut check = SecondCheck {
            open,
            sound,
            activity,
            report,
            checked: 0,
        };
        let sorters = [
            (self.with_fingerprint, Space::of_quarter(0)),
            (self.without, Space::NULL),
        ];
        for (sorter, space) in sorters {
            let limit = (self.memory / size_of::<SuspectRow>()).max(1000);
            let mut batch: Vec<SuspectRow> = Vec::new();
            let mut last = None;
            sorter.finish(|key| {
                // Several comparisons can note the same row.
                if last.replace(key) == Some(key) {
                    return;
                }
                batch.push((key.tid, space.indexed_row(key)));
                if batch.len() >= limit {
                    check.run(&mut batch);
                }
            });
            check.run(&mut batch);
        }
    }
}

struct SecondCheck<'l> {
    open: &'l OpenIndex,
    sound: &'l [bool; SPACES],
    activity: &'l RefCell<Activity>,
    report: &'l mut dyn FnMut(Finding),
    checked: u64,
}

impl SecondCheck<'_> {
    /// Checks some rows again, in the order of the table's pages.
    fn run(&mut self, batch: &mut Vec<SuspectRow>) {
        if batch.is_empty() {
            return;
        }
        batch.sort_unstable_by_key(|(tid, _)| *tid);
        let snapshot = LatestSnapshot::take();
        let mut rows = RowReader::new(self.open, &snapshot);
        for (tid, indexed) in batch.drain(..) {
            check_for_interrupts();
            self.checked += 1;
            (self.activity.borrow_mut()).show("looking rows up again", self.checked, None);
            match rows.row(tid) {
                VisibleRow::None => {}
                VisibleRow::Stored(row) if row == indexed => self.check_indexed_once(tid, row),
                VisibleRow::Stored(row) => {
                    let what = format!("has {}", shown(row));
                    self.check_not_indexed(tid, indexed, &what);
                }
                VisibleRow::LeftOut => {
                    let what = "does not meet the index's predicate";
                    self.check_not_indexed(tid, indexed, what);
                }
            }
        }
    }

    /// Checks that a row has one posting in each key space of its fingerprint.
    fn check_indexed_once(&mut self, tid: Tid, row: IndexedRow) {
        let counts = self.counts(tid, row);
        let numbers = |has_fault: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let found = counts.iter().filter(|(_, count)| has_fault(*count));
            found.map(|(number, _)| *number).collect()
        };
        let (missing, twice) = (numbers(&|count| count == 0), numbers(&|count| count > 1));
        let all = if row.fingerprint.is_some() {
            QUARTERS
        } else {
            1
        };
        if !missing.is_empty() {
            let (n, which) = (missing.len(), list(&missing));
            self.report(format!(
                "row {tid} is missing in {n} of {all} key spaces: {which}"
            ));
        }
        if !twice.is_empty() {
            let which = list(&twice);
            self.report(format!(
                "row {tid} is filed more than once in key space {which}"
            ));
        }
    }

    /// Checks that a row has no posting under another scope or fingerprint than its own.
    fn check_not_indexed(&mut self, tid: Tid, row: IndexedRow, what: &str) {
        let counts = self.counts(tid, row);
        let spaces = counts.iter().filter(|(_, count)| *count > 0);
        let spaces: Vec<usize> = spaces.map(|(number, _)| *number).collect();
        if !spaces.is_empty() {
            let (which, under) = (list(&spaces), shown(row));
            self.report(format!(
                "row {tid} {what}, but is filed in key space {which} with {under}"
            ));
        }
    }

    /// Returns how many such postings a row has, in each sound key space where it would be.
    fn counts(&self, tid: Tid, row: IndexedRow) -> Vec<(usize, usize)> {
        let spaces = Space::all().filter(|space| {
            (*space == Space::NULL) == row.fingerprint.is_none() && self.sound[space.index()]
        });
        spaces
            .map(|space| (space.index(), self.count(space, space.key(row, tid))))
            .collect()
    }

    fn count(&self, space: Space, key: Key) -> usize {
        let index = self.open.index();
        let exactly = Filter {
            first_scope: key.scope,
            last_scope: key.scope,
            query: key.rotated,
            radius: 0,
            beyond: -1,
            within: 0,
            next_least: 0,
        };
        let (mut count, mut room) = (0, Candidates::none());
        let page = tree_of(index, space).leaf(key);
        leaf_scan::scan(&page, &exactly, key, &mut room, |found, _| {
            count += usize::from(found == key);
        });
        count
    }

    /// Reports a fault of the index as a whole rather than of a page.
    fn report(&mut self, text: String) {
        (self.report)(Finding {
            block: META_BLOCK,
            offset: None,
            text,
        });
    }
}

/// Returns a row's fingerprint as SQL shows it, and its scope.
fn shown(row: IndexedRow) -> String {
    let fingerprint = match row.fingerprint {
        Some(bits) => format!("fingerprint {}", bits as i64),
        None => "no fingerprint".to_owned(),
    };
    match row.scope {
        NO_SCOPE => fingerprint,
        scope => format!("{fingerprint} in scope {scope:#010x}"),
    }
}
