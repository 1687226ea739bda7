//! Numbers as a text has them: digits, words of many languages, `figures` of other scripts. [`super`]
//! asks what number begins at each word; a composed one gives also the numbers of its first words.

use super::figures::{han, han_unit, roman};
use super::form::{Form, Number};
use super::table::Meaning;
use super::{Found, Text, Value, Values};
use crate::same::cut::tokens::TokenKind;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Written {
    Digits,
    OrdinalDigits,
    Han,
    Roman,
    Words,
    OrdinalWords,
}

/// A number that begins at a word.
#[derive(Clone, Copy, Debug)]
pub struct Numeral {
    pub end: usize,
    pub number: Number,
    pub written: Written,
    /// It is an article too.
    pub is_article: bool,
}

/// Endings of ordinal numbers in digits, as the cutter leaves them.
const ENDINGS: [&str; 10] = ["st", "nd", "rd", "th", "er", "re", "eme", "e", "o", "a"];

/// Words between the parts of a number.
const BETWEEN: [&str; 11] = [
    "and", "und", "et", "y", "e", "en", "og", "och", "i", "и", "ve",
];

/// The parts of a number in words.
pub const MOST_PARTS: usize = 12;

/// The numbers that begin at a word, the ones of fewer words first.
pub fn numerals(text: Text, i: usize, found: &Found) -> Vec<Numeral> {
    match text.tokens.at(i).kind {
        TokenKind::Number => digits(text, i),
        TokenKind::Character => match han(text, i) {
            Some(numeral) => vec![numeral],
            None => words(text, i, found),
        },
        TokenKind::Word => {
            // A letter alone stands for a million behind a number only.
            let is_letter = text.word(i).len() == 1;
            let mut numerals = if is_letter {
                Vec::new()
            } else {
                words(text, i, found)
            };
            numerals.extend(roman(text, i));
            numerals
        }
        TokenKind::Symbol => Vec::new(),
    }
}

/// Adds the number as a value by itself.
pub fn push(text: Text, i: usize, numeral: &Numeral, values: &mut Values) {
    let Numeral {
        end,
        number,
        written,
        is_article,
    } = *numeral;
    let words = i..end;
    // 1.20 is not 1.2 where nothing says that it is an amount.
    let is_amount =
        written != Written::Digits || end > i + 1 || number.has_all_decimals(text.word(i));
    if is_article || !is_amount {
        return;
    }
    if matches!(written, Written::OrdinalDigits | Written::OrdinalWords) {
        // In Cyrillic letters the digits often have no ending: 3 этаж.
        if text.word(i).starts_with(is_cyrillic) {
            add(words.clone(), Form::Number(number), written, values);
        }
        return add(words, Form::Ordinal(number), written, values);
    }
    if written == Written::Roman || written == Written::Digits && is_ordinal_by_neighbour(text, i) {
        add(words.clone(), Form::Ordinal(number), written, values);
    }
    if written == Written::Digits && is_cyrillic_ending(text, end) {
        add(i..end + 1, Form::Ordinal(number), written, values);
    }
    add(words, Form::Number(number), written, values);
}

fn add(words: Range<usize>, form: Form, written: Written, values: &mut Values) {
    values.0.push(Value {
        words,
        form,
        unit: 0..0,
        is_word: matches!(written, Written::Words | Written::OrdinalWords),
    });
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// Whether a word is the ending of an ordinal number: 3-й.
fn is_cyrillic_ending(text: Text, i: usize) -> bool {
    let word = text.word(i);
    word.starts_with(is_cyrillic) && word.chars().count() <= 2 && text.tokens.at(i).is_joined
}

/// Whether a point behind digits, or a word in front, may make an ordinal number of them.
fn is_ordinal_by_neighbour(text: Text, i: usize) -> bool {
    let behind = text
        .from(i)
        .trim_start_matches(|c: char| c.is_ascii_digit());
    behind.starts_with(". ") || i > 0 && matches!(text.word(i - 1), "第" | "제")
}

fn digits(text: Text, i: usize) -> Vec<Numeral> {
    let word = text.word(i);
    let ending = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let numeral = |end, number, written| Numeral {
        end,
        number,
        written,
        is_article: false,
    };
    if !ending.is_empty() && ENDINGS.contains(&ending) {
        let number = Number::read(&word[..word.len() - ending.len()]);
        let ordinal = |number| numeral(i + 1, number, Written::OrdinalDigits);
        return number.map(ordinal).into_iter().collect();
    }
    let Some(number) = Number::read(word) else {
        return Vec::new();
    };
    let mut numerals = vec![numeral(i + 1, number, Written::Digits)];
    // 1.5 million, 3万.
    if let Some((end, unit)) = multiplier(text, i + 1)
        && let Some(number) = number.times(unit)
    {
        numerals.push(numeral(end, number, Written::Digits));
    }
    numerals
}

/// A word from twelve on by which a number in front is multiplied.
pub fn multiplier(text: Text, i: usize) -> Option<(usize, u64)> {
    if text.is(i, TokenKind::Character) {
        let unit = han_unit(text.word(i).chars().next()?)?;
        return Some((i + 1, unit));
    }
    let is_unit = |unit: u64| unit == 12 || unit >= 1000;
    let units = text
        .meanings(i)
        .into_iter()
        .filter_map(|(end, meaning)| match meaning {
            Meaning::Number(unit) if is_unit(unit) => Some((end, unit)),
            _ => None,
        });
    units.max()
}

/// A number of which the parts follow each other: two hundred and fifty thousand.
fn words(text: Text, i: usize, found: &Found) -> Vec<Numeral> {
    let mut numerals: Vec<Numeral> = Vec::new();
    // What is complete, and what the next thousand or million multiplies.
    let (mut total, mut now) = (0u64, None::<u64>);
    let mut at = i;
    for part in 0..MOST_PARTS {
        let found = match part {
            0 => parts(found),
            _ => parts(&text.meanings(at)),
        };
        let longest = found.iter().map(|(end, _, _)| *end).max();
        let Some(end) = longest else {
            break;
        };
        let mut of_longest = found.iter().filter(|(other, _, _)| *other == end);
        let Some((_, value, is_ordinal)) = of_longest.next().copied() else {
            break;
        };
        match composed(total, now, value) {
            Some(sums) => (total, now) = sums,
            None => break,
        }
        let number = Number::whole(total.saturating_add(now.unwrap_or_default()));
        let is_article = part == 0 && matches!(text.word(i), "a" | "an");
        let written = |is_ordinal| match is_ordinal {
            true => Written::OrdinalWords,
            false => Written::Words,
        };
        numerals.push(Numeral {
            end,
            number,
            written: written(is_ordinal),
            is_article,
        });
        if part == 0 {
            // A word that is several numerals, of several languages.
            let others = found
                .iter()
                .filter(|part| **part != (end, value, is_ordinal));
            numerals.extend(others.map(|(end, value, is_ordinal)| Numeral {
                end: *end,
                number: Number::whole(*value),
                written: written(*is_ordinal),
                is_article,
            }));
        }
        if is_ordinal {
            break;
        }
        at = end;
        if BETWEEN.contains(&text.word(at)) && !parts(&text.meanings(at + 1)).is_empty() {
            at += 1;
        }
    }
    numerals
}

/// The numerals of one part, with where they end and whether they are ordinal.
fn parts(found: &Found) -> Vec<(usize, u64, bool)> {
    let part = |(end, meaning): &(usize, Meaning)| match meaning {
        Meaning::Number(value) => Some((*end, *value, false)),
        Meaning::Ordinal(value) => Some((*end, *value, true)),
        _ => None,
    };
    found.iter().filter_map(part).collect()
}

/// The sums with one more part; None if it begins another number.
fn composed(total: u64, now: Option<u64>, part: u64) -> Option<(u64, Option<u64>)> {
    let Some(sum) = now else {
        let is_next = total == 0 || part < 1000;
        return is_next.then_some((total, Some(part)));
    };
    match part {
        100 if sum < 100 => Some((total, Some(100 * sum))),
        12 if sum < 12 => Some((total, Some(12 * sum))),
        1000.. if sum < 1000 && is_thousands(part) => {
            let sum = sum.checked_mul(part)?;
            Some((total.checked_add(sum)?, None))
        }
        1..10 if sum % 10 == 0 && sum % 100 != 10 && sum > 0 => Some((total, Some(sum + part))),
        1..100 if sum % 100 == 0 && sum > 0 => Some((total, Some(sum + part))),
        1..1000 if sum % 1000 == 0 && sum > 0 => Some((total, Some(sum + part))),
        _ => None,
    }
}

fn is_thousands(mut number: u64) -> bool {
    while number.is_multiple_of(1000) {
        number /= 1000;
    }
    number == 1
}
