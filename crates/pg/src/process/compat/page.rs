//! What differs between majors in buffers, their locks, files and WAL records. `src/index` calls it.

use crate::process::unguarded::{self, buffer_lock};
use pgrx::pg_sys;

/// The length in XLogRegisterBufData.
#[cfg(feature = "pg15")]
pub type BufDataLength = std::ffi::c_int;
/// The length in XLogRegisterBufData.
#[cfg(not(feature = "pg15"))]
pub type BufDataLength = u32;

/// XLogRegisterBufData, whose length argument grew with PostgreSQL 16.
///
/// # Safety
/// As for XLogRegisterBufData: in a critical section, between XLogBeginInsert and XLogInsert, block
/// `id` registered, the bytes alive until then.
pub unsafe fn register_buffer_data(id: u8, bytes: *mut u8, length: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { unguarded::XLogRegisterBufData(id, bytes.cast(), length as _) };
}

#[cfg(feature = "pg15")]
type FileLocator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
type FileLocator = pg_sys::RelFileLocator;

/// Where the server finds a relation's file; renamed with PostgreSQL 16.
///
/// # Safety
/// `rel` must be open; what is returned lives as long as it is.
pub unsafe fn file_locator(rel: pg_sys::Relation) -> *mut FileLocator {
    // SAFETY: guaranteed by the caller.
    #[cfg(feature = "pg15")]
    unsafe {
        &raw mut (*rel).rd_node
    }
    // SAFETY: as above.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        &raw mut (*rel).rd_locator
    }
}

/// ReadRecentBuffer of the main fork.
///
/// # Safety
/// `rel` must be open, `buffer` a valid buffer number of this process.
pub unsafe fn read_recent_buffer(rel: pg_sys::Relation, block: u32, buffer: i32) -> bool {
    let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: guaranteed by the caller.
    unsafe { pg_sys::ReadRecentBuffer(*file_locator(rel), fork, block, buffer) }
}

/// Returns whether this process holds the content lock of a buffer. False for local buffers, which
/// are never locked.
///
/// # Safety
/// `buffer` must be pinned.
pub unsafe fn content_lock_is_held(buffer: pg_sys::Buffer) -> bool {
    let is_local = buffer < 0;
    // SAFETY: a positive number is a shared buffer, whose descriptor lives as long as the server.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let is_locked = || unsafe {
        let descriptor = pg_sys::BufferDescriptors.add(buffer as usize - 1);
        buffer_lock::LWLockHeldByMe(&raw mut (*descriptor).bufferdesc.content_lock)
    };
    // SAFETY: a shared buffer that is pinned.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    let is_locked = || unsafe { buffer_lock::BufferIsLockedByMe(buffer) };
    !is_local && is_locked()
}

/// Locks the content of a buffer; an inline function from PostgreSQL 19 on.
///
/// # Safety
/// `buffer` must be pinned, and not locked by this process.
pub unsafe fn lock_buffer(buffer: pg_sys::Buffer, mode: u32) {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        buffer_lock::LockBuffer(buffer, mode as i32)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        buffer_lock::LockBufferInternal(buffer, mode)
    }
}

/// Unlocks the content of a buffer.
///
/// # Safety
/// `buffer` must be pinned, and locked by this process.
pub unsafe fn unlock_buffer(buffer: pg_sys::Buffer) {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        buffer_lock::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        buffer_lock::UnlockBuffer(buffer)
    }
}

/// Returns whether the relation's file was made by the running transaction.
pub fn file_is_new(data: &pg_sys::RelationData) -> bool {
    const NOT_IN_THIS_TRANSACTION: pg_sys::SubTransactionId = 0;
    #[cfg(feature = "pg15")]
    let new_file = data.rd_firstRelfilenodeSubid;
    #[cfg(not(feature = "pg15"))]
    let new_file = data.rd_firstRelfilelocatorSubid;
    data.rd_createSubid != NOT_IN_THIS_TRANSACTION || new_file != NOT_IN_THIS_TRANSACTION
}
