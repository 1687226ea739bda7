//! Index scans: rows from the stages of a [`ScanRequest`], one leaf's matches at a time. `handler`
//! calls [`next_row`] for plain scans and [`all_rows`] for bitmap scans. Under an MVCC snapshot no
//! page stays pinned between two calls.

#![allow(unsafe_code)]

use super::dead_postings::DeadPostings;
use super::scan_request::{ScanRequest, Stage};
use super::store::{IndexPages, read_state};
use super::table_read_ahead::TableReadAhead;
use pgrx::pg_sys;
use simhash_base::tid::Tid;
use simhash_hamming::row_bitmap::RowBitmap;
use simhash_hamming::search::reader::{IndexReader, IndexState};
use simhash_pg::am::row_address::RowAddresses;
use simhash_pg::am::scan::{Bitmap, Scan};
use simhash_pg::page::buffer::{Pinned, Shared};
use simhash_pg::process::memory::{reserve, work_mem_bytes};

/// Factor by which each batch of rows is larger than the one before it. So a wide search visits
/// each page of the table only a few times, and a search that is ended early has read too much of
/// the index, but not of the table.
const BATCH_GROWTH: usize = 8;

/// The private state of a scan.
#[derive(Default)]
pub struct ScanState {
    request: ScanRequest,
    /// The index at the start of the scan; None before it.
    index: Option<IndexState>,
    /// The stage of the search; None at the end.
    stage: Option<Stage>,
    /// Rows found; those from `next` on are not returned yet.
    rows: Vec<Tid>,
    next: usize,
    /// The distance of all of them to the centre of ORDER BY; None without one.
    distance: Option<i32>,
    /// Number of rows that a plain scan without an order finds before it returns the first of them.
    batch: usize,
    /// The rows of the last batch, from the next page of the table on.
    rest: Option<RowBitmap>,
    /// The pages of the table that are read ahead.
    table: TableReadAhead,
    /// What the executor has found dead.
    dead: DeadPostings,
    /// Where rows can be. Kept when the scan is started again.
    addresses: RowAddresses,
    /// The leaf from which `rows` came, while VACUUM must be kept off it. Stored as a bare number:
    /// a destructor would release the pin a second time when the transaction aborts.
    pin: Option<pg_sys::Buffer>,
}

impl ScanState {
    /// Ends the running search; the next call starts a new one with the scan's keys.
    pub fn reset(&mut self, scan: &Scan) {
        self.release_pin();
        if let (Some(index), Some(table)) = (self.index.take(), scan.table()) {
            self.dead.remove(scan.index(), table, &index);
        }
        self.stage = None;
        self.rows.clear();
        self.rest = None;
        self.batch = 0;
        self.distance = None;
        self.next = 0;
        self.table = TableReadAhead::default();
    }

    fn release_pin(&mut self) {
        if let Some(buffer) = self.pin.take() {
            // SAFETY: taken by `keep_pin`; had the transaction aborted, no callback would run.
            unsafe { Pinned::release_raw(buffer) };
        }
    }

    fn start(&mut self, scan: &Scan) {
        scan.count_search();
        self.index = Some(read_state(scan.index()));
        self.request = ScanRequest::from_scan(scan);
        self.stage = self.request.first_stage();
    }

    /// Notes that the executor has found the last row dead.
    fn note_dead_row(&mut self, scan: &Scan) {
        let last = self.next.checked_sub(1).and_then(|i| self.rows.get(i));
        if let (Some(tid), Some(table)) = (last, scan.table()) {
            self.dead.note(table, *tid);
        }
    }

    /// Finds some more rows: those of one leaf or, where no pins are held, at least `batch`.
    /// Returns false at the end.
    fn fill(&mut self, scan: &Scan, hold_pins: bool) -> bool {
        self.release_pin();
        let Some(index) = &self.index else {
            return false;
        };
        let mut pages = IndexPages::of(scan.index()).read_by(scan.snapshot());
        // A bitmap scan is not told which rows are dead.
        if scan.table().is_some() {
            pages = pages.noting(self.dead.many_matches());
        }
        let reader = IndexReader::new(pages, index);
        self.rows.clear();
        self.next = 0;
        self.table.begin_batch();
        while let Some(stage) = &mut self.stage {
            let (request, rows) = (&self.request, &mut self.rows);
            let leaf = match stage {
                Stage::Within(within) => within.step(&reader, |m| request.take(m, rows)),
                Stage::Nulls(nulls) => nulls.step(&reader, |tid| {
                    reserve(rows, 1);
                    rows.push(tid);
                }),
                Stage::Nearest(nearest) => {
                    let distance = nearest.step(&reader, |fp| request.accepts(fp), rows);
                    self.distance = distance.map(|d| d as i32);
                    if distance.is_some() {
                        return true;
                    }
                    None
                }
            };
            match leaf {
                None => self.stage = self.request.stage_after(stage),
                Some(_) if self.rows.is_empty() => {}
                Some(leaf) if hold_pins => {
                    self.pin = Some(keep_pin(leaf.page));
                    return true;
                }
                Some(_) if self.rows.len() < self.batch => {}
                Some(_) => return true,
            }
        }
        !self.rows.is_empty()
    }

    /// Finds the next batch of rows and puts it into the table's order, so that a page of the table
    /// is visited once for all of its rows. The first batch is one leaf's, for a caller that wants
    /// few rows; each further one is much larger, up to work_mem. When a batch would have a row on
    /// each page of the table, it is the last, as a bitmap.
    fn fill_batch(&mut self, scan: &Scan) -> bool {
        if self.rest.is_some() {
            return self.next_page();
        }
        // What the session knows of the table's length may be outdated.
        let most = self.batch;
        if most > self.addresses.pages() as usize {
            let pages = self.addresses.measure(scan.index());
            self.rest = (most > pages as usize)
                .then(|| RowBitmap::new(pages, work_mem_bytes()))
                .flatten();
        }
        if let Some(rest) = self.rest.take() {
            return self.fill_rest(scan, rest);
        }
        let found = self.fill(scan, false);
        if self.distance.is_none() {
            self.rows.sort_unstable_by_key(|tid| tid.number());
            let limit = work_mem_bytes() / size_of::<Tid>();
            self.batch = (self.rows.len() * BATCH_GROWTH).min(limit);
        }
        found
    }

    /// Finds all rows that are left. Those beyond the end that the table had before come first.
    fn fill_rest(&mut self, scan: &Scan, mut rest: RowBitmap) -> bool {
        let mut beyond = Vec::new();
        self.batch = 0;
        while self.fill(scan, false) {
            for tid in self.rows.drain(..) {
                if !rest.add(tid) {
                    reserve(&mut beyond, 1);
                    beyond.push(tid);
                }
            }
        }
        self.rest = Some(rest);
        self.rows = beyond;
        !self.rows.is_empty() || self.next_page()
    }

    /// Takes the rows of the next page of the table; returns false at the end.
    fn next_page(&mut self) -> bool {
        self.rows.clear();
        self.next = 0;
        self.table.begin_batch();
        let rest = self.rest.as_mut();
        rest.is_some_and(|rest| rest.take_page(&mut self.rows))
    }
}

/// Unlocks a leaf but keeps it pinned, so that VACUUM, which takes a cleanup lock on every leaf,
/// cannot free the rows found on it before the executor has looked at them.
fn keep_pin(leaf: Shared) -> pg_sys::Buffer {
    leaf.unlock().into_raw()
}

/// Finds the next row of a plain index scan; returns false at the end.
pub fn next_row(scan: &mut Scan, state: &mut ScanState) -> bool {
    if state.index.is_none() {
        state.start(scan);
    }
    if scan.last_row_is_dead() {
        state.note_dead_row(scan);
    }
    while state.next >= state.rows.len() {
        let found = if scan.snapshot_is_mvcc() {
            state.fill_batch(scan)
        } else {
            state.fill(scan, true)
        };
        if !found {
            return false;
        }
    }
    state
        .table
        .before_row(scan.table(), &state.rows, state.next);
    let tid = state.rows[state.next];
    let distance = match state.request.is_ordered() {
        true => state.distance,
        // Without an order by the fingerprint: 0 is the least distance, and the executor finds out
        // another order (README, Scopes).
        false => Some(0),
    };
    let recheck = state.request.recheck();
    scan.set_row(tid, distance, recheck, &mut state.addresses);
    state.next += 1;
    state.table.after_row();
    true
}

/// Adds all rows of a bitmap scan; returns their number. No pins are held: the server runs bitmap
/// scans under MVCC snapshots only.
pub fn all_rows(scan: &Scan, state: &mut ScanState, bitmap: &mut Bitmap) -> i64 {
    state.start(scan);
    let mut rows = 0;
    while state.fill(scan, false) {
        let recheck = state.request.recheck().conditions;
        bitmap.add(scan.index(), &state.rows, recheck, &mut state.addresses);
        rows += state.rows.len() as i64;
    }
    rows
}
