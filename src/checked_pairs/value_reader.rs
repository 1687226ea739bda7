//! Reads one value of each of the rows that have pairs: the text of a column, or the row itself.
//! [`super::chunks`], [`super::equal_texts`] and [`super::similar_texts`] name the rows by their
//! numbers. A key that two rows share is an error here at the latest.
//!
//! Rows are read by key, as long as the planner expects that to cost less than one read of the
//! table in order. It never does where no index serves: each query would read the whole table.

use super::paired_rows::PairedRows;
use super::value_copy::ValueCopy;
use crate::pairs::source::SourceTable;
use pgrx::PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
use pgrx::pg_sys;
use simhash_pg::catalog::table::type_name;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{collected, filled, in_scratch, keep_reserve};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::value::Value;
use simhash_pg::table_scan::cost;
use std::cell::RefCell;

/// Number of rows whose values one query of [`ValueReader::read_all`] reads.
const ROWS: usize = 4096;
/// Number of elements that the planner assumes of an array that it does not know.
const ASSUMED: f64 = 10.0;

/// The values, in the tables of one or two relations.
pub struct ValueReader<'m> {
    pub paired_rows: &'m PairedRows,
    sources: &'m [SourceTable],
    /// Those of each relation.
    queries: Vec<Queries>,
    copies: RefCell<Vec<Option<ValueCopy>>>,
}

/// Queries of key and value.
struct Queries {
    /// That for the rows with the keys in the array `$1`.
    by_key: String,
    /// That for all rows.
    all: String,
}

impl<'m> ValueReader<'m> {
    /// `values` are SQL expressions over the rows of each relation.
    pub fn new(sources: &'m [SourceTable], values: &[String], paired_rows: &'m PairedRows) -> Self {
        let queries = |(side, (source, value)): (usize, (&SourceTable, &String))| {
            let (expression, key) = (source.key_expression(), &source.key);
            let table = &source.table_name;
            let equality = paired_rows.side(side).order.equality();
            let equality = equality.unwrap_or_else(|| no_arrays(source.key_type));
            let has_listed_key = equality.any_of(key, "$1");
            // Rows without a fingerprint may share a key.
            let has_fingerprint = &source.has_fingerprint;
            let from = format!("SELECT {expression}, {value} FROM {table}");
            Queries {
                by_key: format!("{from} WHERE {has_listed_key} AND {has_fingerprint}"),
                all: format!("{from} WHERE {has_fingerprint}"),
            }
        };
        ValueReader {
            paired_rows,
            sources,
            queries: (sources.iter().zip(values).enumerate())
                .map(queries)
                .collect(),
            copies: RefCell::new(sources.iter().map(|_| None).collect()),
        }
    }

    /// Copies the values of a relation if it costs less to read them in order than those of `rows`
    /// rows by key. Comes before each series of reads.
    pub fn prepare(&self, rows: usize, activity: &mut Activity) {
        for (side, source) in self.sources.iter().enumerate() {
            let paired = self.paired_rows.side(side);
            let rows = rows.min(paired.count());
            if rows == 0 || self.copies.borrow()[side].is_some() {
                continue;
            }
            let queries = &self.queries[side];
            let array_type = paired.order.array_type();
            let array_type = array_type.unwrap_or_else(|| no_arrays(source.key_type));
            let listed = source.is_restricted.then_some(array_type);
            let by_key = cost(&queries.by_key, &[array_type]);
            let in_order = cost(&queries.all, listed.as_slice());
            let is_cheaper = by_key
                .zip(in_order)
                .is_some_and(|(by_key, in_order)| by_key / ASSUMED * rows as f64 > in_order);
            if is_cheaper {
                let keys = listed.and_then(|_| paired.order.array(paired.keys()));
                let copy = ValueCopy::read(source, paired, &queries.all, keys, activity);
                self.copies.borrow_mut()[side] = Some(copy);
            }
        }
    }

    /// Calls `each` with the place and the value of each of these rows that has one, in any order.
    /// `place` returns the place of a row.
    pub fn read(
        &self,
        rows: &[u32],
        place: impl Fn(u32) -> Option<usize>,
        mut each: impl FnMut(usize, Value<'_>),
    ) {
        for side in 0..self.sources.len() {
            let mut rows_of_side = collected(rows.iter().copied());
            rows_of_side.retain(|row| self.paired_rows.side_of(*row) == side);
            if rows_of_side.is_empty() {
                continue;
            }
            let paired = self.paired_rows.side(side);
            let Some(copy) = &mut self.copies.borrow_mut()[side] else {
                self.read_by_key(side, &rows_of_side, rows.len(), &place, &mut each);
                continue;
            };
            for row in rows_of_side {
                if let Some(place) = place(row) {
                    keep_reserve();
                    copy.show(paired.place_of(row), |value| each(place, value));
                }
            }
        }
    }

    /// Reads rows of one relation. There are `places` places.
    fn read_by_key(
        &self,
        side: usize,
        rows: &[u32],
        places: usize,
        place: &impl Fn(u32) -> Option<usize>,
        each: &mut impl FnMut(usize, Value<'_>),
    ) {
        let (source, paired) = (&self.sources[side], self.paired_rows.side(side));
        let mut is_read = filled(places, false);
        let keys = rows.iter().map(|row| self.paired_rows.key(*row));
        let array = paired.order.array(keys);
        let array = array.unwrap_or_else(|| no_arrays(source.key_type));
        keep_reserve();
        let query = &self.queries[side].by_key;
        for_each_row(query, &[Some(array)], &mut |[key, value]| {
            let number = key.and_then(|key| paired.number_of(key));
            let Some(place) = number.and_then(place) else {
                return;
            };
            if std::mem::replace(&mut is_read[place], true) {
                source.not_unique();
            }
            if let Some(value) = value {
                keep_reserve();
                each(place, value);
            }
        });
    }

    /// Calls `each` with each of these rows, which are in order, that has a value, and the value.
    /// `what` is what is shown behind their number.
    pub fn read_all(
        &self,
        rows: &[u32],
        what: &str,
        activity: &mut Activity,
        mut each: impl FnMut(u32, Value<'_>),
    ) {
        self.prepare(rows.len(), activity);
        let second = rows.partition_point(|row| self.paired_rows.side_of(*row) == 0);
        let (mut done, total) = (0, Some(rows.len() as u64));
        for (side, rows) in [&rows[..second], &rows[second..]].into_iter().enumerate() {
            let mut rows = collected(rows.iter().copied());
            self.sort_as_copied(side, &mut rows);
            for chunk in rows.chunks(ROWS) {
                check_for_interrupts();
                activity.show(what, done, total);
                done += chunk.len() as u64;
                // The array of keys is one of many, so it is freed with the scratch memory.
                in_scratch(|| self.read_chunk(side, chunk, &mut each));
            }
        }
    }

    /// Sorts rows of a relation as their values stand in the copy, if there is one.
    fn sort_as_copied(&self, side: usize, rows: &mut [u32]) {
        if let Some(Some(copy)) = self.copies.borrow().get(side) {
            let paired = self.paired_rows.side(side);
            rows.sort_unstable_by_key(|row| {
                check_for_interrupts();
                copy.order(paired.place_of(*row))
            });
        }
    }

    fn read_chunk(&self, side: usize, rows: &[u32], each: &mut impl FnMut(u32, Value<'_>)) {
        let paired = self.paired_rows.side(side);
        if let Some(copy) = &mut self.copies.borrow_mut()[side] {
            for row in rows {
                keep_reserve();
                copy.show(paired.place_of(*row), |value| each(*row, value));
            }
            return;
        }
        let place = |row: u32| rows.binary_search(&row).ok();
        let mut each = |place: usize, value: Value<'_>| each(rows[place], value);
        self.read_by_key(side, rows, rows.len(), &place, &mut each);
    }
}

/// Raises the ERROR that rows cannot be looked up by an array of keys: some types have no arrays,
/// or no equality.
fn no_arrays(key_type: pg_sys::Oid) -> ! {
    let name = type_name(key_type);
    Error::new(
        ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("rows cannot be looked up by keys of type {name}"),
    )
    .raise()
}
