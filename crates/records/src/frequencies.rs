//! Which rows share a feature. Rows come in with their features; out come a vector of each row, by
//! the document frequencies of its features, and the candidates: pairs of rows that share a feature
//! which at most `rare` rows have. A feature that more rows have makes no
//! candidate, so there are at most rows times features times `rare` of them, whatever the rows are.

use crate::vectors::{Vectors, VectorsWriter};
use simhash_base::bytes::{get_u32, get_u64};
use simhash_base::external_sort::{Sorted, Sorter};
use simhash_base::runs::{Item, Order};
use simhash_base::store::{Store, StoreHost};
use std::collections::TryReserveError;

/// A feature of a column of a row.
#[derive(Clone, Copy)]
pub struct RowFeature {
    hash: u64,
    row: u32,
    column: u32,
}

impl Item for RowFeature {
    const BYTES: usize = 16;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.hash.to_ne_bytes());
        bytes.extend(self.row.to_ne_bytes());
        bytes.extend(self.column.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        RowFeature {
            hash: get_u64(bytes, 0),
            row: get_u32(bytes, 8),
            column: get_u32(bytes, 12),
        }
    }
}

/// By feature, then by row, then by column.
pub struct ByHash;

impl Order<RowFeature> for ByHash {
    type Key = (u64, u32, u32);

    fn key(&self, feature: &RowFeature) -> (u64, u32, u32) {
        (feature.hash, feature.row, feature.column)
    }
}

/// Two rows that share a rare feature, `a` before `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub a: u32,
    pub b: u32,
}

impl Item for Candidate {
    const BYTES: usize = 8;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.a.to_ne_bytes());
        bytes.extend(self.b.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        Candidate {
            a: get_u32(bytes, 0),
            b: get_u32(bytes, 4),
        }
    }
}

/// By the first row, then by the second.
pub struct ByRows;

impl Order<Candidate> for ByRows {
    type Key = Candidate;

    fn key(&self, candidate: &Candidate) -> Candidate {
        *candidate
    }
}

/// The rows of one table, or of two, by their numbers.
#[derive(Clone, Copy, Default)]
pub struct Sides {
    /// Rows of the first table, which come first.
    first: u32,
    rows: u32,
    has_second: bool,
}

impl Sides {
    /// Number of rows of both tables.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns whether two rows can be a pair: any two of one table, or one of each table.
    fn are_comparable(&self, a: u32, b: u32) -> bool {
        !self.has_second || (a < self.first && self.first <= b)
    }
}

/// The features of all rows, while they are read.
pub struct Rows<H: StoreHost> {
    features: Sorter<H::File, RowFeature, ByHash>,
    sides: Sides,
    memory: usize,
}

/// What is known when all rows are read.
pub struct Found<H: StoreHost> {
    pub vectors: Vectors<H::File>,
    pub candidates: Sorted<H::File, Candidate, ByRows>,
}

impl<H: StoreHost> Rows<H> {
    /// Uses `memory` bytes, and some bytes more for each row and each feature that is shared.
    pub fn new(memory: usize) -> Self {
        Rows {
            features: Sorter::new(memory, ByHash),
            sides: Sides::default(),
            memory,
        }
    }

    /// Ends the first table; rows that are added now are those of the second.
    pub fn begin_second_table(&mut self) {
        self.sides.first = self.sides.rows;
        self.sides.has_second = true;
    }

    /// Adds features of a column of the present row, each once.
    pub fn add(
        &mut self,
        column: u32,
        features: &[u64],
        host: &mut H,
    ) -> Result<(), TryReserveError> {
        let row = self.sides.rows;
        for &hash in features {
            self.features.add(RowFeature { hash, row, column }, host)?;
        }
        Ok(())
    }

    /// Ends the present row; its number is how many ended before it.
    pub fn end_row(&mut self) {
        self.sides.rows += 1;
    }

    /// Returns how many rows have ended.
    pub fn count(&self) -> u32 {
        self.sides.rows
    }

    /// Finds the candidates, and the vector of each row, in which a feature counts by its rarity to
    /// the power of `rarity`.
    pub fn finish(
        self,
        rare: usize,
        rarity: f64,
        host: &mut H,
    ) -> Result<Found<H>, TryReserveError> {
        let mut features = self.features.finish(host)?;
        let mut candidates = Sorter::new(self.memory / 2, ByRows);
        let mut vectors = VectorsWriter::new(self.sides.rows, self.memory / 2);
        // The rows of a feature, as long as it is rare.
        let mut few: Vec<u32> = Vec::new();
        few.try_reserve_exact(rare + 1)?;
        while let Some(first) = features.next() {
            host.pause();
            few.clear();
            few.push(first.row);
            let (mut last, mut frequency, mut is_single) = (first, 1, true);
            while let Some(next) = next_with(&mut features, first.hash) {
                vectors.add(last.row, last.column, host)?;
                if next.row != last.row {
                    frequency += 1;
                    if frequency % PAUSE == 0 {
                        host.pause();
                    }
                    if few.len() <= rare {
                        few.push(next.row);
                    }
                }
                (last, is_single) = (next, false);
            }
            if is_single {
                vectors.add_single(last.row, last.column, host)?;
                continue;
            }
            vectors.add(last.row, last.column, host)?;
            vectors.end_feature(frequency)?;
            if frequency as usize <= rare {
                self.sides.add_candidates(&few, &mut candidates, host)?;
            }
        }
        drop(features);
        Ok(Found {
            vectors: vectors.finish(rarity, host)?,
            candidates: candidates.finish(host)?,
        })
    }
}

/// Rows of one feature between two pauses.
const PAUSE: u32 = 1 << 14;

/// Returns the next feature, if it has this hash.
fn next_with(
    features: &mut Sorted<impl Store, RowFeature, ByHash>,
    hash: u64,
) -> Option<RowFeature> {
    match features.next_key()?.0 == hash {
        true => features.next(),
        false => None,
    }
}

impl Sides {
    fn add_candidates<H: StoreHost>(
        &self,
        rows: &[u32],
        candidates: &mut Sorter<H::File, Candidate, ByRows>,
        host: &mut H,
    ) -> Result<(), TryReserveError> {
        for (i, &b) in rows.iter().enumerate() {
            for &a in &rows[..i] {
                if self.are_comparable(a, b) {
                    candidates.add(Candidate { a, b }, host)?;
                }
            }
        }
        Ok(())
    }
}
