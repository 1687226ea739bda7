//! What words are by themselves and by those beside them.

use super::lists::{Classes, lists};
use super::tokens::{Kind as Sort, Tokens};
use std::ops::Range;

/// From the first to the last of some words.
pub fn cover(words: &[usize]) -> Range<usize> {
    match words {
        [] => 0..0,
        [first, .., last] => *first..last + 1,
        [only] => *only..only + 1,
    }
}

/// Signs that say what a number counts.
pub fn is_measure(symbol: &str) -> bool {
    lists().is_currency(symbol)
        || matches!(symbol, "%" | "‰" | "°" | "^" | "<" | ">" | "≤" | "≥" | "±")
}

/// Whether one word consists of the first letters of others.
pub fn is_initials(short: &Tokens, of_short: &[usize], long: &Tokens, of_long: &[usize]) -> bool {
    let is_word =
        |text: &Tokens, words: &[usize]| words.iter().all(|i| text.at(*i).kind == Sort::Word);
    if of_long.len() < 2 || !is_word(short, of_short) || !is_word(long, of_long) {
        return false;
    }
    let letters = of_short.iter().flat_map(|i| short.word(*i).chars());
    letters.eq(of_long.iter().filter_map(|i| long.word(*i).chars().next()))
}

/// Whether words say when or how many.
pub fn is_date(text: &Tokens, rest: &[usize], joined: &str) -> bool {
    let is_calendar = |i: &usize| lists().classes(text.word(*i)).has(Classes::CALENDAR);
    let has_numeral = || {
        rest.iter()
            .any(|i| text.word(*i).chars().all(|c| lists().is_numeral_han(c)))
    };
    rest.iter().any(is_calendar)
        || rest.len() < 7
            && has_numeral()
            && !lists().numerals_han_not.iter().any(|word| word == joined)
}

/// Whether words are those in front of them, or behind them, once more.
pub fn is_doubled(text: &Tokens, words: &Range<usize>) -> bool {
    let length = words.len();
    let is_equal =
        |from: usize| (0..length).all(|i| text.word(from + i) == text.word(words.start + i));
    words.start >= length && is_equal(words.start - length)
        || words.end + length <= text.len() && is_equal(words.end)
}

/// Whether a letter with a point is the first one of a name beside it.
pub fn stands_for_neighbour(text: &Tokens, words: &Range<usize>, initial: usize) -> bool {
    let near = words.start.saturating_sub(2)..(words.end + 3).min(text.len());
    let letter = text.word(initial);
    near.into_iter()
        .any(|i| text.word(i).len() > letter.len() && text.word(i).starts_with(letter))
}

/// Whether words are whole sentences.
pub fn is_sentence(text: &Tokens, words: &Range<usize>) -> bool {
    let begins = words.start == 0 || text.at(words.start - 1).ends_sentence;
    begins && (words.end == text.len() || text.at(words.end - 1).ends_sentence)
}
