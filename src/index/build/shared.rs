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
use simhash_hamming::build::load::{BuildOptions, Loaded, Loader};
use simhash_hamming::build::sort::{Posting, SortScope, merge};
use simhash_hamming::key::{BLOCKS, SPACES, Space};
use simhash_hamming::runs::Runs;
use simhash_pg::am::build::{Build, set_phase, set_rows_total};
use simhash_pg::am::parallel::{Leader, Member, run_worker};
use simhash_pg::am::scan::random_u64;
use simhash_pg::page::bulk::{BulkWriter, Fork};
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::damaged_temporary_file;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Maximum number of workers. More do not help: the scan is soon bound by memory, and there are
/// four spaces to load.
const MAX_WORKERS: usize = 15;

/// State that the participants share.
#[repr(C)]
struct Board {
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
pub fn build_shared(
    build: Build,
    options: BuildOptions,
    memory: usize,
    workers: usize,
) -> Option<BuildCounts> {
    let workers = workers.min(MAX_WORKERS);
    let stamp = random_u64();
    let board = Board {
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
    // SAFETY: the board holds no pointers, and the worker function takes a Board.
    let leader = unsafe { Leader::launch(build, workers, worker, board) }?;
    let board = lead(&leader);
    set_phase(phase::SYNC);
    let (rows, null_rows) = (load(&board.rows), load(&board.null_rows));
    let spaces = board.loaded.each_ref().map(LoadedSpace::get);
    let scanned = leader.finish();
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

/// The leader's part: it scans as the workers do, loads key spaces where that saves a round, and
/// otherwise reports progress.
fn lead<'l>(leader: &'l Leader<'_, Board>) -> &'l Board {
    let member = leader.member();
    let board = member.board();
    gather(member);
    leader.check_workers_started();
    member.wait_for_rows();
    set_phase(phase::SORT_AND_LOAD);
    set_rows_total(load(&board.rows) + load(&board.null_rows));
    if helps(leader.workers()) {
        load_spaces(member);
    }
    let progress = progress(member);
    member.wait_until(|| {
        progress.report();
        board.spaces_done.load(Ordering::SeqCst) == SPACES
    });
    board
}

/// Returns whether the four large spaces take fewer rounds if the leader loads too. With three
/// workers they take one instead of two.
fn helps(workers: usize) -> bool {
    let rounds = |processes: usize| BLOCKS.div_ceil(processes);
    rounds(workers + 1) < rounds(workers)
}

fn progress<'m>(member: &'m Member<Board>) -> Progress<'m> {
    Progress {
        quarters: &member.board().quarters,
        report: member.is_leader(),
    }
}

/// The worker process's function, known to the server by its name.
///
/// # Safety
/// Called by the server, as the function that [`build_shared`] named.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn simhash_build_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the server's arguments; the leader's board is a Board.
    unsafe {
        run_worker::<Board>(segment, toc, |member| {
            gather(member);
            member.wait_for_rows();
            load_spaces(member);
        });
    }
}

/// Reads this participant's share of the table and leaves it as sorted runs.
fn gather(member: &Member<Board>) {
    match member.index().key_columns() {
        1 => gather_as::<()>(member),
        _ => gather_as::<u32>(member),
    }
}

fn gather_as<S: SortScope>(member: &Member<Board>) {
    let board = member.board();
    let new_file = |space| member.create_file(&file_name(space, member.number()));
    let mut spool = Spool::<S>::new(board.memory, &new_file);
    member.scan(&mut |row, tid| spool.add(row, tid));
    board.rows.fetch_add(spool.rows, Ordering::SeqCst);
    board.null_rows.fetch_add(spool.null_rows, Ordering::SeqCst);
    if let Some(runs) = spool.into_runs() {
        for runs in runs {
            runs.into_store().publish();
        }
        board.left_runs[member.number()].store(true, Ordering::SeqCst);
    }
    member.hand_over();
}

fn file_name(space: Space, participant: usize) -> String {
    format!("space{}.{participant}", space.index())
}

/// Loads key spaces until none is left.
fn load_spaces(member: &Member<Board>) {
    let board = member.board();
    let mut output: Option<BuildOutput> = None;
    while let Some(space) = Space::all().nth(board.next_space.fetch_add(1, Ordering::SeqCst)) {
        let output = output.get_or_insert_with(|| BuildOutput {
            writer: BulkWriter::one_of_many(member.index()),
            progress: progress(member),
        });
        match member.index().key_columns() {
            1 => load_space::<()>(member, space, output),
            _ => load_space::<u32>(member, space, output),
        }
    }
    if let Some(output) = output {
        output.writer.finish();
    }
    member.announce();
}

fn load_space<S: SortScope>(member: &Member<Board>, space: Space, output: &mut BuildOutput) {
    let board = member.board();
    let all_runs: Vec<Runs<_, Posting<S>>> = (0..=MAX_WORKERS)
        .filter(|i| board.left_runs[*i].load(Ordering::SeqCst))
        .map(|i| {
            let name = file_name(space, i);
            let file = member.open_file(&name);
            let size = file.size();
            Runs::stored(file, size).unwrap_or_else(|| damaged_temporary_file(size))
        })
        .collect();
    let mut loader = Loader::new(output, space, board.stamp, board.options);
    or_out_of_memory(merge(all_runs, board.memory / 2, |key| loader.push(key)));
    board.loaded[space.index()].set(&loader.finish());
    board.spaces_done.fetch_add(1, Ordering::SeqCst);
}
