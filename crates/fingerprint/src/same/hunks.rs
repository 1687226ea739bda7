//! Which words of two texts differ. Short stretches are aligned with as many equal words as there
//! can be, longer ones as [`crate::similarity::diff`] does it.

pub use super::subsequence::Hunk;
use super::subsequence::between_common;
use super::tokens::Tokens;
use crate::error::Error;
use crate::similarity::diff::alignment::align_numbers;
use std::collections::HashMap;
use std::ops::Range;

/// Equal words between two stretches of one passage.
const MOST_BETWEEN: usize = 3;

/// Up to this many words of both texts, they are numbered in a table of slots; more in a map.
const MOST_SLOTTED: usize = 1024;

/// Pairs of words that are compared at once.
const MOST_PAIRS: usize = 1 << 20;

/// The words between those with which both texts begin and those with which both end.
pub struct Middle {
    pub a: Range<usize>,
    pub b: Range<usize>,
}

/// The same words by numbers: equal ones have equal numbers.
pub struct Numbered {
    a: Vec<u32>,
    b: Vec<u32>,
    /// How many words both have, in whatever order.
    pub common: usize,
}

/// Leaves out what is equal at both ends.
pub fn middle(a: &Tokens, b: &Tokens) -> Middle {
    let shorter = a.len().min(b.len());
    let front = (0..shorter).take_while(|&i| a.word(i) == b.word(i)).count();
    let back = (0..shorter - front)
        .take_while(|&i| a.word(a.len() - 1 - i) == b.word(b.len() - 1 - i))
        .count();
    Middle {
        a: front..a.len() - back,
        b: front..b.len() - back,
    }
}

/// Numbers the words in the middle.
pub fn numbered(
    a: &Tokens,
    b: &Tokens,
    middle: &Middle,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Numbered, Error> {
    let mut numbers = Numbers::new(middle.a.len() + middle.b.len())?;
    let in_a = numbers.number(a, &middle.a, check_interrupts)?;
    let of_a = numbers.count;
    let in_b = numbers.number(b, &middle.b, check_interrupts)?;
    let mut left = reserved(of_a)?;
    left.resize(of_a, 0u32);
    in_a.iter().for_each(|number| left[*number as usize] += 1);
    let mut common = 0;
    for number in &in_b {
        if let Some(left) = left.get_mut(*number as usize)
            && *left > 0
        {
            (*left, common) = (*left - 1, common + 1);
        }
    }
    Ok(Numbered {
        a: in_a,
        b: in_b,
        common,
    })
}

/// Finds the words that differ, in order.
pub fn hunks(
    middle: &Middle,
    numbered: &Numbered,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Hunk>, Error> {
    let (in_a, in_b) = (&numbered.a, &numbered.b);
    let found = match in_a.len() * in_b.len() {
        0 if in_a.len() + in_b.len() == 0 => Vec::new(),
        0 => vec![Hunk {
            a: 0..in_a.len(),
            b: 0..in_b.len(),
        }],
        pairs if pairs <= MOST_PAIRS => between_common(in_a, in_b)?,
        _ => {
            let of_words = |hunk: crate::similarity::diff::alignment::Hunk| Hunk {
                a: hunk.a,
                b: hunk.b,
            };
            let aligned = align_numbers(in_a, in_b, check_interrupts)?;
            aligned.into_iter().map(of_words).collect()
        }
    };
    let moved = |words: Range<usize>, by: usize| words.start + by..words.end + by;
    Ok(found
        .into_iter()
        .map(|hunk| Hunk {
            a: moved(hunk.a, middle.a.start),
            b: moved(hunk.b, middle.b.start),
        })
        .collect())
}

/// Joins stretches with hardly an equal word between them: a passage in other words.
pub fn passages(hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut joined: Vec<Hunk> = Vec::new();
    for hunk in hunks {
        let words = |hunk: &Hunk| hunk.a.len().max(hunk.b.len());
        match joined.last_mut() {
            Some(last)
                if hunk.a.start - last.a.end <= MOST_BETWEEN
                    && words(last).min(words(&hunk)) >= hunk.a.start - last.a.end
                    && words(last).max(words(&hunk)) > 2 * MOST_BETWEEN =>
            {
                (last.a.end, last.b.end) = (hunk.a.end, hunk.b.end)
            }
            _ => joined.push(hunk),
        }
    }
    joined
}

/// Numbers of words. Few words are found by a hash that is quick, and that texts can be made for: then
/// each of them costs no more than a look at all the others.
struct Numbers<'t> {
    /// The number that has each slot, plus one.
    slots: Vec<u32>,
    words: Vec<&'t str>,
    many: HashMap<&'t str, u32>,
    count: usize,
}

impl<'t> Numbers<'t> {
    fn new(words: usize) -> Result<Self, Error> {
        let mut slots = Vec::new();
        if words <= MOST_SLOTTED {
            slots.resize((2 * words).next_power_of_two(), 0);
        }
        Ok(Self {
            slots,
            words: Vec::with_capacity(words.min(MOST_SLOTTED)),
            many: HashMap::new(),
            count: 0,
        })
    }

    fn number(
        &mut self,
        tokens: &'t Tokens,
        words: &Range<usize>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Vec<u32>, Error> {
        let mut numbered = reserved(words.len())?;
        for i in words.clone() {
            if i.is_multiple_of(4096) {
                check_interrupts();
            }
            let word = tokens.word(i);
            let number = match self.slots.is_empty() {
                true => {
                    self.many.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                    *self.many.entry(word).or_insert(self.count as u32)
                }
                false => self.among_few(word),
            };
            self.count = self.count.max(number as usize + 1);
            numbered.push(number);
        }
        Ok(numbered)
    }

    fn among_few(&mut self, word: &'t str) -> u32 {
        let last = self.slots.len() - 1;
        let mut at = quick_hash(word) & last;
        loop {
            match self.slots[at].checked_sub(1) {
                None => {
                    self.words.push(word);
                    self.slots[at] = self.words.len() as u32;
                    return self.words.len() as u32 - 1;
                }
                Some(number) if self.words[number as usize] == word => return number,
                Some(_) => at = (at + 1) & last,
            }
        }
    }
}

/// A hash for which texts can be made.
pub fn quick_hash(word: &str) -> usize {
    let of_bytes = |hash: u64, bytes: &[u8]| {
        let eight = bytes.iter().fold(hash.rotate_left(5), |eight, byte| {
            eight.rotate_left(8) ^ u64::from(*byte)
        });
        eight.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    (word.as_bytes().chunks(8).fold(0, of_bytes) >> 32) as usize
}

/// Room for numbers.
pub fn reserved(numbers: usize) -> Result<Vec<u32>, Error> {
    let mut reserved = Vec::new();
    let full = reserved.try_reserve_exact(numbers);
    full.map_err(|_| Error::OutOfMemory)?;
    Ok(reserved)
}
