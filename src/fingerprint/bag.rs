//! The features of one column, counted.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::error::Error;
use super::hash::Width;
use super::plan::ColumnPlan;
use super::presets::Tf;

/// Weights are multiples of 1 / UNIT.
pub const UNIT: f64 = 4_294_967_296.0;

/// Written in front of what is no word and no pair, so that no two kinds of feature are the same.
pub const NGRAM: u8 = 0x1e;
pub const WHOLE: u8 = 0x1d;

/// A feature of a column: how often it occurs, and its weight next to other kinds.
#[derive(Clone, Copy, PartialEq)]
pub struct Counted {
    pub count: u64,
    factor: f64,
}

impl Counted {
    /// A multiple of 2^-32.
    pub fn weight(self, tf: Tf) -> f64 {
        let count = self.count as f64;
        let weight = match tf {
            Tf::Raw => count,
            Tf::Log => 1.0 + count.ln(),
            Tf::Sqrt => count.sqrt(),
            Tf::Set => 1.0,
        };
        (weight * self.factor * UNIT).round() / UNIT
    }
}

/// Weights of counted features and their squares, in units of 2^-64. Most features of a text occur once or
/// twice, so that the last answer for each small count is kept.
pub struct Weights {
    tf: Tf,
    known: [Option<(Counted, f64, u128)>; 8],
}

impl Weights {
    pub fn new(tf: Tf) -> Self {
        let known = [None; 8];
        Self { tf, known }
    }

    pub fn of(&mut self, counted: Counted) -> (f64, u128) {
        let place = &mut self.known[(counted.count % 8) as usize];
        match *place {
            Some((known, weight, square)) if known == counted => (weight, square),
            _ => {
                let weight = counted.weight(self.tf);
                let units = (weight * UNIT) as u128;
                let square = units.saturating_mul(units);
                *place = Some((counted, weight, square));
                (weight, square)
            }
        }
    }
}

/// The features of a column, by hash: features of equal hash add up anyway.
#[derive(Default)]
pub struct Bag<const W: usize> {
    pub counts: HashMap<Key<W>, Counted, BuildHasherDefault<Hashed>>,
    /// The features' text, when they are to be shown.
    pub names: Option<HashMap<Key<W>, String, BuildHasherDefault<Hashed>>>,
}

/// A feature's hash as a key, of which the low word suffices to find its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<const W: usize>(pub [u64; W]);

impl<const W: usize> Hash for Key<W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0[0]);
    }
}

/// Beyond this capacity the memory is given back, or clearing would cost every later row.
const KEPT_CAPACITY: usize = 1 << 14;

impl<const W: usize> Bag<W> {
    /// Counts the feature whose bytes, behind the column's prefix, are `key`.
    pub fn add(
        &mut self,
        plan: &ColumnPlan,
        width: Width,
        key: &[u8],
        factor: f64,
    ) -> Result<(), Error> {
        let hash = Key(plan.hash.words(width, key));
        if self.counts.len() == self.counts.capacity() {
            self.counts.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        }
        let new = Counted { count: 0, factor };
        self.counts.entry(hash).or_insert(new).count += 1;
        if let Some(names) = &mut self.names {
            let feature = &key[plan.prefix.len()..];
            let feature = feature.strip_prefix(&[NGRAM]).unwrap_or(feature);
            let feature = feature.strip_prefix(&[WHOLE]).unwrap_or(feature);
            names
                .entry(hash)
                .or_insert_with(|| String::from_utf8_lossy(feature).into_owned());
        }
        Ok(())
    }

    pub fn clear(&mut self) {
        if self.counts.capacity() > KEPT_CAPACITY {
            self.counts = HashMap::default();
        }
        self.counts.clear();
        if let Some(names) = &mut self.names {
            names.clear();
        }
    }
}

/// Passes a feature's hash through as its hash in the map.
#[derive(Clone, Debug, Default)]
pub struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The Euclidean length of weights, without the overflow and underflow of their squares: these are
/// taken relative to the largest weight so far.
#[derive(Default)]
pub struct Norm {
    pub largest: f64,
    squares: f64,
}

impl Norm {
    /// Adds a positive weight.
    pub fn add(&mut self, weight: f64) {
        if weight > self.largest {
            let ratio = self.largest / weight;
            self.squares = 1.0 + self.squares * ratio * ratio;
            self.largest = weight;
        } else {
            let ratio = weight / self.largest;
            self.squares += ratio * ratio;
        }
    }

    pub fn length(&self) -> f64 {
        self.largest * self.squares.sqrt()
    }
}
