//! The vector of each row: which features it has, and how much each counts. [`super::frequencies`]
//! writes features one after the other, [`super::comparison`] reads vectors row by row. What memory
//! does not hold is in a store.
//!
//! A feature that df of N rows have weighs ln((N + 1) / df) to the power of `rarity` (Spärck Jones
//! 1972 has the power 1). In a column's part of the vector each weight is divided by the square root of the
//! part's length, so that a long description does not drown a name; a feature of several columns
//! counts in each.

use simhash_base::bytes::get_u32;
use simhash_base::external_sort::Sorter;
use simhash_base::runs::{Item, Order};
use simhash_base::store::{Store, StoreHost};
use std::collections::TryReserveError;

/// The number of all features that one column of one row has, and no other.
const SINGLE: u32 = u32::MAX;

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

/// A feature of a vector, and how much it counts.
#[derive(Clone, Copy)]
pub struct Component {
    pub feature: u32,
    pub weight: f32,
}

/// Bytes of a component in a store.
const COMPONENT: usize = 8;

/// Takes the rows of one feature after the other.
pub struct VectorsWriter<H: StoreHost> {
    entries: Sorter<H::File, Entry, ByRow>,
    /// Rows that have each feature that was ended.
    frequencies: Vec<u32>,
    rows: u32,
    memory: usize,
}

impl<H: StoreHost> VectorsWriter<H> {
    /// Vectors of this many rows, in `memory` bytes.
    pub fn new(rows: u32, memory: usize) -> Self {
        VectorsWriter {
            entries: Sorter::new(memory, ByRow),
            frequencies: Vec::new(),
            rows,
            memory,
        }
    }

    /// Adds a feature that this column of this row has, and no other.
    pub fn add_single(
        &mut self,
        row: u32,
        column: u32,
        host: &mut H,
    ) -> Result<(), TryReserveError> {
        self.add_entry(row, SINGLE, column, host)
    }

    /// Adds a column of a row that has the present feature.
    pub fn add(&mut self, row: u32, column: u32, host: &mut H) -> Result<(), TryReserveError> {
        self.add_entry(row, self.frequencies.len() as u32, column, host)
    }

    fn add_entry(
        &mut self,
        row: u32,
        feature: u32,
        column: u32,
        host: &mut H,
    ) -> Result<(), TryReserveError> {
        let entry = Entry {
            row,
            feature,
            column,
        };
        self.entries.add(entry, host)
    }

    /// Ends the present feature, which this many rows have.
    pub fn end_feature(&mut self, frequency: u32) -> Result<(), TryReserveError> {
        self.frequencies.try_reserve(1)?;
        self.frequencies.push(frequency);
        Ok(())
    }

    /// Returns the vectors, with weights to the power of `rarity`.
    pub fn finish(self, rarity: f64, host: &mut H) -> Result<Vectors<H::File>, TryReserveError> {
        let rows = self.rows as usize;
        let mut vectors = Vectors {
            ends: Vec::new(),
            squares: Vec::new(),
            count: 0,
            in_memory: Vec::new(),
            limit: self.memory / size_of::<Component>(),
            file: None,
        };
        vectors.ends.try_reserve_exact(rows)?;
        vectors.squares.try_reserve_exact(rows)?;
        let weights = Weights {
            frequencies: self.frequencies,
            rows: self.rows,
            rarity,
        };
        let mut unwritten = Vec::new();
        let mut entries = self.entries.finish(host)?.peekable();
        let (mut of_row, mut parts) = (Vec::new(), Vec::new());
        for row in 0..self.rows {
            host.pause();
            of_row.clear();
            while let Some(entry) = entries.next_if(|entry| entry.row == row) {
                of_row.try_reserve(1)?;
                of_row.push(entry);
            }
            weights.scales(&of_row, &mut parts);
            let mut square = 0.0;
            for of_feature in of_row.chunk_by(|a, b| a.feature == b.feature) {
                let scale = |entry: &Entry| parts[entry.column as usize];
                let weight = weights.of_feature(of_feature[0].feature);
                if of_feature[0].feature == SINGLE {
                    let single = |entry| (weight * scale(entry)).powi(2);
                    square += of_feature.iter().map(single).sum::<f64>();
                    continue;
                }
                let component = Component {
                    feature: of_feature[0].feature,
                    weight: (weight * of_feature.iter().map(scale).sum::<f64>()) as f32,
                };
                square += f64::from(component.weight).powi(2);
                vectors.push(component, &mut unwritten, host)?;
            }
            vectors.end_row(square);
        }
        vectors.flush(&mut unwritten, host);
        Ok(vectors)
    }
}

/// How much features weigh.
struct Weights {
    frequencies: Vec<u32>,
    rows: u32,
    rarity: f64,
}

impl Weights {
    fn of_feature(&self, feature: u32) -> f64 {
        let frequency = match feature {
            SINGLE => 1,
            shared => self.frequencies[shared as usize],
        };
        // One more, so that what all rows have weighs a little: rows without anything else are equal.
        let idf = ((f64::from(self.rows) + 1.0) / f64::from(frequency)).ln();
        idf.powf(self.rarity)
    }

    /// Sets `scales` to what the weights of each column of a row are multiplied by.
    fn scales(&self, entries: &[Entry], scales: &mut Vec<f64>) {
        scales.clear();
        for entry in entries {
            let column = entry.column as usize;
            if scales.len() <= column {
                scales.resize(column + 1, 0.0);
            }
            scales[column] += self.of_feature(entry.feature).powi(2);
        }
        for square in scales {
            *square = if *square > 0.0 {
                square.powf(-0.25)
            } else {
                0.0
            };
        }
    }
}

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 16;

/// The vectors of all rows; features that only one row has are left out.
pub struct Vectors<F> {
    /// Where each row's components end, counted over all rows.
    ends: Vec<u64>,
    /// The square of each vector's length, with the features that are left out.
    squares: Vec<f64>,
    /// Number of components of all rows.
    count: u64,
    /// The first components.
    in_memory: Vec<Component>,
    /// Components that memory holds.
    limit: usize,
    /// The other ones.
    file: Option<F>,
}

impl<F: Store> Vectors<F> {
    fn push(
        &mut self,
        component: Component,
        unwritten: &mut Vec<u8>,
        host: &mut impl StoreHost<File = F>,
    ) -> Result<(), TryReserveError> {
        self.count += 1;
        if self.in_memory.len() < self.limit {
            self.in_memory.try_reserve(1)?;
            self.in_memory.push(component);
            return Ok(());
        }
        unwritten.extend(component.feature.to_ne_bytes());
        unwritten.extend(component.weight.to_bits().to_ne_bytes());
        if unwritten.len() >= CHUNK {
            self.flush(unwritten, host);
        }
        Ok(())
    }

    fn flush(&mut self, unwritten: &mut Vec<u8>, host: &mut impl StoreHost<File = F>) {
        if !unwritten.is_empty() {
            self.file
                .get_or_insert_with(|| host.file())
                .write(unwritten);
            unwritten.clear();
        }
    }

    fn end_row(&mut self, square: f64) {
        self.ends.push(self.count);
        self.squares.push(square);
    }

    /// Returns the square of the length of a row's vector.
    pub fn square(&self, row: u32) -> f64 {
        self.squares[row as usize]
    }

    /// Sets `vector` to the components of a row, in the order of their features.
    pub fn read(&mut self, row: u32, vector: &mut Vec<Component>) -> Result<(), TryReserveError> {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = self.ends[row];
        vector.clear();
        vector.try_reserve((end - start) as usize)?;
        let in_memory = self.in_memory.len() as u64;
        let split = in_memory.clamp(start, end);
        if start < split {
            vector.extend_from_slice(&self.in_memory[start as usize..split as usize]);
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut at = split.saturating_sub(in_memory) * COMPONENT as u64;
        let mut left = (end - split) as usize * COMPONENT;
        let mut bytes = [0; 128 * COMPONENT];
        while left > 0 {
            let bytes = &mut bytes[..left.min(128 * COMPONENT)];
            file.read(at, bytes);
            vector.extend(bytes.chunks_exact(COMPONENT).map(|bytes| Component {
                feature: get_u32(bytes, 0),
                weight: f32::from_bits(get_u32(bytes, 4)),
            }));
            at += bytes.len() as u64;
            left -= bytes.len();
        }
        Ok(())
    }
}
