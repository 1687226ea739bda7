//! A search by two processes: the one that runs the function, and a worker that has the rows in
//! shared memory.
//!
//! Each branch of the first division finds its pairs without the others ([`super::find`]). Both
//! processes take the next branch until none is left; the worker sends its pairs to the leader,
//! which takes them whenever it pauses, and when it has nothing left to do. The rows are either a
//! copy of those that the leader has read, or both have read their shares ([`super::shared_scan`]).

use super::file::Gathered;
use super::find::{Branches, Finder, Host, Row, Sides, again, sides};
use super::search::{PairSearch, Pairs};
use super::shared_scan::{Table, read_share};
use super::split::Size;
use crate::bytes::get_u64;
use crate::pg::process::backend::check_for_interrupts;
use crate::pg::process::helper::{Helper, Part, Work, help, may_help};
use crate::pg::process::shared_rows::{Fill, Room};
use crate::pg::process::temp_file::TempFile;
use pgrx::{pg_guard, pg_sys};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes of a pair in a message: two tags and the distance.
const PAIR: usize = 3 * size_of::<u64>();
/// Most pairs of a message.
const PAIRS: usize = 512;
/// Rows that are looked at between two pauses.
pub const CHUNK: usize = 1 << 16;

/// The first part of the shared memory: the rows of all rooms. Descriptions of scans follow.
pub const ROWS: u64 = 0;

/// What the worker is to do once it has read its share, if there is one.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stage {
    /// To wait for the leader.
    Gathering,
    /// To search.
    Searching,
    /// To end.
    Abandoned,
}

/// What both processes share.
#[repr(C)]
pub struct Board {
    /// 1 or 2 are used.
    sides: usize,
    radius: u32,
    /// The tables of the sides, if both processes read them.
    pub tables: Option<[Table; 2]>,
    /// Of each side.
    pub rooms: [Fill; 2],
    /// Sides that the worker has read to the end.
    pub read: AtomicUsize,
    /// Has the worker met a row without a key? 1 more than its side; 0 if not.
    pub keyless: AtomicUsize,
    /// The bits that are 1 in some row, and those that are 0 in some row.
    ones: AtomicU64,
    zeros: AtomicU64,
    /// A [`Stage`].
    stage: AtomicU32,
    /// The next branch to be searched.
    next: AtomicU32,
    /// The share of the work that the worker has done, as the bits of a float.
    done: AtomicU64,
}

/// The bits that are 1, and those that are 0, in some of the rows.
#[derive(Clone, Copy, Default)]
pub struct Bits {
    ones: u64,
    zeros: u64,
}

impl Bits {
    pub fn add(&mut self, rows: &[Row]) {
        for row in rows {
            self.ones |= row.fingerprint;
            self.zeros |= !row.fingerprint;
        }
    }
}

impl Board {
    pub fn new<const N: usize>(
        radius: u32,
        tables: Option<[Table; 2]>,
        rooms: [Fill; 2],
        bits: Bits,
        stage: Stage,
    ) -> Self {
        Board {
            sides: N,
            radius,
            tables,
            rooms,
            read: AtomicUsize::new(0),
            keyless: AtomicUsize::new(0),
            ones: AtomicU64::new(bits.ones),
            zeros: AtomicU64::new(bits.zeros),
            stage: AtomicU32::new(stage as u32),
            next: AtomicU32::new(0),
            done: AtomicU64::new(0),
        }
    }

    /// Adds what one process has seen.
    pub fn add_bits(&self, bits: Bits) {
        self.ones.fetch_or(bits.ones, Ordering::SeqCst);
        self.zeros.fetch_or(bits.zeros, Ordering::SeqCst);
    }

    /// The division of all rows, once they are known; None when it has not several branches.
    fn branches<const N: usize>(&self) -> Option<Branches> {
        let counts = std::array::from_fn(|side| self.rooms[side].rows() as u64);
        let varying = self.ones.load(Ordering::SeqCst) & self.zeros.load(Ordering::SeqCst);
        branches(Size::of::<N>(counts), varying, self.radius)
    }

    fn is(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::SeqCst) == stage as u32
    }

    /// Searches branches until none is left.
    fn search<H: Host, const N: usize>(
        &self,
        finder: &mut Finder<H>,
        group: &mut Sides<N>,
        branches: &Branches,
    ) {
        loop {
            let next = self.next.fetch_add(1, Ordering::Relaxed) as usize;
            if next >= branches.count() {
                return;
            }
            finder.branch(again(group), branches, next);
        }
    }
}

/// Gives every pair to `search`, with the help of a worker where there may be one, and the rows
/// are in memory and enough.
pub fn find_pairs<P: Pairs, const N: usize>(
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) {
    if !with_worker(group, search, radius) {
        group.find_pairs(search, radius);
    }
}

/// The division of rows that differ in these bits, if there is work for two.
pub fn branches(size: Size, varying: u64, radius: u32) -> Option<Branches> {
    Branches::of(size, varying, radius).filter(|branches| branches.count() > 1)
}

/// The same; false when there is no worker, and nothing was searched.
#[allow(unsafe_code)]
fn with_worker<P: Pairs, const N: usize>(
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let Some((rows, counts)) = group.in_memory() else {
        return false;
    };
    if !may_help(size_of_val(rows)) {
        return false;
    }
    let mut bits = Bits::default();
    for some in rows.chunks(CHUNK) {
        search.pause();
        bits.add(some);
    }
    let full = |start, count| Fill::new(start, count, count);
    let rooms = [
        full(0, counts[0]),
        full(rows.len() - counts[N - 1], counts[N - 1]),
    ];
    let board = Board::new::<N>(radius, None, rooms, bits, Stage::Searching);
    if board.branches::<N>().is_none() {
        return false;
    }
    let copy = &mut |to: *mut c_void| {
        // SAFETY: the part has room for them.
        unsafe {
            to.cast::<Row>()
                .copy_from_nonoverlapping(rows.as_ptr(), rows.len())
        };
    };
    let mut parts = [Part {
        bytes: size_of_val(rows),
        fill: copy,
    }];
    // SAFETY: a board and rows are numbers, and the worker's function is for them.
    let helper = unsafe { Helper::launch(c"simhash_pairs_worker", board, &mut parts) };
    let Some(helper) = helper else {
        return false;
    };
    search_with(helper, group, search, radius);
    true
}

/// Searches the rows that the leader has gathered, and that lie in the shared memory too. Nothing
/// is to be added to them any more.
pub fn search_with<P: Pairs, const N: usize>(
    helper: Helper<Board>,
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) {
    let board = helper.board();
    let (Some(branches), Some((rows, counts))) = (board.branches::<N>(), group.in_memory()) else {
        dismiss(helper);
        return group.find_pairs(search, radius);
    };
    enter(&helper, Stage::Searching);
    let mut leader = Leader { search, helper };
    let finder = &mut Finder::new(&mut leader, radius);
    board.search(finder, &mut sides::<N>(rows, counts), &branches);
    while leader.take(true) {}
    leader.helper.finish();
}

/// Lets the worker end, with nothing searched.
pub fn dismiss(helper: Helper<Board>) {
    enter(&helper, Stage::Abandoned);
    helper.finish();
}

fn enter(helper: &Helper<Board>, stage: Stage) {
    let board = helper.board();
    board.stage.store(stage as u32, Ordering::SeqCst);
    helper.announce();
}

/// The leader's host.
struct Leader<'l, 'a, P> {
    search: &'l mut PairSearch<'a, P>,
    helper: Helper<'l, Board>,
}

impl<P: Pairs> Leader<'_, '_, P> {
    /// Takes a message of the worker. False when there is none: none yet, or with `wait` none any
    /// more.
    fn take(&mut self, wait: bool) -> bool {
        self.search.pause();
        let Some(message) = self.helper.receive(wait) else {
            return false;
        };
        for pair in message.chunks_exact(PAIR) {
            let [a, b, distance] = [0, 1, 2].map(|i| get_u64(pair, i * size_of::<u64>()));
            self.search.pair(a, b, distance as u32);
        }
        true
    }
}

impl<P: Pairs> Host for Leader<'_, '_, P> {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        self.search.file()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        self.search.pair(a, b, distance);
    }

    fn pause(&mut self) {
        while self.take(false) {}
    }

    fn progress(&mut self, share: f64) {
        let done = self.helper.board().done.load(Ordering::Relaxed);
        self.search
            .progress((share + f64::from_bits(done)).min(1.0));
    }
}

/// The worker's host.
struct Worker<'w> {
    work: &'w Work<'w, Board>,
    /// Pairs that are not sent yet.
    found: Vec<u8>,
}

impl Worker<'_> {
    fn send(&mut self) {
        if !self.found.is_empty() {
            self.work.send(&self.found);
            self.found.clear();
        }
    }
}

impl Host for Worker<'_> {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        TempFile::new()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        for number in [a, b, u64::from(distance)] {
            self.found.extend(number.to_ne_bytes());
        }
        if self.found.len() == PAIRS * PAIR {
            self.send();
        }
    }

    fn pause(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        self.work
            .board()
            .done
            .store(share.to_bits(), Ordering::Relaxed);
    }
}

/// The worker's part of a search.
#[allow(unsafe_code)]
fn work<const N: usize>(work: &Work<Board>) {
    let board = work.board();
    if let Some(tables) = &board.tables {
        read_share(work, &tables[..N]);
    }
    work.wait_until(|board| !board.is(Stage::Gathering));
    let Some(branches) = board.branches::<N>().filter(|_| board.is(Stage::Searching)) else {
        return;
    };
    let mut group = std::array::from_fn(|side| {
        let (fill, memory) = (&board.rooms[side], work.part(ROWS));
        // SAFETY: the memory has space for all rooms, and the leader does not look at them any
        // more.
        unsafe { Room::<Row>::new(fill, memory).into_rows() }
    });
    let mut worker = Worker {
        work,
        found: Vec::with_capacity(PAIRS * PAIR),
    };
    let finder = &mut Finder::new(&mut worker, board.radius);
    board.search::<_, N>(finder, &mut group, &branches);
    worker.send();
}

/// The main function of a worker.
///
/// # Safety
/// Called by the server, as the function that [`Helper::launch`] was given.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn simhash_pairs_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the server's arguments; the leader's board is this.
    unsafe {
        help::<Board>(segment, toc, |by| match by.board().sides {
            1 => work::<1>(by),
            _ => work::<2>(by),
        });
    }
}
