//! A search by two processes: the one that runs the function, and a worker.
//!
//! Each process has all rows, since a search puts them in another order: the leader sends those
//! that it has read, or both read a share of each table and exchange the rows
//! ([`super::shared_scan`]). Each branch of the first division finds its pairs without the others
//! ([`simhash_hamming::pairs::find`]). Both processes take the next branch until none is left; the
//! worker sends its pairs to the leader, which takes them whenever it pauses, and when it has
//! nothing left to do.

use super::search::{PairSearch, Pairs};
use super::shared_scan::{Table, gather, send_rows};
use pgrx::PgSqlErrorCode::ERRCODE_CONNECTION_FAILURE;
use pgrx::{pg_guard, pg_sys};
use simhash_base::bytes::get_u64;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::{Branches, Finder, Host, Row, Sides, again, sides};
use simhash_hamming::pairs::split::Size;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::raise;
use simhash_pg::process::helper::{Helper, Part, Work, help, may_help};
use simhash_pg::process::temp_file::TempFile;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of a pair in a message: two tags and the distance.
const PAIR: usize = 3 * size_of::<u64>();
/// Maximum number of pairs of a message.
const PAIRS: usize = 512;

/// State that both processes share.
#[repr(C)]
pub struct Board {
    /// Number of sides that are used, 1 or 2.
    sides: usize,
    radius: u32,
    /// Bytes of memory for the rows, in each process.
    memory: usize,
    /// The tables of the sides, if both processes read them.
    pub tables: Option<[Table; 2]>,
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

    /// Returns the bits in which rows differ.
    pub fn varying(self) -> u64 {
        self.ones & self.zeros
    }
}

/// Returns the division of all rows, which differ in these bits; None when it is no work for two.
pub fn branches<const N: usize>(counts: [u64; N], varying: u64, radius: u32) -> Option<Branches> {
    Branches::for_rows(Size::from_counts(counts), varying, radius)
        .filter(|branches| branches.count() > 1)
}

impl Board {
    pub fn new<const N: usize>(radius: u32, memory: usize, tables: Option<[Table; 2]>) -> Self {
        Board {
            sides: N,
            radius,
            memory,
            tables,
            next: AtomicU32::new(0),
            done: AtomicU64::new(0),
        }
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

/// Does the same; returns false when there is no worker, and nothing was searched.
fn with_worker<P: Pairs, const N: usize>(
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let memory = group.memory();
    let Some((rows, counts)) = group.in_memory() else {
        return false;
    };
    if !may_help(size_of_val(rows)) {
        return false;
    }
    let varying = Finder::new(search, radius).varying(&sides(rows, counts));
    let Some(branches) = branches(counts.map(|count| count as u64), varying, radius) else {
        return false;
    };
    let Some(mut helper) = launch(Board::new::<N>(radius, memory, None), &mut []) else {
        return false;
    };
    let is_there = |side: &mut [Row]| send_rows(helper.channel(), side, search);
    if !sides(rows, counts).into_iter().all(is_there) {
        helper.finish();
        return false;
    }
    search_with(helper, group, search, radius, &branches);
    true
}

/// Launches a worker; `parts` are as [`super::shared_scan`] wants them if the board has tables.
#[allow(unsafe_code)]
pub fn launch<'h>(board: Board, parts: &mut [Part]) -> Option<Helper<'h, Board>> {
    // SAFETY: a board is numbers, and the worker's function is for it.
    unsafe { Helper::launch(c"simhash_pairs_worker", board, parts) }
}

/// Searches rows that both processes have.
pub fn search_with<P: Pairs, const N: usize>(
    helper: Helper<Board>,
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
    branches: &Branches,
) {
    let Some((rows, counts)) = group.in_memory() else {
        return;
    };
    let board = helper.board();
    let mut leader = Leader { search, helper };
    let finder = &mut Finder::new(&mut leader, radius);
    board.search(finder, &mut sides::<N>(rows, counts), branches);
    while leader.take(true) {}
    leader.helper.finish();
}

/// The leader's host.
struct Leader<'l, 'a, P> {
    search: &'l mut PairSearch<'a, P>,
    helper: Helper<'l, Board>,
}

impl<P: Pairs> Leader<'_, '_, P> {
    /// Takes a message of the worker. Returns false when there is none: none yet, or with `wait`
    /// none will follow.
    fn take(&mut self, wait: bool) -> bool {
        self.search.pause();
        let Some(message) = self.helper.channel().receive(wait) else {
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
struct Worker<'a, 'w> {
    work: &'a mut Work<'w, Board>,
    /// Pairs that are not sent yet.
    found: Vec<u8>,
}

impl Worker<'_, '_> {
    fn send(&mut self) {
        if !self.found.is_empty() {
            // The leader sends no more messages.
            if !self.work.channel().send(&self.found, |_| ()) {
                raise(
                    ERRCODE_CONNECTION_FAILURE,
                    "lost connection to the leader process",
                );
            }
            self.found.clear();
        }
    }
}

impl Host for Worker<'_, '_> {
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
        let board = self.work.board();
        board.done.store(share.to_bits(), Ordering::Relaxed);
    }
}

/// Does the worker's part of a search.
fn work<const N: usize>(work: &mut Work<Board>) {
    let board = work.board();
    let mut rows = Gathered::<_, N>::new(board.memory);
    let Some(varying) = gather(work, &mut rows) else {
        return;
    };
    let Some((rows, counts)) = rows.in_memory() else {
        return;
    };
    let counted = counts.map(|count| count as u64);
    let Some(branches) = branches(counted, varying, board.radius) else {
        return;
    };
    let mut worker = Worker {
        work,
        found: Vec::with_capacity(PAIRS * PAIR),
    };
    let finder = &mut Finder::new(&mut worker, board.radius);
    board.search(finder, &mut sides::<N>(rows, counts), &branches);
    worker.send();
}

/// The main function of a worker.
///
/// # Safety
/// Called by the server, as the function that [`launch`] has named.
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
