//! Temporary files: of one process, or shared by those of a parallel operation.

use super::backend::check_for_interrupts;
use super::error::Error;
use pgrx::PgSqlErrorCode::ERRCODE_IO_ERROR;
use pgrx::pg_sys;
use std::ffi::CStr;
use std::marker::PhantomData;

use simhash_base::store::{Store, TempStores};

/// SEEK_SET of the C library.
const SEEK_SET: i32 = 0;

/// Temporary files of the process, and its interrupts, for what sorts and groups in stores.
pub struct TempFiles;

impl TempStores for TempFiles {
    type File = TempFile<'static>;

    #[inline]
    fn file(&mut self) -> TempFile<'static> {
        TempFile::new()
    }

    #[inline]
    fn check_interrupts(&mut self) {
        check_for_interrupts();
    }
}

/// A temporary file, closed when it goes out of scope or the transaction aborts. A file of the
/// process's own is then removed. A shared one is removed with its set, which it must not outlive:
/// its segments are found through the set.
pub struct TempFile<'s> {
    raw: *mut pg_sys::BufFile,
    life: PhantomData<&'s pg_sys::SharedFileSet>,
}

impl TempFile<'static> {
    /// Creates a file of this process, in one of temp_tablespaces.
    #[inline]
    pub fn new() -> Self {
        // SAFETY: creates a file that belongs to the current resource owner.
        unsafe { Self::from_raw(pg_sys::BufFileCreateTemp(false)) }
    }
}

impl<'s> TempFile<'s> {
    /// # Safety
    /// `raw` must be an open file, not otherwise used, whose set, if it has one, lives for 's.
    unsafe fn from_raw(raw: *mut pg_sys::BufFile) -> Self {
        TempFile {
            raw,
            life: PhantomData,
        }
    }

    /// Creates a file that other processes of the parallel operation can open, once it was
    /// published.
    ///
    /// # Safety
    /// `files` must be a set that was initialised and that this process is attached to, for 's.
    pub unsafe fn create_shared(files: *mut pg_sys::SharedFileSet, name: &CStr) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let set = &raw mut (*files).fs;
            Self::from_raw(pg_sys::BufFileCreateFileSet(set, name.as_ptr()))
        }
    }

    /// Opens a published file for reading.
    ///
    /// # Safety
    /// As of [`TempFile::create_shared`].
    pub unsafe fn open_shared(files: *mut pg_sys::SharedFileSet, name: &CStr) -> Self {
        /// O_RDONLY of the C library.
        const READ_ONLY: i32 = 0;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let set = &raw mut (*files).fs;
            let file = pg_sys::BufFileOpenFileSet(set, name.as_ptr(), READ_ONLY, false);
            Self::from_raw(file)
        }
    }

    /// Ends the writing of a file made by [`TempFile::create_shared`].
    #[inline]
    pub fn publish(self) {
        // SAFETY: the file is open; `drop` closes it.
        unsafe { pg_sys::BufFileExportFileSet(self.raw) };
    }

    /// Bytes in a file of [`TempFile::open_shared`].
    #[inline]
    pub fn size(&self) -> u64 {
        // SAFETY: the file is open.
        unsafe { pg_sys::BufFileSize(self.raw) as u64 }
    }

    /// Appends to a file that nothing has been read from.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        // SAFETY: the file is open; the server only reads the bytes.
        unsafe { pg_sys::BufFileWrite(self.raw, bytes.as_ptr().cast_mut().cast(), bytes.len()) };
    }

    /// Reads `bytes` from position `at`; an ERROR when the file is shorter.
    #[inline]
    pub fn read(&mut self, at: u64, bytes: &mut [u8]) {
        // SAFETY: the file is open and `bytes` is as long as we say.
        let read = unsafe {
            let sought = pg_sys::BufFileSeek(self.raw, 0, at as i64, SEEK_SET);
            if sought == 0 {
                pg_sys::BufFileRead(self.raw, bytes.as_mut_ptr().cast(), bytes.len())
            } else {
                0
            }
        };
        if read != bytes.len() {
            let detail = format!("Read {read} of {} bytes at position {at}.", bytes.len());
            unreadable(detail);
        }
    }
}

/// Raises the ERROR for a temporary file of `size` bytes that does not hold what was written to it.
pub fn damaged_temporary_file(size: u64) -> ! {
    unreadable(format!("Its {size} bytes are not what was written."))
}

fn unreadable(detail: String) -> ! {
    let message = "could not read a temporary file";
    Error::new(ERRCODE_IO_ERROR, message).detail(detail).raise()
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the file is open and ours.
            unsafe { pg_sys::BufFileClose(self.raw) };
        }
    }
}

impl Store for TempFile<'_> {
    fn write(&mut self, bytes: &[u8]) {
        check_for_interrupts();
        TempFile::write(self, bytes);
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) {
        check_for_interrupts();
        TempFile::read(self, at, bytes);
    }
}
