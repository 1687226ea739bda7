//! Which words of two texts differ. Short stretches are aligned with as many equal words as there
//! can be, longer ones as [`crate::similarity::diff`] does it.

use super::tokens::Tokens;
use crate::error::Error;
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

/// Pairs of words that are compared at once.
const MOST_PAIRS: usize = 1 << 14;

/// Finds the words that differ, in order.
pub fn hunks(a: &Tokens, b: &Tokens, pause: &mut dyn FnMut()) -> Result<Vec<Hunk>, Error> {
    let shorter = a.len().min(b.len());
    let front = (0..shorter).take_while(|&i| a.word(i) == b.word(i)).count();
    let back = (0..shorter - front)
        .take_while(|&i| a.word(a.len() - 1 - i) == b.word(b.len() - 1 - i))
        .count();
    let (in_a, in_b) = (front..a.len() - back, front..b.len() - back);
    if in_a.len().min(in_b.len()) == 0 {
        let differs = in_a.len() + in_b.len() > 0;
        return Ok(differs
            .then_some(Hunk { a: in_a, b: in_b })
            .into_iter()
            .collect());
    }
    let mut numbers = HashMap::new();
    let numbers_of_a = number(a, &in_a, &mut numbers, pause)?;
    let numbers_of_b = number(b, &in_b, &mut numbers, pause)?;
    let found = match numbers_of_a.len() * numbers_of_b.len() <= MOST_PAIRS {
        true => longest_common(&numbers_of_a, &numbers_of_b),
        false => {
            let aligned = align_numbers(&numbers_of_a, &numbers_of_b, pause)?;
            aligned
                .into_iter()
                .map(|hunk| Hunk {
                    a: hunk.a,
                    b: hunk.b,
                })
                .collect()
        }
    };
    let moved = |words: Range<usize>| words.start + front..words.end + front;
    Ok(found
        .into_iter()
        .map(|hunk| Hunk {
            a: moved(hunk.a),
            b: moved(hunk.b),
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

/// Gives each different word a number.
fn number<'a>(
    tokens: &'a Tokens,
    words: &Range<usize>,
    numbers: &mut HashMap<&'a str, u32>,
    pause: &mut dyn FnMut(),
) -> Result<Vec<u32>, Error> {
    let mut numbered = Vec::new();
    numbered
        .try_reserve_exact(words.len())
        .map_err(|_| Error::OutOfMemory)?;
    for i in words.clone() {
        if i.is_multiple_of(4096) {
            pause();
        }
        numbers.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        let next = numbers.len() as u32;
        numbered.push(*numbers.entry(tokens.word(i)).or_insert(next));
    }
    Ok(numbered)
}

/// What is between the words of a longest common subsequence.
fn longest_common(a: &[u32], b: &[u32]) -> Vec<Hunk> {
    let width = b.len() + 1;
    let mut lengths = vec![0u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = match a[i] == b[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let in_a = j == b.len()
            || i < a.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1];
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
