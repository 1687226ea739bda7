//! The rarest n-grams of a text, its prefix: two texts that are similar enough have some of them in
//! common (the prefix filter: Chaudhuri, Ganti, Kaushik 2006; Xiao and others 2008).
//! [`super::prefix_index`] finds texts by them; simhash_clusters makes them of many different texts.
//! An n-gram is the hash by which [`super::ngram_set`] knows it, so the filter misses nothing that is
//! similar there.

use super::letters::Letters;
use super::ngram_hashes::NgramHashes;
use crate::error::Error;
use crate::text::ngrams::GramLengths;

/// N-grams that a prefix has beyond those it needs. Different texts have a rare n-gram in common by
/// chance, but hardly this many more.
const EXTRA: u32 = 8;
/// Least and greatest number of counters.
const COUNTERS: (usize, usize) = (1 << 10, 1 << 20);
/// Number of n-grams that take long to sort, some ms: the caller may want to stop.
const LONG: usize = 1 << 16;

/// A least similarity above 0.
#[derive(Clone, Copy)]
pub struct Least(f64);

impl Least {
    /// Returns None for 0, which any two texts reach.
    pub fn new(similarity: f64) -> Option<Self> {
        (similarity > 0.0).then_some(Self(similarity))
    }

    /// Returns whether sets of `a` and `b` n-grams are similar if they have `common` in common. The
    /// quotient is rounded as that of a comparison is.
    pub fn allows(self, common: u32, a: u32, b: u32) -> bool {
        let either = u64::from(a) + u64::from(b) - u64::from(common);
        f64::from(common) / either as f64 >= self.0
    }

    /// Returns the parts of a prefix of a set of this size, which is not empty.
    pub fn parts(self, size: u32) -> Parts {
        // What it has in common with any set that is similar to it, and with one as large or larger.
        let any = self.least_common(size, |common| self.allows(common, common, size));
        let larger = self.least_common(size, |common| self.allows(common, size, size));
        let part = |common| size.min(size - common + EXTRA);
        Parts {
            size,
            short: part(larger),
            long: part(any),
        }
    }

    /// Returns the smallest number from which on `is_enough` holds; it does for `size`.
    fn least_common(self, size: u32, is_enough: impl Fn(u32) -> bool) -> u32 {
        let (mut low, mut high) = (1, size);
        while low < high {
            let middle = low + (high - low) / 2;
            match is_enough(middle) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        low
    }
}

/// How many of a set's n-grams, the rarest first, have to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// All n-grams of the set.
    pub size: u32,
    /// Those to look at for sets of the same size or larger ones.
    pub short: u32,
    /// Those to look at for smaller sets; no fewer.
    pub long: u32,
}

/// Makes the prefixes of some texts: first count the n-grams of all of them, then make prefixes.
pub struct PrefixMaker {
    least: Least,
    /// Letters of an n-gram.
    lengths: GramLengths,
    /// How often n-grams occur, a counter for each value of their hashes' highest bits (a count-min
    /// builder of one row). Where two n-grams share one, a rare one may count as frequent: prefixes
    /// are right whatever the counters say, as long as they stay the same.
    counters: Vec<u16>,
    /// The n-grams of a text.
    ngrams: Vec<(u16, u64)>,
}

impl PrefixMaker {
    /// Counts in `memory` bytes.
    pub fn new(least: Least, lengths: GramLengths, memory: usize) -> Result<Self, Error> {
        let most = (memory / size_of::<u16>()).clamp(COUNTERS.0, COUNTERS.1);
        let count = 1 << most.ilog2();
        let mut counters = Vec::new();
        reserve(&mut counters, count)?;
        counters.resize(count, 0);
        Ok(Self {
            least,
            lengths,
            counters,
            ngrams: Vec::new(),
        })
    }

    /// Counts the n-grams of a text.
    pub fn count(&mut self, letters: &Letters, check_interrupts: &mut dyn FnMut()) {
        let mut hashes = NgramHashes::new(letters, self.lengths);
        let count = self.counters.len();
        while let Some(block) = hashes.next(check_interrupts) {
            for hash in block {
                let counter = &mut self.counters[slot(*hash, count)];
                *counter = counter.saturating_add(1);
            }
        }
    }

    /// Puts the prefix of a text, its long part, into `prefix`; each n-gram as 32 bits of its hash.
    /// Returns the number of all its n-grams.
    pub fn prefix(
        &mut self,
        letters: &Letters,
        prefix: &mut Vec<u32>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<u32, Error> {
        let mut hashes = NgramHashes::new(letters, self.lengths);
        let counters = &self.counters;
        self.ngrams.clear();
        prefix.clear();
        reserve(&mut self.ngrams, hashes.remaining())?;
        while let Some(block) = hashes.next(check_interrupts) {
            let counted = |hash: &u64| (counters[slot(*hash, counters.len())], *hash);
            self.ngrams.extend(block.iter().map(counted));
        }
        match self.ngrams.len() < LONG {
            true => self.ngrams.sort_unstable(),
            false => self.ngrams.sort_unstable_by(|a, b| {
                check_interrupts();
                a.cmp(b)
            }),
        }
        self.ngrams.dedup();
        let size = self.ngrams.len() as u32;
        if size > 0 {
            let rarest = &self.ngrams[..self.least.parts(size).long as usize];
            reserve(prefix, rarest.len())?;
            prefix.extend(rarest.iter().map(|(_, hash)| (hash ^ hash >> 32) as u32));
        }
        Ok(size)
    }
}

/// Returns which of `count` counters, a power of two, is that of a hash.
fn slot(hash: u64, count: usize) -> usize {
    (hash >> (u64::BITS - count.ilog2())) as usize
}

pub(super) fn reserve<T>(items: &mut Vec<T>, count: usize) -> Result<(), Error> {
    items.try_reserve(count).map_err(|_| Error::OutOfMemory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_by_hand() {
        // Of 100 n-grams another text has at least 80, one as large at least 89 (89 / 111).
        let parts = Least::new(0.8).unwrap().parts(100);
        assert_eq!(
            (parts.short, parts.long),
            (100 - 89 + EXTRA, 100 - 80 + EXTRA)
        );
        let parts = Least::new(1.0).unwrap().parts(100);
        assert_eq!((parts.short, parts.long), (EXTRA, EXTRA));
        let parts = Least::new(f64::MIN_POSITIVE).unwrap().parts(100);
        assert_eq!((parts.short, parts.long), (100, 100));
        assert!(Least::new(0.0).is_none() && Least::new(f64::NAN).is_none());
    }

    #[test]
    fn the_rarest_ngrams_come_first_each_once() {
        let letters = |text: &str| Letters::new(text, &mut || {}).unwrap();
        let least = Least::new(0.9).unwrap();
        let mut maker = PrefixMaker::new(least, GramLengths::all(2), 1 << 16).unwrap();
        let common = "abcdefghijklmnopqrstuvwxyz".repeat(2);
        for _ in 0..3 {
            maker.count(&letters(&common), &mut || {});
        }
        let text = letters(&format!("{common}042"));
        maker.count(&text, &mut || {});
        let mut prefix = Vec::new();
        // 26 pairs of neighbours, and z0, 04, 42.
        assert_eq!(maker.prefix(&text, &mut prefix, &mut || {}), Ok(29));
        assert_eq!(prefix.len(), 29 - 27 + EXTRA as usize);
        let mut rare = Vec::new();
        maker
            .prefix(&letters("z042"), &mut rare, &mut || {})
            .unwrap();
        assert_eq!(prefix[..3], rare[..]);
        assert_eq!(maker.prefix(&letters("　"), &mut prefix, &mut || {}), Ok(0));
        assert!(prefix.is_empty());
    }

    proptest! {
        #[test]
        fn fewer_in_common_are_too_few(least in 0.0f64..=1.0, size in 1u32..5000, more in 0u32..100) {
            prop_assume!(least > 0.0);
            let least = Least::new(least).unwrap();
            let parts = least.parts(size);
            prop_assert!(0 < parts.short && parts.short <= parts.long && parts.long <= size);
            // A set that has one less in common than the parts leave out, whatever its size.
            let outside = size - parts.long;
            prop_assert!(outside == 0 || !least.allows(outside, outside, size));
            let outside = size - parts.short;
            prop_assert!(outside == 0 || !least.allows(outside, size + more, size));
        }
    }
}
