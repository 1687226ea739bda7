//! Plain tables, read by two processes that then search together.
//!
//! Both take part in one scan of each table. The worker's rows go to the front of a room in shared
//! memory, the leader's to its back and to the leader's own memory. When a table is read, the leader
//! copies the worker's rows. So each process has all of them, and may put them in another order.

use super::file::Gathered;
use super::find::{Host, Row};
use super::plain::{PlainTable, for_each_batch};
use super::search::{PairSearch, Tags};
use super::shared::{Bits, Board, CHUNK, ROWS, Stage, branches, dismiss, search_with};
use super::source::SourceTable;
use super::split::Size;
use crate::pg::catalog::table::{Opened, allows_shared_scan};
use crate::pg::process::helper::{Helper, Part, Work, may_help};
use crate::pg::process::memory::or_out_of_memory;
use crate::pg::process::shared_rows::{End, Fill, Room};
use crate::pg::process::temp_file::TempFile;
use crate::pg::table::scan::{TableScan, WordColumn, bytes_of_description, describe};
use pgrx::pg_sys;
use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// A table that both processes read.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Table {
    oid: pg_sys::Oid,
    columns: [WordColumn; 2],
}

/// Rows that a room has beyond those expected, at least.
const SPARE: usize = 1 << 16;

/// The part of the shared memory that describes the scan of a side.
const fn scan_of(side: usize) -> u64 {
    ROWS + 1 + side as u64
}

impl Board {
    /// Is there no use in reading on?
    fn is_in_vain(&self) -> bool {
        self.keyless.load(Ordering::SeqCst) > 0 || self.rooms.iter().any(Fill::is_overfull)
    }
}

/// Reads all rows of plain tables together with a worker, and gives every pair to `search`. False
/// when there is no worker, or there were more rows than expected: nothing was given then, and
/// `rows` are empty.
pub fn find_pairs_of_tables<P: Tags, const N: usize>(
    sources: &[SourceTable; N],
    rows: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let found = sources.iter().map(PlainTable::of);
    let Some(tables) = found.collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some(helper) = launch(&tables, rows, radius) else {
        return false;
    };
    let mut bits = Bits::default();
    for (side, table) in tables.iter().enumerate() {
        if !read(&helper, table, side, rows, search, &mut bits) {
            dismiss(helper);
            rows.clear();
            return false;
        }
    }
    helper.board().add_bits(bits);
    search_with(helper, rows, search, radius);
    true
}

/// A worker that begins to read the tables; None where one process is to do it.
#[allow(unsafe_code)]
fn launch<'h, const N: usize>(
    tables: &[PlainTable],
    rows: &Gathered<TempFile<'static>, N>,
    radius: u32,
) -> Option<Helper<'h, Board>> {
    let rel = |side: usize| tables[side].source.table.rel();
    let expected: [u64; N] = std::array::from_fn(|side| tables[side].rows as u64);
    let sum = usize::try_from(expected.iter().sum::<u64>()).ok()?;
    let is_worth_it = sum <= rows.limit()
        && may_help(sum * size_of::<Row>())
        && (0..N).all(|side| allows_shared_scan(rel(side)))
        && branches(Size::of(expected), u64::MAX, radius).is_some();
    if !is_worth_it {
        return None;
    }
    let with_spare = |side: usize| expected[side] as usize + expected[side] as usize / 8 + SPARE;
    let first = with_spare(0).min(rows.limit());
    let second = if N == 1 {
        0
    } else {
        with_spare(1).min(rows.limit())
    };
    let rooms = [
        Fill::new(0, first, 0),
        Fill::new(
            if N == 1 { 0 } else { first },
            if N == 1 { first } else { second },
            0,
        ),
    ];
    let table = |side: usize| Table {
        oid: rel(side).oid(),
        columns: tables[side].columns,
    };
    let board = Board::new::<N>(
        radius,
        Some([table(0), table(N - 1)]),
        rooms,
        Bits::default(),
        Stage::Gathering,
    );
    let mut nothing = |_: *mut c_void| ();
    // SAFETY: the part has room for it.
    let mut scans: Vec<_> = (0..N)
        .map(|side| move |at: *mut c_void| unsafe { describe(rel(side), at) })
        .collect();
    let mut parts = vec![Part {
        bytes: (first + second) * size_of::<Row>(),
        fill: &mut nothing,
    }];
    parts.extend(scans.iter_mut().enumerate().map(|(side, scan)| Part {
        bytes: bytes_of_description(rel(side)),
        fill: scan,
    }));
    // SAFETY: a board and rows are numbers, and the worker's function is for them.
    unsafe { Helper::launch(c"simhash_pairs_worker", board, &mut parts) }
}

/// The leader's share of a table, and then the worker's. False when the rows were more than
/// expected.
#[allow(unsafe_code)]
fn read<P: Tags, const N: usize>(
    helper: &Helper<Board>,
    table: &PlainTable,
    side: usize,
    rows: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    bits: &mut Bits,
) -> bool {
    let board = helper.board();
    let fill = &board.rooms[side];
    // SAFETY: the part has space for the rows of all rooms; the leader fills the back of this one.
    // The other part describes a scan of the table.
    let (mut room, mut scan) = unsafe {
        let room = Room::<Row>::new(fill, helper.part(ROWS));
        let description = helper.part(scan_of(side));
        let rel = table.source.table.rel();
        (room, TableScan::share(rel, table.columns, description))
    };
    let before = rows.count();
    let has_keys = for_each_batch(&mut scan, |batch, _| {
        bits.add(batch);
        or_out_of_memory(rows.add_all(side, batch, search));
        let count = || before + fill.rows() as u64;
        search.activity.show(|| format!("{} rows read", count()));
        room.add(End::Back, batch) && !board.is_in_vain()
    });
    if !has_keys {
        table.source.null_key();
    }
    helper.wait_until(|board| board.read.load(Ordering::SeqCst) > side || board.is_in_vain());
    if board.keyless.load(Ordering::SeqCst) == side + 1 {
        table.source.null_key();
    }
    if board.is_in_vain() {
        return false;
    }
    // SAFETY: the worker has filled its end, and leaves the rows where they are for now.
    for some in unsafe { room.front() }.chunks(CHUNK) {
        search.pause();
        or_out_of_memory(rows.add_all(side, some, search));
    }
    true
}

/// The worker's share of all tables.
#[allow(unsafe_code)]
pub fn read_share(work: &Work<Board>, tables: &[Table]) {
    let board = work.board();
    let mut bits = Bits::default();
    for (side, table) in tables.iter().enumerate() {
        let opened = Opened::new(table.oid);
        // SAFETY: as in `read`; the worker fills the front.
        let (mut room, mut scan) = unsafe {
            let room = Room::<Row>::new(&board.rooms[side], work.part(ROWS));
            let description = work.part(scan_of(side));
            (
                room,
                TableScan::share(opened.rel(), table.columns, description),
            )
        };
        let has_keys = for_each_batch(&mut scan, |batch, _| {
            bits.add(batch);
            room.add(End::Front, batch) && !board.is_in_vain()
        });
        if !has_keys {
            board.keyless.store(side + 1, Ordering::SeqCst);
        }
        // Before the leader hears of the last table.
        board.add_bits(bits);
        board.read.store(side + 1, Ordering::SeqCst);
        work.announce();
        if board.is_in_vain() {
            return;
        }
    }
}
