//! Server functions called without pgrx's guard, in the hot paths of searches and inserts.
//!
//! The guard around each call (sigsetjmp, to turn a server ERROR into a Rust panic) costs about as
//! much as these calls themselves. These need none. Some raise an ERROR only for a buffer that we
//! have not pinned or locked, which the types of `src/index/buffer.rs` rule out. The others
//! are called inside a critical section, where every ERROR is a PANIC that ends the process, or
//! inside a guard that their caller has set up for many calls.

#![allow(missing_docs, reason = "they are the server's functions")]

use super::compat::BufDataLength;
use pgrx::pg_sys;
use std::ffi::{c_char, c_int, c_uint};

unsafe extern "C-unwind" {
    /// Releases a pin that we hold.
    pub fn ReleaseBuffer(buffer: pg_sys::Buffer);
    /// Raises the ERROR of a cancel that is pending. Inside a guard only.
    pub(crate) fn ProcessInterrupts();
    /// Unpacks the first columns of a row. Inside a guard only.
    pub(crate) fn slot_getsomeattrs_int(slot: *mut pg_sys::TupleTableSlot, columns: c_int);
    // What runs a query once more. Inside a guard only.
    pub(crate) fn CommandCounterIncrement();
    pub(crate) fn GetTransactionSnapshot() -> pg_sys::Snapshot;
    pub(crate) fn GetLatestSnapshot() -> pg_sys::Snapshot;
    pub(crate) fn GetActiveSnapshot() -> pg_sys::Snapshot;
    pub(crate) fn PushActiveSnapshot(snapshot: pg_sys::Snapshot);
    pub(crate) fn ExecReScan(node: *mut pg_sys::PlanState);
    // These read variables of the backend, and raise no ERROR.
    pub(crate) fn GetCurrentSubTransactionId() -> pg_sys::SubTransactionId;
    pub(crate) fn GetUserIdAndSecContext(user: *mut pg_sys::Oid, context: *mut c_int);
    // Inside a critical section only.
    pub fn MarkBufferDirty(buffer: pg_sys::Buffer);
    pub fn XLogBeginInsert();
    pub fn XLogRegisterBuffer(id: u8, buffer: pg_sys::Buffer, flags: u8);
    pub(crate) fn XLogRegisterBufData(id: u8, data: *mut c_char, length: BufDataLength);
    pub fn XLogInsert(rmgr: pg_sys::RmgrId, info: u8) -> pg_sys::XLogRecPtr;
}

/// The functions of buffer locks, of which PostgreSQL 19 has others than the majors before it. Only
/// [`super::compat`] calls them.
#[allow(dead_code, reason = "each major has half of them")]
pub(super) mod buffer_lock {
    use super::*;

    unsafe extern "C-unwind" {
        /// Locks the content of a buffer that we have pinned, or unlocks it.
        pub fn LockBuffer(buffer: pg_sys::Buffer, mode: c_int);
        pub fn LWLockHeldByMe(lock: *mut pg_sys::LWLock) -> bool;
        // From PostgreSQL 19 on.
        pub fn LockBufferInternal(buffer: pg_sys::Buffer, mode: c_uint);
        pub fn UnlockBuffer(buffer: pg_sys::Buffer);
        pub fn BufferIsLockedByMe(buffer: pg_sys::Buffer) -> bool;
    }
}
