//! The pairs of letters of a short text, from which the preset `adaptive` draws the bits that it
//! does not draw from n-grams. [`crate::builder`] asks for them. A short text has few n-grams of a
//! word's length, and a changed letter changes five of them: of its pairs only two.
//!
//! The size of a text, in quarters of a letter, says which bits are drawn from what: bit b from
//! n-grams when the text has at least [`SIZES`]`[b]`. So texts of nearly one length differ in few of
//! them, below 81 letters (33 Han characters) all bits are drawn from pairs, and from 395 letters
//! (158) all from n-grams.

use super::bag::PAIR;
use super::counter::ColumnFeatures;
use super::error::Error;
use super::hash::{FeatureHash, Width, bkdr_sum, bkdr_words};
use super::minwise::one_permutation::HashBins;
use super::text::ngrams::{is_letter, is_symbol};
use super::text::normal::{self, Normalize};
use super::text::other_scripts::{serbian_latin, simplified};
use super::text::scripts::{is_han, is_syllable};

/// Quarters of a letter that a character counts, by its script: a Han character says as much as two
/// letters and a half.
const LETTER: usize = 4;
const SYLLABLE: usize = 7;
const HAN: usize = 10;

/// The size from which each bit is drawn from n-grams: round(320 * 5^((i + 1/2) / 64)) for i from 0
/// to 63, dealt out so that each quarter of a fingerprint has as many of each kind at any size.
const SIZES: [u16; 64] = [
    324, 536, 886, 1465, 485, 801, 1325, 438, 725, 1198, 396, 655, 1084, 358, 593, 980, 332, 549,
    909, 1503, 497, 822, 1359, 449, 743, 1229, 406, 672, 1111, 367, 608, 1005, 341, 563, 932, 1541,
    510, 843, 1393, 461, 762, 1260, 417, 689, 1139, 377, 623, 1030, 349, 578, 956, 1580, 523, 864,
    1429, 473, 781, 1292, 427, 707, 1168, 386, 639, 1057,
];

/// The size from which no bit is drawn from pairs.
const LONG: usize = 1580;

/// Bytes at the front of a text that mostly show whether it is long, and of a step there.
const FRONT: usize = 2048;
const STEP: usize = 256;

/// A short text as its letters, with one space between words of an alphabet and around the text.
pub struct LetterPairs {
    letters: String,
    size: usize,
    /// Whether the last letter is one of Han, Hangul, Hiragana or Katakana, which have no words.
    wide: bool,
    /// Whether the text has nothing but symbols, each of which then stands by itself.
    symbols: bool,
}

impl LetterPairs {
    /// Reads a text; None for one that is too long for pairs. `buffer` is scratch space.
    pub fn of(
        text: &str,
        normalize: Normalize,
        buffer: &mut String,
        check_interrupts: &mut dyn FnMut(),
    ) -> Option<Self> {
        if is_long(text) {
            return None;
        }
        let mut read = |symbols| {
            // A blank at each end; what is longer than this grows.
            let mut letters = String::with_capacity(text.len().min(LONG) + 2);
            letters.push(' ');
            let mut pairs = LetterPairs {
                letters,
                size: 0,
                wide: false,
                symbols,
            };
            normal::for_each_chunk_as(normalize, text, buffer, check_interrupts, &mut |chunk| {
                pairs.chunk(chunk);
            });
            pairs
        };
        let mut pairs = read(false);
        if pairs.size == 0 {
            pairs = read(true);
        }
        if !pairs.wide && !pairs.letters.ends_with(' ') {
            pairs.letters.push(' ');
        }
        (pairs.size < LONG).then_some(pairs)
    }

    fn chunk(&mut self, normal: &str) {
        for c in normal.chars() {
            if self.size >= LONG {
                return;
            }
            if self.symbols {
                self.symbol(c);
            } else if c.is_ascii_alphanumeric() {
                self.letters.push(c);
                (self.size, self.wide) = (self.size + LETTER, false);
            } else if is_letter(c) {
                self.letter(c);
            } else if !self.wide && !self.letters.ends_with(' ') {
                self.letters.push(' ');
            }
        }
    }

    fn symbol(&mut self, c: char) {
        if is_symbol(c) {
            self.letters.push(c);
            (self.size, self.wide) = (self.size + LETTER, true);
        }
    }

    fn letter(&mut self, c: char) {
        let size = size_of(c);
        self.size += size;
        self.wide = size > LETTER;
        if self.wide {
            if self.letters.len() > 1 && self.letters.ends_with(' ') {
                self.letters.pop();
            }
            self.letters.push(simplified(c));
            return;
        }
        match serbian_latin(c) {
            Some(latin) => self.letters.push_str(latin),
            None => self.letters.push(c),
        }
    }

    /// The bits that are drawn from n-grams; the others are drawn from pairs.
    pub fn bits_of_ngrams(&self) -> u64 {
        let bit = |bits, &from: &u16| bits << 1 | u64::from(self.size >= usize::from(from));
        SIZES.iter().rev().fold(0, bit)
    }

    /// Adds the pairs, and by themselves Han characters, syllables and the symbols of a text without
    /// letters. `key` begins with the
    /// column's prefix.
    pub fn add<const W: usize>(
        &self,
        mut to: ColumnFeatures<'_, W>,
        key: &mut Vec<u8>,
    ) -> Result<(), Error> {
        key.truncate(to.plan.prefix.len());
        key.push(PAIR);
        let start = key.len();
        if let (Some(bins), FeatureHash::Bkdr) = (&mut to.bins, to.plan.hash) {
            self.add_sums(bins, to.width, bkdr_sum(0, &*key));
            return Ok(());
        }
        let mut before = 0;
        for (at, c) in self.letters.char_indices() {
            let end = at + c.len_utf8();
            let begin = if self.is_alone(c) { at } else { before };
            if at > 0 {
                key.truncate(start);
                key.extend_from_slice(&self.letters.as_bytes()[begin..end]);
                to.add(key, 1.0)?;
            }
            before = at;
        }
        Ok(())
    }

    /// The same into bins, where BKDRHash hashes: `start` is its sum of what stands in front.
    fn add_sums<const W: usize>(&self, bins: &mut [HashBins; W], width: Width, start: u64) {
        let mut before = start;
        for (at, c) in self.letters.char_indices() {
            let bytes = &self.letters.as_bytes()[at..at + c.len_utf8()];
            let alone = bkdr_sum(start, bytes);
            if at > 0 {
                let sum = match self.is_alone(c) {
                    true => alone,
                    false => bkdr_sum(before, bytes),
                };
                let words = bkdr_words::<W>(width, sum);
                bins.iter_mut()
                    .zip(words)
                    .for_each(|(bins, word)| bins.add(word));
            }
            before = alone;
        }
    }

    fn is_alone(&self, c: char) -> bool {
        self.symbols || size_of(c) > LETTER
    }
}

fn size_of(c: char) -> usize {
    match c {
        '\0'..='\u{10ff}' => LETTER,
        _ if is_han(c) => HAN,
        _ if is_syllable(c) => SYLLABLE,
        _ => LETTER,
    }
}

/// Returns whether the letters that are letters in any normal form, whatever stands beside them, make
/// the text too long for pairs: then it need not be read.
fn is_long(text: &str) -> bool {
    // Hardly a byte counts more than a letter.
    if LETTER * text.len() < LONG {
        return false;
    }
    let front = &text.as_bytes()[..text.len().min(FRONT)];
    let mut least = 0;
    for step in front.chunks(STEP) {
        least += usize::from(step.iter().copied().map(least_size).sum::<u16>());
        if least >= LONG {
            return true;
        }
    }
    let mut size = 0;
    text.chars().any(|c| {
        size += match c {
            '\0'..='\x7f' => LETTER * usize::from(c.is_ascii_alphanumeric()),
            '\u{4e00}'..='\u{9fff}' => HAN,
            _ => (normal::simple_form(c).filter(|&form| is_letter(form))).map_or(0, size_of),
        };
        size >= LONG
    })
}

/// What a byte says without its neighbours: whether it is an ASCII letter, or begins a character from
/// U+5000 to U+9FFF, all of which are Han. Of a step the sum fits.
fn least_size(byte: u8) -> u16 {
    let is_letter = u16::from(byte.is_ascii_alphanumeric());
    let begins_han = u16::from(matches!(byte, 0xe5..=0xe9));
    LETTER as u16 * is_letter + HAN as u16 * begins_han
}
