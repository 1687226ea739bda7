//! Messages between a leader and its only worker, by two of the server's queues in shared memory.

use crate::process::backend::check_for_interrupts;
use pgrx::pg_sys;
use std::ffi::{c_long, c_void};

/// Bytes of the queue of messages to the leader: what the worker sends while the leader is busy
/// with other work.
pub(super) const TO_LEADER: usize = 1 << 20;
/// Bytes of the queue of messages to the worker: what the leader sends before the worker has
/// started.
pub(super) const TO_WORKER: usize = 1 << 21;

/// Messages from and to the other process.
pub struct MessageQueues {
    incoming: *mut pg_sys::shm_mq_handle,
    outgoing: *mut pg_sys::shm_mq_handle,
}

/// Makes this process, a leader, the receiver of the one queue and the sender of the other.
///
/// # Safety
/// The places must have [`TO_LEADER`] and [`TO_WORKER`] bytes of shared memory.
pub(super) unsafe fn create(to_leader: *mut c_void, to_worker: *mut c_void) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let to_leader = pg_sys::shm_mq_create(to_leader, TO_LEADER);
        pg_sys::shm_mq_set_receiver(to_leader, pg_sys::MyProc);
        let to_worker = pg_sys::shm_mq_create(to_worker, TO_WORKER);
        pg_sys::shm_mq_set_sender(to_worker, pg_sys::MyProc);
    }
}

impl MessageQueues {
    /// Attaches the leader. With the worker's handle, a wait for the worker ends when it could not
    /// be started.
    ///
    /// # Safety
    /// Both must be queues of [`create`], in this segment, which lives until [`Self::detach`].
    pub(super) unsafe fn of_leader(
        segment: *mut pg_sys::dsm_segment,
        to_leader: *mut c_void,
        to_worker: *mut c_void,
        worker: *mut pg_sys::BackgroundWorkerHandle,
    ) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Self {
                incoming: pg_sys::shm_mq_attach(to_leader.cast(), segment, worker),
                outgoing: pg_sys::shm_mq_attach(to_worker.cast(), segment, worker),
            }
        }
    }

    /// Attaches the worker.
    ///
    /// # Safety
    /// As for [`Self::of_leader`].
    pub(super) unsafe fn of_worker(
        segment: *mut pg_sys::dsm_segment,
        to_leader: *mut c_void,
        to_worker: *mut c_void,
    ) -> Self {
        let (to_leader, to_worker) = (to_leader.cast(), to_worker.cast());
        // SAFETY: guaranteed by the caller.
        unsafe {
            pg_sys::shm_mq_set_sender(to_leader, pg_sys::MyProc);
            pg_sys::shm_mq_set_receiver(to_worker, pg_sys::MyProc);
            let attach = |queue| pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut());
            Self {
                incoming: attach(to_worker),
                outgoing: attach(to_leader),
            }
        }
    }

    /// The next message of the other process: with `wait` None only when it has ended, and
    /// otherwise also when there is none yet. Waiting checks for interrupts.
    pub fn receive(&mut self, wait: bool) -> Option<&[u8]> {
        let (mut length, mut data) = (0, std::ptr::null_mut::<c_void>());
        // SAFETY: the queue lives as long as this; a message lives until the next call.
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
            // SAFETY: the queue lives as long as this. A message that is sent in part is sent to
            // the end by the next calls.
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

    /// Tells the other process that this one sends and receives nothing more.
    pub(super) fn detach(self) {
        // SAFETY: attached by `of_leader` or `of_worker`.
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
