//! The vector of each row, which is a record: which features it has, and how much each counts.
//! [`super::frequencies`] writes features one after the other, [`super::vector_blocks`] has the
//! vectors row by row. What memory does not hold is in a store.
//!
//! A feature that df of N rows have weighs ln((N + 1 + [`MORE_ROWS`]) / df) to the power of
//! `rarity` (Spärck Jones 1972 has the power 1, and no more rows), [`OF_ONE_ROW`] of that if df is 1. A column's part of the vector is
//! made shorter, the longer it is, so that a long description does not drown a name, nor a rare
//! word all other columns.

use crate::rarity::Rarity;
use crate::together::{Value, mix};
use crate::vector::{Component, SINGLE};
use crate::vector_blocks::{VectorBlocks, block_rows};
use simhash_base::bytes::get_u32;
use simhash_base::external_sort::Sorter;
use simhash_base::runs::{Item, Order};
use simhash_base::store::TempStores;
use std::collections::TryReserveError;

/// How much a column may count at most, as a multiple of the mean of the others.
const MOST_OF_COLUMN: f64 = 3.0;

/// Rows that are added to the count of rows. Without them every feature of a small table would be frequent.
const MORE_ROWS: f64 = 50.0;

/// How much a feature counts that one row alone has: a typing error makes many of them.
const OF_ONE_ROW: f64 = 0.5;

/// The square of a column's part becomes its square, times the number of its features, to the power of this: a long value
/// counts more, a rare one little more, since a typing error makes a rare value too.
const LENGTH: f64 = 0.2;

/// A feature of a column of a row, by its number.
#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    feature: u32,
    column: u32,
}

impl Item for Entry {
    const BYTES: usize = 12;

    fn write(&self, bytes: &mut Vec<u8>) {
        for part in [self.row, self.feature, self.column] {
            bytes.extend(part.to_ne_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Self {
        Entry {
            row: get_u32(bytes, 0),
            feature: get_u32(bytes, 4),
            column: get_u32(bytes, 8),
        }
    }
}

/// By row, then by feature, then by column: sums of floating-point numbers depend on the order.
struct ByRow;

impl Order<Entry> for ByRow {
    type Key = (u32, u32, u32);

    fn key(&self, entry: &Entry) -> (u32, u32, u32) {
        (entry.row, entry.feature, entry.column)
    }
}

/// How much features count.
#[derive(Clone, Copy)]
pub struct Rating<'a> {
    /// The exponent of what a feature weighs.
    pub rarity: f64,
    /// By which the weights of each column's features are multiplied, 1 for those that have none here; None
    /// if the rows say it.
    pub columns: Option<&'a [f64]>,
}

/// Takes the rows of one feature after the other.
pub struct VectorsWriter<S: TempStores> {
    entries: Sorter<S::File, Entry, ByRow>,
    /// Rows that have each feature that was ended.
    frequencies: Vec<u32>,
    rows: u32,
    /// Rows of which frequencies are: more than `rows` if these are some of them.
    of_rows: u32,
    /// Rows of a block of vectors.
    pub block_rows: u32,
    memory: usize,
}

impl<S: TempStores> VectorsWriter<S> {
    /// Vectors of this many rows, which have this many features, in `memory` bytes.
    pub fn new(rows: u32, features: u64, memory: usize) -> Self {
        VectorsWriter {
            entries: Sorter::new(memory, ByRow),
            frequencies: Vec::new(),
            rows,
            of_rows: rows,
            block_rows: block_rows(rows, features, memory),
            memory,
        }
    }

    /// Frequencies are those of this number of rows.
    pub fn with_frequencies_of(self, of_rows: u32) -> Self {
        VectorsWriter { of_rows, ..self }
    }

    /// Adds a feature that this column of this row has, and no other.
    pub fn add_single(
        &mut self,
        row: u32,
        column: u32,
        stores: &mut S,
    ) -> Result<(), TryReserveError> {
        self.add_entry(row, SINGLE, column, stores)
    }

    /// Adds a column of a row that has the present feature.
    pub fn add(&mut self, row: u32, column: u32, stores: &mut S) -> Result<(), TryReserveError> {
        self.add_entry(row, self.frequencies.len() as u32, column, stores)
    }

    fn add_entry(
        &mut self,
        row: u32,
        feature: u32,
        column: u32,
        stores: &mut S,
    ) -> Result<(), TryReserveError> {
        let entry = Entry {
            row,
            feature,
            column,
        };
        self.entries.add(entry, stores)
    }

    /// Ends the present feature, which this many rows have.
    pub fn end_feature(&mut self, frequency: u32) -> Result<(), TryReserveError> {
        self.frequencies.try_reserve(1)?;
        self.frequencies.push(frequency);
        Ok(())
    }

    /// Returns the vectors. Shows `each` the number and the values of each row.
    pub fn finish(
        self,
        rating: Rating<'_>,
        stores: &mut S,
        mut each: impl FnMut(u32, &[Value], &mut S) -> Result<(), TryReserveError>,
    ) -> Result<VectorBlocks<S::File>, TryReserveError> {
        let mut vectors = VectorBlocks::new(self.block_rows, self.memory);
        let weights = Weights::new(self.frequencies, self.of_rows, rating)?;
        let mut entries = self.entries.finish(stores)?.peekable();
        let (mut of_row, mut parts, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..self.rows {
            stores.check_interrupts();
            of_row.clear();
            while let Some(entry) = entries.next_if(|entry| entry.row == row) {
                of_row.try_reserve(1)?;
                of_row.push(entry);
            }
            weights.scales(&of_row, &mut parts, &mut vectors.rarity);
            weights.values(&of_row, parts.len(), &mut values);
            each(row, &values, stores)?;
            let same = |a: &Entry, b: &Entry| a.feature == b.feature && a.column == b.column;
            for alike in of_row.chunk_by(same) {
                // Several are those that no other row has.
                let Entry {
                    feature, column, ..
                } = alike[0];
                let weight = weights.of_feature(feature) * (alike.len() as f64).sqrt();
                let component = Component {
                    feature,
                    column,
                    weight: (weight * parts[column as usize]) as f32,
                };
                vectors.push(component, stores)?;
            }
            vectors.end_row()?;
        }
        vectors.end(stores);
        Ok(vectors)
    }
}

/// How much features weigh.
struct Weights<'a> {
    /// The weight of each feature that several rows have.
    shared: Vec<f64>,
    frequencies: Vec<u32>,
    /// That of a feature of one row.
    single: f64,
    columns: Option<&'a [f64]>,
}

impl<'a> Weights<'a> {
    fn new(frequencies: Vec<u32>, rows: u32, rating: Rating<'a>) -> Result<Self, TryReserveError> {
        let rows = f64::from(rows) + 1.0 + MORE_ROWS;
        let weight = |frequency: u32| {
            let rarity = (rows / f64::from(frequency)).ln().powf(rating.rarity);
            if frequency > 1 {
                rarity
            } else {
                OF_ONE_ROW * rarity
            }
        };
        let mut shared = Vec::new();
        shared.try_reserve_exact(frequencies.len())?;
        shared.extend(frequencies.iter().copied().map(weight));
        Ok(Weights {
            shared,
            frequencies,
            single: weight(1),
            columns: rating.columns,
        })
    }

    fn of_feature(&self, feature: u32) -> f64 {
        match feature {
            SINGLE => self.single,
            shared => self.shared[shared as usize],
        }
    }

    /// Sets `values` to those of the columns of a row that have one.
    fn values(&self, entries: &[Entry], columns: usize, values: &mut Vec<Value>) {
        values.clear();
        values.extend((0..columns as u32).map(|column| Value {
            hash: 1,
            column,
            frequency: u32::MAX,
        }));
        for entry in entries {
            let value = &mut values[entry.column as usize];
            let frequency = match entry.feature {
                SINGLE => 1,
                shared => self.frequencies[shared as usize],
            };
            value.frequency = value.frequency.min(frequency);
            value.hash = mix(value.hash, u64::from(entry.feature));
        }
        values.retain(|value| value.frequency < u32::MAX);
    }

    /// Sets `scales` to what the weights of each column of a row are multiplied by.
    fn scales(&self, entries: &[Entry], scales: &mut Vec<f64>, rarity: &mut Rarity) {
        scales.clear();
        // The square of each column, and the number of its features.
        let mut sums: Vec<(f64, f64)> = Vec::new();
        for entry in entries {
            let column = entry.column as usize;
            if sums.len() <= column {
                sums.resize(column + 1, (0.0, 0.0));
            }
            sums[column].0 += self.of_feature(entry.feature).powi(2);
            sums[column].1 += 1.0;
        }
        let length = |(square, features): &(f64, f64)| (square * features).powf(LENGTH);
        let lengths = sums.iter().filter(|(square, _)| *square > 0.0).map(length);
        let (count, all) = lengths.fold((0, 0.0), |(count, all), length| (count + 1, all + length));
        scales.extend(sums.iter().map(|(square, _)| *square));
        for (column, square) in scales.iter_mut().enumerate() {
            if *square == 0.0 {
                continue;
            }
            rarity.add(column, *square / sums[column].1);
            let own = length(&sums[column]);
            let most = match count > 1 {
                true => MOST_OF_COLUMN * (all - own) / f64::from(count - 1),
                false => own,
            };
            let given = self.columns.and_then(|columns| columns.get(column));
            let weight = given.copied().unwrap_or(1.0);
            *square = weight * (own.min(most) / *square).sqrt();
        }
    }
}
