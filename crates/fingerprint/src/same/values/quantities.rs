//! Amounts with a unit or a currency, numbers behind a sign, versions, numbers of addresses. [`super`] asks what begins at
//! each word. An amount is written in the base unit, so that 0.75 l is 750 ml.

use super::figures::short_number;
use super::form::{Form, Number};
use super::numerals::{Numeral, multiplier, numerals};
use super::table::{Meaning, meanings};
use super::{Found, Text, Value, Values};
use crate::same::cut::is_character;
use crate::same::cut::tokens::TokenKind;
use std::ops::Range;

/// Words in front of a number that stand for its sign.
const NUMBER_SIGNS: [&str; 10] = [
    "number",
    "nr",
    "num",
    "numero",
    "nummer",
    "no",
    "номер",
    "号码",
    "numer",
    "nro",
];

const VERSION: [&str; 3] = ["version", "ver", "v"];

/// Units of time, which stand in dates too.
const OF_CALENDAR: [&str; 3] = ["day", "month", "year"];

/// The base unit of hours and minutes.
const OF_A_CLOCK: &str = "ms";

/// Adds the amounts of a number that begins at a word.
pub fn amounts(text: Text, i: usize, numeral: &Numeral, values: &mut Values) {
    let Numeral { end, number, .. } = *numeral;
    for (behind, meaning) in text.meanings(end) {
        let words = i..behind;
        match meaning {
            Meaning::Unit(factor, base) => {
                if let Some(amount) = number.times(factor) {
                    if base == OF_A_CLOCK {
                        with_rest(text, words.clone(), (amount, factor), values);
                    }
                    let is_characters = (end..behind).all(|j| text.is(j, TokenKind::Character));
                    let is_one_word = is_characters && !OF_CALENDAR.contains(&base);
                    values.0.push(Value {
                        words,
                        form: Form::Amount(amount, base),
                        unit: if is_one_word { end..behind } else { 0..0 },
                        is_word: false,
                    });
                }
            }
            Meaning::Currency(code) => {
                // The cutter puts a sign in front of the number behind it: 4.2 $ million.
                if let Some((end, unit)) = multiplier(text, behind)
                    && let Some(number) = number.times(unit)
                {
                    values.push(i..end, Form::Money(number, code));
                }
                values.push(words, Form::Money(number, code));
            }
            _ => (),
        }
    }
}

/// Adds a duration with the part in a smaller unit that follows it: 1 h 30 min.
fn with_rest(text: Text, words: Range<usize>, (amount, unit): (Number, u64), values: &mut Values) {
    let at = words.end
        + usize::from(matches!(
            text.word(words.end),
            "and" | "und" | "et" | "y" | "e" | "и"
        ));
    if at >= text.tokens.len() {
        return;
    }
    for numeral in numerals(text, at, &text.meanings(at)) {
        for (end, meaning) in text.meanings(numeral.end) {
            if let Meaning::Unit(factor, OF_A_CLOCK) = meaning
                && factor < unit
                && let Some(rest) = numeral.number.times(factor)
                && let Some(sum) = amount.plus(rest)
            {
                values.push(words.start..end, Form::Amount(sum, OF_A_CLOCK));
            }
        }
    }
}

/// Whether a word may stand for the sign of a number, or begin a version.
pub fn is_sign(word: &str) -> bool {
    // The bytes with which they begin.
    if !word.starts_with(['n', 'v', 'н', '号']) {
        return false;
    }
    let is_version =
        |word: &str| word.starts_with('v') && word[1..].starts_with(|c: char| c.is_ascii_digit());
    NUMBER_SIGNS.contains(&word) || VERSION.contains(&word) || is_version(word)
}

/// Adds money with the currency in front, numbers behind a sign, and versions.
pub fn signs(text: Text, i: usize, found: &Found, values: &mut Values) {
    let word = text.word(i);
    if text.is(i, TokenKind::Number) {
        if text.in_front(i) == Some('#') {
            values.push(i..i + 1, Form::Reference(word.to_owned()));
        }
        return;
    }
    for &(end, meaning) in found {
        if let Meaning::Currency(code) = meaning
            && text.is(end, TokenKind::Number)
        {
            for numeral in numerals(text, end, &[]) {
                values.push(i..numeral.end, Form::Money(numeral.number, code));
            }
        }
    }
    sign_of_letters(text, i, values);
    if !is_sign(word) && !matches!(word, "百" | "千") {
        return;
    }
    let part = match word {
        "百" => "pct",
        "千" => "pml",
        _ => "",
    };
    if !part.is_empty()
        && text.tokens.len() > i + 3
        && text.tokens.joined(&(i + 1..i + 3)) == "分之"
    {
        for numeral in numerals(text, i + 3, &text.meanings(i + 3)) {
            values.push(i..numeral.end, Form::Amount(numeral.number, part));
        }
    }
    if NUMBER_SIGNS.contains(&word) && text.is(i + 1, TokenKind::Number) {
        values.push(i..i + 2, Form::Reference(text.word(i + 1).to_owned()));
    }
    if VERSION.contains(&word) || word.starts_with('v') {
        version(text, i, values);
    }
}

/// Adds money with a sign of letters and a symbol: US$ 20. The cutter puts the symbol behind the number.
fn sign_of_letters(text: Text, i: usize, values: &mut Values) {
    let symbol = i + 2;
    let is_sign = text.is(i + 1, TokenKind::Number)
        && text.is(symbol, TokenKind::Symbol)
        && text.tokens.at(symbol).from == text.tokens.at(i + 1).from;
    let Some(number) = Number::read(text.word(i + 1)).filter(|_| is_sign) else {
        return;
    };
    for meaning in meanings(&[text.word(i), text.word(symbol)].concat()) {
        if let Meaning::Currency(code) = meaning {
            values.push(i..symbol + 1, Form::Money(number, code));
        }
    }
}

/// v1.2, version 1.2: the digits as they are written, since 1.20 is another one than 1.2.
fn version(text: Text, i: usize, values: &mut Values) {
    let word = text.word(i);
    let (at, rest) = match VERSION.contains(&word) {
        true => (i + 1, text.from(i + 1)),
        false => (i, text.from(i).strip_prefix('v').unwrap_or_default()),
    };
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let length = rest.bytes().take_while(is_part).count();
    let digits = rest[..length].trim_end_matches('.');
    let is_version = digits.starts_with(|c: char| c.is_ascii_digit())
        && !rest[digits.len()..].starts_with(char::is_alphanumeric);
    if is_version {
        let end = text.behind(at, digits.len() + usize::from(at == i));
        values.push(i..end, Form::Version(digits.to_owned()));
    }
}

/// What stands behind the numbers of an address, the longer ones first.
const MARKS_OF_ADDRESS: [&str; 6] = ["丁目", "番地の", "番地", "番", "号", "-"];

/// Adds the numbers of an address in Japan that begin at a word: 一丁目9番1号 is 1-9-1. What stands in front has to be a
/// name in Han characters or kana.
pub fn address(text: Text, i: usize, values: &mut Values) {
    let source = text.from(i);
    let is_name = |c: char| is_character(c) && short_number(c.encode_utf8(&mut [0; 4])).is_none();
    if !text.in_front(i).is_some_and(is_name) {
        return;
    }
    let (mut numbers, mut rest) = (Vec::new(), source);
    while numbers.len() < 4
        && let Some((number, length)) = short_number(rest)
    {
        numbers.push(number.to_string());
        rest = &rest[length..];
        match MARKS_OF_ADDRESS
            .into_iter()
            .find_map(|mark| rest.strip_prefix(mark))
        {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    if numbers.len() > 1 {
        let end = text.behind(i, source.len() - rest.len());
        values.push(i..end, Form::Address(numbers.join("-")));
    }
}
