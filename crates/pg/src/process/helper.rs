//! A background worker that helps the process that runs a query: the two share a board of atomics
//! and parts of shared memory, and send each other messages.
//!
//! The leader raises the worker's ERROR again at its next check for interrupts. When the leader's
//! transaction ends, the server stops the worker.

use super::backend::check_for_interrupts;
use super::compat;
use super::shared_parts;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_long, c_void};

/// Keys of the parts of the shared memory.
mod key {
    use super::shared_parts::BEFORE_FIRST;
    pub const COMMON: u64 = BEFORE_FIRST + 1;
    pub const UP: u64 = BEFORE_FIRST + 2;
    pub const DOWN: u64 = BEFORE_FIRST + 3;
    pub const QUERY: u64 = BEFORE_FIRST + 4;
    /// Key of the caller's first part.
    pub const FIRST: u64 = BEFORE_FIRST + 5;
}

/// Bytes of the queue of messages to the leader: what the worker sends while the leader looks
/// elsewhere.
const UP: usize = 1 << 20;
/// Bytes of the queue of messages to the worker: what the leader sends before the worker has
/// started.
const DOWN: usize = 1 << 21;

/// Data that both processes share.
#[repr(C)]
struct Common<B> {
    /// Counts of what the worker has read; the leader looks at them when the worker has ended.
    buffers: UnsafeCell<pg_sys::BufferUsage>,
    wal: UnsafeCell<pg_sys::WalUsage>,
    board: B,
}

/// A part of the shared memory: its bytes, and what fills it before the worker is launched.
pub struct Part<'p> {
    pub bytes: usize,
    pub fill: &'p mut dyn FnMut(*mut c_void),
}

/// The leader's end.
pub struct Helper<'h, B> {
    context: *mut pg_sys::ParallelContext,
    channel: Channel,
    common: &'h Common<B>,
}

/// Returns whether a query may have a worker for this many bytes of rows. It may if a parallel scan
/// of a table of that size may have one, and the query is not parallel itself.
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
            let own: [(u64, usize); 4] = [
                (key::COMMON, size_of::<Common<B>>()),
                (key::UP, UP),
                (key::DOWN, DOWN),
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
            let [common, up, down, statement] = own.map(allocate);
            let common: *mut Common<B> = common.cast();
            common.write(Common {
                // Structs of numbers, for which zeros are valid.
                buffers: UnsafeCell::new(std::mem::zeroed()),
                wal: UnsafeCell::new(std::mem::zeroed()),
                board,
            });
            let bytes = query.to_bytes_with_nul();
            statement
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            for (key, part) in (key::FIRST..).zip(parts) {
                (part.fill)(allocate((key, part.bytes)));
            }
            let up = pg_sys::shm_mq_create(up, UP);
            pg_sys::shm_mq_set_receiver(up, pg_sys::MyProc);
            let down = pg_sys::shm_mq_create(down, DOWN);
            pg_sys::shm_mq_set_sender(down, pg_sys::MyProc);
            pg_sys::LaunchParallelWorkers(context);
            if (*context).nworkers_launched == 0 {
                end(context);
                return None;
            }
            // With the worker's handle, a wait for it ends when it could not be started.
            let worker = (*(*context).worker).bgwhandle;
            let attach = |queue| pg_sys::shm_mq_attach(queue, (*context).seg, worker);
            let channel = Channel {
                incoming: attach(up),
                outgoing: attach(down),
            };
            Some(Helper {
                context,
                channel,
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

    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Waits for the end of the worker, which must have nothing more to send, and counts what it
    /// has read as read by this process.
    pub fn finish(self) {
        // SAFETY: the context is live, and not used afterwards. The worker has filled its counts.
        unsafe {
            self.channel.detach();
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            let (buffers, wal) = (self.common.buffers.get(), self.common.wal.get());
            pg_sys::InstrAccumParallelQuery(buffers, wal);
            end(self.context);
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

/// Messages from and to the other process.
pub struct Channel {
    incoming: *mut pg_sys::shm_mq_handle,
    outgoing: *mut pg_sys::shm_mq_handle,
}

impl Channel {
    /// The next message of the other process: with `wait` None only when it has ended, and
    /// otherwise also when there is none yet. Waiting checks for interrupts.
    pub fn receive(&mut self, wait: bool) -> Option<&[u8]> {
        let (mut length, mut data) = (0, std::ptr::null_mut::<c_void>());
        // SAFETY: the queue lives as long as the channel; a message lives until the next call.
        unsafe {
            let result = pg_sys::shm_mq_receive(self.incoming, &mut length, &mut data, !wait);
            (result == pg_sys::shm_mq_result::SHM_MQ_SUCCESS)
                .then(|| std::slice::from_raw_parts(data.cast::<u8>(), length))
        }
    }

    /// Sends a message; false when the other process has ended. Shows the messages that come while
    /// the queue is full: otherwise two processes that send could wait for each other. Checks for
    /// interrupts.
    #[must_use]
    pub fn send(&mut self, message: &[u8], mut meanwhile: impl FnMut(&[u8])) -> bool {
        loop {
            // The call does not wait, and shows the receiver what it has sent at once.
            let (length, data) = (message.len(), message.as_ptr().cast());
            // SAFETY: the queue lives as long as the channel. A message that is sent in part is
            // sent to the end by the next calls.
            match unsafe { pg_sys::shm_mq_send(self.outgoing, length, data, true, true) } {
                pg_sys::shm_mq_result::SHM_MQ_SUCCESS => return true,
                pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => (),
                _ => return false,
            }
            match self.receive(false) {
                Some(message) => meanwhile(message),
                None => wait(),
            }
        }
    }

    /// # Safety
    /// The channel must not be used afterwards.
    unsafe fn detach(&self) {
        // SAFETY: attached to by both processes' code.
        unsafe {
            pg_sys::shm_mq_detach(self.incoming);
            pg_sys::shm_mq_detach(self.outgoing);
        }
    }
}

/// Waits until something happens to a queue, and not long. Checks for interrupts.
fn wait() {
    const TICK_MILLISECONDS: c_long = 100;
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: the process's own latch.
    unsafe {
        pg_sys::WaitLatch(
            pg_sys::MyLatch,
            events as i32,
            TICK_MILLISECONDS,
            pg_sys::PG_WAIT_EXTENSION,
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    check_for_interrupts();
}

/// The worker's end.
pub struct Work<'w, B> {
    channel: Channel,
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

    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }
}

/// Runs `work` as the worker that the shared memory describes.
///
/// # Safety
/// Must be called by the function given to [`Helper::launch`], with its arguments, and for its `B`.
pub unsafe fn help<B: Sync>(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
    work: impl FnOnce(&mut Work<B>),
) {
    // SAFETY: the leader filled the parts before it launched this process, and waits for it to end.
    unsafe {
        let part = |key| shared_parts::part_of_leader(toc, key);
        let query = part(key::QUERY).cast::<c_char>();
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
        let common = &*part(key::COMMON).cast::<Common<B>>();
        let (up, down) = (part(key::UP).cast(), part(key::DOWN).cast());
        pg_sys::shm_mq_set_sender(up, pg_sys::MyProc);
        pg_sys::shm_mq_set_receiver(down, pg_sys::MyProc);
        let attach = |queue| pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut());
        let channel = Channel {
            incoming: attach(down),
            outgoing: attach(up),
        };
        pg_sys::InstrStartParallelQuery();
        let mut worker = Work {
            channel,
            common,
            toc,
        };
        work(&mut worker);
        pg_sys::InstrEndParallelQuery(common.buffers.get(), common.wal.get());
        worker.channel.detach();
    }
}
