//! Dates in digits and with names of months, and days of the week. [`super`] asks what begins at each
//! word. Digits that may be day and month in either order, as 03/04/2024, are not a date.

use super::form::{Begin, Form};
use super::numerals::{Numeral, Written, numerals};
use super::table::Meaning;
use super::{Found, Text, Values};
use crate::same::cut::tokens::TokenKind;
use crate::same::lists::Classes;

/// Words that may stand between the day, the month and the year, and behind the year.
const BETWEEN: [&str; 10] = [
    "of", "de", "del", "di", "d", "the", "den", "da", "ng", "nam",
];
const BEHIND_YEAR: [&str; 8] = ["г", "года", "р", "року", "r", "roku", "m", "y"];

/// A day of a month, of a year if it is known.
#[derive(Clone, Copy)]
struct Date {
    year: Option<u32>,
    month: u32,
    day: u32,
}

impl Date {
    /// The date, if there may be one.
    fn of(year: Option<u32>, month: u32, day: u32) -> Option<Self> {
        let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
        is_date.then_some(Self { year, month, day })
    }

    fn form(self) -> Form {
        let Self { year, month, day } = self;
        Form::Date { year, month, day }
    }
}

/// Adds the dates that begin at a word.
pub fn dates(text: Text, i: usize, (numerals, found): (&[Numeral], &Found), values: &mut Values) {
    if text.is(i, TokenKind::Number)
        && !text.goes_on_in_front(i, "./-")
        && let Some((length, date)) = in_digits(text.from(i))
    {
        let end = behind_year(text, text.behind(i, length), date);
        values.push(i..end, date.form());
    }
    for numeral in numerals {
        day_first(text, i, numeral, values);
    }
    for (end, meaning) in found {
        if let Meaning::Month(month) = meaning {
            month_first(text, i, (*end, *month), values);
        }
    }
}

/// Adds the names of days and months that begin at a word.
pub fn names(text: Text, i: usize, found: &Found, values: &mut Values) {
    for &(end, meaning) in found {
        match meaning {
            Meaning::Day(day) => values.push(i..end, Form::Day(day, begin(text, i))),
            Meaning::Month(month) => values.push(i..end, Form::Month(month, begin(text, i))),
            _ => (),
        }
    }
}

/// The begin of a name; characters have several words for a day.
fn begin(text: Text, i: usize) -> Begin {
    match text.is(i, TokenKind::Character) {
        true => Begin::of(""),
        false => Begin::of(text.word(i)),
    }
}

/// Reads digits and a separator behind them.
fn part(text: &str) -> Option<(u32, usize, char, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok().filter(|_| digits <= 4)?;
    let behind = &text[digits..];
    let mark = behind
        .trim_start_matches(' ')
        .chars()
        .next()
        .unwrap_or('\n');
    let rest = match mark {
        '.' | '/' | '-' => behind.strip_prefix(mark)?,
        '年' | '月' | '日' | '号' | '년' | '월' | '일' => {
            &behind.trim_start_matches(' ')[mark.len_utf8()..]
        }
        _ => behind,
    };
    Some((number, digits, mark, rest))
}

/// A date in digits at the begin of a text, and its bytes.
fn in_digits(text: &str) -> Option<(usize, Date)> {
    let (a, of_a, mark, rest) = part(text)?;
    let is_year = of_a == 4;
    match mark {
        '年' | '년' => {
            let (month, _, mark, rest) = part(rest.trim_start_matches(' '))?;
            let date = matches!(mark, '月' | '월').then(|| day(rest, Some(a), month))??;
            Some((text.len() - date.0.len(), date.1))
        }
        '月' | '월' => {
            let (rest, date) = day(rest, None, a)?;
            Some((text.len() - rest.len(), date))
        }
        '.' | '/' | '-' => {
            let (b, of_b, next, rest) = part(
                rest.strip_prefix(' ')
                    .filter(|_| mark == '.')
                    .unwrap_or(rest),
            )?;
            let (date, rest) =
                if next == mark && rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
                    let (c, of_c, last, rest) = part(
                        rest.strip_prefix(' ')
                            .filter(|_| mark == '.')
                            .unwrap_or(rest),
                    )?;
                    let is_more = last == mark && rest.starts_with(|c: char| c.is_ascii_digit());
                    if is_more || of_b > 2 {
                        return None;
                    }
                    let date = match (is_year, of_c) {
                        (true, 1 | 2) => Date::of(Some(a), b, c),
                        (false, 4) if mark == '.' || a > 12 || a == b => Date::of(Some(c), b, a),
                        (false, 4) if b > 12 => Date::of(Some(c), a, b),
                        _ => None,
                    };
                    (date?, rest)
                } else if mark == '.' && of_a <= 2 && of_b <= 2 {
                    (Date::of(None, b, a)?, rest)
                } else {
                    return None;
                };
            Some((text.len() - rest.len(), date))
        }
        _ => None,
    }
}

/// The day behind year and month, with what follows it.
fn day(text: &str, year: Option<u32>, month: u32) -> Option<(&str, Date)> {
    let (day, _, mark, rest) = part(text.trim_start_matches(' '))?;
    let is_day = matches!(mark, '日' | '号' | '일');
    Some((rest, Date::of(year, month, day).filter(|_| is_day)?))
}

/// The day of a month that a number may be.
fn as_day(numeral: &Numeral) -> Option<u32> {
    let day = numeral.number.as_whole()?;
    (1..=31).contains(&day).then_some(day as u32)
}

/// The year that a word is.
fn year(text: Text, i: usize) -> Option<u32> {
    let word = text.word(i);
    let is_year = word.len() == 4 && text.is(i, TokenKind::Number);
    word.parse().ok().filter(|_| is_year)
}

fn skip(text: Text, i: usize) -> usize {
    i + usize::from(BETWEEN.contains(&text.word(i)))
}

fn behind_year(text: Text, i: usize, date: Date) -> usize {
    let has_more = date.year.is_some() && BEHIND_YEAR.contains(&text.word(i));
    i + usize::from(has_more)
}

/// Adds a day and a month, and the same with the year behind them.
fn push(text: Text, i: usize, end: usize, (month, day): (u32, u32), values: &mut Values) {
    // The Vietnamese word for day.
    let i = i - usize::from(i > 0 && text.word(i - 1) == "ngay");
    let Some(date) = Date::of(None, month, day) else {
        return;
    };
    values.push(i..end, date.form());
    let at = skip(text, end);
    if let Some(year) = year(text, at) {
        let date = Date {
            year: Some(year),
            ..date
        };
        values.push(i..behind_year(text, at + 1, date), date.form());
    }
}

/// 5 June 2024, 5th of June, 5 de junio de 2024.
fn day_first(text: Text, i: usize, numeral: &Numeral, values: &mut Values) {
    // The Danish numeral is the English word: from 24 December to January.
    let is_light = numeral.written == Written::Words && text.tokens.classes(i).has(Classes::ORDERS);
    let Some(day) = as_day(numeral).filter(|_| !is_light) else {
        return;
    };
    for (end, meaning) in text.meanings(skip(text, numeral.end)) {
        if let Meaning::Month(month) = meaning {
            push(text, i, end, (month, day), values);
        }
    }
}

/// June 5, 2024.
fn month_first(text: Text, i: usize, (end, month): (usize, u32), values: &mut Values) {
    let at = skip(text, end);
    if at >= text.tokens.len() {
        return;
    }
    for numeral in numerals(text, at, &text.meanings(at)) {
        let is_in_digits = matches!(numeral.written, Written::Digits | Written::OrdinalDigits);
        if let Some(day) = as_day(&numeral)
            && (is_in_digits || numeral.written == Written::OrdinalWords)
        {
            push(text, i, numeral.end, (month, day), values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_digits;

    #[test]
    fn dates_in_digits() {
        for (text, form) in [
            ("2024-03-12", "2024-03-12"),
            ("12.03.2024", "2024-03-12"),
            ("12. 3. 2024", "2024-03-12"),
            ("2024/3/12", "2024-03-12"),
            ("31/12/2024", "2024-12-31"),
            ("12/31/2024", "2024-12-31"),
            ("2024年3月12日", "2024-03-12"),
            ("2024년 3월 12일", "2024-03-12"),
            ("3月12日", "--03-12"),
            ("05.06", "--06-05"),
        ] {
            let found = in_digits(text);
            let found = found.map(|(length, date)| (length, date.form().to_string()));
            assert_eq!(found, Some((text.len(), form.to_owned())), "{text}");
        }
        for text in [
            "03/04/2024",
            "1.2.3.4",
            "2024-13-01",
            "3-4",
            "2024",
            "1.2.2024.5",
            "40.2.2024",
        ] {
            assert!(in_digits(text).is_none(), "{text}");
        }
    }
}
