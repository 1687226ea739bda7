//! Values of one type, such as the keys of a search, in memory or, when there are many, in a
//! temporary file. The searches for pairs and records and the radius report keep values here. A
//! value that is passed by value is its own tag; of others the tag is their position.

use simhash_base::store::Store;
use simhash_pg::process::memory::reserve;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::sql::value::{Storage, Value};

/// Bytes of the length of a stored value.
const LENGTH: usize = size_of::<u32>();

/// Bytes that are read at a time, a multiple of 8.
const CHUNK: usize = 256;

/// Bytes of values, each aligned to 8.
pub type ValueBuffer = Vec<u64>;

/// The values.
pub struct ValueStore {
    pub storage: Storage,
    /// Values that are not in the file yet.
    bytes: Vec<u8>,
    /// Bytes that memory holds.
    limit: usize,
    file: Option<TempFile<'static>>,
    /// Bytes in the file.
    written: u64,
}

impl ValueStore {
    pub fn new(storage: Storage, memory: usize) -> Self {
        ValueStore {
            storage,
            bytes: Vec::new(),
            limit: memory,
            file: None,
            written: 0,
        }
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.file = None;
        self.written = 0;
    }

    /// Keeps a value; returns the tag that stands for it.
    pub fn add(&mut self, value: Value<'_>) -> u64 {
        let datum = self.storage.datum(value);
        if self.storage.is_by_value() {
            return datum.value() as u64;
        }
        let tag = self.written + self.bytes.len() as u64;
        let bytes = &mut self.bytes;
        value.show_stored(|value| {
            reserve(bytes, LENGTH + value.len());
            bytes.extend((value.len() as u32).to_le_bytes());
            bytes.extend(value);
        });
        if self.bytes.len() > self.limit {
            self.spill();
        }
        tag
    }

    fn spill(&mut self) {
        let file = self.file.get_or_insert_with(TempFile::new);
        Store::write(file, &self.bytes);
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
    }

    /// Writes the values that are not in the file yet, if there is one. Reading comes after it.
    pub fn finish(&mut self) {
        if self.file.is_some() {
            self.spill();
        }
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) {
        match &mut self.file {
            Some(file) => Store::read(file, at, bytes),
            None => {
                let at = at as usize;
                bytes.copy_from_slice(&self.bytes[at..at + bytes.len()]);
            }
        }
    }

    /// Returns the value for which a tag stands.
    pub fn get<'b>(&mut self, tag: u64, buffer: &'b mut ValueBuffer) -> Value<'b> {
        buffer.clear();
        let kept = self.append(tag, buffer);
        self.storage.value(kept, buffer)
    }

    /// Appends the bytes of a value to the buffer, unless it is passed by value. Returns what
    /// [`Storage::value`] takes for it, together with the buffer.
    pub fn append(&mut self, tag: u64, buffer: &mut ValueBuffer) -> u64 {
        if self.storage.is_by_value() {
            return tag;
        }
        let start = buffer.len();
        let mut length = [0; LENGTH];
        self.read(tag, &mut length);
        let length = u32::from_le_bytes(length) as usize;
        reserve(buffer, length.div_ceil(size_of::<u64>()));
        let mut chunk = [0; CHUNK];
        for start in (0..length).step_by(CHUNK) {
            let bytes_read = &mut chunk[..(length - start).min(CHUNK)];
            self.read(tag + (LENGTH + start) as u64, bytes_read);
            for word in bytes_read.chunks(size_of::<u64>()) {
                let mut bytes = [0; size_of::<u64>()];
                bytes[..word.len()].copy_from_slice(word);
                buffer.push(u64::from_ne_bytes(bytes));
            }
        }
        start as u64
    }
}
