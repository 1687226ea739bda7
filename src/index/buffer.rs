//! Pages in shared buffers: pinned, locked, and released when they go out of scope. `store` and what
//! reads an index page by page call it; `store` alone changes a page.
//!
//! Destructors do nothing while an error unwinds (see the head of `simhash_pg`).

#![allow(unsafe_code)]

use pgrx::pg_sys;
use simhash_base::processor::prefetch_line;
use simhash_hamming::page::Page;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::error::Error;
use simhash_pg::process::{compat, unguarded};
use std::cell::Cell;
use std::ffi::CStr;
use std::ops::{Deref, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// InvalidBlockNumber: as an argument of ReadBuffer it asks for a new block.
const P_NEW: u32 = u32::MAX;

fn damaged_pointer(rel: Rel, what: String) -> ! {
    damaged_index(&rel.name(), &what)
}

fn damaged_index(name: &str, what: &str) -> ! {
    Error::index_corrupted(format!("index \"{name}\" is damaged: {what}")).raise()
}

/// As [`Rel::name`], without reading a catalog: in a database that is not in UTF-8, bytes
/// beyond ASCII become \x...
fn name_without_catalogs(rel: Rel) -> String {
    // SAFETY: an open relation has its row of pg_class, with a zero-terminated name.
    let name = unsafe { CStr::from_ptr((*(*rel.raw()).rd_rel).relname.data.as_ptr()) };
    match name.to_str() {
        Ok(name) => name.to_owned(),
        Err(_) => name.to_bytes().escape_ascii().to_string(),
    }
}

/// A pinned, unlocked buffer: the page stays in memory, its content may change.
pub struct Pinned<'r> {
    buffer: pg_sys::Buffer,
    block: u32,
    rel: Rel<'r>,
}

/// A page locked for reading.
pub struct Shared<'r>(Pinned<'r>);

/// A page locked for writing. Its bytes are changed only through `store::change`.
pub struct Exclusive<'r>(Pinned<'r>);

impl<'r> Pinned<'r> {
    /// Reads block `block` of the main fork into a buffer and pins it.
    #[inline]
    pub fn read(rel: Rel<'r>, block: u32) -> Pinned<'r> {
        // SAFETY: a null strategy.
        unsafe { Self::read_with(rel, block, std::ptr::null_mut()) }
    }

    /// As [`Pinned::read`], but first tries `recent`, the buffer that held the block last (0 if
    /// unknown), which saves the look-up in the buffer table.
    #[inline]
    pub fn read_recent(rel: Rel<'r>, block: u32, recent: &Cell<pg_sys::Buffer>) -> Pinned<'r> {
        let buffer = recent.get();
        // SAFETY: the relation is open; the number is that of a shared buffer, and the server
        // checks what the buffer holds now.
        let pinned =
            is_shared(buffer) && unsafe { compat::read_recent_buffer(rel.raw(), block, buffer) };
        if pinned {
            return Pinned { buffer, block, rel };
        }
        let page = Self::read(rel, block);
        // Local buffers (of temporary tables) are not worth remembering.
        recent.set(page.buffer.max(0));
        page
    }

    /// Asks the operating system for a block ahead of reading it. If a buffer holds it, `recent`
    /// becomes that buffer instead.
    #[inline]
    pub fn read_ahead(rel: Rel, block: u32, recent: &Cell<pg_sys::Buffer>) {
        // The file may have no such segment, which is an ERROR. Reading the block says what is
        // damaged.
        if block >= rel.least_block_count() && block >= rel.block_count() {
            return;
        }
        let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
        // SAFETY: the relation is open, and the block lies within its file.
        let answer = unsafe { pg_sys::PrefetchBuffer(rel.raw(), fork, block) };
        if is_shared(answer.recent_buffer) {
            recent.set(answer.recent_buffer);
        }
    }

    /// Pins a block that is in a buffer already, which raises no ERROR. One that is not is asked of
    /// the operating system in advance.
    pub fn read_if_cached(rel: Rel<'r>, block: u32) -> Option<Pinned<'r>> {
        let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
        // SAFETY: the relation is open; the server checks what the buffer holds when it is pinned.
        unsafe {
            let buffer = pg_sys::PrefetchBuffer(rel.raw(), fork, block).recent_buffer;
            let is_pinned = buffer != 0 && compat::read_recent_buffer(rel.raw(), block, buffer);
            is_pinned.then(|| Pinned { buffer, block, rel })
        }
    }

    /// As [`Pinned::read`], through the ring of buffers of a bulk read or VACUUM.
    ///
    /// # Safety
    /// `strategy` must be null or a live strategy of the server.
    #[inline]
    pub unsafe fn read_with(
        rel: Rel<'r>,
        block: u32,
        strategy: pg_sys::BufferAccessStrategy,
    ) -> Pinned<'r> {
        if block == P_NEW {
            damaged_pointer(
                rel,
                format!("a pointer to block {block}, which no file has"),
            );
        }
        // SAFETY: guaranteed by the caller.
        unsafe { Self::read_any(rel, block, strategy) }
    }

    /// # Safety
    /// As for [`Pinned::read_with`].
    unsafe fn read_any(
        rel: Rel<'r>,
        block: u32,
        strategy: pg_sys::BufferAccessStrategy,
    ) -> Pinned<'r> {
        // SAFETY: the relation is open; the caller vouches for the strategy.
        let read = || unsafe {
            pg_sys::ReadBufferExtended(
                rel.raw(),
                pg_sys::ForkNumber::MAIN_FORKNUM,
                block,
                pg_sys::ReadBufferMode::RBM_NORMAL,
                strategy,
            )
        };
        // The server's message names only the file. The length is checked after the error, because
        // checking it before each read would cost more than reading the page.
        let buffer = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|error| {
            if block != P_NEW && block >= rel.block_count() {
                // Until the transaction aborts, the server still takes the block for being read,
                // and before PostgreSQL 16 it knows only one such block: no other page, of a
                // catalog say, may be read here.
                let what = format!("a pointer to block {block}, beyond its end");
                // SAFETY: the server's error was caught, and another one takes its place.
                unsafe { pg_sys::FlushErrorState() };
                damaged_index(&name_without_catalogs(rel), &what);
            }
            resume_unwind(error)
        });
        let block = if block == P_NEW {
            // SAFETY: the buffer is pinned.
            unsafe { pg_sys::BufferGetBlockNumber(buffer) }
        } else {
            block
        };
        Pinned { buffer, block, rel }
    }

    /// The number of its block in the main fork.
    #[inline]
    pub fn block(&self) -> u32 {
        self.block
    }

    fn lock(self, mode: u32) -> Self {
        // Only a damaged pointer leads to a page that this process has locked. Waiting for itself,
        // the process could not even be cancelled.
        // SAFETY: the buffer is pinned.
        if unsafe { compat::content_lock_is_held(self.buffer) } {
            damaged_pointer(
                self.rel,
                format!("a pointer back to block {}", self.block()),
            );
        }
        // SAFETY: the buffer is pinned and not locked by us.
        unsafe { compat::lock_buffer(self.buffer, mode) };
        self
    }

    /// Waits for the content lock that lets others read too. An ERROR when this process holds a
    /// lock of the page.
    #[inline]
    pub fn share(self) -> Shared<'r> {
        Shared(self.lock(pg_sys::BUFFER_LOCK_SHARE))
    }

    /// Waits for the content lock that lets nobody else read or write. An ERROR when this process
    /// holds a lock of the page.
    #[inline]
    pub fn exclusive(self) -> Exclusive<'r> {
        Exclusive(self.lock(pg_sys::BUFFER_LOCK_EXCLUSIVE))
    }

    /// Waits until no other backend has the page pinned and locks it for writing, so no running
    /// scan still relies on the page's rows.
    #[inline]
    pub fn cleanup(self) -> Exclusive<'r> {
        // SAFETY: the buffer is pinned once by us and not locked.
        unsafe { pg_sys::LockBufferForCleanup(self.buffer) };
        Exclusive(self)
    }

    fn page(&self) -> *mut Page {
        // SAFETY: the buffer is pinned, so its block is in memory and BLCKSZ long.
        unsafe { block_of(self.buffer) }
    }

    /// Gives the pin to the caller as a buffer number, for a scan that keeps it between two calls.
    #[inline]
    pub fn into_raw(self) -> pg_sys::Buffer {
        let buffer = self.buffer;
        std::mem::forget(self);
        buffer
    }

    /// Releases a pin that [`Pinned::into_raw`] gave away.
    ///
    /// # Safety
    /// `buffer` must be such a pin, not yet released, of a transaction that has not aborted.
    #[inline]
    pub unsafe fn release_raw(buffer: pg_sys::Buffer) {
        // SAFETY: guaranteed by the caller.
        unsafe { pg_sys::ReleaseBuffer(buffer) };
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: we hold this pin.
            unsafe { unguarded::ReleaseBuffer(self.buffer) };
        }
    }
}

impl<'r> Shared<'r> {
    /// The number of its block in the main fork.
    #[inline]
    pub fn block(&self) -> u32 {
        self.0.block()
    }

    /// The bytes of a page on which hints may change while it is locked for reading.
    pub fn as_ptr(&self) -> *const Page {
        self.0.page()
    }

    /// Unlocks, keeping the pin.
    #[inline]
    pub fn unlock(self) -> Pinned<'r> {
        let pinned = Pinned { ..self.0 };
        // The lock goes, the pin moves to `pinned`: neither destructor of `self` may run.
        std::mem::forget(self);
        // SAFETY: we hold the content lock.
        unsafe { compat::unlock_buffer(pinned.buffer) };
        pinned
    }
}

impl Deref for Shared<'_> {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: the page is pinned and locked for reading, so no process writes to it meanwhile.
        // (Hint bits, which are set under a share lock, do not exist on our pages.)
        unsafe { &*self.0.page() }
    }
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

impl<'r> Exclusive<'r> {
    /// The number of its block in the main fork.
    #[inline]
    pub fn block(&self) -> u32 {
        self.0.block()
    }

    /// The relation to which it belongs.
    #[inline]
    pub fn rel(&self) -> Rel<'r> {
        self.0.rel
    }

    #[inline]
    pub fn buffer(&self) -> pg_sys::Buffer {
        self.0.buffer
    }

    /// The page itself, not a copy.
    ///
    /// # Safety
    /// Only inside a critical section that ends with the change logged (`store::patch`).
    #[inline]
    pub unsafe fn bytes_in_critical_section(&mut self) -> &mut Page {
        // SAFETY: the page is pinned and locked for writing by us, and borrowed mutably.
        unsafe { &mut *self.0.page() }
    }

    /// Adds a page of zeros to the end of the main fork.
    #[inline]
    pub fn extend(rel: Rel<'r>) -> Exclusive<'r> {
        let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
        let local = rel.is_temporary();
        // SAFETY: the relation is open. The new buffer is locked before the extension lock is
        // released, so VACUUM, which measures the file under that lock, never sees the page before
        // it is written.
        unsafe {
            if !local {
                pg_sys::LockRelationForExtension(rel.raw(), mode);
            }
            let page = Pinned::read_any(rel, P_NEW, std::ptr::null_mut()).exclusive();
            if !local {
                pg_sys::UnlockRelationForExtension(rel.raw(), mode);
            }
            page
        }
    }
}

impl Deref for Exclusive<'_> {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: the page is pinned and locked for writing by us, and `&self` keeps
        // `store::change`, which needs `&mut`, away.
        unsafe { &*self.0.page() }
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

fn unlock(page: &Pinned) {
    if !std::thread::panicking() {
        // SAFETY: the caller is the guard of a content lock that we hold.
        unsafe { compat::unlock_buffer(page.buffer) };
    }
}

/// Fetches a buffer's descriptor, its page's header and some ranges of its page into the
/// processor's cache. Only a hint: nothing is read or changed, whatever the buffer holds by now.
#[inline]
pub fn warm<const N: usize>(buffer: pg_sys::Buffer, ranges: [Range<usize>; N]) {
    if !is_shared(buffer) {
        return;
    }
    // SAFETY: the header and the block of a shared buffer lie in shared memory.
    unsafe {
        let page = block_of(buffer).cast::<u8>();
        prefetch_line(pg_sys::BufferDescriptors.add(buffer as usize - 1).cast());
        prefetch_line(page);
        for range in ranges {
            for at in range.step_by(LINE) {
                prefetch_line(page.wrapping_add(at));
            }
        }
    }
}

/// The macro BufferGetPage, which every visit of a page calls several times: pgrx would set up a guard
/// around each call.
///
/// # Safety
/// `buffer` must be the number of a shared buffer, or of a local one that is pinned.
#[inline]
unsafe fn block_of(buffer: pg_sys::Buffer) -> *mut Page {
    // SAFETY: guaranteed by the caller; the server sets both addresses before it reads a page.
    unsafe {
        match usize::try_from(buffer) {
            Ok(shared) => pg_sys::BufferBlocks.cast::<Page>().add(shared - 1),
            Err(_) => (*pg_sys::LocalBufferBlockPointers.offset(-1 - buffer as isize)).cast(),
        }
    }
}

/// Returns how many pages this session has read from files into shared buffers.
#[inline]
pub fn pages_read() -> i64 {
    // SAFETY: a counter of this process.
    unsafe { pg_sys::pgBufferUsage.shared_blks_read }
}

/// Returns whether it is the number of a shared buffer.
fn is_shared(buffer: pg_sys::Buffer) -> bool {
    // SAFETY: a setting that only the postmaster changes.
    (1..=unsafe { pg_sys::NBuffers }).contains(&buffer)
}

/// Bytes that the processor fetches at a time.
const LINE: usize = 64;
