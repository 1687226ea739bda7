//! Which words of two stretches are forms of one, in order. `judge` asks. No word is in two pairs.

use super::alike::{Likeness, Word, likeness};
use super::hunks::Hunk;
use super::tokens::Tokens;
use std::ops::Range;

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
        words
            .clone()
            .map(|i| Word::new(text.word(i), text.at(i)))
            .collect()
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
