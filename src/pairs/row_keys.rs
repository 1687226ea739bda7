//! The keys of the rows of a relation, and the tags by which a search knows the rows. The searches
//! for pairs and for clusters keep them here. A tag is that of the key; with `across` it is the
//! row's number and, in the upper half, its set.

use super::value_store::{ValueBuffer, ValueStore};
use pgrx::PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::reserve;
use simhash_pg::sql::value::{Storage, Value};

/// The keys.
pub struct RowKeys {
    keys: ValueStore,
    /// With sets, the tag of each row's key, by the row's number.
    numbered: Vec<u64>,
}

impl RowKeys {
    /// Keys of this type, in `memory` bytes; with sets 8 more for each row.
    pub fn new(storage: Storage, memory: usize) -> Self {
        RowKeys {
            keys: ValueStore::new(storage, memory),
            numbered: Vec::new(),
        }
    }

    /// Keeps the key of a row; returns the row's tag. All rows have a set, or none has one.
    pub fn add(&mut self, key: Value<'_>, set: Option<u32>) -> u64 {
        let tag = self.keys.add(key);
        let Some(set) = set else { return tag };
        let Ok(number) = u32::try_from(self.numbered.len()) else {
            let message = "\"across\" takes at most 4294967296 rows";
            Error::new(ERRCODE_PROGRAM_LIMIT_EXCEEDED, message).raise()
        };
        reserve(&mut self.numbered, 1);
        self.numbered.push(tag);
        u64::from(set) << u32::BITS | u64::from(number)
    }

    /// Returns the tag of the key of a row.
    fn of_row(&self, tag: u64) -> u64 {
        match self.numbered.is_empty() {
            true => tag,
            false => self.numbered[tag as u32 as usize],
        }
    }

    /// As [`ValueStore::get`], by the tag of a row.
    pub fn get<'b>(&mut self, tag: u64, buffer: &'b mut ValueBuffer) -> Value<'b> {
        self.keys.get(self.of_row(tag), buffer)
    }

    /// As [`ValueStore::append`], by the tag of a row.
    pub fn append(&mut self, tag: u64, buffer: &mut ValueBuffer) -> u64 {
        self.keys.append(self.of_row(tag), buffer)
    }

    /// As [`ValueStore::finish`].
    pub fn finish(&mut self) {
        self.keys.finish();
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.numbered.clear();
    }
}
