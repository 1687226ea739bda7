//! A background worker that helps the process that runs a query: the two share a board of atomics
//! and parts of shared memory, and the worker sends the leader what it finds.
//!
//! The leader raises the worker's ERROR again at its next check for interrupts. When the leader's
//! transaction ends, the server stops the worker.

use super::compat;
use super::error::raise;
use pgrx::PgSqlErrorCode::ERRCODE_CONNECTION_FAILURE;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_long, c_void};

/// Keys of the parts of the shared memory. The server's own have high bits set.
mod key {
    pub const COMMON: u64 = 1;
    pub const QUEUE: u64 = 2;
    pub const QUERY: u64 = 3;
    /// Of the caller's first part.
    pub const FIRST: u64 = 4;
}

/// Bytes of the queue of messages: what the worker finds while the leader looks elsewhere.
const QUEUE: usize = 1 << 20;

/// What both processes share.
#[repr(C)]
struct Common<B> {
    /// Changed by the server's code, in both processes.
    changed: UnsafeCell<pg_sys::ConditionVariable>,
    /// What the worker has read; the leader looks at it when the worker has ended.
    buffers: UnsafeCell<pg_sys::BufferUsage>,
    wal: UnsafeCell<pg_sys::WalUsage>,
    board: B,
}

impl<B> Common<B> {
    /// Wakes the other process if it waits for a change of the board.
    fn announce(&self) {
        // SAFETY: initialised before the worker was launched.
        unsafe { pg_sys::ConditionVariableBroadcast(self.changed.get()) };
    }

    /// Waits until `done` returns true; it is called after every announcement, and several times a
    /// second. Checks for interrupts.
    fn wait_until(&self, mut done: impl FnMut(&B) -> bool) {
        const TICK_MILLISECONDS: c_long = 200;
        while !done(&self.board) {
            // SAFETY: as in `announce`.
            unsafe {
                pg_sys::ConditionVariableTimedSleep(
                    self.changed.get(),
                    TICK_MILLISECONDS,
                    pg_sys::PG_WAIT_EXTENSION,
                );
            }
        }
        // SAFETY: harmless when this process does not sleep.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
    }
}

/// A part of the shared memory: its bytes, and what fills it before the worker is launched.
pub struct Part<'p> {
    pub bytes: usize,
    pub fill: &'p mut dyn FnMut(*mut c_void),
}

/// The leader's end.
pub struct Helper<'h, B> {
    context: *mut pg_sys::ParallelContext,
    queue: *mut pg_sys::shm_mq_handle,
    common: &'h Common<B>,
}

/// May a query have a worker for this many bytes of rows? As a parallel scan of a table of that
/// size may, outside of queries that are parallel themselves.
pub fn may_help(bytes: usize) -> bool {
    // SAFETY: reads settings and a flag of the process.
    unsafe {
        let least = pg_sys::min_parallel_table_scan_size as usize * pg_sys::BLCKSZ as usize;
        compat::IS_TESTED
            && pg_sys::IsUnderPostmaster
            && pg_sys::max_parallel_workers_per_gather > 0
            && bytes >= least
            && !pg_sys::IsInParallelMode()
    }
}

impl<'h, B: Sync + 'h> Helper<'h, B> {
    /// Launches a worker; None when there is no shared memory or no worker.
    ///
    /// # Safety
    /// `B` must be plain data that means the same in each process, what fills a part must keep
    /// within its bytes, and `function` must call [`help`] for them.
    pub unsafe fn launch(function: &CStr, board: B, parts: &mut [Part]) -> Option<Self> {
        // shm_toc_allocate gives addresses of this alignment.
        const { assert!(align_of::<Common<B>>() <= pg_sys::ALIGNOF_BUFFER as usize) };
        // SAFETY: the server's protocol for parallel operations, in its order: enter, create,
        // estimate, initialise, fill, launch. Each part has room for what is written to it. The
        // memory lives until `finish`.
        unsafe {
            pg_sys::EnterParallelMode();
            let library = c"$libdir/simhash_dedup".as_ptr();
            let context = pg_sys::CreateParallelContext(library, function.as_ptr(), 1);
            let text = pg_sys::debug_query_string;
            let query = if text.is_null() {
                c""
            } else {
                CStr::from_ptr(text)
            };
            let own: [(u64, usize); 3] = [
                (key::COMMON, size_of::<Common<B>>()),
                (key::QUEUE, QUEUE),
                (key::QUERY, query.count_bytes() + 1),
            ];
            let of_caller = parts.iter().map(|part| part.bytes);
            for size in own.iter().map(|part| part.1).chain(of_caller) {
                let size = size.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
                (*context).estimator.space_for_chunks += size;
                (*context).estimator.number_of_keys += 1;
            }
            pg_sys::InitializeParallelDSM(context);
            if (*context).seg.is_null() {
                end(context);
                return None;
            }
            let allocate = |(key, size)| {
                let place = pg_sys::shm_toc_allocate((*context).toc, size);
                pg_sys::shm_toc_insert((*context).toc, key, place);
                place
            };
            let [common, queue, statement] = own.map(allocate);
            let common: *mut Common<B> = common.cast();
            common.write(Common {
                // Structs of numbers, for which zeros are valid.
                changed: UnsafeCell::new(std::mem::zeroed()),
                buffers: UnsafeCell::new(std::mem::zeroed()),
                wal: UnsafeCell::new(std::mem::zeroed()),
                board,
            });
            pg_sys::ConditionVariableInit((*common).changed.get());
            let bytes = query.to_bytes_with_nul();
            statement
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            for (key, part) in (key::FIRST..).zip(parts) {
                (part.fill)(allocate((key, part.bytes)));
            }
            let queue = pg_sys::shm_mq_create(queue, QUEUE);
            pg_sys::shm_mq_set_receiver(queue, pg_sys::MyProc);
            pg_sys::LaunchParallelWorkers(context);
            if (*context).nworkers_launched == 0 {
                end(context);
                return None;
            }
            // With the worker's handle, a wait for it ends when it could not be started.
            let worker = (*(*context).worker).bgwhandle;
            let queue = pg_sys::shm_mq_attach(queue, (*context).seg, worker);
            Some(Helper {
                context,
                queue,
                common: &*common,
            })
        }
    }

    pub fn board(&self) -> &'h B {
        &self.common.board
    }

    /// The place of the caller's part `i`.
    pub fn part(&self, i: u64) -> *mut c_void {
        // SAFETY: the context lives until `finish`.
        unsafe { pg_sys::shm_toc_lookup((*self.context).toc, key::FIRST + i, false) }
    }

    /// Wakes the worker if it waits for a change of the board.
    pub fn announce(&self) {
        self.common.announce();
    }

    /// Waits until `done` returns true of the board, which the worker changes. An ERROR if the worker
    /// could not start.
    pub fn wait_until(&self, done: impl FnMut(&B) -> bool) {
        // SAFETY: the context lives until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
        self.common.wait_until(done);
    }

    /// The next message of the worker: with `wait` None only when it has ended, and otherwise also
    /// when there is none yet. Waiting checks for interrupts.
    pub fn receive(&mut self, wait: bool) -> Option<&[u8]> {
        let (mut length, mut data) = (0, std::ptr::null_mut::<c_void>());
        // SAFETY: the queue lives until `finish`; a message lives until the next call.
        unsafe {
            let result = pg_sys::shm_mq_receive(self.queue, &mut length, &mut data, !wait);
            (result == pg_sys::shm_mq_result::SHM_MQ_SUCCESS)
                .then(|| std::slice::from_raw_parts(data.cast::<u8>(), length))
        }
    }

    /// Waits for the worker's end, which has to send nothing any more, and counts what it has read
    /// as read by this process.
    pub fn finish(self) {
        // SAFETY: the context is live, and not used any more. The worker has filled its counts.
        unsafe {
            pg_sys::shm_mq_detach(self.queue);
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            let (buffers, wal) = (self.common.buffers.get(), self.common.wal.get());
            pg_sys::InstrAccumParallelQuery(buffers, wal);
            end(self.context);
        }
    }
}

/// # Safety
/// The context must be live, and not be used any more.
unsafe fn end(context: *mut pg_sys::ParallelContext) {
    // SAFETY: the caller's word.
    unsafe {
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}

/// The worker's end.
pub struct Work<'w, B> {
    queue: *mut pg_sys::shm_mq_handle,
    common: &'w Common<B>,
    toc: *mut pg_sys::shm_toc,
}

impl<'w, B> Work<'w, B> {
    pub fn board(&self) -> &'w B {
        &self.common.board
    }

    /// The place of part `i` of those that [`Helper::launch`] was given.
    pub fn part(&self, i: u64) -> *mut c_void {
        // SAFETY: the shared memory lives as long as the worker's work.
        unsafe { pg_sys::shm_toc_lookup(self.toc, key::FIRST + i, false) }
    }

    /// Wakes the leader if it waits for a change of the board.
    pub fn announce(&self) {
        self.common.announce();
    }

    /// Waits until `done` returns true of the board, which the leader changes.
    pub fn wait_until(&self, done: impl FnMut(&B) -> bool) {
        self.common.wait_until(done);
    }

    /// Sends a message; waits while the queue is full, and checks for interrupts meanwhile.
    pub fn send(&self, message: &[u8]) {
        // SAFETY: the queue lives as long as the worker's work.
        let result = unsafe { compat::send(self.queue, message) };
        if result != pg_sys::shm_mq_result::SHM_MQ_SUCCESS {
            raise(
                ERRCODE_CONNECTION_FAILURE,
                "lost connection to the leader process",
            );
        }
    }
}

/// Runs `work` as the worker that the shared memory describes.
///
/// # Safety
/// Must be called by the function given to [`Helper::launch`], with its arguments, and for its `B`.
pub unsafe fn help<B: Sync>(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
    work: impl FnOnce(&Work<B>),
) {
    // SAFETY: the leader filled the parts before it launched this process, and waits for it to end.
    unsafe {
        let part = |key| pg_sys::shm_toc_lookup(toc, key, false);
        let query = part(key::QUERY).cast::<c_char>();
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
        let common = &*part(key::COMMON).cast::<Common<B>>();
        let queue = part(key::QUEUE).cast::<pg_sys::shm_mq>();
        pg_sys::shm_mq_set_sender(queue, pg_sys::MyProc);
        let queue = pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut());
        pg_sys::InstrStartParallelQuery();
        work(&Work { queue, common, toc });
        pg_sys::InstrEndParallelQuery(common.buffers.get(), common.wal.get());
        pg_sys::shm_mq_detach(queue);
    }
}
