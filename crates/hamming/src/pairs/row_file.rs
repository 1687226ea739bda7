//! Rows in a temporary file, and the bits in which they differ. [`super::file`] divides the rows of
//! one into several. Rows are read in the order in which they were added.

#![forbid(unsafe_code)]

use super::sink::Row;
use simhash_base::bytes::get_u64;
use simhash_base::store::Store;

pub const ROW: usize = size_of::<Row>();
/// Rows that are written at a time, and read for a division.
pub const CHUNK: usize = 64;

/// Rows in a temporary file.
pub struct RowFile<F> {
    file: F,
    pub rows: u64,
    /// The first row's fingerprint, and the bits in which others differ from it.
    first: u64,
    pub varying: u64,
    unwritten: Vec<u8>,
}

impl<F: Store> RowFile<F> {
    #[inline]
    pub fn new(file: F) -> Self {
        RowFile {
            file,
            rows: 0,
            first: 0,
            varying: 0,
            unwritten: Vec::with_capacity(CHUNK * ROW),
        }
    }

    #[inline]
    pub fn add(&mut self, row: Row) {
        if self.rows == 0 {
            self.first = row.fingerprint;
        }
        self.rows += 1;
        self.varying |= self.first ^ row.fingerprint;
        self.unwritten.extend(row.fingerprint.to_ne_bytes());
        self.unwritten.extend(row.tag.to_ne_bytes());
        if self.unwritten.len() >= CHUNK * ROW {
            self.flush();
        }
    }

    /// Writes the rows that are not in the file yet. Reading comes after it.
    #[inline]
    pub fn flush(&mut self) {
        self.file.write(&self.unwritten);
        self.unwritten.clear();
    }

    /// Appends at most `most` rows from row `at` on.
    #[inline]
    pub fn read(
        &mut self,
        at: u64,
        most: usize,
        rows: &mut Vec<Row>,
        check_interrupts: &mut dyn FnMut(),
    ) {
        let mut bytes = [0; CHUNK * ROW];
        let end = self.rows.min(at + most as u64);
        for start in (at..end).step_by(CHUNK) {
            check_interrupts();
            let count = (end - start).min(CHUNK as u64) as usize;
            let bytes = &mut bytes[..count * ROW];
            self.file.read(start * ROW as u64, bytes);
            rows.extend(bytes.chunks_exact(ROW).map(|bytes| Row {
                fingerprint: get_u64(bytes, 0),
                tag: get_u64(bytes, 8),
            }));
        }
    }

    /// Shows every row.
    #[inline]
    pub fn for_each(&mut self, check_interrupts: &mut dyn FnMut(), mut each: impl FnMut(Row)) {
        let (mut rows, mut at) = (Vec::with_capacity(CHUNK), 0);
        while at < self.rows {
            rows.clear();
            self.read(at, CHUNK, &mut rows, check_interrupts);
            at += rows.len() as u64;
            rows.iter().for_each(|row| each(*row));
        }
    }
}

/// Returns how many rows the sides of a group have.
#[inline]
pub fn counts<const N: usize, F>(parts: &[RowFile<F>; N]) -> [u64; N] {
    parts.each_ref().map(|part| part.rows)
}

#[inline]
pub fn rows<F>(parts: &[RowFile<F>]) -> u64 {
    parts.iter().map(|part| part.rows).sum()
}

/// The bits in which the rows of a group differ from each other.
#[inline]
pub fn varying<const N: usize, F>(parts: &[RowFile<F>; N]) -> u64 {
    let first = parts[0].first;
    (parts.iter()).fold(0, |bits, part| bits | part.varying | (part.first ^ first))
}
