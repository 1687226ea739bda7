//! CREATE INDEX by several processes.
//!
//! 1. All scan the table together; each sorts what it read for every key space and leaves the runs
//!    in files that the others can read.
//! 2. When the last process has handed over its runs, each takes a key space that no other has
//!    taken, merges all processes' runs of it and loads it, until none is left. They write the file
//!    side by side.
//! 3. The leader writes the metapage. Until then nothing leads to the blocks of the index.
//!
//! A worker that starts late finds no blocks left to scan and goes straight to loading.

use super::output::{BuildCounts, BuildOutput, Progress, phase, write_meta};
use super::spool::Spool;
use pgrx::{pg_guard, pg_sys};
use simhash_base::runs::Runs;
use simhash_hamming::build::load::{BuildOptions, Loaded, Loader};
use simhash_hamming::build::sort::{Posting, SortScope, merge};
use simhash_hamming::key::{QUARTERS, SPACES, Space};
use simhash_pg::am::build::{Build, set_phase, set_rows_total};
use simhash_pg::am::parallel_build::{BuildLeader, BuildParticipant, run_build_worker};
use simhash_pg::am::scan::random_u64;
use simhash_pg::page::bulk::{BulkWriter, Fork};
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::damaged_temporary_file;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Maximum number of workers. More do not help: the scan is soon bound by memory, and there are
/// four spaces to load.
const MAX_WORKERS: usize = 15;

/// State that the participants share.
#[repr(C)]
struct SharedBuild {
    stamp: u32,
    options: BuildOptions,
    /// Bytes for each participant.
    memory: usize,
    rows: AtomicU64,
    null_rows: AtomicU64,
    /// Whether each participant has left files of runs.
    left_runs: [AtomicBool; MAX_WORKERS + 1],
    /// The space that the next participant to ask will load.
    next_space: AtomicUsize,
    loaded: [LoadedSpace; SPACES],
    spaces_done: AtomicUsize,
    /// See [`Progress`].
    quarters: AtomicU64,
}

/// Result of a load.
#[repr(C)]
#[derive(Default)]
struct LoadedSpace {
    root: AtomicU32,
    leaves: AtomicU32,
    level: AtomicU8,
}

impl LoadedSpace {
    fn set(&self, loaded: &Loaded) {
        self.root.store(loaded.root, Ordering::SeqCst);
        self.leaves.store(loaded.leaves, Ordering::SeqCst);
        self.level.store(loaded.level, Ordering::SeqCst);
    }

    fn get(&self) -> Loaded {
        Loaded {
            root: self.root.load(Ordering::SeqCst),
            leaves: self.leaves.load(Ordering::SeqCst),
            level: self.level.load(Ordering::SeqCst),
        }
    }
}

/// Builds the index with up to `workers` workers and `memory` bytes in all; None, with nothing
/// done, when the server starts no worker.
#[allow(unsafe_code)]
pub fn build_in_parallel(
    build: Build,
    options: BuildOptions,
    memory: usize,
    workers: usize,
) -> Option<BuildCounts> {
    let workers = workers.min(MAX_WORKERS);
    let stamp = random_u64();
    let state = SharedBuild {
        stamp: stamp as u32,
        options,
        memory: memory / (workers + 1),
        rows: AtomicU64::new(0),
        null_rows: AtomicU64::new(0),
        left_runs: Default::default(),
        next_space: AtomicUsize::new(0),
        loaded: Default::default(),
        spaces_done: AtomicUsize::new(0),
        quarters: AtomicU64::new(0),
    };
    set_phase(phase::SCAN);
    let worker = c"simhash_build_worker";
    // SAFETY: the state holds no pointers, and the worker function is for it.
    let leader = unsafe { BuildLeader::launch(build, workers, worker, state) }?;
    lead(&leader);
    set_phase(phase::SYNC);
    let (scanned, (rows, null_rows, spaces)) = leader.finish(|state| {
        let spaces = state.loaded.each_ref().map(LoadedSpace::get);
        (load(&state.rows), load(&state.null_rows), spaces)
    });
    write_meta(build.index, Fork::Main, stamp, &spaces, rows, null_rows);
    if scanned.broken_hot_chain {
        build.has_broken_hot_chain();
    }
    Some(BuildCounts {
        table_rows: scanned.table_rows,
        index_rows: rows + null_rows,
    })
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::SeqCst)
}

/// What the leader does: it scans as the workers do, loads key spaces where that saves a round, and
/// otherwise reports progress.
fn lead(leader: &BuildLeader<SharedBuild>) {
    let participant = &leader.participant();
    let state = participant.state();
    gather(participant);
    leader.operation.check_workers_started();
    participant.wait_for_rows();
    set_phase(phase::SORT_AND_LOAD);
    set_rows_total(load(&state.rows) + load(&state.null_rows));
    if leader_loads(leader.operation.workers()) {
        load_spaces(participant);
    }
    let progress = progress(participant);
    participant.wait_until(|| {
        progress.report();
        state.spaces_done.load(Ordering::SeqCst) == SPACES
    });
}

/// Returns whether the four large spaces take fewer rounds if the leader loads too. With three
/// workers they take one instead of two.
fn leader_loads(workers: usize) -> bool {
    let rounds = |processes: usize| QUARTERS.div_ceil(processes);
    rounds(workers + 1) < rounds(workers)
}

fn progress<'p>(participant: &BuildParticipant<'p, SharedBuild>) -> Progress<'p> {
    Progress {
        quarters: &participant.state().quarters,
        report: participant.process.is_leader(),
    }
}

/// The worker process's function, known to the server by its name.
///
/// # Safety
/// Called by the server, as the function that [`build_in_parallel`] named.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn simhash_build_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the server's arguments; the leader's state is this.
    unsafe {
        run_build_worker::<SharedBuild>(segment, toc, |participant| {
            gather(participant);
            participant.wait_for_rows();
            load_spaces(participant);
        });
    }
}

/// Reads this participant's share of the table and leaves it as sorted runs.
fn gather(participant: &BuildParticipant<SharedBuild>) {
    match participant.index.key_columns() {
        1 => gather_as::<()>(participant),
        _ => gather_as::<u32>(participant),
    }
}

fn gather_as<S: SortScope>(participant: &BuildParticipant<SharedBuild>) {
    let state = participant.state();
    let new_file = |space| {
        participant
            .process
            .create_file(&file_name(space, participant.process.number()))
    };
    let mut spool = Spool::<S>::new(state.memory, &new_file);
    participant.scan(&mut |row, tid| spool.add(row, tid));
    state.rows.fetch_add(spool.rows, Ordering::SeqCst);
    state.null_rows.fetch_add(spool.null_rows, Ordering::SeqCst);
    if let Some(runs) = spool.into_runs() {
        for runs in runs {
            runs.into_store().publish();
        }
        state.left_runs[participant.process.number()].store(true, Ordering::SeqCst);
    }
    participant.hand_over();
}

fn file_name(space: Space, participant: usize) -> CString {
    CString::new(format!("space{}.{participant}", space.index())).unwrap_or_default()
}

/// Loads key spaces until none is left.
fn load_spaces(participant: &BuildParticipant<SharedBuild>) {
    let state = participant.state();
    let mut output: Option<BuildOutput> = None;
    while let Some(space) = Space::all().nth(state.next_space.fetch_add(1, Ordering::SeqCst)) {
        let output = output.get_or_insert_with(|| BuildOutput {
            writer: BulkWriter::one_of_many(participant.index),
            progress: progress(participant),
        });
        match participant.index.key_columns() {
            1 => load_space::<()>(participant, space, output),
            _ => load_space::<u32>(participant, space, output),
        }
    }
    if let Some(output) = output {
        output.writer.finish();
    }
    participant.announce();
}

fn load_space<S: SortScope>(
    participant: &BuildParticipant<SharedBuild>,
    space: Space,
    output: &mut BuildOutput,
) {
    let state = participant.state();
    let all_runs: Vec<Runs<_, Posting<S>>> = (0..=MAX_WORKERS)
        .filter(|i| state.left_runs[*i].load(Ordering::SeqCst))
        .map(|i| {
            let name = file_name(space, i);
            let file = participant.process.open_file(&name);
            let size = file.size();
            Runs::stored(file, size).unwrap_or_else(|| damaged_temporary_file(size))
        })
        .collect();
    let mut loader = Loader::new(output, space, state.stamp, state.options);
    or_out_of_memory(merge(all_runs, state.memory / 2, |key| loader.push(key)));
    state.loaded[space.index()].set(&loader.finish());
    state.spaces_done.fetch_add(1, Ordering::SeqCst);
}
