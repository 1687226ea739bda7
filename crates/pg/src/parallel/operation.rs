//! A parallel operation from launch to end, in the leader, which runs the command, and in its
//! background workers. They share a state of atomics in dynamic shared memory, the scan of a table,
//! and temporary files.
//!
//! The leader raises a worker's ERROR again at its next check for interrupts. When the leader's
//! transaction or subtransaction ends before the operation does, the server stops the workers and
//! frees the shared memory; shared files are removed with it.

use super::shared_memory::{SharedScan, chunk_of_leader, create, key};
use crate::process::temp_file::{SharedFiles, TempFile};
use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_void};

/// One process of an operation, the leader or a worker, with what all of them share.
pub struct Participant<S> {
    toc: *mut pg_sys::shm_toc,
    state: *const S,
    number: usize,
}

impl<S: Sync> Participant<S> {
    /// # Safety
    /// The shared memory must be that of an operation with this state, and outlive the result.
    unsafe fn new(toc: *mut pg_sys::shm_toc, number: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        let state = unsafe { pg_sys::shm_toc_lookup(toc, key::STATE, false) }.cast();
        Participant { toc, state, number }
    }

    /// 0 for the leader, 1 and up for workers.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns whether it is the process that runs the command.
    pub fn is_leader(&self) -> bool {
        self.number == 0
    }

    /// The state that all participants share.
    pub(crate) fn state(&self) -> &S {
        // SAFETY: written by the leader before it launched workers; alive as long as this.
        unsafe { &*self.state }
    }

    /// The description of the common scan.
    pub(crate) fn scan(&self) -> pg_sys::ParallelTableScanDesc {
        self.chunk(key::SCAN).cast()
    }

    /// Creates a file that the others can open after [`TempFile::publish`].
    pub fn create_file(&self, name: &CStr) -> TempFile<'_> {
        TempFile::create_shared(self.files(), name)
    }

    /// Opens a file that a participant has published.
    pub fn open_file(&self, name: &CStr) -> TempFile<'_> {
        TempFile::open_shared(self.files(), name)
    }

    fn files(&self) -> SharedFiles<'_> {
        // SAFETY: initialised by the leader; `run_worker` has attached the worker.
        unsafe { SharedFiles::from_raw(self.chunk(key::FILES).cast()) }
    }

    /// Where a worker, counted from 0, leaves what it has read and logged.
    ///
    /// # Safety
    /// The operation must have that many workers.
    unsafe fn usage(&self, worker: usize) -> (*mut pg_sys::BufferUsage, *mut pg_sys::WalUsage) {
        let buffers: *mut pg_sys::BufferUsage = self.chunk(key::BUFFER_USAGE).cast();
        let wal: *mut pg_sys::WalUsage = self.chunk(key::WAL_USAGE).cast();
        // SAFETY: each chunk is an array of one element for each worker.
        unsafe { (buffers.add(worker), wal.add(worker)) }
    }

    fn chunk(&self, key: u64) -> *mut c_void {
        // SAFETY: the shared memory lives as long as this, and has a chunk of each key.
        unsafe { pg_sys::shm_toc_lookup(self.toc, key, false) }
    }
}

/// The leader of an operation, and its workers.
pub struct Leader<S> {
    context: *mut pg_sys::ParallelContext,
    participant: Participant<S>,
}

impl<S: Sync> Leader<S> {
    /// Launches up to `workers` workers; None, with `state` dropped, when there is no shared memory
    /// or no worker.
    ///
    /// # Safety
    /// `S` must be plain data that means the same in each process: no pointers. The library must
    /// export `function`, which calls [`run_worker`] for this `S`.
    pub(crate) unsafe fn launch(
        function: &CStr,
        workers: usize,
        state: S,
        scan: SharedScan<'_>,
    ) -> Option<Self> {
        // SAFETY: the server's protocol for parallel operations, in its order: enter, create,
        // estimate, initialise, fill, launch. The shared memory lives until the context is
        // destroyed.
        unsafe {
            pg_sys::EnterParallelMode();
            let library = c"simhash_dedup".as_ptr();
            let context = pg_sys::CreateParallelContext(library, function.as_ptr(), workers as i32);
            if !create(&mut *context, state, scan) {
                end(context);
                return None;
            }
            pg_sys::LaunchParallelWorkers(context);
            if (*context).nworkers_launched == 0 {
                end(context);
                return None;
            }
            let toc = (*context).toc;
            Some(Leader {
                context,
                participant: Participant::new(toc, 0),
            })
        }
    }

    pub(crate) fn participant(&self) -> &Participant<S> {
        &self.participant
    }

    /// Workers that were launched.
    pub fn workers(&self) -> usize {
        // SAFETY: the context lives until `finish`.
        unsafe { (*self.context).nworkers_launched as usize }
    }

    /// Raises an ERROR if a launched worker could not start: a leader that waits for it on a
    /// condition variable would do so forever.
    pub fn check_workers_started(&self) {
        // SAFETY: the context lives until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// Waits for the workers to end, and counts what they have read and logged as this process's
    /// own. Returns what `result` makes of the state.
    pub(crate) fn finish<R>(self, result: impl FnOnce(&S) -> R) -> R {
        // SAFETY: the context is live, and not used after `end`; each launched worker has filled
        // its place of the two arrays by the time it has finished.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            for worker in 0..self.workers() {
                let (buffers, wal) = self.participant.usage(worker);
                pg_sys::InstrAccumParallelQuery(buffers, wal);
            }
            let result = result(self.participant.state());
            end(self.context);
            result
        }
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

/// Runs `work` as a worker of the operation that the shared memory describes.
///
/// # Safety
/// Must be called by the function given to [`Leader::launch`], with its arguments and for its `S`.
pub(crate) unsafe fn run_worker<S: Sync>(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
    work: impl FnOnce(&mut Participant<S>),
) {
    // SAFETY: the leader filled the chunks before it launched this process, and waits for it to
    // end.
    unsafe {
        let query = chunk_of_leader(toc, key::QUERY).cast::<c_char>();
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
        let files = pg_sys::shm_toc_lookup(toc, key::FILES, false);
        pg_sys::SharedFileSetAttach(files.cast(), segment);
        let worker = pg_sys::ParallelWorkerNumber as usize;
        let mut participant = Participant::new(toc, worker + 1);
        pg_sys::InstrStartParallelQuery();
        work(&mut participant);
        let (buffers, wal) = participant.usage(worker);
        pg_sys::InstrEndParallelQuery(buffers, wal);
    }
}
