//! Numbers as a text has them: digits, words of many languages, Han and Roman numerals. [`super`]
//! asks what number begins at each word; a composed one gives also the numbers of its first words.

use super::number::Number;
use super::table::Meaning;
use super::{Text, Value, Values};
use crate::same::tokens::TokenKind;
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

/// Words that one Roman letter alone numbers; beside others it is a letter.
const NUMBERED: [&str; 26] = [
    "chapter",
    "part",
    "section",
    "volume",
    "vol",
    "book",
    "act",
    "scene",
    "phase",
    "level",
    "type",
    "class",
    "stage",
    "kapitel",
    "teil",
    "band",
    "chapitre",
    "partie",
    "tome",
    "capitulo",
    "parte",
    "tomo",
    "capitolo",
    "глава",
    "часть",
    "том",
];

/// The parts of a number in words.
const MOST_PARTS: usize = 12;

/// The numbers that begin at a word, the ones of fewer words first.
pub fn numerals(text: Text, i: usize) -> Vec<Numeral> {
    match text.tokens.at(i).kind {
        TokenKind::Number => digits(text, i),
        TokenKind::Character => match han(text, i) {
            Some(numeral) => vec![numeral],
            None => words(text, i),
        },
        TokenKind::Word => {
            let mut numerals = words(text, i);
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
        written != Written::Digits || end > i + 1 || text.word(i).len() == number.to_string().len();
    if is_article || !is_amount {
        return;
    }
    if matches!(written, Written::OrdinalDigits | Written::OrdinalWords) {
        // In Cyrillic letters the digits often have no ending: 3 этаж.
        if text.word(i).starts_with(is_cyrillic) {
            add(words.clone(), format!("n{number}"), written, values);
        }
        return add(words, format!("o{number}."), written, values);
    }
    if written == Written::Roman || written == Written::Digits && is_ordinal_by_neighbour(text, i) {
        add(words.clone(), format!("o{number}."), written, values);
    }
    if written == Written::Digits && is_cyrillic_ending(text, end) {
        add(i..end + 1, format!("o{number}."), written, values);
    }
    add(words, format!("n{number}"), written, values);
}

fn add(words: Range<usize>, form: String, written: Written, values: &mut Values) {
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
    if ENDINGS.contains(&ending) {
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
fn words(text: Text, i: usize) -> Vec<Numeral> {
    let mut numerals: Vec<Numeral> = Vec::new();
    // What is complete, and what the next thousand or million multiplies.
    let (mut total, mut now) = (0u64, None::<u64>);
    let mut at = i;
    for part in 0..MOST_PARTS {
        let found = parts(text, at);
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
        if BETWEEN.contains(&text.word(at)) && !parts(text, at + 1).is_empty() {
            at += 1;
        }
    }
    numerals
}

/// The numerals of one part, with where they end and whether they are ordinal.
fn parts(text: Text, i: usize) -> Vec<(usize, u64, bool)> {
    let parts = text.meanings(i).into_iter();
    let part = |(end, meaning)| match meaning {
        Meaning::Number(value) => Some((end, value, false)),
        Meaning::Ordinal(value) => Some((end, value, true)),
        _ => None,
    };
    parts.filter_map(part).collect()
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

/// A number in digits or Han numerals at the begin of a text, and its bytes.
pub fn short_number(text: &str) -> Option<(u64, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        return Some((text[..digits].parse().ok()?, digits));
    }
    let is_numeral = |c: &char| han_digit(*c).or(han_unit(*c)).is_some();
    let row: Vec<char> = text
        .chars()
        .take(MOST_PARTS)
        .take_while(is_numeral)
        .collect();
    let length = row.iter().map(|c| c.len_utf8()).sum();
    Some((han_number(&row)?, length)).filter(|_| !row.is_empty())
}

fn han_digit(c: char) -> Option<u64> {
    Some(match c {
        '〇' | '零' => 0,
        '一' | '壹' => 1,
        '二' | '两' | '贰' => 2,
        '三' | '叁' => 3,
        '四' | '肆' => 4,
        '五' | '伍' => 5,
        '六' | '陆' => 6,
        '七' | '柒' => 7,
        '八' | '捌' => 8,
        '九' | '玖' => 9,
        _ => return None,
    })
}

fn han_unit(c: char) -> Option<u64> {
    Some(match c {
        '十' | '拾' => 10,
        '百' | '佰' => 100,
        '千' | '仟' => 1000,
        '万' => 10_000,
        '亿' | '億' => 100_000_000,
        _ => return None,
    })
}

/// A row of Han numerals: 二十一, 三百五, 二〇二四.
fn han(text: Text, i: usize) -> Option<Numeral> {
    let numeral = |j: usize| {
        text.word(j)
            .chars()
            .next()
            .filter(|c| han_digit(*c).or(han_unit(*c)).is_some())
    };
    let most = text.tokens.len().min(i + MOST_PARTS);
    let row: Vec<char> = (i..most).map_while(numeral).collect();
    if row.is_empty() || i > 0 && numeral(i - 1).is_some() {
        return None;
    }
    let number = han_number(&row)?;
    Some(Numeral {
        end: i + row.len(),
        number: Number::whole(number),
        written: Written::Han,
        is_article: false,
    })
}

fn han_number(row: &[char]) -> Option<u64> {
    match row.iter().all(|c| han_digit(*c).is_some()) {
        true => row
            .iter()
            .try_fold(0u64, |sum, c| Some(10 * sum + han_digit(*c)?)),
        false => han_sum(row),
    }
}

fn han_sum(row: &[char]) -> Option<u64> {
    // What is complete, what the next 万 multiplies, and the digit in front.
    let (mut total, mut section, mut digit) = (0u64, 0u64, None);
    for c in row {
        if let Some(value) = han_digit(*c) {
            digit = Some(value);
            continue;
        }
        let unit = han_unit(*c)?;
        if unit >= 10_000 {
            let sum = total + section + digit.take().unwrap_or_default();
            (total, section) = (sum.max(1).checked_mul(unit)?, 0);
        } else {
            section += digit.take().unwrap_or(1) * unit;
        }
    }
    Some(total + section + digit.unwrap_or_default())
}

/// A Roman number of two letters and more, or of one behind what it numbers.
fn roman(text: Text, i: usize) -> Option<Numeral> {
    let word = text.word(i);
    let is_numbered = || i > 0 && NUMBERED.contains(&text.word(i - 1));
    let may_be = word.len() <= 9 && word.bytes().all(|byte| b"ivxlc".contains(&byte));
    if !may_be || word.len() < 2 && !is_numbered() {
        return None;
    }
    let number = roman_number(word)?;
    Some(Numeral {
        end: i + 1,
        number: Number::whole(number),
        written: Written::Roman,
        is_article: false,
    })
}

const ROMAN: [(u64, &str); 9] = [
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
];

fn roman_number(word: &str) -> Option<u64> {
    let (mut number, mut rest) = (0, word);
    for (value, letters) in ROMAN {
        let most = if letters.len() == 2 || value == 5 || value == 50 {
            1
        } else {
            3
        };
        for _ in 0..most {
            if let Some(behind) = rest.strip_prefix(letters) {
                (number, rest) = (number + value, behind);
            }
        }
    }
    (rest.is_empty() && number > 0).then_some(number)
}
