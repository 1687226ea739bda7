//! A search by two processes: the one that runs the function, and a worker with a copy of the rows.
//!
//! Each branch of the first division finds its pairs without the others ([`super::find`]). Both
//! processes take the next branch until none is left; the worker sends its pairs to the leader,
//! which takes them whenever it pauses, and when it has nothing left to do.

use super::file::Gathered;
use super::find::{Branches, Finder, Host, Row, Sides, again, sides};
use super::search::{PairSearch, Pairs};
use super::split::Size;
use crate::bytes::get_u64;
use crate::pg::process::backend::check_for_interrupts;
use crate::pg::process::helper::{Helper, Sender, help, may_help};
use crate::pg::process::temp_file::TempFile;
use pgrx::{pg_guard, pg_sys};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of a pair in a message: two tags and the distance.
const PAIR: usize = 3 * size_of::<u64>();
/// Most pairs of a message.
const PAIRS: usize = 512;

/// What both processes share.
#[repr(C)]
struct Board {
    /// 1 or 2 are used.
    sides: usize,
    counts: [usize; 2],
    radius: u32,
    /// The bits in which the rows differ.
    varying: u64,
    /// The next branch to be searched.
    next: AtomicU32,
    /// The share of the work that the worker has done, as the bits of a float.
    done: AtomicU64,
}

impl Board {
    fn branches<const N: usize>(&self) -> Option<Branches> {
        let counts = std::array::from_fn(|side| self.counts[side] as u64);
        Branches::of(Size::of::<N>(counts), self.varying, self.radius)
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
    let varying = Finder::new(search, radius).varying(&sides(rows, counts));
    let board = Board {
        sides: N,
        counts: [counts[0], counts[N - 1]],
        radius,
        varying,
        next: AtomicU32::new(0),
        done: AtomicU64::new(0),
    };
    let Some(branches) = board.branches::<N>().filter(|b| b.count() > 1) else {
        return false;
    };
    // SAFETY: a board and rows are numbers, and the worker's function is for them.
    let helper = unsafe { Helper::launch(c"simhash_pairs_worker", board, rows) };
    let Some(helper) = helper else {
        return false;
    };
    let board = helper.board();
    let mut leader = Leader { search, helper };
    let finder = &mut Finder::new(&mut leader, radius);
    board.search(finder, &mut sides::<N>(rows, counts), &branches);
    while leader.take(true) {}
    leader.helper.finish();
    true
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
    board: &'w Board,
    sender: Sender,
    /// Pairs that are not sent yet.
    found: Vec<u8>,
}

impl Worker<'_> {
    fn send(&mut self) {
        if !self.found.is_empty() {
            self.sender.send(&self.found);
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
        self.board.done.store(share.to_bits(), Ordering::Relaxed);
    }
}

/// The worker's part of a search.
fn work<const N: usize>(board: &Board, rows: &mut [Row], sender: Sender) {
    let Some(branches) = board.branches::<N>() else {
        return;
    };
    let mut worker = Worker {
        board,
        sender,
        found: Vec::with_capacity(PAIRS * PAIR),
    };
    let finder = &mut Finder::new(&mut worker, board.radius);
    let counts = std::array::from_fn(|side| board.counts[side]);
    board.search(finder, &mut sides::<N>(rows, counts), &branches);
    worker.send();
}

/// The main function of a worker.
///
/// # Safety
/// Called by the server, as the function that [`with_worker`] named.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn simhash_pairs_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the server's arguments; the leader's board and rows are these.
    unsafe {
        help::<Board, Row>(segment, toc, |board, rows, sender| match board.sides {
            1 => work::<1>(board, rows, sender),
            _ => work::<2>(board, rows, sender),
        });
    }
}
