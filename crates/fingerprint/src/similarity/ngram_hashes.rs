//! Hashes of a text's n-grams, a block at a time. [`super::ngram_set`] asks for them; two n-grams
//! of equal letters have equal hashes, whichever form their texts' letters have.

use super::letters::Letters;
use crate::text::ngrams::GramLengths;
use std::ops::Range;

/// Number of hashes of a block.
pub const BLOCK: usize = 64;
/// Number of blocks between two pauses.
const CHECKED_EVERY: usize = 512;

/// The usual numbers of letters of an n-gram: constants, so that the compiler unrolls the loops over them.
const SHINGLE: usize = GramLengths::SHINGLES.others;
const PASSAGE: usize = GramLengths::PASSAGES.others;
const HAN: usize = GramLengths::PASSAGES.han;
const SYLLABLES: usize = GramLengths::PASSAGES.syllables;

/// Two odd numbers without a pattern, the fractions of pi; the highest bit of the first is set, so
/// that no word makes a factor 0.
const START: u64 = 0xa409_3822_299f_31d1;
const FACTOR: u64 = 0xa458_fea3_f493_3d7f;

/// The n-grams of a text from a position on.
pub struct NgramHashes<'l> {
    letters: &'l Letters,
    lengths: Lengths,
    /// The next n-gram of one length, or the letter that the next one ends with.
    next: usize,
    count: usize,
    block: [u64; BLOCK],
    /// Letters of each n-gram of the block.
    sizes: [u8; BLOCK],
}

#[derive(Clone, Copy)]
enum Lengths {
    /// All n-grams have one length.
    One(usize),
    ByScript(GramLengths),
}

impl<'l> NgramHashes<'l> {
    /// A text that is too short for an n-gram is one by itself; one without letters has none.
    pub fn new(letters: &'l Letters, lengths: GramLengths) -> Self {
        let count = letters.count();
        let lengths = match letters {
            Letters::Wide(_) if !lengths.is_one() => match lengths.has_ngram(letters) {
                true => Lengths::ByScript(lengths),
                false => Lengths::One(count),
            },
            _ => Lengths::One(lengths.others.min(count)),
        };
        let size = match lengths {
            Lengths::One(n) => n.min(u8::MAX.into()) as u8,
            Lengths::ByScript(_) => 0,
        };
        Self {
            letters,
            lengths,
            next: 0,
            count: match lengths {
                Lengths::One(0) => 0,
                Lengths::One(n) => count - n + 1,
                Lengths::ByScript(_) => count,
            },
            block: [0; BLOCK],
            sizes: [size; BLOCK],
        }
    }

    /// How many n-grams are still to come, at most.
    pub fn remaining(&self) -> usize {
        self.count - self.next
    }

    /// Returns the next hashes, or None after the last. Calls `check_interrupts` now and then: the caller may
    /// want to stop.
    pub fn next(&mut self, check_interrupts: &mut dyn FnMut()) -> Option<&[u64]> {
        self.next_sized(check_interrupts).map(|(hashes, _)| hashes)
    }

    /// As [`Self::next`], with the number of letters of each n-gram (255 where it is more).
    pub fn next_sized(&mut self, check_interrupts: &mut dyn FnMut()) -> Option<(&[u64], &[u8])> {
        if self.next == self.count {
            return None;
        }
        if (self.next / BLOCK).is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        let from = self.next;
        let some = BLOCK.min(self.remaining());
        self.next += some;
        let block = &mut self.block[..some];
        let found = match (self.lengths, self.letters) {
            (Lengths::One(n), Letters::Ascii(all)) => {
                hash_into(&all[from..from + some + n - 1], n, block);
                some
            }
            (Lengths::One(n), Letters::Wide(all)) => {
                hash_into(&all[from..from + some + n - 1], n, block);
                some
            }
            (Lengths::ByScript(lengths), Letters::Wide(all)) => {
                hash_by_script(all, from..from + some, lengths, (block, &mut self.sizes))
            }
            // `new` gives these one length.
            (Lengths::ByScript(_), Letters::Ascii(_)) => 0,
        };
        Some((&self.block[..found], &self.sizes[..found]))
    }
}

impl GramLengths {
    /// Returns whether a letter of a text ends an n-gram.
    pub fn has_ngram(&self, letters: &Letters) -> bool {
        match letters {
            Letters::Ascii(all) => self.others <= all.len(),
            Letters::Wide(all) => (1..)
                .zip(all)
                .any(|(count, letter)| self.for_code(*letter) <= count),
        }
    }
}

/// Hashes the n-grams that end with these letters, and returns how many there are.
fn hash_by_script(
    letters: &[u32],
    ends: Range<usize>,
    lengths: GramLengths,
    (hashes, sizes): (&mut [u64], &mut [u8]),
) -> usize {
    let mut count = 0;
    for end in ends {
        if let Some(first) = (end + 1).checked_sub(lengths.for_code(letters[end])) {
            let ngram = &letters[first..=end];
            // The same again, with lengths that the compiler knows.
            hashes[count] = match ngram.len() {
                HAN => hash_of(&ngram[..HAN]),
                SYLLABLES => hash_of(&ngram[..SYLLABLES]),
                PASSAGE => hash_of(&ngram[..PASSAGE]),
                _ => hash_of(ngram),
            };
            sizes[count] = (end + 1 - first) as u8;
            count += 1;
        }
    }
    count
}

fn hash_into<T: Copy + Into<u32>>(letters: &[T], n: usize, hashes: &mut [u64]) {
    fn each<const N: usize, T: Copy + Into<u32>>(letters: &[T], hashes: &mut [u64]) {
        for (hash, ngram) in hashes.iter_mut().zip(letters.array_windows::<N>()) {
            *hash = hash_of(ngram);
        }
    }
    match n {
        SHINGLE => each::<SHINGLE, T>(letters, hashes),
        PASSAGE => each::<PASSAGE, T>(letters, hashes),
        _ => {
            for (hash, ngram) in hashes.iter_mut().zip(letters.windows(n)) {
                *hash = hash_of(ngram);
            }
        }
    }
}

/// Packs three letters of at most 21 bits into a word, and multiplies two words at a time. Both
/// factors have their highest bit set, which no word reaches.
#[inline(always)]
fn hash_of<T: Copy + Into<u32>>(ngram: &[T]) -> u64 {
    ngram.chunks(6).fold(START, |hash, letters| {
        let (first, second) = letters.split_at(letters.len().min(3));
        let product = u128::from(hash ^ packed(first)) * u128::from(FACTOR ^ packed(second));
        product as u64 ^ (product >> 64) as u64
    })
}

#[inline(always)]
fn packed<T: Copy + Into<u32>>(letters: &[T]) -> u64 {
    letters
        .iter()
        .fold(0, |word, letter| word << 21 | u64::from((*letter).into()))
}
