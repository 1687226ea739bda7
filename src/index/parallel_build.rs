//! CREATE INDEX by several processes: a leader, which runs the command, and background workers.
//!
//! 1. All scan the table together; each sorts what it read for every key space and leaves the runs
//!    in files that the others can read.
//! 2. When the last process has handed over its runs, each takes a key space that no other has
//!    taken, merges all processes' runs of it and loads it, until none is left. They write the file
//!    side by side.
//! 3. The leader writes the metapage. Until then nothing leads to the blocks of the index.
//!
//! A worker that starts late finds no blocks left to scan and goes straight to loading. The leader
//! raises a worker's ERROR again at its next check for interrupts. When the leader's transaction or
//! subtransaction ends before the build does, the server stops the workers and frees what they share,
//! files too.

#![allow(unsafe_code)]

use super::build::{
    Build, BuildCounts, RowSink, phase, random_u64, scan_table, set_phase, set_progress,
};
use super::bulk_writer::{BulkWriter, MAIN, Progress, write_meta};
use super::spool::Spool;
use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};
use simhash_base::runs::Runs;
use simhash_hamming::build::load::{BuildOptions, Loaded, Loader};
use simhash_hamming::build::sort::{Posting, SortScope, merge};
use simhash_hamming::key::{QUARTERS, SPACES, Space};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::compat;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::{TempFile, damaged_temporary_file};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Maximum number of workers. More do not help: the scan is soon bound by memory, and there are
/// four spaces to load.
const MAX_WORKERS: usize = 15;

/// State that the processes share: it means the same in each of them.
#[repr(C)]
struct SharedBuild {
    table: pg_sys::Oid,
    index: pg_sys::Oid,
    /// Whether it is CREATE INDEX CONCURRENTLY, during which the table can be written to.
    concurrent: bool,
    stamp: u32,
    options: BuildOptions,
    /// Bytes for each process.
    memory: usize,
    /// Processes that are scanning, or have not yet handed over the rows that they scanned.
    scanning: AtomicU32,
    table_rows: AtomicU64,
    broken_hot_chain: AtomicBool,
    rows: AtomicU64,
    null_rows: AtomicU64,
    /// Whether each process has left files of runs.
    left_runs: [AtomicBool; MAX_WORKERS + 1],
    /// The space that the next process to ask will load.
    next_space: AtomicUsize,
    loaded: [LoadedSpace; SPACES],
    spaces_done: AtomicUsize,
    /// See [`Progress`].
    quarters: AtomicU64,
    /// Where processes wait for a change of the others.
    changed: UnsafeCell<pg_sys::ConditionVariable>,
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

/// One process of a build, with the relations as it has opened them.
struct Participant<'p> {
    toc: *mut pg_sys::shm_toc,
    state: &'p SharedBuild,
    /// 0 for the leader, 1 and up for workers.
    number: usize,
    table: Rel<'p>,
    index: Rel<'p>,
}

/// Builds the index with up to `workers` workers and `memory` bytes in all; None, with nothing
/// done, when the server starts no worker.
pub fn build_in_parallel(
    build: Build,
    options: BuildOptions,
    memory: usize,
    workers: usize,
) -> Option<BuildCounts> {
    let Build { table, index, info } = build;
    let workers = workers.min(MAX_WORKERS);
    let stamp = random_u64();
    // SAFETY: the info is the server's; zeros are valid in a struct of numbers, which may be moved as
    // long as no process waits.
    let (concurrent, changed) = unsafe {
        let mut changed = std::mem::zeroed();
        pg_sys::ConditionVariableInit(&mut changed);
        ((*info).ii_Concurrent, changed)
    };
    let state = SharedBuild {
        table: table.oid(),
        index: index.oid(),
        concurrent,
        stamp: stamp as u32,
        options,
        memory: memory / (workers + 1),
        scanning: AtomicU32::new(0),
        table_rows: AtomicU64::new(0),
        broken_hot_chain: AtomicBool::new(false),
        rows: AtomicU64::new(0),
        null_rows: AtomicU64::new(0),
        left_runs: Default::default(),
        next_space: AtomicUsize::new(0),
        loaded: Default::default(),
        spaces_done: AtomicUsize::new(0),
        quarters: AtomicU64::new(0),
        changed: UnsafeCell::new(changed),
    };
    set_phase(phase::SCAN);
    // SAFETY: the snapshot is unregistered when the workers have ended; after an ERROR the server does
    // so. The context lives until `end`, and the shared memory as long; each launched worker has filled
    // its place of the two arrays by the time it has finished.
    unsafe {
        let snapshot =
            concurrent.then(|| pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()));
        let all_rows = &raw mut pg_sys::SnapshotAnyData;
        let launched = launch(table, snapshot.unwrap_or(all_rows), workers, state);
        let counts = launched.map(|context| {
            let leader = Participant::new((*context).toc, 0, table, index);
            leader.lead(context);
            set_phase(phase::SYNC);
            pg_sys::WaitForParallelWorkersToFinish(context);
            for worker in 0..(*context).nworkers_launched as usize {
                let (buffers, wal) = usage((*context).toc, worker);
                pg_sys::InstrAccumParallelQuery(buffers, wal);
            }
            let state = leader.state;
            let spaces = state.loaded.each_ref().map(LoadedSpace::get);
            let (rows, null_rows) = (load(&state.rows), load(&state.null_rows));
            let table_rows = load(&state.table_rows) as f64;
            if state.broken_hot_chain.load(Ordering::SeqCst) {
                (*info).ii_BrokenHotChain = true;
            }
            end(context);
            write_meta(index, MAIN, stamp, &spaces, rows, null_rows);
            BuildCounts {
                table_rows,
                index_rows: rows + null_rows,
            }
        });
        if let Some(snapshot) = snapshot {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        counts
    }
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::SeqCst)
}

/// Launches the workers; None when there is no shared memory or no worker.
///
/// # Safety
/// The snapshot must be SnapshotAny, or one that is registered until the workers have ended.
unsafe fn launch(
    table: Rel,
    snapshot: pg_sys::Snapshot,
    workers: usize,
    state: SharedBuild,
) -> Option<*mut pg_sys::ParallelContext> {
    // SAFETY: the server's protocol for parallel operations, in its order: enter, create, estimate,
    // initialise, fill, launch. The worker function is for this state.
    unsafe {
        pg_sys::EnterParallelMode();
        let (library, worker) = (c"simhash_dedup", c"simhash_build_worker");
        let context =
            pg_sys::CreateParallelContext(library.as_ptr(), worker.as_ptr(), workers as i32);
        if !share(&mut *context, state, table, snapshot) {
            end(context);
            return None;
        }
        pg_sys::LaunchParallelWorkers(context);
        if (*context).nworkers_launched == 0 {
            end(context);
            return None;
        }
        Some(context)
    }
}

/// # Safety
/// The context must be live, and must not be used afterwards.
unsafe fn end(context: *mut pg_sys::ParallelContext) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}

/// Keys by which the server's table of contents finds the chunks of shared memory. A worker loads the
/// library when it starts. If the file was replaced since the leader loaded it, the two may be of
/// versions that lay out their chunks differently. So the keys hold the version: a worker of another
/// version finds no chunk, and says why.
mod key {
    /// The keys of this version follow this number. The server's own have high bits set.
    const BEFORE_FIRST: u64 = super::before_first(env!("CARGO_PKG_VERSION"));
    pub const STATE: u64 = BEFORE_FIRST + 1;
    pub const BUFFER_USAGE: u64 = BEFORE_FIRST + 2;
    pub const WAL_USAGE: u64 = BEFORE_FIRST + 3;
    pub const QUERY: u64 = BEFORE_FIRST + 4;
    pub const FILES: u64 = BEFORE_FIRST + 5;
    pub const SCAN: u64 = BEFORE_FIRST + 6;
}

/// A hash of the version (FNV-1a, 32 bits), with room for 65,536 keys behind it.
const fn before_first(version: &str) -> u64 {
    let bytes = version.as_bytes();
    let mut hash: u32 = 0x811c_9dc5;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash as u64) << 16
}

/// Creates the shared memory, with this state and a scan of the table in which all take part; false
/// when there is none.
///
/// # Safety
/// The context must be one for which no memory was created yet; otherwise as of [`launch`].
unsafe fn share(
    context: &mut pg_sys::ParallelContext,
    state: SharedBuild,
    table: Rel,
    snapshot: pg_sys::Snapshot,
) -> bool {
    // shm_toc_allocate gives addresses of this alignment.
    const ALIGNMENT: usize = pg_sys::ALIGNOF_BUFFER as usize;
    const { assert!(align_of::<SharedBuild>() <= ALIGNMENT) };
    let workers = context.nworkers as usize;
    let query = query_text().to_bytes_with_nul();
    // SAFETY: guaranteed by the caller; each chunk has room for what is written to it.
    unsafe {
        let scan_bytes = pg_sys::table_parallelscan_estimate(table.raw(), snapshot);
        let chunks = [
            (key::STATE, size_of::<SharedBuild>()),
            (
                key::BUFFER_USAGE,
                workers * size_of::<pg_sys::BufferUsage>(),
            ),
            (key::WAL_USAGE, workers * size_of::<pg_sys::WalUsage>()),
            (key::QUERY, query.len()),
            (key::FILES, size_of::<pg_sys::SharedFileSet>()),
            (key::SCAN, scan_bytes),
        ];
        for (_, bytes) in chunks {
            // As the macros shm_toc_estimate_chunk and shm_toc_estimate_keys.
            context.estimator.space_for_chunks += bytes.next_multiple_of(ALIGNMENT);
            context.estimator.number_of_keys += 1;
        }
        pg_sys::InitializeParallelDSM(context);
        if context.seg.is_null() {
            return false;
        }
        for (key, bytes) in chunks {
            let chunk = pg_sys::shm_toc_allocate(context.toc, bytes);
            pg_sys::shm_toc_insert(context.toc, key, chunk);
        }
        chunk(context.toc, key::STATE)
            .cast::<SharedBuild>()
            .write(state);
        chunk(context.toc, key::QUERY)
            .cast::<u8>()
            .copy_from_nonoverlapping(query.as_ptr(), query.len());
        pg_sys::SharedFileSetInit(chunk(context.toc, key::FILES).cast(), context.seg);
        let scan = chunk(context.toc, key::SCAN).cast();
        pg_sys::table_parallelscan_initialize(table.raw(), scan, snapshot);
        true
    }
}

/// The text of the running statement, for pg_stat_activity; empty when there is none.
fn query_text() -> &'static CStr {
    // SAFETY: null or a NUL-terminated string that lives as long as the statement, which outlives
    // the use in this module.
    unsafe {
        let text: *const c_char = pg_sys::debug_query_string;
        if text.is_null() {
            c""
        } else {
            CStr::from_ptr(text)
        }
    }
}

/// # Safety
/// The shared memory must be live, and have a chunk of this key.
unsafe fn chunk(toc: *mut pg_sys::shm_toc, key: u64) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    unsafe { pg_sys::shm_toc_lookup(toc, key, false) }
}

/// Where a worker, counted from 0, leaves what it has read and logged.
///
/// # Safety
/// The shared memory must be live, and the build have that many workers.
unsafe fn usage(
    toc: *mut pg_sys::shm_toc,
    worker: usize,
) -> (*mut pg_sys::BufferUsage, *mut pg_sys::WalUsage) {
    // SAFETY: guaranteed by the caller; each chunk is an array of one element for each worker.
    unsafe {
        let buffers: *mut pg_sys::BufferUsage = chunk(toc, key::BUFFER_USAGE).cast();
        let wal: *mut pg_sys::WalUsage = chunk(toc, key::WAL_USAGE).cast();
        (buffers.add(worker), wal.add(worker))
    }
}

/// The worker process's function, known to the server by its name.
///
/// # Safety
/// Called by the server, as the function that [`launch`] named.
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn simhash_build_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the leader filled the chunks before it launched this process, and waits for it to end.
    // The locks are those that the leader holds; they do not conflict within its lock group.
    unsafe {
        let query = pg_sys::shm_toc_lookup(toc, key::QUERY, true).cast::<c_char>();
        if query.is_null() {
            Error::new(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the library simhash_dedup was replaced while this session was open",
            )
            .hint("Reconnect and try again.")
            .raise();
        }
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
        pg_sys::SharedFileSetAttach(chunk(toc, key::FILES).cast(), segment);
        let number = pg_sys::ParallelWorkerNumber as usize;
        pg_sys::InstrStartParallelQuery();
        let state = &*chunk(toc, key::STATE).cast::<SharedBuild>();
        let (table_lock, index_lock) = if state.concurrent {
            (pg_sys::ShareUpdateExclusiveLock, pg_sys::RowExclusiveLock)
        } else {
            (pg_sys::ShareLock, pg_sys::AccessExclusiveLock)
        };
        let table = pg_sys::table_open(state.table, table_lock as i32);
        let index = pg_sys::index_open(state.index, index_lock as i32);
        let (table_rel, index_rel) = (Rel::from_raw(table), Rel::from_raw(index));
        let worker = Participant::new(toc, number + 1, table_rel, index_rel);
        worker.gather();
        worker.wait_for_rows();
        worker.load_spaces();
        pg_sys::index_close(index, index_lock as i32);
        pg_sys::table_close(table, table_lock as i32);
        let (buffers, wal) = usage(toc, number);
        pg_sys::InstrEndParallelQuery(buffers, wal);
    }
}

impl<'p> Participant<'p> {
    /// # Safety
    /// The shared memory must be that of a build, and outlive the result.
    unsafe fn new(
        toc: *mut pg_sys::shm_toc,
        number: usize,
        table: Rel<'p>,
        index: Rel<'p>,
    ) -> Self {
        Participant {
            toc,
            // SAFETY: guaranteed by the caller; the leader wrote it before it launched workers.
            state: unsafe { &*chunk(toc, key::STATE).cast() },
            number,
            table,
            index,
        }
    }

    /// What the leader does: it scans as the workers do, loads key spaces where that saves a round, and
    /// otherwise reports progress.
    ///
    /// # Safety
    /// The context must be live.
    unsafe fn lead(&self, context: *mut pg_sys::ParallelContext) {
        let state = self.state;
        self.gather();
        // A worker that could not start is an ERROR here: the leader would wait for it forever.
        // SAFETY: guaranteed by the caller.
        let workers = unsafe {
            pg_sys::WaitForParallelWorkersToAttach(context);
            (*context).nworkers_launched as usize
        };
        self.wait_for_rows();
        set_phase(phase::SORT_AND_LOAD);
        let rows = load(&state.rows) + load(&state.null_rows);
        set_progress(pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL, rows as i64);
        if leader_loads(workers) {
            self.load_spaces();
        }
        self.wait_until(|| {
            self.progress().report();
            state.spaces_done.load(Ordering::SeqCst) == SPACES
        });
    }

    fn progress(&self) -> Progress<'p> {
        Progress {
            quarters: &self.state.quarters,
            report: self.number == 0,
        }
    }

    /// Wakes the processes that wait for a change.
    fn announce(&self) {
        // SAFETY: initialised by the leader.
        unsafe { pg_sys::ConditionVariableBroadcast(self.state.changed.get()) };
    }

    /// Waits until `done` returns true. It is called after every announcement, and several times a
    /// second. Checks for interrupts.
    fn wait_until(&self, mut done: impl FnMut() -> bool) {
        const TICK_MILLISECONDS: c_long = 200;
        let changed = self.state.changed.get();
        while !done() {
            let event = compat::WAIT_FOR_BUILD_WORKERS;
            // SAFETY: initialised by the leader; sleeping checks for interrupts.
            unsafe { pg_sys::ConditionVariableTimedSleep(changed, TICK_MILLISECONDS, event) };
        }
        // SAFETY: harmless when this process does not sleep.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
    }

    /// Waits until all that scan have handed over their rows.
    fn wait_for_rows(&self) {
        self.wait_until(|| self.state.scanning.load(Ordering::SeqCst) == 0);
    }

    /// Reads this process's share of the table and leaves it as sorted runs.
    fn gather(&self) {
        match self.index.key_columns() {
            1 => self.gather_as::<()>(),
            _ => self.gather_as::<u32>(),
        }
    }

    fn gather_as<S: SortScope>(&self) {
        let state = self.state;
        let new_file = |space| {
            // SAFETY: this process is attached to the files.
            unsafe { TempFile::create_shared(self.files(), &file_name(space, self.number)) }
        };
        let mut spool = Spool::<S>::new(state.memory, &new_file);
        self.scan(&mut |row, tid| spool.add(row, tid));
        state.rows.fetch_add(spool.rows, Ordering::SeqCst);
        state.null_rows.fetch_add(spool.null_rows, Ordering::SeqCst);
        if let Some(runs) = spool.into_runs() {
            for runs in runs {
                runs.into_store().publish();
            }
            state.left_runs[self.number].store(true, Ordering::SeqCst);
        }
        state.scanning.fetch_sub(1, Ordering::SeqCst);
        self.announce();
    }

    /// Calls `row` with the rows of this process's share of the table.
    fn scan(&self, row: RowSink) {
        let state = self.state;
        // Counted before it takes a block: so a process that finds no more blocks knows of all that
        // have taken some.
        state.scanning.fetch_add(1, Ordering::SeqCst);
        // SAFETY: table and index are open and locked, the description is that of the common scan.
        let (rows, broken) = unsafe {
            let info = pg_sys::BuildIndexInfo(self.index.raw());
            (*info).ii_Concurrent = state.concurrent;
            let description = chunk(self.toc, key::SCAN).cast();
            let scan = compat::begin_parallel_scan(self.table.raw(), description);
            let is_leader = self.number == 0;
            let rows = scan_table(self.table, self.index, info, is_leader, scan, row);
            (rows, (*info).ii_BrokenHotChain)
        };
        state.table_rows.fetch_add(rows as u64, Ordering::SeqCst);
        state.broken_hot_chain.fetch_or(broken, Ordering::SeqCst);
    }

    /// The files that all share.
    fn files(&self) -> *mut pg_sys::SharedFileSet {
        // SAFETY: the shared memory lives as long as this.
        unsafe { chunk(self.toc, key::FILES).cast() }
    }

    /// Loads key spaces until none is left.
    fn load_spaces(&self) {
        let mut writer: Option<BulkWriter> = None;
        while let Some(space) =
            Space::all().nth(self.state.next_space.fetch_add(1, Ordering::SeqCst))
        {
            let writer =
                writer.get_or_insert_with(|| BulkWriter::one_of_many(self.index, self.progress()));
            match self.index.key_columns() {
                1 => self.load_space::<()>(space, writer),
                _ => self.load_space::<u32>(space, writer),
            }
        }
        if let Some(writer) = writer {
            writer.finish();
        }
        self.announce();
    }

    fn load_space<S: SortScope>(&self, space: Space, writer: &mut BulkWriter) {
        let state = self.state;
        let all_runs: Vec<Runs<_, Posting<S>>> = (0..=MAX_WORKERS)
            .filter(|i| state.left_runs[*i].load(Ordering::SeqCst))
            .map(|i| {
                // SAFETY: this process is attached to the files.
                let file = unsafe { TempFile::open_shared(self.files(), &file_name(space, i)) };
                let size = file.size();
                Runs::stored(file, size).unwrap_or_else(|| damaged_temporary_file(size))
            })
            .collect();
        let mut loader = Loader::new(writer, space, state.stamp, state.options);
        or_out_of_memory(merge(all_runs, state.memory / 2, |key| loader.push(key)));
        state.loaded[space.index()].set(&loader.finish());
        state.spaces_done.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns whether the four large spaces take fewer rounds if the leader loads too. With three
/// workers they take one instead of two.
fn leader_loads(workers: usize) -> bool {
    let rounds = |processes: usize| QUARTERS.div_ceil(processes);
    rounds(workers + 1) < rounds(workers)
}

fn file_name(space: Space, participant: usize) -> CString {
    CString::new(format!("space{}.{participant}", space.index())).unwrap_or_default()
}
