//! What the report looks up of the rows of drawn pairs: their texts, keys, or the rows themselves.
//! [`super::radius_report`] reads the relation once more for each, [`super::comparison`] compares. Of
//! more than an eighth of `work_mem` the values are in a temporary file.

use crate::pairs::value_store::{ValueBuffer, ValueStore};
use simhash_hamming::report::sample::Sample;
use simhash_pg::process::memory::{filled, keep_reserve, push_within, work_mem_bytes};
use simhash_pg::sql::value::{Storage, Value};

/// A value of each row.
pub struct DrawnValues<'s> {
    /// The keys of the rows, in order.
    keys: Vec<&'s [u8]>,
    /// The tag of each row's value; None for one that is NULL or was not read.
    tags: Vec<Option<u64>>,
    values: ValueStore,
}

impl<'s> DrawnValues<'s> {
    /// Makes room for values of the pairs that were drawn.
    pub fn of_pairs(sample: &'s Sample, storage: Storage) -> Self {
        let mut keys = Vec::new();
        for distance in 0..=sample.max_distance() {
            let drawn = sample.drawn(distance).flatten();
            drawn.for_each(|key| push_within(&mut keys, key, usize::MAX));
        }
        keys.sort_unstable();
        keys.dedup();
        DrawnValues {
            tags: filled(keys.len(), None),
            keys,
            values: ValueStore::new(storage, work_mem_bytes() / 8),
        }
    }

    /// Takes a row of the relation; returns false when another one has the same key.
    pub fn add(&mut self, key: &[u8], value: Option<Value<'_>>) -> bool {
        let Ok(row) = self.keys.binary_search(&key) else {
            return true;
        };
        let Some(value) = value else {
            return true;
        };
        keep_reserve();
        let tag = self.values.add(value);
        self.tags[row].replace(tag).is_none()
    }

    /// Ends the reading, before the first look-up.
    pub fn finish(&mut self) {
        self.values.finish();
    }

    /// Returns the value of the row with a key.
    pub fn get<'b>(&mut self, key: &[u8], buffer: &'b mut ValueBuffer) -> Option<Value<'b>> {
        let row = self.keys.binary_search(&key).ok()?;
        Some(self.values.get(self.tags[row]?, buffer))
    }
}
