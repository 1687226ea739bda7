//! A search by two processes: the leader, which runs the function, and a worker.
//!
//! Each process has all rows, since a search puts them in another order: the leader sends those
//! that it has read, or both read a share of each table and exchange the rows
//! ([`super::row_exchange`]). Each branch of the first division finds its pairs without the others
//! ([`simhash_hamming::pairs::find`]). Both processes take the next branch until none is left; the
//! worker sends its pairs to the leader, which takes them whenever it checks for interrupts, and
//! when it has nothing left to do. What it brings: all pairs of 10 million rows within 3 bits in
//! 0.81 s instead of 1.40 (23 November 2026, docs/duplicates.md).

use super::row_exchange::{receive_all_rows, send_rows};
use super::search::{PairSearch, Pairs};
use super::shared_search::{SharedSearch, branches, launch};
use pgrx::PgSqlErrorCode::ERRCODE_CONNECTION_FAILURE;
use pgrx::{pg_guard, pg_sys};
use simhash_base::bytes::get_u64;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::{Branches, Finder, PairSink, Row, sides};
use simhash_pg::parallel::message_queues::MessageQueues;
use simhash_pg::parallel::operation::{Leader, Participant, may_have_worker, run_worker};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::temp_file::TempFile;
use std::sync::atomic::Ordering;

/// Bytes of a pair in a message: two tags and the distance.
const PAIR: usize = 3 * size_of::<u64>();
/// Maximum number of pairs of a message.
const PAIRS: usize = 512;

/// Gives every pair to `search`: by two processes if a worker is allowed and started, and the rows
/// are in memory and enough; otherwise by this one.
pub fn find_pairs<P: Pairs, const N: usize>(
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) {
    if !find_pairs_with_worker(group, search, radius) {
        group.find_pairs(search, radius);
    }
}

/// Gives every pair to `search`, by two processes; returns false when there is no worker, and
/// nothing was searched.
fn find_pairs_with_worker<P: Pairs, const N: usize>(
    group: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let memory = group.memory();
    let Some((rows, counts)) = group.in_memory() else {
        return false;
    };
    if !may_have_worker(size_of_val(rows)) {
        return false;
    }
    let varying = Finder::new(search, radius).varying(&sides(rows, counts));
    let Some(branches) = branches(counts.map(|count| count as u64), varying, radius) else {
        return false;
    };
    let state = SharedSearch::new::<N>(radius, search.is_across(), memory, None);
    let Some(mut leader) = launch(state, &[]) else {
        return false;
    };
    let (_, queues) = leader.participant_mut().state_and_queues();
    let is_sent = |side: &mut [Row]| send_rows(queues, side, search);
    if !sides(rows, counts).into_iter().all(is_sent) {
        // This raises the worker's ERROR again, if there was one.
        leader.finish(|_| ());
        return false;
    }
    search_with(leader, (rows, counts), search, &branches);
    true
}

/// Searches rows that both processes have: those of each side behind those of the one before.
pub fn search_with<P: Pairs, const N: usize>(
    mut leader: Leader<SharedSearch>,
    (rows, counts): (&mut [Row], [usize; N]),
    search: &mut PairSearch<P>,
    branches: &Branches,
) {
    let (state, queues) = leader.participant_mut().state_and_queues();
    let mut sink = LeaderSink {
        search,
        state,
        queues,
    };
    let finder = &mut Finder::new(&mut sink, state.radius);
    state.search(finder, &mut sides::<N>(rows, counts), branches);
    while sink.take_pairs(true) {}
    leader.finish(|_| ());
}

/// Takes the pairs that the leader finds, and those that the worker sends.
struct LeaderSink<'l, 'a, P> {
    search: &'l mut PairSearch<'a, P>,
    state: &'l SharedSearch,
    queues: &'l mut MessageQueues,
}

impl<P: Pairs> LeaderSink<'_, '_, P> {
    /// Takes a message of the worker. Returns false when there is none: none yet, or with `wait`
    /// none will follow.
    fn take_pairs(&mut self, wait: bool) -> bool {
        self.search.check_interrupts();
        let Some(message) = self.queues.receive(wait) else {
            return false;
        };
        for pair in message.chunks_exact(PAIR) {
            let [a, b, distance] = [0, 1, 2].map(|i| get_u64(pair, i * size_of::<u64>()));
            self.search.pair(a, b, distance as u32);
        }
        true
    }
}

impl<P: Pairs> PairSink for LeaderSink<'_, '_, P> {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        self.search.file()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        self.search.pair(a, b, distance);
    }

    // All pairs are found, whatever else the sink would do without: simhash_pairs alone calls this.
    fn is_across(&self) -> bool {
        self.search.is_across()
    }

    fn check_interrupts(&mut self) {
        while self.take_pairs(false) {}
    }

    fn progress(&mut self, share: f64) {
        let of_worker = f64::from_bits(self.state.worker_progress.load(Ordering::Relaxed));
        self.search.progress((share + of_worker).min(1.0));
    }
}

/// Sends the pairs that the worker finds.
struct WorkerSink<'w> {
    state: &'w SharedSearch,
    queues: &'w mut MessageQueues,
    /// Pairs that are not sent yet.
    unsent: Vec<u8>,
}

impl WorkerSink<'_> {
    fn send(&mut self) {
        if !self.unsent.is_empty() {
            // The leader sends no more messages.
            if !self.queues.send(&self.unsent, |_| ()) {
                Error::new(
                    ERRCODE_CONNECTION_FAILURE,
                    "lost connection to the leader process",
                )
                .raise();
            }
            self.unsent.clear();
        }
    }
}

impl PairSink for WorkerSink<'_> {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        TempFile::new()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        for number in [a, b, u64::from(distance)] {
            self.unsent.extend(number.to_ne_bytes());
        }
        if self.unsent.len() == PAIRS * PAIR {
            self.send();
        }
    }

    fn is_across(&self) -> bool {
        self.state.is_across
    }

    fn check_interrupts(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        let progress = &self.state.worker_progress;
        progress.store(share.to_bits(), Ordering::Relaxed);
    }
}

/// Searches as the worker does.
fn search_as_worker<const N: usize>(worker: &mut Participant<SharedSearch>) {
    let (memory, radius) = (worker.state().memory, worker.state().radius);
    let mut group = Gathered::<_, N>::new(memory);
    let Some(varying) = receive_all_rows(worker, &mut group) else {
        return;
    };
    let Some((rows, counts)) = group.in_memory() else {
        return;
    };
    let Some(branches) = branches(counts.map(|count| count as u64), varying, radius) else {
        return;
    };
    let (state, queues) = worker.state_and_queues();
    let mut sink = WorkerSink {
        state,
        queues,
        unsent: Vec::with_capacity(PAIRS * PAIR),
    };
    let finder = &mut Finder::new(&mut sink, radius);
    state.search(finder, &mut sides::<N>(rows, counts), &branches);
    sink.send();
}

/// The main function of a worker.
///
/// # Safety
/// Called by the server, as the function that [`launch`] names.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn simhash_pairs_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the server's arguments; the leader's state is this.
    unsafe {
        run_worker::<SharedSearch>(segment, toc, |worker| match worker.state().sides {
            1 => search_as_worker::<1>(worker),
            _ => search_as_worker::<2>(worker),
        });
    }
}
