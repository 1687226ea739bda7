//! What differs between majors in memory that sessions share: how it is found by a name, and the
//! names of locks. [`crate::process::shared_words`] calls it.

use pgrx::pg_sys;
use std::ffi::{CStr, c_void};

/// Writes what a new segment holds, before another process sees it.
pub(crate) type Initialize = unsafe extern "C-unwind" fn(*mut c_void);

/// Returns the segment of this name, which is made if it is not there.
///
/// # Safety
/// `initialize` writes `size` bytes at most, and raises no ERROR.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub(crate) unsafe fn attach_segment(
    name: &CStr,
    size: usize,
    initialize: Initialize,
) -> *mut c_void {
    /// AddinShmemInitLock of storage/lwlocknames.h, for those who make such segments.
    const INIT_LOCK: usize = 21;
    let mut found = false;
    // SAFETY: the server keeps some memory free for segments that nobody has announced; an ERROR if
    // it is used up. A new segment is initialized before the lock is released.
    unsafe {
        let lock = &raw mut (*pg_sys::MainLWLockArray.add(INIT_LOCK)).lock;
        pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
        let segment = pg_sys::ShmemInitStruct(name.as_ptr(), size, &mut found);
        if !found {
            initialize(segment);
        }
        pg_sys::LWLockRelease(lock);
        segment
    }
}

/// Returns the segment of this name, which is made if it is not there.
///
/// # Safety
/// `initialize` writes `size` bytes at most, and raises no ERROR.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub(crate) unsafe fn attach_segment(
    name: &CStr,
    size: usize,
    initialize: Initialize,
) -> *mut c_void {
    let mut found = false;
    // SAFETY: guaranteed by the caller.
    unsafe { pg_sys::GetNamedDSMSegment(name.as_ptr(), size, Some(initialize), &mut found) }
}

/// Returns the segment of this name, which is made if it is not there.
///
/// # Safety
/// `initialize` writes `size` bytes at most, and raises no ERROR.
#[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
pub(crate) unsafe fn attach_segment(
    name: &CStr,
    size: usize,
    initialize: Initialize,
) -> *mut c_void {
    unsafe extern "C-unwind" fn call(segment: *mut c_void, initialize: *mut c_void) {
        // SAFETY: the pointer that is given below.
        unsafe { std::mem::transmute::<*mut c_void, Initialize>(initialize)(segment) }
    }
    let mut found = false;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let argument = initialize as *mut c_void;
        pg_sys::GetNamedDSMSegment(name.as_ptr(), size, Some(call), &mut found, argument)
    }
}

/// Returns the number of a new kind of locks. `name` is what pg_stat_activity shows of a process that
/// waits for one.
pub(crate) fn new_tranche(name: &CStr) -> i32 {
    let _ = name;
    // SAFETY: counts in shared memory.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        pg_sys::LWLockNewTrancheId()
    }
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    unsafe {
        pg_sys::LWLockNewTrancheId(name.as_ptr())
    }
}

/// Tells this process the name of a kind of locks, which later majors keep for all.
pub(crate) fn register_tranche(tranche: i32, name: &'static CStr) {
    let _ = (tranche, name);
    // SAFETY: the server keeps the pointer; the name is static.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        pg_sys::LWLockRegisterTranche(tranche, name.as_ptr());
    }
}

/// Creates an area of memory that grows.
///
/// # Safety
/// `tranche` is one that the server has given.
pub(crate) unsafe fn create_area(tranche: i32) -> *mut pg_sys::dsa_area {
    // SAFETY: guaranteed by the caller.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    unsafe {
        pg_sys::dsa_create(tranche)
    }
    /// As dsa_create has them.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    const FIRST_AND_LARGEST: [usize; 2] = [1 << 20, 1 << 40];
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::dsa_create_ext(tranche, FIRST_AND_LARGEST[0], FIRST_AND_LARGEST[1])
    }
}

/// The number of this process among those of the server, from 0 on.
pub fn own_number() -> usize {
    // SAFETY: a backend that runs a function has its PGPROC.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).pgprocno as usize;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::MyProcNumber as usize;
    }
}
