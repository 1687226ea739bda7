//! What two texts have between the words of a longest common subsequence. [`super::hunks`] asks for
//! stretches that are not long. Such a subsequence grows by one word from a place to the next or
//! not at all: a bit says which, and one addition does it for 64 places (Crochemore and others
//! 2001).

use crate::error::Error;
use std::ops::Range;

/// Words of each text that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    pub a: Range<usize>,
    pub b: Range<usize>,
}

const BITS: usize = 64;

const NOT_SHARED: usize = usize::MAX;

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
                hunks.push(Hunk {
                    a: i..next_i,
                    b: j..next_j,
                })
            }
        }
        (i, j) = (next_i, next_j);
    }
    Ok(hunks)
}

/// Where a longest common subsequence of the rest of both texts loses a word with the next word of the
/// first one.
struct Growth {
    words: usize,
    /// Integers that hold a bit for each word of the first text, the last word first.
    row: usize,
    /// A row for each place of the second text; a bit is 0 where a word is lost.
    rows: Vec<u64>,
}

impl Growth {
    fn new(a: &[u32], b: &[u32]) -> Result<Self, Error> {
        let row = a.len().div_ceil(BITS);
        let numbers = a.iter().max().map_or(0, |most| *most as usize + 1);
        // Which of the words of the second text each one of the first is.
        let mut shared = filled(NOT_SHARED, numbers)?;
        let mut count = 0;
        for number in b {
            if let Some(slot @ &mut NOT_SHARED) = shared.get_mut(*number as usize) {
                (*slot, count) = (count, count + 1);
            }
        }
        let mut places = filled(0, count * row)?;
        for (at, number) in a.iter().rev().enumerate() {
            if let Some(places) = places.get_mut(shared[*number as usize].saturating_mul(row)..) {
                places[at / BITS] |= 1 << (at % BITS);
            }
        }
        let mut rows = filled(u64::MAX, (b.len() + 1) * row)?;
        for (j, number) in b.iter().enumerate().rev() {
            let (before, behind) = rows.split_at_mut((j + 1) * row);
            let (now, next) = (&mut before[j * row..], &behind[..row]);
            match shared.get(*number as usize) {
                Some(slot) => step(now, next, &places[slot * row..]),
                None => now.copy_from_slice(next),
            }
        }
        Ok(Self {
            words: a.len(),
            row,
            rows,
        })
    }

    fn is_at(&self, i: usize, j: usize) -> bool {
        let at = self.words - 1 - i;
        self.rows[j * self.row + at / BITS] >> (at % BITS) & 1 == 0
    }
}

/// Makes a row of the one behind it, by the places of the first text that have the word between them.
fn step(now: &mut [u64], next: &[u64], equal: &[u64]) {
    let mut carry = false;
    for ((now, next), equal) in now.iter_mut().zip(next).zip(equal) {
        let (sum, first) = next.overflowing_add(next & equal);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first || second;
        *now = sum | next & !equal;
    }
}

fn filled<T: Clone>(with: T, integers: usize) -> Result<Vec<T>, Error> {
    let mut filled = Vec::new();
    let full = filled.try_reserve_exact(integers);
    full.map_err(|_| Error::OutOfMemory)?;
    filled.resize(integers, with);
    Ok(filled)
}

#[cfg(test)]
mod tests {
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
