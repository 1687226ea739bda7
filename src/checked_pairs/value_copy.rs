//! A copy of the values of the rows of a relation that have pairs, made by one read of the relation
//! in its own order. [`super::value_reader`] makes it where reading these rows by key would cost
//! more. What does not fit its share of `work_mem` is in a temporary file.

use super::paired_rows::PairedSide;
use crate::pairs::source::SourceTable;
use crate::pairs::value_store::{ValueBuffer, ValueStore};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::memory::{filled, keep_reserve, work_mem_bytes};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::value::{Storage, Value};

/// Stands for the value of a row that has none. Values that are passed by value, which are their
/// own tags, are booleans here.
const NONE: u64 = u64::MAX;

pub struct ValueCopy {
    /// None where no row has a value.
    store: Option<ValueStore>,
    /// The tag of each row's value.
    tags: Vec<u64>,
    buffer: ValueBuffer,
}

impl ValueCopy {
    /// Reads the values. The query returns key and value of all rows, among others; its parameter
    /// is `listed`.
    pub fn read(
        source: &SourceTable,
        side: &PairedSide,
        query: &str,
        listed: Option<Value<'_>>,
        activity: &mut Activity,
    ) -> Self {
        let mut copy = ValueCopy {
            store: None,
            tags: filled(side.count(), NONE),
            buffer: ValueBuffer::new(),
        };
        let mut is_read = filled(side.count(), false);
        let mut done = 0;
        for_each_row(query, listed.map(Some).as_slice(), &mut |[key, value]| {
            done += 1;
            activity.show("reading the table in order", done, None);
            let Some(row) = key.and_then(|key| side.number_of(key)) else {
                return;
            };
            let place = side.place_of(row);
            if std::mem::replace(&mut is_read[place], true) {
                source.not_unique();
            }
            if let Some(value) = value {
                keep_reserve();
                let new_store =
                    || ValueStore::new(Storage::for_type(value.type_id()), work_mem_bytes() / 4);
                let store = copy.store.get_or_insert_with(new_store);
                copy.tags[place] = store.add(value);
            }
        });
        if let Some(store) = &mut copy.store {
            store.finish();
        }
        copy
    }

    /// Calls `each` with the value at a place, if there is one.
    pub fn show(&mut self, place: usize, each: impl FnOnce(Value<'_>)) {
        if let (Some(store), tag) = (&mut self.store, self.tags[place])
            && tag != NONE
        {
            each(store.get(tag, &mut self.buffer));
        }
    }

    /// Returns where the value at a place comes among the others that were read.
    pub fn order(&self, place: usize) -> u64 {
        self.tags[place]
    }
}
