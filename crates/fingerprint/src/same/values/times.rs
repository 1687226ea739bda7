//! Times of day: 19:30, 19.30 Uhr, 5 pm, 下午3点. [`super`] asks what begins at each word. A time zone
//! does not belong to it, so that another one stays another word.

use super::form::{Form, Number};
use super::table::Meaning;
use super::{Found, Text, Values};
use crate::same::cut::tokens::TokenKind;
use std::ops::Range;

/// Hours and minutes, as far as they are written.
struct Time {
    /// Bytes.
    length: usize,
    hour: u32,
    minute: u32,
    second: u32,
    /// Minutes or the sign of an hour say that it is one.
    is_whole: bool,
}

/// Adds the time that begins at a word.
pub fn times(text: Text, i: usize, found: &Found, values: &mut Values) {
    for &(end, meaning) in found {
        if let Meaning::Time(hour) = meaning {
            let form = Form::Time {
                hour,
                minute: 0,
                second: 0,
            };
            values.push(i..end, form);
        }
    }
    if !text.is(i, TokenKind::Number) || text.goes_on_in_front(i, "./") {
        return;
    }
    let Some(time) = read(text.from(i)) else {
        return;
    };
    let mut words = i..text.behind(i, time.length);
    let meridiem = meridiem(text, &mut words);
    let has_mark = with_clock_words(text, &mut words);
    let hour = match meridiem {
        Some(noon) if time.hour <= 12 => time.hour % 12 + noon,
        _ => time.hour,
    };
    if time.is_whole || meridiem.is_some() || has_mark {
        let Time { minute, second, .. } = time;
        if meridiem.is_none() && (minute, second) == (0, 0) {
            values.push(words.clone(), Form::Number(Number::whole(hour.into())));
        }
        let form = Form::Time {
            hour,
            minute,
            second,
        };
        values.push(words, form);
    }
}

/// Takes the words for the hours before or behind noon in.
fn meridiem(text: Text, words: &mut Range<usize>) -> Option<u32> {
    let behind = text
        .meanings(words.end)
        .into_iter()
        .filter_map(|(end, meaning)| match meaning {
            Meaning::Meridiem(noon) => Some((end, noon)),
            _ => None,
        });
    if let Some((end, noon)) = behind.max() {
        words.end = end;
        return Some(noon);
    }
    [0, 12].into_iter().find(|noon| {
        let begin =
            text.meaning_in_front(words.start, |meaning| meaning == Meaning::Meridiem(*noon));
        words.start = begin.unwrap_or(words.start);
        begin.is_some()
    })
}

/// Takes the words that stand beside the time of a clock in.
fn with_clock_words(text: Text, words: &mut Range<usize>) -> bool {
    let mut has_word = false;
    let behind = text.meanings(words.end).into_iter();
    if let Some((end, _)) = behind
        .filter(|(_, meaning)| *meaning == Meaning::Clock)
        .max_by_key(|(end, _)| *end)
    {
        (words.end, has_word) = (end, true);
    }
    if let Some(begin) = text.meaning_in_front(words.start, |meaning| meaning == Meaning::Clock) {
        (words.start, has_word) = (begin, true);
    }
    has_word
}

/// One or two digits, and how many.
fn digits(text: &str) -> Option<(u32, usize)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_part = (1..=2).contains(&count);
    Some((text[..count].parse().ok().filter(|_| is_part)?, count))
}

/// Two digits behind a mark, which no other digit follows.
fn behind(text: &str, marks: &[char]) -> Option<(u32, usize)> {
    let rest = text.strip_prefix(marks)?;
    let (number, count) = digits(rest)?;
    (count == 2).then_some((number, 3))
}

fn read(text: &str) -> Option<Time> {
    let (hour, mut length) = digits(text)?;
    let (mut minute, mut second, mut is_whole) = (0, 0, false);
    if let Some((minutes, bytes)) = behind(&text[length..], &[':', '.']) {
        (minute, length, is_whole) = (minutes, length + bytes, true);
        if let Some((seconds, bytes)) = behind(&text[length..], &[':']) {
            (second, length) = (seconds, length + bytes);
        }
        // 1.23.4 is a version, and 1.234 a number.
        let mut rest = text[length..].chars();
        let next = rest.next();
        let goes_on = next.is_some_and(|c| c.is_ascii_digit())
            || matches!(next, Some('.' | ':' | '/' | '-'))
                && rest.next().is_some_and(|c| c.is_ascii_digit());
        if goes_on && next != Some('-') {
            return None;
        }
    } else if let Some((minutes, bytes)) = behind_sign_of_hour(&text[length..]) {
        (minute, length, is_whole) = (minutes, length + bytes, true);
    }
    let is_time = hour <= 24 && minute < 60 && second < 60;
    is_time.then_some(Time {
        length,
        hour,
        minute,
        second,
        is_whole,
    })
}

/// The minutes behind the sign of an hour, and the bytes of all: 点30分, 時半, h30, 시 30분.
fn behind_sign_of_hour(text: &str) -> Option<(u32, usize)> {
    let spaces = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let begin = spaces(text);
    let sign = text[begin..].chars().next()?;
    let rest = &text[begin + sign.len_utf8()..];
    let is_latin = match sign {
        '点' | '时' | '時' | '시' => false,
        'h' if !rest.starts_with(char::is_alphabetic) => true,
        _ => return None,
    };
    let read = text.len() - rest.len();
    if let Some(half) = ['半', '반']
        .into_iter()
        .find(|half| rest.trim_start_matches(' ').starts_with(*half))
    {
        return Some((30, read + spaces(rest) + half.len_utf8()));
    }
    let minutes = &rest[spaces(rest)..];
    let found = digits(minutes).filter(|(_, count)| *count == 2 || !is_latin);
    let Some((minute, count)) = found else {
        return Some((0, read));
    };
    let behind = &minutes[count..];
    let sign = behind.chars().next().filter(|c| matches!(c, '分' | '분'));
    let has_minutes =
        sign.is_some() || is_latin && !behind.starts_with(|c: char| c.is_alphanumeric());
    match has_minutes {
        true => Some((
            minute,
            read + spaces(rest) + count + sign.map_or(0, char::len_utf8),
        )),
        false => Some((0, read)),
    }
}
