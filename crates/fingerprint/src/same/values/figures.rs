//! Numbers in figures of other scripts: Han numerals, and Roman ones. `numerals` asks for both;
//! `quantities` reads Han numerals in the text that was cut. A row of figures is one number, which the
//! last of them ends.

use super::Text;
use super::form::Number;
use super::numerals::{MOST_PARTS, Numeral, Written};
use crate::same::is_one_of;

/// Words that one Roman letter alone numbers; beside others it is a letter.
const NUMBERED: &str = "chapter part section volume vol book act scene phase level type class stage kapitel \
    teil band chapitre partie tome capitulo parte tomo capitolo глава часть том";

/// A number in digits or Han numerals at the begin of a text, and its bytes.
pub fn short_number(text: &str) -> Option<(u64, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        return Some((text[..digits].parse().ok()?, digits));
    }
    let is_numeral = |c: &char| han_digit(*c).or(han_unit(*c)).is_some();
    if !text.starts_with(|c| is_numeral(&c)) {
        return None;
    }
    let row: Vec<char> = text
        .chars()
        .take(MOST_PARTS)
        .take_while(is_numeral)
        .collect();
    let length = row.iter().map(|c| c.len_utf8()).sum();
    Some((han_number(&row)?, length))
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

pub fn han_unit(c: char) -> Option<u64> {
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
pub fn han(text: Text, i: usize) -> Option<Numeral> {
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
pub fn roman(text: Text, i: usize) -> Option<Numeral> {
    let word = text.word(i);
    let is_numbered = || i > 0 && is_one_of(NUMBERED, text.word(i - 1));
    if !is_of_roman_letters(word) || word.len() < 2 && !is_numbered() {
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

/// Whether a word may be a Roman number.
pub fn is_of_roman_letters(word: &str) -> bool {
    word.len() <= MOST_OF_ROMAN && word.bytes().all(|byte| b"ivxlc".contains(&byte))
}

/// Letters of the longest Roman number that is read, 388.
const MOST_OF_ROMAN: usize = 12;

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

pub fn roman_number(word: &str) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_their_value() {
        for (text, number) in [
            ("二十一", 21),
            ("三百零五", 305),
            ("十", 10),
            ("二〇二四", 2024),
            ("两万三千", 23_000),
            ("一亿", 100_000_000),
        ] {
            assert_eq!(short_number(text), Some((number, text.len())), "{text}");
        }
        assert_eq!(short_number("亿亿亿"), None);
        assert_eq!(short_number("x"), None);
        for (word, number) in [
            ("iii", Some(3)),
            ("xiv", Some(14)),
            ("xcix", Some(99)),
            ("iiii", None),
            ("vx", None),
            ("", None),
        ] {
            assert_eq!(roman_number(word), number, "{word}");
        }
    }
}
