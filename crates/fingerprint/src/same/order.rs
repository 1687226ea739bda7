//! Names written with the surname first. `judge` asks.

use super::hunks::Middle;
use super::lists::{Classes, lists};
use super::tokens::{TokenKind, Tokens};
use std::ops::Range;

/// Words that change places with each other at most.
const MOST_MOVED: usize = 4;

/// Whether two texts differ in the order of neighbouring words alone, and in initials.
pub fn is_rotated(a: &Tokens, b: &Tokens, middle: &Middle) -> bool {
    let full = |text: &Tokens, words: &Range<usize>| -> Vec<usize> {
        words
            .clone()
            .filter(|&i| !(text.at(i).dot && text.word(i).chars().count() == 1))
            .collect()
    };
    let (in_a, in_b) = (full(a, &middle.a), full(b, &middle.b));
    if in_a.len() != in_b.len() {
        return false;
    }
    let mut at = 0;
    while at < in_a.len() {
        if a.word(in_a[at]) == b.word(in_b[at]) {
            at += 1;
            continue;
        }
        let most = MOST_MOVED.min(in_a.len() - at);
        let names = |length: &usize| in_a[at..at + length].iter().all(|&i| may_be_name(a, i));
        let turned = |length: &usize| {
            let (x, y) = (&in_a[at..at + length], &in_b[at..at + length]);
            (1..*length)
                .any(|by| (0..*length).all(|i| a.word(x[(i + by) % length]) == b.word(y[i])))
        };
        match (2..=most).find(|length| turned(length) && names(length)) {
            Some(length) => at += length,
            None => return false,
        }
    }
    true
}

fn may_be_name(text: &Tokens, i: usize) -> bool {
    let word = text.word(i);
    let classes = lists().classes(word);
    text.at(i).kind == TokenKind::Word
        && word.chars().nth(1).is_some()
        && !classes.has(Classes::NEGATION)
        && !classes.has(Classes::CALENDAR)
}
