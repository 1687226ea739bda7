//! Memory that all sessions of the server share, in words of 64 bits, behind one lock. The triggers
//! keep rows in progress there. It is made when a session first needs it, without
//! shared_preload_libraries, is empty again after a restart, and never exceeds its bound.

use std::cell::Cell;
use std::ffi::c_void;

use pgrx::pg_sys;

use super::compat::{attach_segment, create_area, new_tranche, register_tranche};
use super::memory::MemoryContext;

/// Bytes that may be allocated.
const BOUND: usize = 96 << 20;
/// Words of the header.
pub(crate) const HEADER: usize = 8;

/// What stands at a place that all sessions know.
#[repr(C)]
struct Segment {
    lock: pg_sys::LWLock,
    tranche: i32,
    /// Whether `area` is there.
    ready: bool,
    area: pg_sys::dsa_handle,
    header: [u64; HEADER],
}

/// As this process has attached it.
#[derive(Clone, Copy)]
struct Attached {
    segment: *mut Segment,
    area: *mut pg_sys::dsa_area,
}

thread_local! {
    static ATTACHED: Cell<Option<Attached>> = const { Cell::new(None) };
}

/// The memory, which this process has alone until it drops it. It must raise no ERROR meanwhile that
/// leaves what it has changed half done.
pub struct SharedWords(Attached);

impl SharedWords {
    /// Waits until no other process has the memory.
    pub fn lock() -> Self {
        let attached = ATTACHED.get().unwrap_or_else(|| {
            let attached = attach();
            ATTACHED.set(Some(attached));
            attached
        });
        // SAFETY: the process that made the segment has initialized it.
        unsafe { acquire(&raw mut (*attached.segment).lock) };
        Self(attached)
    }

    /// The words that are there before anything was allocated: zeros at first.
    pub fn header(&mut self) -> &mut [u64; HEADER] {
        // SAFETY: the segment stays, and we have the lock.
        unsafe { &mut (*self.0.segment).header }
    }

    /// Returns a run whose last `zeros` words are zeros, or None when memory would exceed its bound. Raises an
    /// ERROR if the system has no shared memory left.
    pub fn allocate(&mut self, words: usize, zeros: usize) -> Option<u64> {
        let flags = pg_sys::DSA_ALLOC_NO_OOM;
        // SAFETY: the area is attached. The first word says how many follow, the last `zeros` of which are written.
        unsafe {
            let run = pg_sys::dsa_allocate_extended(self.0.area, (words + 1) * 8, flags as i32);
            if run == 0 {
                return None;
            }
            let start = pg_sys::dsa_get_address(self.0.area, run).cast::<u64>();
            *start = words as u64;
            start.add(1 + words - zeros).write_bytes(0, zeros);
            Some(run)
        }
    }

    /// # Safety
    /// [`SharedWords::allocate`] has returned `run`, in this process or another one, since the server
    /// was started, and it was not freed.
    pub unsafe fn free(&mut self, run: u64) {
        // SAFETY: guaranteed by the caller.
        unsafe { pg_sys::dsa_free(self.0.area, run) };
    }

    /// The words of a run.
    ///
    /// # Safety
    /// As for [`SharedWords::free`].
    pub unsafe fn words(&mut self, run: u64) -> &mut [u64] {
        // SAFETY: guaranteed by the caller; the first word says how many follow.
        unsafe {
            let start = pg_sys::dsa_get_address(self.0.area, run).cast::<u64>();
            std::slice::from_raw_parts_mut(start.add(1), *start as usize)
        }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // After an ERROR the server releases the lock.
        if !std::thread::panicking() {
            // SAFETY: we have the lock.
            unsafe { pg_sys::LWLockRelease(&raw mut (*self.0.segment).lock) };
        }
    }
}

/// # Safety
/// The lock is initialized.
unsafe fn acquire(lock: *mut pg_sys::LWLock) {
    // SAFETY: guaranteed by the caller.
    unsafe { pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE) };
}

/// Attaches the memory, which is made if it is not there.
fn attach() -> Attached {
    // SAFETY: `initialize` writes a whole segment before another process sees it. The area's handle
    // is read and written under the segment's lock. What is attached is kept until the process ends.
    unsafe {
        let segment =
            attach_segment(c"simhash_dedup", size_of::<Segment>(), initialize).cast::<Segment>();
        register_tranche((*segment).tranche, c"simhash_dedup");
        acquire(&raw mut (*segment).lock);
        let area = MemoryContext::of_process().run(|| match (*segment).ready {
            true => pg_sys::dsa_attach((*segment).area),
            false => make_area((*segment).tranche),
        });
        pg_sys::dsa_pin_mapping(area);
        (*segment).area = pg_sys::dsa_get_handle(area);
        (*segment).ready = true;
        pg_sys::LWLockRelease(&raw mut (*segment).lock);
        Attached { segment, area }
    }
}

/// # Safety
/// `segment` has room for a [`Segment`], and no other process uses it yet.
unsafe extern "C-unwind" fn initialize(segment: *mut c_void) {
    let segment = segment.cast::<Segment>();
    // SAFETY: guaranteed by the caller; a struct of numbers, for which zeros are valid.
    unsafe {
        segment.write(std::mem::zeroed());
        (*segment).tranche = new_tranche(c"simhash_dedup");
        pg_sys::LWLockInitialize(&raw mut (*segment).lock, (*segment).tranche);
    }
}

/// Makes an area that stays until the server stops.
///
/// # Safety
/// `tranche` is one that the server has given.
unsafe fn make_area(tranche: i32) -> *mut pg_sys::dsa_area {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let area = create_area(tranche);
        pg_sys::dsa_pin(area);
        pg_sys::dsa_set_size_limit(area, BOUND);
        area
    }
}
