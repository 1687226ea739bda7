//! Rows drawn from a relation, each compared with all of its rows. Pure.
//!
//! The relation is read twice: first the sample is drawn, then every row meets it. Only the sample,
//! a few counts for each of its rows and a few of the pairs are kept. Keys are bytes that tell rows
//! apart.

#![forbid(unsafe_code)]

use super::draw::{Random, Reservoir};
use super::estimate::{PairEstimate, pairs};
use crate::Error;
use crate::pairs::compare::{Hit, TILE, Tiles, find};
use crate::parts::{Hash, distance};
use std::collections::TryReserveError;

/// About how many bytes an allocation takes besides its own.
const ALLOCATION: usize = 16;
/// Pairs that are drawn of those at each distance.
const DRAWN: usize = 200;

/// Number of bytes that may still be taken.
struct Memory(usize);

impl Memory {
    /// Copies a key, of which `besides` more bytes are kept.
    fn copy(&mut self, key: &[u8], besides: usize) -> Result<Vec<u8>, Error> {
        let bytes = key.len() + besides;
        self.0 = self.0.checked_sub(bytes).ok_or(Error::SampleTooLarge)?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(key.len())?;
        copy.extend_from_slice(key);
        Ok(copy)
    }

    /// Takes note that a key is gone.
    fn free(&mut self, key: Option<Vec<u8>>, besides: usize) {
        self.0 += key.map_or(0, |key| key.len() + besides);
    }
}

/// Which rows a row is compared with: those of its group and, where sets count, of another set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupAndSet {
    /// The number of the group.
    pub group: u32,
    /// None: it is in no set with another row.
    pub set: Option<u32>,
}

impl GroupAndSet {
    fn is_of_one_set(&self, other: &GroupAndSet) -> bool {
        self.set.is_some() && self.set == other.set
    }
}

struct SampledRow {
    key: Vec<u8>,
    hash: Hash,
    place: GroupAndSet,
}

/// Two rows that were found: one of the sample, by its place, and another one.
pub struct Pair {
    sampled: usize,
    other: Vec<u8>,
}

const PAIR: usize = size_of::<Pair>() + ALLOCATION;

/// The first reading: rows are drawn.
pub struct Drawing {
    rows: Reservoir<SampledRow>,
    random: Random,
    memory: Memory,
    max_distance: u32,
    /// Whether sets count.
    is_across: bool,
    /// Bytes of a row besides its key.
    besides: usize,
    /// How many parts each hash has; None before the first.
    parts: Option<usize>,
}

impl Drawing {
    /// Creates a drawing of `sample` rows, which will be compared up to `max_distance`, in `memory`
    /// bytes.
    pub fn new(sample: usize, max_distance: u32, memory: usize, random: Random) -> Self {
        let counts = (max_distance as usize + 1) * size_of::<u64>();
        Drawing {
            rows: Reservoir::new(sample),
            random,
            memory: Memory(memory),
            max_distance,
            is_across: false,
            besides: size_of::<SampledRow>() + ALLOCATION + size_of::<u64>() + 1 + counts,
            parts: None,
        }
    }

    /// Lets only rows of different sets be pairs.
    pub fn across(self, is_across: bool) -> Self {
        Drawing { is_across, ..self }
    }

    /// Offers a row with its key; an error where a hash has another number of parts or the sample
    /// outgrows its memory.
    pub fn add(&mut self, hash: Hash, place: GroupAndSet, key: &[u8]) -> Result<(), Error> {
        let found = hash.len();
        let expected = *self.parts.get_or_insert_with(|| {
            if matches!(hash, Hash::Parts(_)) {
                self.besides += found * size_of::<u64>() + ALLOCATION;
            }
            found
        });
        if found != expected {
            return Err(Error::PartCount { found, expected });
        }
        let Some(at) = self.rows.offer(&mut self.random) else {
            return Ok(());
        };
        let key = self.memory.copy(key, self.besides)?;
        let old = self.rows.put(at, SampledRow { key, hash, place })?;
        self.memory.free(old.map(|old| old.key), self.besides);
        Ok(())
    }

    /// Returns how many rows were read.
    pub fn read(&self) -> u64 {
        self.rows.offered()
    }

    /// Returns how many of them are in the sample.
    pub fn drawn(&self) -> usize {
        self.rows.items.len()
    }

    /// Ends the first reading.
    pub fn finish(self, check_interrupts: &mut dyn FnMut()) -> Result<Sample, Error> {
        let (of, mut rows) = (self.read(), self.rows.items);
        // In place: a stable sort would allocate memory.
        rows.sort_unstable_by(|a, b| {
            check_interrupts();
            a.key.cmp(&b.key)
        });
        if rows.windows(2).any(|two| two[0].key == two[1].key) {
            return Err(Error::SameKey);
        }
        let mut fingerprints = Vec::new();
        fingerprints.try_reserve_exact(rows.len())?;
        fingerprints.extend(rows.iter().filter_map(|row| match row.hash {
            Hash::Fingerprint(fingerprint) => Some(fingerprint),
            Hash::Parts(_) => None,
        }));
        let distances = self.max_distance as usize + 1;
        let mut pairs = Vec::new();
        pairs.resize_with(distances, || Reservoir::new(DRAWN));
        Ok(Sample {
            partners: zeros(rows.len() * distances)?,
            met: zeros(rows.len())?,
            rows,
            is_across: self.is_across,
            of,
            fingerprints,
            pairs,
            hits: Vec::new(),
            random: self.random,
            memory: self.memory,
        })
    }
}

fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count)?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

/// The second reading: every row meets the sample.
pub struct Sample {
    /// In the order of their keys.
    rows: Vec<SampledRow>,
    is_across: bool,
    /// The rows that they were drawn from.
    of: u64,
    /// Their hashes, where these have 64 bits.
    fingerprints: Vec<u64>,
    /// Whether each of them has met itself.
    met: Vec<bool>,
    /// Number of rows at each distance from each of them.
    partners: Vec<u64>,
    /// Some pairs at each distance.
    pairs: Vec<Reservoir<Pair>>,
    hits: Vec<Hit>,
    random: Random,
    memory: Memory,
}

impl Sample {
    /// Returns how many rows it was drawn from.
    pub fn population(&self) -> u64 {
        self.of
    }

    /// The largest distance that is looked at.
    pub fn max_distance(&self) -> usize {
        self.pairs.len() - 1
    }

    /// Returns how many rows the sample has.
    pub fn size(&self) -> usize {
        self.rows.len()
    }

    /// Compares a row of the relation with the sample.
    pub fn meet(&mut self, hash: &Hash, place: GroupAndSet, key: &[u8]) -> Result<(), Error> {
        match hash {
            Hash::Fingerprint(fingerprint) => self.meet_fingerprint(*fingerprint, hash, place, key),
            Hash::Parts(_) => self.meet_parts(hash, place, key),
        }
    }

    fn meet_parts(&mut self, hash: &Hash, place: GroupAndSet, key: &[u8]) -> Result<(), Error> {
        let mut own = None;
        for sampled in 0..self.rows.len() {
            let (found, expected) = (hash.len(), self.rows[sampled].hash.len());
            if found != expected {
                return Err(Error::PartCount { found, expected });
            }
            if distance(&self.rows[sampled].hash, hash) as usize <= self.max_distance() {
                self.count(sampled, (hash, place), &mut own, key)?;
            }
        }
        Ok(())
    }

    fn meet_fingerprint(
        &mut self,
        fingerprint: u64,
        hash: &Hash,
        place: GroupAndSet,
        key: &[u8],
    ) -> Result<(), Error> {
        // The row's own place in the sample is looked up when it is first needed.
        let mut own = None;
        let radius = self.max_distance() as u32;
        let mut hits = std::mem::take(&mut self.hits);
        for start in (0..self.rows.len()).step_by(TILE) {
            let end = self.rows.len().min(start + TILE);
            let tiles = Tiles {
                left: &[fingerprint],
                right: &self.fingerprints[start..end],
                same: false,
            };
            find(&tiles, radius, 0, &mut hits);
            for (_, hit) in hits.drain(..) {
                self.count(start + usize::from(hit), (hash, place), &mut own, key)?;
            }
        }
        self.hits = hits;
        Ok(())
    }

    /// Returns where the row with this key is in the sample.
    fn own(&self, key: &[u8]) -> Option<usize> {
        let found = self.rows.binary_search_by(|row| row.key[..].cmp(key));
        found.ok()
    }

    /// Takes note that a sampled row is near a row, which may be in the sample itself: `own` says
    /// where, once that was looked up.
    fn count(
        &mut self,
        sampled: usize,
        (hash, place): (&Hash, GroupAndSet),
        own: &mut Option<Option<usize>>,
        key: &[u8],
    ) -> Result<(), Error> {
        let own = *own.get_or_insert_with(|| self.own(key));
        let other = self.rows[sampled].place;
        let counts = other.group == place.group && !(self.is_across && other.is_of_one_set(&place));
        if !counts && own != Some(sampled) {
            return Ok(());
        }
        let distance = distance(&self.rows[sampled].hash, hash) as usize;
        if own == Some(sampled) {
            let again = std::mem::replace(&mut self.met[sampled], true);
            return match again || distance > 0 {
                true => Err(Error::SameKey),
                false => Ok(()),
            };
        }
        self.partners[sampled * self.pairs.len() + distance] += 1;
        // A pair of two sampled rows is found twice, and may be drawn once.
        if own.is_some_and(|own| own < sampled) {
            return Ok(());
        }
        let pairs = &mut self.pairs[distance];
        if let Some(place) = pairs.offer(&mut self.random) {
            let other = self.memory.copy(key, PAIR)?;
            let old = pairs.put(place, Pair { sampled, other })?;
            self.memory.free(old.map(|old| old.other), PAIR);
        }
        Ok(())
    }

    /// The number of pairs at a distance in the whole relation.
    pub fn estimate(&self, distance: usize) -> PairEstimate {
        let distances = self.pairs.len();
        let partners = |row| self.partners[row * distances + distance];
        pairs((0..self.rows.len()).map(partners), self.of)
    }

    /// The keys of the pairs that were drawn at a distance: at most 200 of those that were found,
    /// each of which is as likely.
    pub fn drawn(&self, distance: usize) -> impl Iterator<Item = [&[u8]; 2]> {
        let pairs = self.pairs[distance].items.iter();
        pairs.map(|pair| [&self.rows[pair.sampled].key[..], &pair.other[..]])
    }
}

#[cfg(test)]
mod tests;
