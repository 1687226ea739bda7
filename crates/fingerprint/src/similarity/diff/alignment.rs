//! Which words of two texts differ, for [`super`] and for [`crate::same`]. The crate `similar` compares stretches of words, of a bounded
//! length; longer ones are cut where four words in a row stand once in each text (patience diff),
//! and what is too long then is one hunk. So each call of the crate ends soon, and all together,
//! whatever the texts: the limits are numbers of words, not a time.

use super::CHECKED_EVERY;
use super::cutting::Words;
use crate::error::{Error, check_memory};
use crate::hash::packed;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

/// Words of both texts that are compared in one call, which takes a tenth of a second at worst.
pub const COMPARED: usize = 1 << 15;

/// Stretches of more words than these share `MOST_COMPARED`: what the crate does for a word grows with
/// the stretch.
const SHORT: usize = 1 << 10;

/// Words of all longer stretches that are compared, which take a second at worst.
pub const MOST_COMPARED: usize = 1 << 18;

/// Bytes that the crate takes for that many words, at most.
const MEMORY_OF_A_CALL: usize = 1 << 24;

/// Words in a row that mark the same place of two texts.
const ANCHOR: usize = 4;

/// Words of each text that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    pub a: Range<usize>,
    pub b: Range<usize>,
    /// Too long to be compared by words.
    pub coarse: bool,
}

impl Hunk {
    pub fn new(a: Range<usize>, b: Range<usize>) -> Self {
        let coarse = false;
        Self { a, b, coarse }
    }

    /// Whether another one begins where this one ends.
    fn touches(&self, next: &Hunk) -> bool {
        self.a.end == next.a.start && self.b.end == next.b.start
    }

    fn join(&mut self, next: &Hunk) {
        (self.a.end, self.b.end) = (next.a.end, next.b.end);
        self.coarse |= next.coarse;
    }
}

/// Finds the words that differ.
pub fn align(a: &Words, b: &Words, check_interrupts: &mut dyn FnMut()) -> Result<Vec<Hunk>, Error> {
    let mut numbers = Numbers::new(a.len() + b.len())?;
    let in_a = numbers.number(a.iter(), check_interrupts)?;
    let in_b = numbers.number(b.iter(), check_interrupts)?;
    drop(numbers);
    let hunks = align_numbers(&in_a, &in_b, check_interrupts)?;
    Ok(of_whole_characters(hunks, a, b))
}

/// Widens hunks so that none begins or ends within a character: between the digits of ½, of which
/// both texts have the first.
fn of_whole_characters(hunks: Vec<Hunk>, a: &Words, b: &Words) -> Vec<Hunk> {
    let splits = |a_at, b_at| a.splits_character(a_at) || b.splits_character(b_at);
    let mut whole: Vec<Hunk> = Vec::with_capacity(hunks.len());
    let mut hunks = hunks.into_iter().peekable();
    while let Some(mut hunk) = hunks.next() {
        // The words between two hunks are equal, and as many in both texts.
        let floor = whole.last().map_or(0, |last| last.a.end);
        while hunk.a.start > floor && splits(hunk.a.start, hunk.b.start) {
            (hunk.a.start, hunk.b.start) = (hunk.a.start - 1, hunk.b.start - 1);
        }
        let ceiling = hunks.peek().map_or(a.len(), |next| next.a.start);
        while hunk.a.end < ceiling && splits(hunk.a.end, hunk.b.end) {
            (hunk.a.end, hunk.b.end) = (hunk.a.end + 1, hunk.b.end + 1);
        }
        match whole.last_mut() {
            Some(last) if last.touches(&hunk) => last.join(&hunk),
            _ => whole.push(hunk),
        }
    }
    whole
}

/// Finds the words that differ, of which equal ones have equal numbers.
pub fn align_numbers(
    in_a: &[u32],
    in_b: &[u32],
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Hunk>, Error> {
    let mut aligned = Alignment {
        a: in_a,
        b: in_b,
        left: MOST_COMPARED,
        hunks: Vec::new(),
    };
    let (mut from_a, mut from_b) = (0, 0);
    if in_a.len() + in_b.len() > COMPARED {
        check_memory(MEMORY_OF_A_CALL)?;
        for (at_a, at_b) in anchors(in_a, in_b, check_interrupts)? {
            check_interrupts();
            aligned.stretch(from_a..at_a, from_b..at_b)?;
            (from_a, from_b) = (at_a + 1, at_b + 1);
        }
    }
    aligned.stretch(from_a..in_a.len(), from_b..in_b.len())?;
    Ok(aligned.hunks)
}

/// Numbers of different words, in their order, found by a hash.
pub struct Numbers<'t> {
    key: u64,
    /// The number that has each slot, plus one.
    slots: Vec<u32>,
    /// By number, with a short word as one integer, so that its letters need not be read.
    words: Vec<(u64, &'t str)>,
}

impl<'t> Numbers<'t> {
    /// Room for that many words.
    pub fn new(words: usize) -> Result<Self, Error> {
        let mut known = Vec::new();
        known.try_reserve(words).map_err(|_| Error::OutOfMemory)?;
        Ok(Self {
            key: key(),
            slots: filled((2 * words).next_power_of_two())?,
            words: known,
        })
    }

    /// Gives each word a number.
    pub fn number(
        &mut self,
        words: impl ExactSizeIterator<Item = &'t str>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Vec<u32>, Error> {
        let mut numbered = reserved(words.len())?;
        for (n, word) in words.enumerate() {
            if (n + 1).is_multiple_of(CHECKED_EVERY) {
                check_interrupts();
            }
            numbered.push(self.number_of(word));
        }
        Ok(numbered)
    }

    /// How many different words there are.
    pub fn count(&self) -> usize {
        self.words.len()
    }

    /// The number of a word, of which no more are new than there is room for.
    #[inline]
    pub fn number_of(&mut self, word: &'t str) -> u32 {
        let last = self.slots.len() - 1;
        let mut at = hash(word, self.key) & last;
        let length = word.len();
        let short = if length < 8 {
            packed(word.as_bytes())
        } else {
            0
        };
        let is_equal = |(packed, other): &(u64, &str)| {
            other.len() == length && *packed == short && (length < 8 || *other == word)
        };
        loop {
            match self.slots[at].checked_sub(1) {
                None => {
                    self.words.push((short, word));
                    self.slots[at] = self.words.len() as u32;
                    return self.words.len() as u32 - 1;
                }
                Some(number) if is_equal(&self.words[number as usize]) => return number,
                Some(_) => at = (at + 1) & last,
            }
        }
    }
}

/// A number of this process that nobody knows, so that no text is made for the hash.
fn key() -> u64 {
    static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);
    *KEY
}

/// A hash that is only good for places: it differs from process to process.
fn hash(word: &str, key: u64) -> usize {
    let mixed = |hash: u64, eight: u64| {
        let product = u128::from(hash ^ eight) * u128::from(key);
        product as u64 ^ (product >> 64) as u64
    };
    let (eights, rest) = word.as_bytes().as_chunks();
    let hash = key.rotate_left(32) ^ word.len() as u64;
    let eights = eights.iter().map(|eight| u64::from_le_bytes(*eight));
    let hash = eights.fold(hash, mixed);
    (mixed(hash, packed(rest)) >> 16) as usize
}

/// Room for numbers.
pub fn reserved(numbers: usize) -> Result<Vec<u32>, Error> {
    let mut reserved = Vec::new();
    let full = reserved.try_reserve_exact(numbers);
    full.map_err(|_| Error::OutOfMemory)?;
    Ok(reserved)
}

/// That many zeros.
pub fn filled(numbers: usize) -> Result<Vec<u32>, Error> {
    let mut filled = reserved(numbers)?;
    filled.resize(numbers, 0);
    Ok(filled)
}

struct Alignment<'a> {
    a: &'a [u32],
    b: &'a [u32],
    /// Words of long stretches that may still be compared.
    left: usize,
    hunks: Vec<Hunk>,
}

impl Alignment<'_> {
    /// Compares the words between two places where the texts agree.
    fn stretch(&mut self, mut a: Range<usize>, mut b: Range<usize>) -> Result<(), Error> {
        let pairs = self.a[a.clone()].iter().zip(&self.b[b.clone()]);
        let front = pairs.take_while(|(a, b)| a == b).count();
        (a.start, b.start) = (a.start + front, b.start + front);
        let pairs = self.a[a.clone()]
            .iter()
            .rev()
            .zip(self.b[b.clone()].iter().rev());
        let back = pairs.take_while(|(a, b)| a == b).count();
        (a.end, b.end) = (a.end - back, b.end - back);
        if a.is_empty() || b.is_empty() {
            return self.push(a, b, false);
        }
        let words = a.len() + b.len();
        if words > SHORT {
            match self.left.checked_sub(words) {
                Some(left) if words <= COMPARED => self.left = left,
                _ => return self.push(a, b, true),
            }
        }
        let (in_a, in_b) = (&self.a[a.clone()], &self.b[b.clone()]);
        for op in capture_diff_slices(Algorithm::Histogram, in_a, in_b) {
            if let DiffOp::Equal { .. } = op {
                continue;
            }
            let moved = |words: Range<usize>, by: usize| words.start + by..words.end + by;
            self.push(
                moved(op.old_range(), a.start),
                moved(op.new_range(), b.start),
                false,
            )?;
        }
        Ok(())
    }

    /// Adds a hunk, to the one in front when they touch.
    fn push(&mut self, a: Range<usize>, b: Range<usize>, coarse: bool) -> Result<(), Error> {
        if a.is_empty() && b.is_empty() {
            return Ok(());
        }
        let hunk = Hunk { a, b, coarse };
        if let Some(last) = self.hunks.last_mut()
            && last.touches(&hunk)
        {
            last.join(&hunk);
            return Ok(());
        }
        self.hunks.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        self.hunks.push(hunk);
        Ok(())
    }
}

/// Where words in a row stand in a text.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nowhere,
    Once(u32),
    Often,
}

impl Place {
    fn and(self, at: usize) -> Self {
        match self {
            Place::Nowhere => Place::Once(at as u32),
            _ => Place::Often,
        }
    }
}

/// Returns pairs of equal words of two texts, each behind the one before in both, as many as can be:
/// each begins words in a row that stand once in each text.
fn anchors(
    a: &[u32],
    b: &[u32],
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<(usize, usize)>, Error> {
    let full = |_| Error::OutOfMemory;
    let mut places: HashMap<[u32; ANCHOR], [Place; 2]> = HashMap::new();
    for (text, words) in [a, b].into_iter().enumerate() {
        for (at, row) in words.array_windows::<ANCHOR>().enumerate() {
            if at.is_multiple_of(CHECKED_EVERY) {
                check_interrupts();
            }
            places.try_reserve(1).map_err(full)?;
            let place = places.entry(*row).or_insert([Place::Nowhere; 2]);
            place[text] = place[text].and(at);
        }
    }
    let mut common = Vec::new();
    for (at, row) in a.array_windows::<ANCHOR>().enumerate() {
        if at.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        if let Some([Place::Once(_), Place::Once(at_b)]) = places.get(row) {
            common.try_reserve(1).map_err(full)?;
            common.push((at, *at_b as usize));
        }
    }
    drop(places);
    longest_rising(&common, check_interrupts)
}

/// The longest subsequence whose second numbers rise (Fredman 1975).
fn longest_rising(
    pairs: &[(usize, usize)],
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<(usize, usize)>, Error> {
    const NONE: u32 = u32::MAX;
    let full = |_| Error::OutOfMemory;
    // For each length the pair that ends such a subsequence with the least number.
    let mut ends: Vec<u32> = Vec::new();
    // The pair in front of each.
    let mut before = Vec::new();
    before.try_reserve_exact(pairs.len()).map_err(full)?;
    for (i, pair) in pairs.iter().enumerate() {
        if i.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        let length = ends.partition_point(|&end| pairs[end as usize].1 < pair.1);
        before.push(length.checked_sub(1).map_or(NONE, |shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = i as u32,
            None => {
                ends.try_reserve(1).map_err(full)?;
                ends.push(i as u32);
            }
        }
    }
    let mut rising = Vec::new();
    rising.try_reserve_exact(ends.len()).map_err(full)?;
    let mut at = ends.last().copied().unwrap_or(NONE);
    while at != NONE {
        rising.push(pairs[at as usize]);
        at = before[at as usize];
    }
    rising.reverse();
    Ok(rising)
}
