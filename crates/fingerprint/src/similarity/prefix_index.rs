//! Finds which of some texts may be similar to another one, by their prefixes
//! ([`super::prefix`]): simhash_clusters asks it where many different texts have one fingerprint.
//! Every text that is similar enough is found, and of the others few.
//!
//! N-grams that two prefixes have in common are counted. All others that the texts have in common are
//! beyond the prefix that ends first in the order of n-grams, so they are at most as many as that
//! text has n-grams beyond its prefix.

use super::prefix::{Least, Parts, reserve};
use crate::error::Error;

/// Bytes that an n-gram of a prefix takes, and those that a text takes besides.
const BYTES: (usize, usize) = (
    size_of::<Posting>() + size_of::<u32>(),
    size_of::<Parts>() + 2 * size_of::<u32>(),
);
/// Bytes that are used at most: numbers of postings have 32 bits.
const MOST: usize = BYTES.0 << 31;
/// Number of n-grams of a prefix between two pauses.
const CHECKED_EVERY: usize = 64;
/// Marks, in a posting, an n-gram that is in the long part of a prefix only.
const LONG_ONLY: u64 = 1 << 31;

/// An n-gram of a text: 32 bits of its hash, whether it is in the long part only, and the text's
/// number.
type Posting = u64;

fn ngram(posting: Posting) -> u32 {
    (posting >> u32::BITS) as u32
}

/// The prefixes of as many texts as memory holds. Texts have numbers from 0 on, in the order in which
/// they are added.
pub struct PrefixIndex {
    least: Least,
    memory: usize,
    /// In order, once the index is sealed.
    postings: Vec<Posting>,
    /// For each value of the highest bits of an n-gram, the number of postings before it.
    starts: Vec<u32>,
    texts: Vec<Parts>,
    /// Number of n-grams that each text has in common with the one that is looked for.
    common: Vec<u32>,
    /// The texts that have some.
    found: Vec<u32>,
}

impl PrefixIndex {
    /// Creates one without texts, for `memory` bytes.
    pub fn new(least: Least, memory: usize) -> Self {
        Self {
            least,
            memory: memory.min(MOST),
            postings: Vec::new(),
            starts: Vec::new(),
            texts: Vec::new(),
            common: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Removes all texts.
    pub fn clear(&mut self) {
        self.postings.clear();
        self.texts.clear();
        self.common.clear();
    }

    /// Adds a text of `size` n-grams with its prefix; returns false where it has no room, which it
    /// has for one text at least.
    pub fn add(&mut self, size: u32, prefix: &[u32]) -> Result<bool, Error> {
        let postings = self.postings.len() + prefix.len();
        let bytes = postings * BYTES.0 + (self.texts.len() + 1) * BYTES.1;
        if bytes > self.memory && !self.texts.is_empty() {
            return Ok(false);
        }
        let number = self.texts.len() as u64;
        let parts = self.parts(size);
        reserve(&mut self.texts, 1)?;
        reserve(&mut self.common, 1)?;
        self.texts.push(parts);
        self.common.push(0);
        reserve(&mut self.postings, prefix.len())?;
        let (short, rest) = prefix.split_at(parts.short as usize);
        for (ngrams, mark) in [(short, 0), (rest, LONG_ONLY)] {
            let posting = |ngram: &u32| u64::from(*ngram) << u32::BITS | mark | number;
            self.postings.extend(ngrams.iter().map(posting));
        }
        Ok(true)
    }

    /// A text without n-grams has no prefix.
    fn parts(&self, size: u32) -> Parts {
        match size {
            0 => Parts {
                size,
                short: 0,
                long: 0,
            },
            _ => self.least.parts(size),
        }
    }

    /// Puts the texts that were added in order, after which they can be found.
    pub fn seal(&mut self, check_interrupts: &mut dyn FnMut()) -> Result<(), Error> {
        self.postings.sort_unstable_by(|a, b| {
            check_interrupts();
            a.cmp(b)
        });
        let count = self.postings.len().next_power_of_two();
        self.starts.clear();
        reserve(&mut self.starts, count + 1)?;
        for (number, posting) in (0..).zip(&self.postings) {
            let bucket = bucket(ngram(*posting), count);
            // The buckets that are empty begin here, too.
            self.starts
                .resize((bucket + 1).max(self.starts.len()), number);
        }
        self.starts.resize(count + 1, self.postings.len() as u32);
        Ok(())
    }

    /// Calls `each` with every text that may be similar to one of `size` n-grams with this prefix,
    /// which may be one of them.
    pub fn find(
        &mut self,
        size: u32,
        prefix: &[u32],
        check_interrupts: &mut dyn FnMut(),
        mut each: impl FnMut(u32),
    ) -> Result<(), Error> {
        let parts = self.parts(size);
        for (ngrams, at) in prefix
            .chunks(CHECKED_EVERY)
            .zip((0..).step_by(CHECKED_EVERY))
        {
            check_interrupts();
            for (ngram, at) in ngrams.iter().zip(at..) {
                self.count(*ngram, at < parts.short)?;
            }
        }
        for number in &self.found {
            let common = std::mem::take(&mut self.common[*number as usize]);
            if may_be_similar(self.least, self.texts[*number as usize], parts, common) {
                each(*number);
            }
        }
        self.found.clear();
        Ok(())
    }

    /// Counts an n-gram of the text that is looked for. Of two texts the smaller one needs its short
    /// part only, so an n-gram that is in the long part only, in both texts, counts for nothing.
    fn count(&mut self, wanted: u32, is_short: bool) -> Result<(), Error> {
        let bucket = bucket(wanted, self.starts.len() - 1);
        let range = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
        for posting in &self.postings[range] {
            if ngram(*posting) != wanted {
                continue;
            }
            if posting & LONG_ONLY != 0 && !is_short {
                break;
            }
            let number = *posting as u32 & !(LONG_ONLY as u32);
            let common = &mut self.common[number as usize];
            if *common == 0 {
                reserve(&mut self.found, 1)?;
                self.found.push(number);
            }
            *common += 1;
        }
        Ok(())
    }
}

/// Returns where a directory of `count` entries, a power of two, has an n-gram.
fn bucket(ngram: u32, count: usize) -> usize {
    ((u64::from(ngram) * count as u64) >> u32::BITS) as usize
}

/// Returns whether texts can be similar that have `common` n-grams of their prefixes in common, or
/// fewer: n-grams whose 32 bits are equal count as common.
fn may_be_similar(least: Least, a: Parts, b: Parts, common: u32) -> bool {
    let (small, large) = if a.size <= b.size { (a, b) } else { (b, a) };
    let beyond = (small.size - small.short).max(large.size - large.long);
    least.allows((common + beyond).min(small.size), small.size, large.size)
}

#[cfg(test)]
mod tests {
    use super::super::letters::Letters;
    use super::super::ngram_set::{NgramSet, Scratch, Similarity};
    use super::super::prefix::PrefixMaker;
    use super::*;
    use crate::text::ngrams::GramLengths;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const N: usize = 5;

    /// The pairs of texts that the index finds, by its blocks of so much memory.
    fn found(letters: &[Letters], least: Least, memory: usize) -> HashSet<(usize, usize)> {
        let mut maker = PrefixMaker::new(least, GramLengths::all(N), memory).unwrap();
        letters
            .iter()
            .for_each(|letters| maker.count(letters, &mut || {}));
        let mut prefixes = Vec::new();
        for letters in letters {
            let mut prefix = Vec::new();
            let size = maker.prefix(letters, &mut prefix, &mut || {}).unwrap();
            prefixes.push((size, prefix));
        }
        let (mut index, mut pairs, mut next) = (PrefixIndex::new(least, memory), HashSet::new(), 0);
        while next < prefixes.len() {
            let first = next;
            index.clear();
            while next < prefixes.len() && index.add(prefixes[next].0, &prefixes[next].1).unwrap() {
                next += 1;
            }
            index.seal(&mut || {}).unwrap();
            for (other, (size, prefix)) in prefixes.iter().enumerate() {
                let each = |number| {
                    let is_new = pairs.insert((first + number as usize, other));
                    assert!(is_new, "{number} comes twice");
                };
                index.find(*size, prefix, &mut || {}, each).unwrap();
            }
        }
        pairs
    }

    fn expected(letters: &[Letters], least: f64) -> HashSet<(usize, usize)> {
        let (mut set, mut scratch, mut pairs) =
            (NgramSet::default(), Scratch::default(), HashSet::new());
        for (number, first) in letters.iter().enumerate() {
            set.fill(first, GramLengths::all(N), &mut scratch, &mut || {})
                .unwrap();
            for (other, second) in letters.iter().enumerate() {
                let similarity = set.compare(second, least, &mut scratch, &mut || {});
                if matches!(similarity, Ok(Similarity::Exactly(_))) {
                    pairs.insert((number, other));
                }
            }
        }
        pairs
    }

    fn all_letters(texts: &[String]) -> Vec<Letters> {
        let letters = |text: &String| Letters::new(text, &mut || {}).unwrap();
        texts.iter().map(letters).collect()
    }

    /// Texts that share a beginning; `words` words follow, drawn from a vocabulary.
    fn texts(count: usize, words: usize, common: usize) -> Vec<String> {
        let mut x = 1u64;
        let mut word = move || {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            format!("{:x} ", ((x >> 33) % 2000 + 70_000) * 7919)
        };
        let common: String = (0..common).map(|_| word()).collect();
        (0..count)
            .map(|_| {
                let own: String = (0..words).map(|_| word()).collect();
                format!("{common}{own}")
            })
            .collect()
    }

    #[test]
    fn different_texts_are_not_found() {
        for common in [0, 70] {
            let letters = all_letters(&texts(300, 100 - common, common));
            let pairs = found(&letters, Least::new(0.8).unwrap(), 1 << 18);
            let others = pairs.iter().filter(|(a, b)| a != b).count();
            assert!(others < 300, "{others} of {} pairs", 300 * 299);
        }
    }

    proptest! {
        #[test]
        fn every_similar_text_is_found(
            parts in prop::collection::vec("[ab中文か𠀀]{0,12}|[a-f]{0,40}", 1..6),
            picks in prop::collection::vec(prop::collection::vec(0usize..6, 1..8), 1..40),
            tails in prop::collection::vec("[a-z中]{0,9}", 1..40),
            exact in 0usize..1000, memory in 0usize..20_000,
        ) {
            let text = |picks: &Vec<usize>| -> String { picks.iter().map(|i| parts[i % parts.len()].as_str()).collect() };
            let texts: Vec<String> = picks.iter().zip(tails.iter().cycle()).map(|(picks, tail)| text(picks) + tail).collect();
            let letters = all_letters(&texts);
            // Also at the similarity of a pair, where rounding decides.
            let (a, b) = (exact % texts.len(), exact / 7 % texts.len());
            let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
            set.fill(&letters[a], GramLengths::all(N), &mut scratch, &mut || {}).unwrap();
            let pair = match set.compare(&letters[b], 0.0, &mut scratch, &mut || {}) {
                Ok(Similarity::Exactly(similarity)) if similarity > 0.0 => similarity,
                _ => 0.9,
            };
            for least in [0.05, 0.3, 0.5, 0.8, 1.0, pair, pair.next_up().min(1.0)] {
                let found = found(&letters, Least::new(least).unwrap(), memory);
                let missed: Vec<_> = expected(&letters, least).difference(&found).copied().collect();
                prop_assert!(missed.is_empty(), "least {}: {:?} missed", least, missed);
            }
        }
    }
}
