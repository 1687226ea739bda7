//! Reads one value of each of the rows that have pairs: the text of a column, or the row itself.
//! [`super::chunks`], [`super::equal_texts`] and [`super::similar_texts`] name the rows by their
//! numbers. A key that two rows share is an error here at the latest.

use super::paired_rows::PairedRows;
use crate::pairs::source::SourceTable;
use pgrx::PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
use pgrx::pg_sys;
use simhash_pg::catalog::table::type_name;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{collected, filled, in_scratch, keep_reserve};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::value::Value;

/// Number of rows whose values one query of [`ValueReader::read_all`] reads: where no index serves,
/// it reads the whole table.
const ROWS: usize = 4096;

/// The values, in the tables of one or two relations.
pub struct ValueReader<'m> {
    pub members: &'m PairedRows,
    sources: &'m [SourceTable],
    /// The query of each relation.
    queries: Vec<String>,
}

impl<'m> ValueReader<'m> {
    /// `values` are SQL expressions over the rows of each relation.
    pub fn new(sources: &'m [SourceTable], values: &[String], members: &'m PairedRows) -> Self {
        let query = |(side, (source, value)): (usize, (&SourceTable, &String))| {
            let (expression, key) = (source.key_expression(), &source.key);
            let fp = source.fingerprint_expression();
            let table = &source.table_name;
            let equality = members.side(side).order.equality();
            let equality = equality.unwrap_or_else(|| no_arrays(source.key_type));
            let has_listed_key = equality.any_of(key, "$1");
            // Rows without a fingerprint may share a key.
            format!(
                "SELECT {expression}, {value} FROM {table} \
                 WHERE {has_listed_key} AND {fp} IS NOT NULL"
            )
        };
        ValueReader {
            members,
            sources,
            queries: sources.iter().zip(values).enumerate().map(query).collect(),
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
        let mut is_read = filled(rows.len(), false);
        for (side, source) in self.sources.iter().enumerate() {
            let mut rows_of_side = collected(rows.iter().copied());
            rows_of_side.retain(|row| self.members.side_of(*row) == side);
            if rows_of_side.is_empty() {
                continue;
            }
            let paired = self.members.side(side);
            let keys = rows_of_side.iter().map(|row| self.members.key(*row));
            let array = paired.order.array(keys);
            let array = array.unwrap_or_else(|| no_arrays(source.key_type));
            keep_reserve();
            for_each_row(&self.queries[side], &[Some(array)], &mut |[key, value]| {
                let number = key.and_then(|key| paired.number_of(key));
                let Some(place) = number.and_then(&place) else {
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
        for (i, chunk) in rows.chunks(ROWS).enumerate() {
            check_for_interrupts();
            activity.show(what, (i * ROWS) as u64, Some(rows.len() as u64));
            let place = |row: u32| chunk.binary_search(&row).ok();
            // The array of keys is one of many, so it is freed with the scratch memory.
            in_scratch(|| self.read(chunk, place, |place, value| each(chunk[place], value)));
        }
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
