//! A background worker that helps the process that runs a query: it has a copy of the leader's
//! rows, shares a board of atomics with it, and sends it what it finds.
//!
//! The leader raises the worker's ERROR again at its next check for interrupts. When the leader's
//! transaction ends, the server stops the worker.

use super::compat;
use super::error::raise;
use pgrx::PgSqlErrorCode::ERRCODE_CONNECTION_FAILURE;
use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_void};

/// Keys of the parts of the shared memory. The server's own have high bits set.
mod part {
    pub const COMMON: u64 = 1;
    pub const ROWS: u64 = 2;
    pub const QUEUE: u64 = 3;
    pub const QUERY: u64 = 4;
    pub const COUNT: usize = 4;
}

/// Bytes of the queue of messages: what the worker finds while the leader looks elsewhere.
const QUEUE: usize = 1 << 20;

/// What both processes share.
#[repr(C)]
struct Common<B> {
    rows: usize,
    board: B,
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
    /// Launches a worker with a copy of `rows`; None when there is no shared memory or no worker.
    ///
    /// # Safety
    /// `B` and `T` must be plain data that mean the same in each process, and `function` must call
    /// [`help`] for them.
    pub unsafe fn launch<T: Copy>(function: &CStr, board: B, rows: &[T]) -> Option<Self> {
        // shm_toc_allocate gives addresses of this alignment.
        const { assert!(align_of::<Common<B>>() <= pg_sys::ALIGNOF_BUFFER as usize) };
        const { assert!(align_of::<T>() <= pg_sys::ALIGNOF_BUFFER as usize) };
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
            let sizes: [(u64, usize); part::COUNT] = [
                (part::COMMON, size_of::<Common<B>>()),
                (part::ROWS, size_of_val(rows)),
                (part::QUEUE, QUEUE),
                (part::QUERY, query.count_bytes() + 1),
            ];
            for (_, size) in sizes {
                let size = size.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
                (*context).estimator.space_for_chunks += size;
                (*context).estimator.number_of_keys += 1;
            }
            pg_sys::InitializeParallelDSM(context);
            if (*context).seg.is_null() {
                end(context);
                return None;
            }
            let [common, copy, queue, statement] = sizes.map(|(key, size)| {
                let place = pg_sys::shm_toc_allocate((*context).toc, size);
                pg_sys::shm_toc_insert((*context).toc, key, place);
                place
            });
            let common: *mut Common<B> = common.cast();
            common.write(Common {
                rows: rows.len(),
                board,
            });
            copy.cast::<T>()
                .copy_from_nonoverlapping(rows.as_ptr(), rows.len());
            let bytes = query.to_bytes_with_nul();
            statement
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
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

    /// Waits for the worker's end, which has to send nothing any more.
    pub fn finish(self) {
        // SAFETY: the context is live, and not used any more.
        unsafe {
            pg_sys::shm_mq_detach(self.queue);
            pg_sys::WaitForParallelWorkersToFinish(self.context);
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

/// The worker's end of the queue.
pub struct Sender {
    queue: *mut pg_sys::shm_mq_handle,
}

impl Sender {
    /// Sends a message; waits while the queue is full, and checks for interrupts meanwhile.
    pub fn send(&mut self, message: &[u8]) {
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
/// Must be called by the function given to [`Helper::launch`], with its arguments, and for its `B`
/// and `T`.
pub unsafe fn help<B: Sync, T: Copy>(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
    work: impl FnOnce(&B, &mut [T], Sender),
) {
    // SAFETY: the leader filled the parts before it launched this process, waits for it to end, and
    // leaves the copy of its rows to it.
    unsafe {
        let part = |key| pg_sys::shm_toc_lookup(toc, key, false);
        let query = part(part::QUERY).cast::<c_char>();
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
        let common = &*part(part::COMMON).cast::<Common<B>>();
        let rows = std::slice::from_raw_parts_mut(part(part::ROWS).cast::<T>(), common.rows);
        let queue = part(part::QUEUE).cast::<pg_sys::shm_mq>();
        pg_sys::shm_mq_set_sender(queue, pg_sys::MyProc);
        let queue = pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut());
        work(&common.board, rows, Sender { queue });
        pg_sys::shm_mq_detach(queue);
    }
}
