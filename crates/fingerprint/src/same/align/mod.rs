//! Which words of two texts differ, and which of those stand for each other. Short stretches are aligned
//! with as many equal words as there can be, longer ones as [`crate::similarity::diff`] does it; then
//! the words of both sides of a stretch are paired that are forms of one. The judge asks, and no word
//! is in two stretches or in two pairs.
//!
//! A longest common subsequence grows by one word from a place to the next or not at all: a bit says
//! which, and one addition does it for 64 places (Crochemore and others 2001).
//!
//! `alike` says what two words are to each other, by their `endings` and `characters`. `sketch` tells short
//! texts apart before they are aligned.

pub mod alike;
pub mod characters;
pub mod endings;
pub mod sketch;

use crate::error::Error;
use crate::same::cut::tokens::Tokens;
use crate::same::limits::MOST_PAIRS;
use crate::similarity::diff::alignment::{align_numbers, filled};
use alike::{Likeness, Word, likeness};
use std::ops::Range;

pub use crate::similarity::diff::alignment::{Hunk, Numbers, reserved};

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

/// Leaves out what is equal at both ends. Words lie behind each other, so that those up to a place are equal
/// where all bytes are and each ends at one place.
pub fn middle(a: &Tokens, b: &Tokens) -> Middle {
    let (text_a, text_b) = (a.text.as_bytes(), b.text.as_bytes());
    let equal = equal_bytes(text_a, text_b);
    let ends_at = |text: &Tokens, i: usize| text.at(i).end as usize;
    let shorter = a.len().min(b.len());
    let is_equal = |i: &usize| ends_at(a, *i) == ends_at(b, *i) && ends_at(a, *i) <= equal;
    let front = (0..shorter).take_while(is_equal).count();
    let equal = equal_bytes_at_end(text_a, text_b);
    let bytes_behind =
        |text: &Tokens, i: usize| text.text.len() - text.at(text.len() - 1 - i).begin as usize;
    let is_equal =
        |i: &usize| bytes_behind(a, *i) == bytes_behind(b, *i) && bytes_behind(a, *i) <= equal;
    let back = (0..shorter - front).take_while(is_equal).count();
    Middle {
        a: front..a.len() - back,
        b: front..b.len() - back,
    }
}

/// Bytes that are compared at once.
const AT_ONCE: usize = 32;

/// With how many bytes both begin.
pub fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let ((pieces_a, _), (pieces_b, _)) = (a.as_chunks::<AT_ONCE>(), b.as_chunks::<AT_ONCE>());
    let pieces = pieces_a.iter().zip(pieces_b);
    let begin = AT_ONCE * pieces.take_while(|(a, b)| a == b).count();
    let rest = a[begin..].iter().zip(&b[begin..]);
    begin + rest.take_while(|(a, b)| a == b).count()
}

/// With how many bytes both end.
fn equal_bytes_at_end(a: &[u8], b: &[u8]) -> usize {
    let ((_, pieces_a), (_, pieces_b)) = (a.as_rchunks::<AT_ONCE>(), b.as_rchunks::<AT_ONCE>());
    let pieces = pieces_a.iter().rev().zip(pieces_b.iter().rev());
    let end = AT_ONCE * pieces.take_while(|(a, b)| a == b).count();
    let rest = a[..a.len() - end]
        .iter()
        .rev()
        .zip(b[..b.len() - end].iter().rev());
    end + rest.take_while(|(a, b)| a == b).count()
}

/// Which words of two texts differ.
pub struct Alignment {
    pub middle: Middle,
    /// Words of the middle that both have, in whatever order.
    pub common: usize,
    pub hunks: Vec<Hunk>,
}

/// Numbers the words in the middle.
pub fn numbered(
    a: &Tokens,
    b: &Tokens,
    middle: &Middle,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Numbered, Error> {
    let mut numbers = Numbers::new(middle.a.len() + middle.b.len())?;
    let in_a = numbers.number(middle.a.clone().map(|i| a.word(i)), check_interrupts)?;
    let mut left = filled(numbers.count())?;
    let in_b = numbers.number(middle.b.clone().map(|j| b.word(j)), check_interrupts)?;
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
        0 => vec![Hunk::new(0..in_a.len(), 0..in_b.len())],
        pairs if pairs <= MOST_PAIRS => between_common(in_a, in_b)?,
        _ => align_numbers(in_a, in_b, check_interrupts)?,
    };
    let moved = |words: Range<usize>, by: usize| words.start + by..words.end + by;
    let in_text =
        |hunk: Hunk| Hunk::new(moved(hunk.a, middle.a.start), moved(hunk.b, middle.b.start));
    Ok(found.into_iter().map(in_text).collect())
}

const BITS: usize = 64;

/// Finds the words that are in no longest common subsequence; equal words have equal numbers, which are
/// the least ones in the first text.
pub fn between_common(a: &[u32], b: &[u32]) -> Result<Vec<Hunk>, Error> {
    let growth = Growth::new(a, b)?;
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let in_a = i < a.len() && !growth.is_at(i, j);
        let (next_i, next_j) = (i + usize::from(in_a), j + usize::from(!in_a));
        match hunks.last_mut() {
            Some(last) if last.a.end == i && last.b.end == j => {
                (last.a.end, last.b.end) = (next_i, next_j)
            }
            _ => {
                hunks.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                hunks.push(Hunk::new(i..next_i, j..next_j));
            }
        }
        (i, j) = (next_i, next_j);
    }
    Ok(hunks)
}

/// Where a longest common subsequence of the rest of both texts loses a word with the next word of the
/// first one.
struct Growth {
    words: [usize; 2],
    /// Integers that hold a bit for each word of the first text, the last word first.
    row: usize,
    /// A row for each place of the second text, the last one first; a bit is 0 where a word is lost.
    rows: Vec<u64>,
}

impl Growth {
    fn new(a: &[u32], b: &[u32]) -> Result<Self, Error> {
        let row = a.len().div_ceil(BITS);
        let numbers = a.iter().max().map_or(0, |most| *most as usize + 1);
        // Which of the words of the second text each one of the first is.
        // Plus one, so that 0 is none.
        let mut shared = filled(numbers)?;
        let mut count = 0;
        for number in b {
            if let Some(slot @ 0) = shared.get_mut(*number as usize) {
                count += 1;
                *slot = count;
            }
        }
        let place = |shared: u32| shared.checked_sub(1).map(|place| place as usize * row);
        let mut places = Vec::new();
        let bits = count as usize * row;
        (places.try_reserve_exact(bits)).map_err(|_| Error::OutOfMemory)?;
        places.resize(bits, 0u64);
        for (at, number) in a.iter().rev().enumerate() {
            if let Some(place) = place(shared[*number as usize]) {
                places[place + at / BITS] |= 1 << (at % BITS);
            }
        }
        let mut rows = Vec::new();
        let full = rows.try_reserve_exact((b.len() + 1) * row);
        full.map_err(|_| Error::OutOfMemory)?;
        rows.resize(row, u64::MAX);
        for (j, number) in b.iter().rev().enumerate() {
            let next = j * row..(j + 1) * row;
            match shared
                .get(*number as usize)
                .and_then(|shared| place(*shared))
            {
                Some(place) => step(&mut rows, next, &places[place..]),
                None => rows.extend_from_within(next),
            }
        }
        Ok(Self {
            words: [a.len(), b.len()],
            row,
            rows,
        })
    }

    fn is_at(&self, i: usize, j: usize) -> bool {
        let [in_a, in_b] = self.words;
        let at = in_a - 1 - i;
        self.rows[(in_b - j) * self.row + at / BITS] >> (at % BITS) & 1 == 0
    }
}

/// Adds a row made of the one behind it, by the places of the first text that have the word between them.
fn step(rows: &mut Vec<u64>, next: Range<usize>, equal: &[u64]) {
    let mut carry = false;
    for (at, equal) in next.zip(equal) {
        let next = rows[at];
        let (sum, first) = next.overflowing_add(next & equal);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first || second;
        rows.push(sum | next & !equal);
    }
}

/// Words in pairs, and those that are in none.
pub struct Pairing {
    pub pairs: Vec<(usize, usize, Likeness)>,
    pub rest_a: Vec<usize>,
    pub rest_b: Vec<usize>,
}

/// Makes as many pairs as there can be.
pub fn pair<'t>(a: &'t Tokens, b: &'t Tokens, hunk: &Hunk) -> Pairing {
    let (rows, columns) = (hunk.a.len(), hunk.b.len());
    let width = columns + 1;
    let words = |text: &'t Tokens, words: &Range<usize>| -> Vec<Word<'t>> {
        words.clone().map(|i| Word::new(text, i)).collect()
    };
    let (in_a, in_b) = (words(a, &hunk.a), words(b, &hunk.b));
    let mut most = vec![0u8; (rows + 1) * width];
    let mut alike = vec![Likeness::Unlike; rows * columns];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let found = likeness(&in_a[i], &in_b[j]);
            alike[i * columns + j] = found;
            let with = most[(i + 1) * width + j + 1] + u8::from(found != Likeness::Unlike);
            most[i * width + j] = with
                .max(most[(i + 1) * width + j])
                .max(most[i * width + j + 1]);
        }
    }
    let mut pairing = Pairing {
        pairs: Vec::new(),
        rest_a: Vec::new(),
        rest_b: Vec::new(),
    };
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let (at_a, at_b) = (hunk.a.start + i, hunk.b.start + j);
        let found = alike[i * columns + j];
        if found != Likeness::Unlike && most[i * width + j] == most[(i + 1) * width + j + 1] + 1 {
            pairing.pairs.push((at_a, at_b, found));
            (i, j) = (i + 1, j + 1);
        } else if most[(i + 1) * width + j] >= most[i * width + j + 1] {
            pairing.rest_a.push(at_a);
            i += 1;
        } else {
            pairing.rest_b.push(at_b);
            j += 1;
        }
    }
    pairing.rest_a.extend(hunk.a.start + i..hunk.a.end);
    pairing.rest_b.extend(hunk.b.start + j..hunk.b.end);
    pairing
}

#[cfg(test)]
mod subsequence_tests {
    use super::*;
    use proptest::prelude::*;

    /// The length of a longest common subsequence, by all places.
    fn longest(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y {
                    diagonal + 1
                } else {
                    above.max(row[j])
                };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        /// Texts of one integer of bits and of several.
        #[test]
        fn stretches_leave_a_longest_common_subsequence(
            a in prop::collection::vec(0u32..9, 1..200), b in prop::collection::vec(0u32..12, 1..200),
        ) {
            let hunks = between_common(&a, &b).unwrap();
            let in_hunks: usize = hunks.iter().map(|hunk| hunk.a.len()).sum();
            prop_assert_eq!(a.len() - in_hunks, longest(&a, &b));
            let (mut i, mut j) = (0, 0);
            for hunk in &hunks {
                prop_assert_eq!(&a[i..hunk.a.start], &b[j..hunk.b.start]);
                (i, j) = (hunk.a.end, hunk.b.end);
            }
            prop_assert_eq!(&a[i..], &b[j..]);
        }
    }
}
