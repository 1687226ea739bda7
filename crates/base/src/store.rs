//! Where builds and searches keep what memory does not hold: in a server, a temporary file; in
//! tests, a vector. `simhash_hamming` writes and reads it, `pg` has the file. Bytes are read as
//! they were written.

#![forbid(unsafe_code)]

/// Bytes that are written one after the other, and read anywhere.
pub trait Store {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]);
    /// Reads bytes from a position; all of them must have been written.
    fn read(&mut self, at: u64, bytes: &mut [u8]);
}

/// Makes the stores of a sort or a grouping, and says where it can be cancelled.
pub trait TempStores {
    /// The kind of store.
    type File: Store;
    /// Makes an empty store.
    fn file(&mut self) -> Self::File;
    /// Called for every few items; may unwind.
    fn check_interrupts(&mut self);
}

/// Stores in memory, for tests and small sets, of which nothing is cancelled.
pub struct InMemory;

impl TempStores for InMemory {
    type File = Vec<u8>;

    fn file(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn check_interrupts(&mut self) {}
}

impl Store for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) {
        let at = at as usize;
        bytes.copy_from_slice(&self[at..at + bytes.len()]);
    }
}
