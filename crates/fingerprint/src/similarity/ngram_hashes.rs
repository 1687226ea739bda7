//! Hashes of a text's n-grams, a block at a time. [`super::ngram_set`] asks for them; two n-grams
//! of equal letters have equal hashes, whichever form their texts' letters have.

use super::letters::Letters;

/// Number of hashes of a block.
pub const BLOCK: usize = 64;
/// Number of blocks between two pauses.
const PAUSE: usize = 512;

/// Number of letters of an n-gram unless the caller says another.
const USUAL: usize = 5;

/// Two odd numbers without a pattern, the fractions of pi; the highest bit of the first is set, so
/// that no word makes a factor 0.
const START: u64 = 0xa409_3822_299f_31d1;
const FACTOR: u64 = 0xa458_fea3_f493_3d7f;

/// The n-grams of a text from a position on.
pub struct NgramHashes<'l> {
    letters: &'l Letters,
    n: usize,
    next: usize,
    count: usize,
    block: [u64; BLOCK],
}

impl<'l> NgramHashes<'l> {
    /// A text of fewer than `n` letters is one n-gram by itself; one without letters has none.
    pub fn new(letters: &'l Letters, n: usize) -> Self {
        let n = n.min(letters.count());
        let count = if n == 0 { 0 } else { letters.count() - n + 1 };
        Self {
            letters,
            n,
            next: 0,
            count,
            block: [0; BLOCK],
        }
    }

    /// Number of n-grams that are still to come.
    pub fn remaining(&self) -> usize {
        self.count - self.next
    }

    /// Returns the next hashes, or None after the last. Calls `pause` now and then: the caller may
    /// want to stop.
    pub fn next(&mut self, pause: &mut dyn FnMut()) -> Option<&[u64]> {
        if self.next == self.count {
            return None;
        }
        if (self.next / BLOCK).is_multiple_of(PAUSE) {
            pause();
        }
        let from = self.next;
        let some = BLOCK.min(self.remaining());
        self.next += some;
        let letters = from..from + some + self.n - 1;
        let block = &mut self.block[..some];
        match self.letters {
            Letters::Ascii(all) => hash_into(&all[letters], self.n, block),
            Letters::Wide(all) => hash_into(&all[letters], self.n, block),
        }
        Some(block)
    }
}

fn hash_into<T: Copy + Into<u32>>(letters: &[T], n: usize, hashes: &mut [u64]) {
    if n == USUAL {
        // The same as below, with a number of letters that the compiler knows.
        for (hash, ngram) in hashes.iter_mut().zip(letters.array_windows::<USUAL>()) {
            *hash = hash_of(ngram);
        }
    } else {
        for (hash, ngram) in hashes.iter_mut().zip(letters.windows(n)) {
            *hash = hash_of(ngram);
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
