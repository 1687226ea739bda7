//! Where builds and searches keep what memory does not hold: in a server, a temporary file; in
//! tests, a vector.

#![forbid(unsafe_code)]

#[cfg(feature = "server")]
use crate::pg::process::{backend::check_for_interrupts, temp_file::TempFile};

/// Bytes that are written one after the other, and read anywhere.
pub trait Store {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]);
    /// Reads bytes from a position; all of them must have been written.
    fn read(&mut self, at: u64, bytes: &mut [u8]);
}

#[cfg(feature = "server")]
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

#[cfg(test)]
impl Store for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) {
        let at = at as usize;
        bytes.copy_from_slice(&self[at..at + bytes.len()]);
    }
}
