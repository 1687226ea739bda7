//! Which records share a feature; equal rows are one record. Rows come in with their features; out
//! come a vector of each record, by the document frequencies of its features, and the candidates:
//! pairs of records of one scope that share a feature, or the values of two columns, which at most
//! `rare` records have. A feature that more of them have makes no candidate, so there are at most
//! records times features times `rare` of them, whatever the rows are.

use crate::copies::{Candidate, Copies, CopiesBuilder};
use crate::evidence::Evidence;
use crate::notes::Notes;
use crate::scope::differ;
use crate::together::{for_each_two, key};
use crate::vector_blocks::{ByBlock, VectorBlocks};
use crate::vectors::{Rating, VectorsWriter};
use simhash_base::bytes::{get_u32, get_u64};
use simhash_base::external_sort::{Sorted, Sorter};
use simhash_base::runs::{Item, Order};
use simhash_base::store::{Store, TempStores};
use simhash_fingerprint::hash::city64;
use std::collections::TryReserveError;

/// A feature of a column of a record, which is its row here.
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

/// The features of all rows, while they are read.
pub struct Rows<S: TempStores> {
    features: Sorter<S::File, RowFeature, ByHash>,
    /// Those of the present row, with their columns.
    present: Vec<(u64, u32)>,
    /// What else is kept of its values.
    noted: Vec<u8>,
    notes: Notes<S::File>,
    copies: CopiesBuilder,
    /// The scope of each record.
    scopes: Vec<u64>,
    /// What tells the present row from others, and every record: as many values each.
    differing: Vec<u64>,
    differ: Vec<u64>,
    /// Features of all records.
    count: u64,
    memory: usize,
}

/// What is known when all rows are read.
pub struct Found<S: TempStores> {
    /// The vector of each record.
    pub vectors: VectorBlocks<S::File>,
    /// Pairs of records that share something rare, in the order in which
    /// [`VectorBlocks::for_each_pair`] is fast.
    pub candidates: Sorted<S::File, Candidate, ByBlock>,
    /// Which rows are which record.
    pub copies: Copies,
    /// How much each column counts.
    pub weights: Vec<f64>,
}

impl<S: TempStores> Rows<S> {
    /// Uses `memory` bytes, and some bytes more for each row and each feature that is shared.
    pub fn new(memory: usize) -> Self {
        Rows {
            features: Sorter::new(memory, ByHash),
            present: Vec::new(),
            noted: Vec::new(),
            notes: Notes::new(memory / 4),
            copies: CopiesBuilder::default(),
            scopes: Vec::new(),
            differing: Vec::new(),
            differ: Vec::new(),
            count: 0,
            memory,
        }
    }

    /// Ends the first table; rows that are added now are those of the second.
    pub fn begin_second_table(&mut self) {
        self.copies.begin_second_table();
    }

    /// Adds features of a column of the present row, each once; columns come in their order.
    pub fn add(&mut self, column: u32, features: &[u64]) -> Result<(), TryReserveError> {
        self.present.try_reserve(features.len())?;
        (self.present).extend(features.iter().map(|&hash| (hash, column)));
        Ok(())
    }

    /// Returns what else is kept of the present row, to which [`super::notes`] adds.
    pub fn notes(&mut self) -> &mut Vec<u8> {
        &mut self.noted
    }

    /// Returns what tells the present row from others, to which a [`super::scope::value`] is added for each column that does:
    /// as many in all rows.
    pub fn differ(&mut self) -> &mut Vec<u64> {
        &mut self.differing
    }

    /// Ends the present row; its number is how many ended before it. It pairs with rows of the same
    /// scope.
    pub fn end_row(&mut self, scope: u64, stores: &mut S) -> Result<(), TryReserveError> {
        let (row, is_new) =
            (self.copies).add(record_hash(scope, &self.differing, &self.present)?)?;
        if is_new {
            self.notes.push(&self.noted, stores)?;
            self.scopes.try_reserve(1)?;
            self.scopes.push(scope);
            self.differ.try_reserve(self.differing.len())?;
            self.differ.extend(&self.differing);
            self.count += self.present.len() as u64;
            for &(hash, column) in &self.present {
                self.features
                    .add(RowFeature { hash, row, column }, stores)?;
            }
        }
        self.present.clear();
        self.noted.clear();
        self.differing.clear();
        Ok(())
    }

    /// Returns how many rows have ended.
    pub fn count(&self) -> u32 {
        self.copies.rows()
    }

    /// Finds the candidates, and the vector of each record, in which features count by `rating`.
    pub fn finish(
        mut self,
        rare: usize,
        rating: Rating<'_>,
        stores: &mut S,
    ) -> Result<Found<S>, TryReserveError> {
        let sample = match rating.columns {
            Some(_) => Vec::new(),
            None => self.copies.sample(SAMPLE)?,
        };
        let filter = CandidateFilter {
            copies: self.copies.finish()?,
            columns: self.differ.len() / self.scopes.len().max(1),
            scopes: self.scopes,
            differ: self.differ,
        };
        let is_sampled = |pair: &Candidate| sample[pair.a as usize] || sample[pair.b as usize];
        let records = filter.copies.records();
        let mut vectors = VectorsWriter::new(records, self.count, self.memory / 2);
        let by_block = || ByBlock {
            rows: vectors.block_rows,
        };
        let mut sampled = Sorter::new(self.memory / 4, by_block());
        let mut candidates = Sorter::new(self.memory / 2, by_block());
        let mut features = self.features.finish(stores)?;
        // The rows of a feature, as long as it is rare.
        let mut few: Vec<u32> = Vec::new();
        let most = rare.max(RARE_OF_SAMPLE);
        few.try_reserve_exact(most + 1)?;
        while let Some(first) = features.next() {
            stores.check_interrupts();
            few.clear();
            few.push(first.row);
            let (mut last, mut frequency, mut is_single) = (first, 1, true);
            while let Some(next) = next_with(&mut features, first.hash) {
                vectors.add(last.row, last.column, stores)?;
                if next.row != last.row {
                    frequency += 1;
                    if frequency % CHECKED_EVERY == 0 {
                        stores.check_interrupts();
                    }
                    if few.len() <= most {
                        few.push(next.row);
                    }
                }
                (last, is_single) = (next, false);
            }
            if is_single {
                vectors.add_single(last.row, last.column, stores)?;
                continue;
            }
            vectors.add(last.row, last.column, stores)?;
            vectors.end_feature(frequency)?;
            if frequency as usize <= rare {
                filter.for_each_candidate(&few, |pair| candidates.add(pair, stores))?;
            }
            if !sample.is_empty() && frequency as usize <= RARE_OF_SAMPLE {
                filter.for_each_candidate(&few, |pair| match is_sampled(&pair) {
                    true => sampled.add(pair, stores),
                    false => Ok(()),
                })?;
            }
        }
        drop(features);
        let mut keys = Sorter::new(self.memory / 2, ByHash);
        let mut vectors = vectors.finish(rating, stores, |row, values, stores| {
            let mut added = Ok(());
            for_each_two(values, records, rare, |a, b| {
                let (hash, column) = (key(a, b), 0);
                if added.is_ok() {
                    added = keys.add(RowFeature { hash, row, column }, stores);
                }
            });
            added
        })?;
        filter.for_each_of_keys(keys, rare, stores, |pair, stores| {
            candidates.add(pair, stores)
        })?;
        self.notes.end();
        vectors.notes = self.notes;
        // What it counts does not depend on the order of the pairs.
        let mut evidence = Evidence::default();
        vectors.for_each_pair(sampled.finish(stores)?, stores, |_, a, b| {
            evidence.add(a, b)
        })?;
        let weights = match rating.columns {
            Some(given) => given.to_vec(),
            None => {
                let learned = vectors.rarity.times(&evidence.weights());
                vectors.weigh(&learned);
                learned
            }
        };
        Ok(Found {
            vectors,
            candidates: candidates.finish(stores)?,
            copies: filter.copies,
            weights,
        })
    }
}

/// Records whose pairs say how much columns count.
const SAMPLE: u32 = 5000;
/// What `rare` is for those pairs, so that columns count the same whatever it is for others.
const RARE_OF_SAMPLE: usize = 30;

/// Returns the hash of a row's features, each with its column, of its scope and of what tells it from others: equal rows
/// have the same. A row without features has none.
pub fn record_hash(
    scope: u64,
    differ: &[u64],
    features: &[(u64, u32)],
) -> Result<Option<u64>, TryReserveError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(8 + 8 * differ.len() + 12 * features.len())?;
    bytes.extend(scope.to_le_bytes());
    bytes.extend(differ.iter().flat_map(|value| value.to_le_bytes()));
    for (hash, column) in features {
        bytes.extend(hash.to_le_bytes());
        bytes.extend(column.to_le_bytes());
    }
    Ok((!features.is_empty()).then(|| city64(&bytes)))
}

/// Rows of one feature between two pauses.
const CHECKED_EVERY: u32 = 1 << 14;

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

/// Which records may be pairs.
struct CandidateFilter {
    copies: Copies,
    scopes: Vec<u64>,
    /// What tells each record from others, in this number of columns.
    differ: Vec<u64>,
    columns: usize,
}

impl CandidateFilter {
    /// Calls `each` with the pairs of these rows that may be pairs.
    fn for_each_candidate(
        &self,
        rows: &[u32],
        mut each: impl FnMut(Candidate) -> Result<(), TryReserveError>,
    ) -> Result<(), TryReserveError> {
        for (i, &b) in rows.iter().enumerate() {
            for &a in &rows[..i] {
                let pair = Candidate { a, b };
                if self.may_pair(pair) && self.copies.count(pair) > 0 {
                    each(pair)?;
                }
            }
        }
        Ok(())
    }

    fn may_pair(&self, pair: Candidate) -> bool {
        let of = |record: u32| {
            let record = record as usize;
            let own = record * self.columns..(record + 1) * self.columns;
            (self.scopes[record], &self.differ[own])
        };
        let ((scope_a, a), (scope_b, b)) = (of(pair.a), of(pair.b));
        scope_a == scope_b && !differ(a, b)
    }

    /// Calls `each` with the pairs of rows that share a key which at most `rare` rows have.
    fn for_each_of_keys<S: TempStores>(
        &self,
        keys: Sorter<S::File, RowFeature, ByHash>,
        rare: usize,
        stores: &mut S,
        mut each: impl FnMut(Candidate, &mut S) -> Result<(), TryReserveError>,
    ) -> Result<(), TryReserveError> {
        let mut rows: Vec<u32> = Vec::new();
        rows.try_reserve_exact(rare + 1)?;
        let mut keys = keys.finish(stores)?;
        while let Some(first) = keys.next() {
            stores.check_interrupts();
            rows.clear();
            rows.push(first.row);
            while let Some(next) = next_with(&mut keys, first.hash) {
                if rows.len() <= rare {
                    rows.push(next.row);
                }
            }
            if rows.len() <= rare {
                self.for_each_candidate(&rows, |pair| each(pair, stores))?;
            }
        }
        Ok(())
    }
}
