//! Which words of two texts differ. Short stretches are aligned with as many equal words as there
//! can be, longer ones as [`crate::similarity::diff`] does it.

use super::tokens::Tokens;
use crate::error::Error;
use crate::hash::city64;
use crate::similarity::diff::alignment::align_numbers;
use std::collections::HashMap;
use std::ops::Range;

/// Words of each text that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    pub a: Range<usize>,
    pub b: Range<usize>,
}

/// Equal words between two stretches of one passage.
const MOST_BETWEEN: usize = 3;

/// Words of both texts that are few.
const FEW: usize = 1024;

/// Words that differ in texts that are near.
const NEAR: usize = 16;

/// Pairs of words that are compared at once.
const MOST_PAIRS: usize = 1 << 14;

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
    pause: &mut dyn FnMut(),
) -> Result<Numbered, Error> {
    let mut numbers = Numbers::new(middle.a.len() + middle.b.len())?;
    let in_a = numbers.number(a, &middle.a, pause)?;
    let of_a = numbers.count;
    let in_b = numbers.number(b, &middle.b, pause)?;
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
    pause: &mut dyn FnMut(),
) -> Result<Vec<Hunk>, Error> {
    let (in_a, in_b) = (&numbered.a, &numbered.b);
    let found = match in_a.len() * in_b.len() {
        0 if in_a.len() + in_b.len() == 0 => Vec::new(),
        0 => vec![Hunk {
            a: 0..in_a.len(),
            b: 0..in_b.len(),
        }],
        pairs if pairs <= MOST_PAIRS => longest_common(in_a, in_b),
        _ => {
            let of_words = |hunk: crate::similarity::diff::alignment::Hunk| Hunk {
                a: hunk.a,
                b: hunk.b,
            };
            let aligned = align_numbers(in_a, in_b, pause)?;
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
        if words <= FEW {
            slots.resize((2 * words).next_power_of_two(), 0);
        }
        Ok(Self {
            slots,
            words: Vec::new(),
            many: HashMap::new(),
            count: 0,
        })
    }

    fn number(
        &mut self,
        tokens: &'t Tokens,
        words: &Range<usize>,
        pause: &mut dyn FnMut(),
    ) -> Result<Vec<u32>, Error> {
        let mut numbered = reserved(words.len())?;
        for i in words.clone() {
            if i.is_multiple_of(4096) {
                pause();
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
        let mut at = city64(word.as_bytes()) as usize & last;
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

fn reserved(numbers: usize) -> Result<Vec<u32>, Error> {
    let mut reserved = Vec::new();
    let full = reserved.try_reserve_exact(numbers);
    full.map_err(|_| Error::OutOfMemory)?;
    Ok(reserved)
}

/// Lengths of longest common subsequences of what follows two places, as far as these are no more than
/// `width` apart.
struct Lengths {
    width: isize,
    /// How much longer the second text is: the places around this diagonal and the first one count.
    offset: isize,
    /// Numbers of a row; the first and the last one stay 0.
    row: usize,
    lengths: Vec<u16>,
}

impl Lengths {
    fn new(a: &[u32], b: &[u32], width: usize) -> Self {
        let offset = b.len() as isize - a.len() as isize;
        let row = 2 * width + offset.unsigned_abs() + 3;
        let mut lengths = Self {
            width: width as isize,
            offset,
            row,
            lengths: vec![0; (a.len() + 1) * row],
        };
        for i in (0..a.len()).rev() {
            let first = lengths.first(i);
            let end = (first + row as isize - 2).clamp(0, b.len() as isize);
            let (before, behind) = lengths.lengths.split_at_mut((i + 1) * row);
            // In the next row each place of the second text is one number further to the left.
            let (now, next) = (&mut before[i * row..], &behind[..row]);
            let mut length = 0;
            for j in (first.max(0)..end).rev() {
                let at = (j - first) as usize + 1;
                length = match a[i] == b[j as usize] {
                    true => next[at] + 1,
                    false => next[at - 1].max(length),
                };
                now[at] = length;
            }
        }
        lengths
    }

    /// The first place of the second text that is near a place of the first one.
    fn first(&self, i: usize) -> isize {
        i as isize + self.offset.min(0) - self.width
    }

    fn at(&self, i: usize, j: usize) -> u16 {
        let column = usize::try_from(j as isize - self.first(i) + 1).unwrap_or_default();
        match column < self.row {
            true => self.lengths[i * self.row + column],
            false => 0,
        }
    }
}

/// What is between the words of a longest common subsequence. No part of one is further from the
/// diagonal than there are words that differ, so few places have to be looked at when texts are near.
fn longest_common(a: &[u32], b: &[u32]) -> Vec<Hunk> {
    let near = Lengths::new(a, b, NEAR);
    let differ = a.len() + b.len() - 2 * usize::from(near.at(0, 0));
    let lengths = match differ <= NEAR {
        true => near,
        false => Lengths::new(a, b, a.len().max(b.len())),
    };
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let in_a = j == b.len() || i < a.len() && lengths.at(i + 1, j) >= lengths.at(i, j + 1);
        let (next_i, next_j) = (i + usize::from(in_a), j + usize::from(!in_a));
        match hunks.last_mut() {
            Some(last) if last.a.end == i && last.b.end == j => {
                (last.a.end, last.b.end) = (next_i, next_j)
            }
            _ => hunks.push(Hunk {
                a: i..next_i,
                b: j..next_j,
            }),
        }
        (i, j) = (next_i, next_j);
    }
    hunks
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
        /// Near texts and far ones, whose places near the diagonal are not enough.
        #[test]
        fn stretches_leave_a_longest_common_subsequence(
            a in prop::collection::vec(0u32..4, 1..60), b in prop::collection::vec(0u32..4, 1..60), at in 0usize..60,
        ) {
            let mut near = a.clone();
            near.insert(at.min(a.len()), 9);
            near.extend(&b[..b.len().min(8)]);
            for b in [b, near] {
                let hunks = longest_common(&a, &b);
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
}
