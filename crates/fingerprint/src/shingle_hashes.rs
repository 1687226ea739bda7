//! The hashes of a text's character n-grams, each worked out from sums over the bytes so far (as
//! Rabin and Karp search for strings) instead of from its own bytes. They are what
//! [`super::hash::FeatureHash::Bkdr`] gives, several times faster. Only sets
//! of n-grams, without weights, are hashed like this.

use super::bag::NGRAM;
use super::hash::{BKDR_MULTIPLIER, FeatureHash, Width, bkdr_sum, bkdr_words};
use super::minwise::one_permutation::HashBins;
use super::options::plan::ColumnPlan;
use super::options::presets::{Features, Rules};
use super::text::ngrams::{GramLengths, is_letter};
use super::text::normal::{self, Normalize};
use super::text::words::LETTERS;

/// Letters of the longest n-gram.
const MOST_LETTERS: usize = 16;
/// Fewest equal letters that are a run.
const RUN: usize = 3;

/// Bytes of ASCII text whose letters are gathered at a time.
const BLOCK: usize = 256;

/// The multiplier to the power of each length of an n-gram in bytes, which is at most four times
/// that in letters. A power of two, so that a mask is all that an index needs.
static POWERS: [u64; 8 * MOST_LETTERS] = {
    let mut powers = [1; 8 * MOST_LETTERS];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = BKDR_MULTIPLIER.wrapping_mul(powers[i - 1]);
        i += 1;
    }
    powers
};

/// The n-grams to hash, and how they are hashed.
#[derive(Clone, Copy, Debug)]
pub struct Shingling<'a> {
    /// None longer than 16.
    pub lengths: GramLengths,
    pub normalize: Normalize,
    /// Leave out n-grams of three or more equal letters.
    pub drop_runs: bool,
    pub width: Width,
    /// The column's.
    pub prefix: &'a [u8],
}

/// The sum over the letters so far, and the bytes that they have.
#[derive(Clone, Copy, Default)]
struct PrefixSum {
    sum: u64,
    bytes: usize,
}

/// Position of a walk over the letters of a text.
#[derive(Clone, Copy, Default)]
struct Position {
    now: PrefixSum,
    letters: usize,
    /// The last letter, and how often it stands there in a row.
    last: char,
    equal: usize,
    /// Whether there was an n-gram.
    found: bool,
    /// Whether an n-gram was left out.
    skipped: bool,
}

impl Position {
    /// Passes a letter. Returns where the n-gram of `length` letters that ends with it begins; None
    /// when there is none, or it is left out.
    #[inline(always)]
    fn pass(
        &mut self,
        letter: char,
        utf8: &[u8],
        length: usize,
        drop_runs: bool,
        starts: &mut [PrefixSum; MOST_LETTERS],
    ) -> Option<PrefixSum> {
        starts[self.letters % MOST_LETTERS] = self.now;
        self.now.sum = bkdr_sum(self.now.sum, utf8);
        self.now.bytes += utf8.len();
        self.letters += 1;
        self.equal = if letter == self.last {
            self.equal + 1
        } else {
            1
        };
        self.last = letter;
        if self.letters < length {
            return None;
        }
        self.found = true;
        if self.equal >= length && length >= RUN && drop_runs {
            self.skipped = true;
            return None;
        }
        Some(starts[(self.letters - length) % MOST_LETTERS])
    }
}

struct ShingleWalk<'a, const W: usize> {
    shingling: Shingling<'a>,
    /// The sum of what stands in front of each n-gram.
    prefix: u64,
    bins: &'a mut [HashBins; W],
    position: Position,
    /// Where each of the last letters begins: letter i at i modulo the length.
    starts: [PrefixSum; MOST_LETTERS],
}

impl ColumnPlan {
    /// Returns how to hash the n-grams when they are its only features and hashed by BKDRHash.
    pub fn shingling(&self, rules: &Rules, width: Width) -> Option<Shingling<'_>> {
        let Features {
            words,
            pairs,
            ngrams,
            ..
        } = rules.features;
        let only_ngrams = ngrams > 0.0 && words == 0.0 && pairs == 0.0;
        (only_ngrams && self.hash == FeatureHash::Bkdr).then_some(Shingling {
            lengths: rules.ngram,
            normalize: rules.normalize,
            drop_runs: rules.drop_runs,
            width,
            prefix: &self.prefix,
        })
    }
}

impl Shingling<'_> {
    /// Adds the n-grams of a text; true when some were left out. A text that is shorter than an
    /// n-gram is one. `buffer` is scratch space.
    pub fn add<const W: usize>(
        self,
        text: &str,
        bins: &mut [HashBins; W],
        buffer: &mut String,
        check_interrupts: &mut dyn FnMut(),
    ) -> bool {
        let prefix = self.prefix.iter().chain(&[NGRAM]);
        let mut walk = ShingleWalk {
            shingling: self,
            prefix: bkdr_sum(0, prefix),
            bins,
            position: Position::default(),
            starts: [PrefixSum::default(); MOST_LETTERS],
        };
        let add = &mut |chunk: &str| walk.chunk(chunk);
        normal::for_each_chunk_as(self.normalize, text, buffer, check_interrupts, add);
        walk.finish()
    }
}

impl<const W: usize> ShingleWalk<'_, W> {
    fn chunk(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let odd = match rest.is_ascii() {
                true => None,
                false => rest.bytes().position(|byte| !byte.is_ascii()),
            };
            let (ascii, others) = rest.split_at(odd.unwrap_or(rest.len()));
            self.ascii(ascii.as_bytes());
            let end = others.find(|c: char| c.is_ascii());
            let (others, after) = others.split_at(end.unwrap_or(others.len()));
            self.others(others);
            rest = after;
        }
    }

    /// The letters are gathered first, without a branch: whether a byte is one cannot be foreseen.
    fn ascii(&mut self, text: &[u8]) {
        let length = self.shingling.lengths.others;
        let mut letters = [0; BLOCK];
        for block in text.chunks(BLOCK) {
            let mut count = 0;
            for &byte in block {
                letters[count] = byte;
                count += usize::from(LETTERS[usize::from(byte)]);
            }
            let letters = &letters[..count];
            let is_short = count < 2 * MOST_LETTERS;
            // The n-grams that end with the first letters may begin in front of the block.
            for &byte in if is_short {
                letters
            } else {
                &letters[..length]
            } {
                self.letter(char::from(byte), &[byte], length);
            }
            if !is_short {
                self.roll(letters);
            }
        }
    }

    /// Adds the n-grams that lie in these letters, except for the first: each is the one before with a
    /// letter less in front and one more at its end.
    fn roll(&mut self, letters: &[u8]) {
        let Shingling {
            lengths, drop_runs, ..
        } = self.shingling;
        let length = lengths.others;
        let (power, can_be_run) = (POWERS[length], drop_runs && length >= RUN);
        let prefix = self.prefix.wrapping_mul(power);
        let mut position = self.position;
        let mut sum = bkdr_sum(0, &letters[..length]);
        let mut last = letters[length - 1];
        for (first, &letter) in letters.iter().zip(&letters[length..]) {
            let left = u64::from(*first).wrapping_mul(power);
            sum = bkdr_sum(sum, &[letter]).wrapping_sub(left);
            position.equal = if letter == last {
                position.equal + 1
            } else {
                1
            };
            last = letter;
            match can_be_run && position.equal >= length {
                true => position.skipped = true,
                false => self.add_sum(prefix.wrapping_add(sum)),
            }
        }
        position.last = char::from(last);
        position.letters += letters.len() - length;
        // Sums matter only by their differences: they start again before the letters that are kept.
        position.now = PrefixSum::default();
        let kept = &letters[letters.len() - MOST_LETTERS..];
        for (number, letter) in (position.letters - MOST_LETTERS..).zip(kept) {
            self.starts[number % MOST_LETTERS] = position.now;
            position.now.sum = bkdr_sum(position.now.sum, [letter]);
            position.now.bytes += 1;
        }
        self.position = position;
    }

    fn others(&mut self, text: &str) {
        let mut utf8 = [0; 4];
        for letter in text.chars().filter(|&c| is_letter(c)) {
            let length = self.shingling.lengths.for_letter(letter);
            self.letter(letter, letter.encode_utf8(&mut utf8).as_bytes(), length);
        }
    }

    /// Passes a letter, and adds the n-gram of `length` letters that ends with it.
    #[inline(always)]
    fn letter(&mut self, letter: char, utf8: &[u8], length: usize) {
        let drop_runs = self.shingling.drop_runs;
        let starts = &mut self.starts;
        if let Some(from) = self.position.pass(letter, utf8, length, drop_runs, starts) {
            self.gram(self.position.now, from);
        }
    }

    /// Adds the letters between two places.
    #[inline(always)]
    fn gram(&mut self, to: PrefixSum, from: PrefixSum) {
        let power = POWERS[(to.bytes - from.bytes) % POWERS.len()];
        let before = self.prefix.wrapping_sub(from.sum);
        self.add_sum(to.sum.wrapping_add(before.wrapping_mul(power)));
    }

    /// Adds the n-gram of this sum.
    #[inline(always)]
    fn add_sum(&mut self, sum: u64) {
        let words = bkdr_words::<W>(self.shingling.width, sum);
        for (bins, word) in self.bins.iter_mut().zip(words) {
            bins.add(word);
        }
    }

    fn finish(mut self) -> bool {
        let Position {
            now,
            letters,
            equal,
            found,
            skipped,
            ..
        } = self.position;
        if found || letters == 0 {
            return skipped;
        }
        let is_run = letters >= RUN && equal == letters;
        if !(is_run && self.shingling.drop_runs) {
            self.gram(now, PrefixSum::default());
        }
        is_run && self.shingling.drop_runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Content, FingerprintBuilder};
    use crate::options::grammar::parse_text;
    use crate::options::plan;
    use crate::options::presets;
    use proptest::prelude::*;

    /// The least hash of each bin, in the order of the bins, by hashing each n-gram as it is shown.
    fn shown<const W: usize>(plan: &ColumnPlan, width: Width, text: &str) -> [HashBins; W] {
        let mut builder = FingerprintBuilder::<W>::showing(width);
        builder.begin();
        builder
            .column(plan, Content::Text(text), &mut || {})
            .unwrap();
        let mut bins = [HashBins::EMPTY; W];
        for feature in builder.into_features() {
            let mut key = plan.prefix.clone();
            key.push(NGRAM);
            key.extend_from_slice(feature.feature.as_bytes());
            let words = plan.hash.words::<W>(width, &key);
            assert_eq!(words[0], feature.hash);
            bins.iter_mut()
                .zip(words)
                .for_each(|(bins, word)| bins.add(word));
        }
        bins
    }

    proptest! {
        #[test]
        fn hashes_are_those_of_the_bytes(
            text in prop_oneof![
                "[aab0中文か한𠀀，。 ]{0,60}",
                "([abc ]{0,700}|a{0,40}|[中文か]{0,20}){0,6}",
            ],
            preset in 0usize..2, ngram in prop::option::of(1..=16),
            prefix in "[a-z]{0,20}",
        ) {
            let options = match ngram {
                Some(n) => format!(r#"{{"ngram": {n}}}"#),
                None => "{}".to_owned(),
            };
            let preset = presets::find(Some(["shingles", "record"][preset])).unwrap();
            let mut plan = plan::text(preset, &parse_text(&options, &mut || {}).unwrap()).unwrap();
            plan.prefix = prefix.into_bytes();
            for width in [Width::W32, Width::W64] {
                let mut builder = FingerprintBuilder::<1>::new(width);
                builder.begin();
                builder.column(&plan, Content::Text(&text), &mut || {}).unwrap();
                let bins = shown::<1>(&plan, width, &text);
                let bits = (!bins[0].is_empty()).then(|| [width.narrow(bins[0].bits())]);
                prop_assert_eq!(builder.fingerprint(), bits);
            }
            let mut wide = FingerprintBuilder::<2>::new(Width::W64);
            wide.begin();
            wide.column(&plan, Content::Text(&text), &mut || {}).unwrap();
            let bins = shown::<2>(&plan, Width::W64, &text);
            prop_assert_eq!(wide.fingerprint(), (!bins[0].is_empty()).then(|| bins.map(|b| b.bits())));
        }
    }

    /// Chunks of the normal form end within the text, and ASCII letters come in long runs and
    /// short.
    #[test]
    fn long_texts_have_the_hashes_of_their_bytes() {
        let preset = presets::find(Some("shingles")).unwrap();
        let plan = plan::text(preset, &parse_text("{}", &mut || {}).unwrap()).unwrap();
        let gap = |n: u32| {
            if n.is_multiple_of(37) {
                "，路灯 "
            } else {
                " "
            }
        };
        let text: String = (0..40_000u32).map(|n| format!("{n:x}{}", gap(n))).collect();
        let mut builder = FingerprintBuilder::<1>::new(Width::W64);
        builder.begin();
        let mut pauses = 0;
        let content = Content::Text(&text);
        builder.column(&plan, content, &mut || pauses += 1).unwrap();
        assert!(pauses > 2);
        let bins = shown::<1>(&plan, Width::W64, &text);
        assert_eq!(builder.fingerprint(), Some([bins[0].bits()]));
    }
}
