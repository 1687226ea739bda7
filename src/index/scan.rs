//! Index scans (ambeginscan to amendscan): rows from the stages of a [`ScanRequest`], one leaf's matches
//! at a time. Under an MVCC snapshot no page stays pinned between two calls. Pages of the table are asked
//! of the operating system ahead of the executor, which reads them.

#![allow(unsafe_code)]

use super::buffer::{Pinned, Shared, pages_read};
use super::dead_postings::DeadPostings;
use super::row_address::{MAX_HEAP_OFFSET, RowAddresses, damaged_address, tid_to};
use super::scan_request::{ScanRequest, Stage};
use super::store::{IndexPages, read_state};
use pgrx::{pg_guard, pg_sys};
use simhash_base::indexed_row::Tid;
use simhash_hamming::search::reader::ReadAhead;
use simhash_hamming::search::reader::{IndexReader, IndexState};
use simhash_hamming::search::within::RowBitmap;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::search_begins;
use simhash_pg::process::compat;
use simhash_pg::process::memory::{MemoryContext, reserve, work_mem_bytes};
use std::cell::Cell;
use std::ffi::c_int;

/// Factor by which each batch of rows is larger than the one before it. So a wide search visits
/// each page of the table only a few times, and a search that is ended early has read too much of
/// the index, but not of the table.
const BATCH_GROWTH: usize = 8;

/// The private state of a scan.
#[derive(Default)]
struct ScanState {
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

/// The state of a scan, and the memory context that it is dropped with: by amendscan, or with the parent
/// context when the query ends in an ERROR. (The parent alone would not do: it may live for a whole
/// statement that begins a scan for each row, to check an exclusion constraint.)
struct Private {
    context: MemoryContext,
    state: ScanState,
}

#[pg_guard]
pub unsafe extern "C-unwind" fn ambeginscan(
    index: pg_sys::Relation,
    keys: c_int,
    order_bys: c_int,
) -> pg_sys::IndexScanDesc {
    // SAFETY: the server passes an open index; the arrays have the lengths that the executor expects.
    unsafe {
        let scan = pg_sys::RelationGetIndexScan(index, keys, order_bys);
        let context = MemoryContext::current().child(c"simhash scan");
        let state = ScanState::default();
        (*scan).opaque = context.keep(Private { context, state }).cast();
        if order_bys > 0 {
            let n = order_bys as usize;
            (*scan).xs_orderbyvals = pg_sys::palloc0(n * size_of::<pg_sys::Datum>()).cast();
            (*scan).xs_orderbynulls = pg_sys::palloc0(n * size_of::<bool>()).cast();
        }
        scan
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn amrescan(
    raw: pg_sys::IndexScanDesc,
    keys: pg_sys::ScanKey,
    nkeys: c_int,
    order_bys: pg_sys::ScanKey,
    norder_bys: c_int,
) {
    search_begins();
    // SAFETY: the server passes the live scan and its keys, of which null means that the old ones stay;
    // the scan's own arrays were made for these numbers.
    unsafe {
        let (scan, state) = Scan::from_raw(raw);
        state.reset(&scan);
        if !keys.is_null() && nkeys > 0 {
            std::ptr::copy(keys, scan.0.keyData, nkeys as usize);
        }
        if !order_bys.is_null() && norder_bys > 0 {
            std::ptr::copy(order_bys, scan.0.orderByData, norder_bys as usize);
        }
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn amgettuple(
    raw: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    // SAFETY: the server passes the live scan.
    let (mut scan, state) = unsafe { Scan::from_raw(raw) };
    next_row(&mut scan, state)
}

/// No pins are held: the server runs bitmap scans under MVCC snapshots only.
#[pg_guard]
pub unsafe extern "C-unwind" fn amgetbitmap(
    raw: pg_sys::IndexScanDesc,
    bitmap: *mut pg_sys::TIDBitmap,
) -> i64 {
    // SAFETY: the server passes the live scan.
    let (scan, state) = unsafe { Scan::from_raw(raw) };
    state.start(&scan);
    let (mut rows, mut batch) = (0, Vec::new());
    while state.fill(&scan, false) {
        batch.clear();
        for tid in &state.rows {
            // With such an address the server would skip the row, or raise an internal error.
            state.addresses.check(scan.index(), *tid);
            if tid.offset > MAX_HEAP_OFFSET {
                damaged_address(scan.index(), *tid);
            }
            batch.push(tid_to(*tid));
        }
        let recheck = state.request.recheck().conditions;
        // SAFETY: the bitmap is the server's; the array has this length.
        unsafe {
            pg_sys::tbm_add_tuples(bitmap, batch.as_mut_ptr(), batch.len() as i32, recheck);
        }
        rows += batch.len() as i64;
    }
    rows
}

#[pg_guard]
pub unsafe extern "C-unwind" fn amendscan(raw: pg_sys::IndexScanDesc) {
    // SAFETY: the server passes the live scan; deleting the context drops the state, which is not used
    // any more.
    unsafe {
        let (scan, state) = Scan::from_raw(raw);
        state.reset(&scan);
        (*scan.0.opaque.cast::<Private>()).context.delete();
        scan.0.opaque = std::ptr::null_mut();
    }
}

/// A running index scan, as the server has it.
struct Scan<'s>(&'s mut pg_sys::IndexScanDescData);

impl<'s> Scan<'s> {
    /// # Safety
    /// `raw` must be the live scan that the server passes to a callback. Those of a scan do not nest.
    unsafe fn from_raw(raw: pg_sys::IndexScanDesc) -> (Scan<'s>, &'s mut ScanState) {
        // SAFETY: guaranteed by the caller; `ambeginscan` has set the state, which lives as long.
        unsafe {
            let state = &mut (*(*raw).opaque.cast::<Private>()).state;
            (Scan(&mut *raw), state)
        }
    }

    fn index(&self) -> Rel<'s> {
        // SAFETY: the server keeps the index open during the scan.
        unsafe { Rel::from_raw(self.0.indexRelation) }
    }

    /// The table whose rows a plain scan returns.
    fn table(&self) -> Option<Rel<'s>> {
        let table = self.0.heapRelation;
        // SAFETY: the server keeps the table open during the scan.
        (!table.is_null()).then(|| unsafe { Rel::from_raw(table) })
    }

    /// Returns whether the snapshot is an MVCC one. Such a snapshot does not see a row that has
    /// taken the place of one that VACUUM removed during the scan; other snapshots may.
    fn snapshot_is_mvcc(&self) -> bool {
        use pg_sys::SnapshotType::{SNAPSHOT_HISTORIC_MVCC, SNAPSHOT_MVCC};
        // SAFETY: the snapshot, if there is one, lives during the scan.
        let snapshot = unsafe { self.0.xs_snapshot.as_ref() };
        snapshot.is_some_and(|s| [SNAPSHOT_MVCC, SNAPSHOT_HISTORIC_MVCC].contains(&s.snapshot_type))
    }

    /// Hands a row to the executor; `distance` is the value of the first ordering operator, None
    /// for NULL. Further ones are given as 0, the least distance.
    fn set_row(&mut self, tid: Tid, distance: Option<i32>, request: &ScanRequest) {
        self.0.xs_heaptid = tid_to(tid);
        self.0.xs_recheck = request.recheck().conditions;
        self.0.xs_recheckorderby = request.recheck().order;
        for i in 0..self.0.numberOfOrderBys.max(0) as usize {
            let value = if i == 0 { distance } else { Some(0) };
            // SAFETY: `ambeginscan` allocated both arrays, of this length.
            unsafe {
                *self.0.xs_orderbyvals.add(i) = pg_sys::Datum::from(value.unwrap_or(0));
                *self.0.xs_orderbynulls.add(i) = value.is_none();
            }
        }
    }
}

impl ScanState {
    /// Ends the running search; the next call starts a new one with the scan's keys.
    fn reset(&mut self, scan: &Scan) {
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
        let keys = |keys: pg_sys::ScanKey, n: i32| {
            // SAFETY: the scan has this many keys of each kind; without any the array may be null.
            (n > 0).then(|| unsafe { std::slice::from_raw_parts(keys, n as usize) })
        };
        let conditions = keys(scan.0.keyData, scan.0.numberOfKeys).unwrap_or_default();
        let order_bys = keys(scan.0.orderByData, scan.0.numberOfOrderBys).unwrap_or_default();
        // SAFETY: the scan is live, its index open, and the keys its own. A search begins with each start
        // of the scan: it is counted in the statistics and for EXPLAIN ANALYZE.
        unsafe {
            compat::count_index_scan(scan.0.indexRelation);
            compat::count_explained_search(scan.0);
            self.index = Some(read_state(scan.index()));
            self.request = ScanRequest::new(scan.index(), conditions, order_bys);
        }
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
        // SAFETY: the snapshot, if there is one, lives during the scan.
        let mut pages = unsafe { IndexPages::of(scan.index()).read_by(scan.0.xs_snapshot) };
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
fn next_row(scan: &mut Scan, state: &mut ScanState) -> bool {
    if state.index.is_none() {
        state.start(scan);
    }
    // Never in a transaction that began on a standby.
    if scan.0.kill_prior_tuple {
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
    // The server would report the table as damaged, or take the highest block number for a request to
    // extend it.
    state.addresses.check(scan.index(), tid);
    scan.set_row(tid, distance, &state.request);
    state.next += 1;
    state.table.after_row();
    true
}

/// What a plain scan asks of the operating system: the table's pages of the rows that it is going to return.
#[derive(Default)]
struct TableReadAhead {
    memory: ReadAhead,
    /// Number of pages of rows that were returned.
    visited: usize,
    /// Number of rows of the batch whose pages need not be read ahead any more.
    asked: usize,
    /// Number of pages that the session had read from files when the last row was returned.
    pages_read: i64,
}

impl TableReadAhead {
    /// Called when there are other rows to return.
    fn begin_batch(&mut self) {
        self.asked = 0;
    }

    /// Called when row `next` of the batch is about to be returned. Between two rows the executor
    /// reads a page of the table.
    fn before_row(&mut self, table: Option<Rel>, rows: &[Tid], next: usize) {
        let began_page = |i: usize| i == 0 || rows[i].block != rows[i - 1].block;
        if next > 0 && began_page(next - 1) {
            self.memory.note_visit(self.pages_read != pages_read());
            self.visited += 1;
        }
        let Some(table) = table.filter(|_| !self.memory.is_idle()) else {
            return;
        };
        let window = self.memory.window(self.visited, table.io_concurrency());
        let end = rows.len().min(next + 1 + window);
        let start = self.asked.max(next + 1).min(end);
        for pair in rows[start - 1..end].windows(2) {
            if pair[0].block != pair[1].block {
                Pinned::read_ahead(table, pair[1].block, &Cell::new(0));
            }
        }
        self.asked = end;
    }

    /// Called when a row is returned.
    fn after_row(&mut self) {
        self.pages_read = pages_read();
    }
}
