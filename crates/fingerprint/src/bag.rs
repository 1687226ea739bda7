//! The features of one column, counted, and their weights summed. [`crate::counter`] adds the
//! features, [`crate::builder`] takes the sums. Features of one hash are one feature.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use super::error::Error;
use super::hash::Width;
use super::logarithm::ln;
use super::options::plan::ColumnPlan;
use super::options::presets::Tf;
use super::simhash::{Sums, Tally, UNIT};

/// Written in front of an n-gram, of a whole text and of a pair of letters: none of them is the same
/// feature as a word.
pub const NGRAM: u8 = 0x1e;
pub const WHOLE: u8 = 0x1d;
pub const PAIR: u8 = 0x1c;

/// Number of occurrences of a feature, and its weight relative to other kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Number of occurrences.
    pub count: u64,
    factor: f64,
}

impl Counted {
    /// A multiple of 2^-32.
    pub fn weight(self, tf: Tf) -> f64 {
        rounded(self.raw_weight(tf))
    }

    fn raw_weight(self, tf: Tf) -> f64 {
        let count = self.count as f64;
        let weight = match tf {
            Tf::Raw => count,
            Tf::Log => 1.0 + ln(self.count),
            Tf::Sqrt => count.sqrt(),
            Tf::Set => 1.0,
        };
        weight * self.factor
    }
}

fn rounded(weight: f64) -> f64 {
    (weight * UNIT).round() / UNIT
}

/// The features of a column, by hash: features of equal hash would add up anyway. They stand in the
/// order in which they came; a hash table of their numbers, with linear probing, finds them. (The
/// table of hashbrown, which probes groups of places, takes 1.3 to 1.7 times as long for the
/// features of usual texts, and saves twenty lines.)
pub struct Bag<const W: usize> {
    features: Vec<([u64; W], Counted)>,
    /// The features' text, when they are to be shown.
    names: Option<Vec<String>>,
    /// The number of a feature plus 1, or 0. At least twice as many as features; a power of two.
    places: Vec<u32>,
    /// Odd, and other for each bag: no user can write a text whose features collide.
    multiplier: u64,
}

/// Memory that a bag keeps for the next column: a long text should not slow down a million short
/// ones.
pub const KEPT_CAPACITY: usize = 1 << 14;
const MIN_PLACES: usize = 1 << 6;
/// Features of a column that can be shown: about 100 MB.
const MOST_SHOWN: usize = 1_000_000;

impl<const W: usize> Bag<W> {
    /// Creates an empty bag; `named` says whether features are to be shown.
    pub fn new(named: bool) -> Self {
        Self {
            features: Vec::new(),
            names: named.then(Vec::new),
            places: Vec::new(),
            multiplier: RandomState::new().hash_one(0) | 1,
        }
    }

    /// Empties the bag for a text of this many bytes.
    pub fn begin(&mut self, bytes: usize) {
        if self.features.capacity() > KEPT_CAPACITY {
            self.features = Vec::new();
            self.places = Vec::new();
        }
        self.features.clear();
        if let Some(names) = &mut self.names {
            names.clear();
        }
        // Texts have a word for about seven bytes, and as many pairs.
        let places = (bytes / 2).next_power_of_two();
        self.places.clear();
        self.places
            .resize(places.clamp(MIN_PLACES, KEPT_CAPACITY), 0);
    }

    /// Returns how many different features there are.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Returns whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// Counts the feature whose bytes, behind the column's prefix, are `key`.
    pub fn add(
        &mut self,
        plan: &ColumnPlan,
        width: Width,
        key: &[u8],
        factor: f64,
    ) -> Result<(), Error> {
        let full = |_| Error::OutOfMemory;
        let hash = plan.hash.words(width, key);
        let mut place = self.first_place(hash);
        while let Some(known) = (self.places[place] as usize).checked_sub(1) {
            let (other, counted) = &mut self.features[known];
            if *other == hash {
                counted.count += 1;
                return Ok(());
            }
            place = (place + 1) & (self.places.len() - 1);
        }
        if let Some(names) = &mut self.names {
            if names.len() == MOST_SHOWN {
                return Err(Error::TooManyFeatures { most: MOST_SHOWN });
            }
            let feature = &key[plan.prefix.len()..];
            let mark = [NGRAM, WHOLE, PAIR];
            let is_marked = feature.first().is_some_and(|byte| mark.contains(byte));
            let feature = &feature[usize::from(is_marked)..];
            names.try_reserve(1).map_err(full)?;
            names.push(String::from_utf8_lossy(feature).into_owned());
        }
        self.features.try_reserve(1).map_err(full)?;
        self.features.push((hash, Counted { count: 1, factor }));
        self.places[place] = u32::try_from(self.features.len()).map_err(|_| Error::OutOfMemory)?;
        if 2 * self.features.len() > self.places.len() {
            self.widen()?;
        }
        Ok(())
    }

    /// Multiplicative hashing: the uppermost bits of the low word's product decide, as they alone
    /// depend on every bit of the word. (Bits in the middle would be equal for hashes that differ
    /// only above them.)
    fn first_place(&self, hash: [u64; W]) -> usize {
        let product = hash[0].wrapping_mul(self.multiplier);
        (product >> (self.places.len().leading_zeros() + 1)) as usize
    }

    /// Quadruples the number of places.
    fn widen(&mut self) -> Result<(), Error> {
        let places = 4 * self.places.len();
        self.places.clear();
        self.places
            .try_reserve_exact(places)
            .map_err(|_| Error::OutOfMemory)?;
        self.places.resize(places, 0);
        for number in 0..self.features.len() {
            let mut place = self.first_place(self.features[number].0);
            while self.places[place] != 0 {
                place = (place + 1) & (places - 1);
            }
            self.places[place] = number as u32 + 1;
        }
        Ok(())
    }

    /// The sums of the weighted features, 0 where they are equal on both sides but for rounding; and
    /// the squared length of their vector in units of 2^-64: integers, so that it is exact too.
    pub fn sums(&self, tf: Tf) -> (Sums<W>, u128) {
        let mut weighing = Weighing::new(tf);
        for &(hash, counted) in &self.features {
            weighing.add(hash, counted);
        }
        weighing.finish()
    }

    /// The hashes of the features with their weights.
    pub fn weights(&self, tf: Tf) -> impl Iterator<Item = ([u64; W], f64)> {
        let weigh = move |&(hash, counted): &([u64; W], Counted)| (hash, counted.weight(tf));
        self.features.iter().map(weigh)
    }

    /// The features with their text, for showing.
    pub fn named(&self) -> impl Iterator<Item = (&str, [u64; W], Counted)> {
        let names = self.names.iter().flatten();
        let features = self.features.iter();
        names
            .zip(features)
            .map(|(name, f)| (name.as_str(), f.0, f.1))
    }
}

/// Sums up weighted features. Most features of a text occur once or twice: those of one weight are
/// tallied together and weighed once.
struct Weighing<const W: usize> {
    tf: Tf,
    /// Indexed by the low bits of the count.
    tallies: [Option<(Counted, Tally<W>)>; 8],
    sums: Sums<W>,
    square: u128,
    /// By how much a sum may differ from what it would be without rounding.
    rounding: f64,
}

impl<const W: usize> Weighing<W> {
    fn new(tf: Tf) -> Self {
        Self {
            tf,
            tallies: [const { None }; 8],
            sums: Sums::ZERO,
            square: 0,
            rounding: 0.0,
        }
    }

    #[inline]
    fn add(&mut self, hash: [u64; W], counted: Counted) {
        let slot = (counted.count % 8) as usize;
        match &mut self.tallies[slot] {
            Some((known, tally)) if *known == counted && !tally.is_full() => tally.add(hash),
            _ => {
                self.weigh(slot);
                let mut tally = Tally::EMPTY;
                tally.add(hash);
                self.tallies[slot] = Some((counted, tally));
            }
        }
    }

    /// Adds what a slot holds to the sums.
    fn weigh(&mut self, slot: usize) {
        let Some((counted, tally)) = self.tallies[slot].take() else {
            return;
        };
        let raw = counted.raw_weight(self.tf);
        let weight = rounded(raw);
        let units = (weight * UNIT) as u128;
        let squares = units
            .saturating_mul(units)
            .saturating_mul(tally.count().into());
        self.square = self.square.saturating_add(squares);
        // What it was rounded by here, and in the products before.
        let rounding = (weight - raw).abs() + 4.0 * f64::EPSILON * raw;
        self.rounding += rounding * f64::from(tally.count());
        self.sums.add_tally(&tally, weight);
    }

    fn finish(mut self) -> (Sums<W>, u128) {
        (0..self.tallies.len()).for_each(|slot| self.weigh(slot));
        self.sums.settle_ties(self.rounding);
        (self.sums, self.square)
    }
}

/// The Euclidean length of weights, without the overflow and underflow of their squares: these are
/// taken relative to the largest weight so far.
#[derive(Default)]
pub struct Norm {
    /// The largest weight so far.
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

    /// The length of the vector of all weights so far.
    pub fn length(&self) -> f64 {
        self.largest * self.squares.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::grammar::parse_text;
    use super::super::options::{plan, presets};
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_length_is_that_of_geometry_whatever_the_order_and_the_scale() {
        for scale in [1.0, 1e300, 1e-300] {
            for weights in [[3.0, 4.0, 12.0], [12.0, 4.0, 3.0], [4.0, 12.0, 3.0]] {
                let mut norm = Norm::default();
                weights.iter().for_each(|weight| norm.add(weight * scale));
                let length = norm.length() / scale;
                assert!((length - 13.0).abs() < 1e-12, "{weights:?}: {length}");
            }
        }
    }

    fn plan() -> ColumnPlan {
        let options = parse_text("{}", &mut || {}).unwrap();
        plan::text(presets::find(Some("words")).unwrap(), &options).unwrap()
    }

    proptest! {
        #[test]
        fn counts_and_sums_are_those_of_a_map(
            rows in prop::collection::vec(prop::collection::vec(0u32..400, 0..1500), 1..4),
            same_factor: bool,
        ) {
            let (plan, mut bag) = (plan(), Bag::<1>::new(true));
            for row in rows {
                bag.begin(8);
                let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
                let factor = |n: u32| if same_factor { 1.0 } else { f64::from(n % 5) / 4.0 };
                for n in row {
                    bag.add(&plan, Width::W64, n.to_string().as_bytes(), factor(n)).unwrap();
                    *counts.entry(n).or_default() += 1;
                }
                let count = |(name, _, counted): (&str, _, Counted)| {
                    (name.parse().unwrap(), counted.count)
                };
                let mut found: Vec<(u32, u64)> = bag.named().map(count).collect();
                found.sort();
                prop_assert_eq!(&found, &counts.clone().into_iter().collect::<Vec<_>>());
                for tf in [Tf::Raw, Tf::Log, Tf::Sqrt, Tf::Set] {
                    let (mut sums, mut square) = (Sums::ZERO, 0);
                    for (&n, &count) in &counts {
                        let hash = plan.hash.words(Width::W64, n.to_string().as_bytes());
                        let weight = Counted { count, factor: factor(n) }.weight(tf);
                        sums.add(hash, weight);
                        square += ((weight * UNIT) as u128).pow(2);
                    }
                    sums.settle_ties(1e-6);
                    prop_assert_eq!(bag.sums(tf), (sums, square));
                }
            }
        }
    }

    #[test]
    fn hashes_that_differ_in_few_bits_have_places_of_their_own() {
        let mut bag = Bag::<1>::new(false);
        bag.multiplier = 0x9e37_79b9_7f4a_7c15;
        bag.begin(1 << 20);
        for shift in (0..=56).step_by(8) {
            let places: BTreeSet<usize> = (0..256).map(|n| bag.first_place([n << shift])).collect();
            assert!(places.len() > 64, "{shift}: {} places", places.len());
            assert!(places.iter().all(|&place| place < bag.places.len()));
        }
    }

    #[test]
    fn a_long_text_leaves_little_behind() {
        let (plan, mut bag) = (plan(), Bag::<1>::new(false));
        bag.begin(1 << 20);
        for n in 0..100_000u32 {
            bag.add(&plan, Width::W64, &n.to_le_bytes(), 1.0).unwrap();
        }
        assert!(bag.places.len() >= 200_000);
        bag.begin(100);
        assert!(bag.is_empty() && bag.places.len() == MIN_PLACES);
        assert!(bag.places.capacity() <= KEPT_CAPACITY && bag.features.capacity() == 0);
    }
}
