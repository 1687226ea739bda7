//! A text without what carries it: mark-up, quotation marks of mail, hyphens at the ends of lines,
//! page numbers and the numbers of a list. [`crate::same`] calls it first. What is left is in the order
//! of the text.

use super::bytes::Bytes;
use super::code;
use super::form::fold;
use super::opening::opening;
use crate::error::Error;
use crate::same::limits::{LEAST_PAGES, LINES_OF_A_PAGE};
use crate::same::lists::{Classes, lists};
use crate::same::with_room;
use crate::text::mail::{LINES_OF_SIGNATURE, is_quotation_head};
use crate::text::markup::{Markup, strip};
use std::borrow::Cow;

/// What [`plain`] writes around lines that carry a text, as a signature. A text's own ones are left out.
pub const FRAME_BEGINS: char = '\u{2}';
pub const FRAME_ENDS: char = '\u{3}';

/// Tags of a forum, of which the closing one says that they are some.
const FORUM_TAGS: [&str; 12] = [
    "b", "i", "u", "s", "url", "img", "quote", "code", "size", "color", "list", "*",
];

/// What stands in front of a number that has a line for itself.
pub const ALONE: char = '\u{4}';

/// The text as it would stand on one page, in one piece.
pub fn plain<'t>(
    text: &'t str,
    bytes: &Bytes,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Cow<'t, str>, Error> {
    let has_signs = bytes.have(b"<&[%{\n\r>\x02\x03\x04");
    if !has_signs && opening(text).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let mut text = match has_markup(text) {
        true => strip(Markup::Html, text, check_interrupts)?,
        false => Cow::Borrowed(text),
    };
    if text.bytes().any(|byte| matches!(byte, 2..=4)) {
        let mut spaced = with_room(text.len())?;
        let space = |c| {
            if matches!(c, FRAME_BEGINS | FRAME_ENDS | ALONE) {
                ' '
            } else {
                c
            }
        };
        spaced.extend(text.chars().map(space));
        text = Cow::Owned(spaced);
    }
    if code::is_object(&text) {
        text = Cow::Owned(text.replace(['{', '}', '"'], " ").replace(',', "\n"));
    } else if code::is_query_string(&text) {
        text = Cow::Owned(text.replace('=', ": ").replace('&', "\n"));
    }
    let has_codes = |text: &str| text.contains("[/") || text.contains("%20");
    if text.bytes().any(|byte| matches!(byte, b'[' | b'%')) && has_codes(&text) {
        text = Cow::Owned(without_codes(&text)?);
    }
    if let Some(label) = opening(&text) {
        let (name, rest) = text.split_at(label);
        let mut framed = with_room(text.len() + 2)?;
        framed.push(FRAME_BEGINS);
        framed.push_str(name);
        framed.push(FRAME_ENDS);
        framed.push_str(rest);
        text = Cow::Owned(framed);
    }
    let trimmed = text.trim();
    if !trimmed.contains('\n') && !trimmed.starts_with('>') {
        return Ok(text);
    }
    check_interrupts();
    Ok(Cow::Owned(lines_joined(trimmed)?))
}

/// Whether a text has a tag or a character reference. A `<` that is not the begin of a tag says that
/// it has none: in "if a<b" the standard's tokenizer would take the rest for a tag.
fn has_markup(text: &str) -> bool {
    if !text.bytes().any(|byte| byte == b'<' || byte == b'&') {
        return false;
    }
    let tags_end = text.split('<').skip(1).all(|behind| {
        let is_tag = behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        !is_tag || behind.contains('>')
    });
    let is_reference = |behind: &str| {
        let name = behind
            .bytes()
            .take(32)
            .position(|byte| !byte.is_ascii_alphanumeric() && byte != b'#');
        name.is_some_and(|end| end > 1 && behind.as_bytes()[end] == b';')
    };
    tags_end
        && (text.contains('>') && text.contains('<') || text.split('&').skip(1).any(is_reference))
}

fn lines_joined(text: &str) -> Result<String, Error> {
    let numbered = is_numbered(text);
    let mut lines: Vec<&str> = Vec::new();
    let reserved = lines.try_reserve_exact(text.lines().count());
    reserved.map_err(|_| Error::OutOfMemory)?;
    lines.extend(text.lines().map(unquoted));
    let pages = page_numbers(text, &lines);
    // A line has three signs of a byte more at most.
    let mut joined = with_room(text.len() + 3 * lines.len() + 8)?;
    let mut in_signature = false;
    for (n, mut line) in lines.iter().copied().enumerate() {
        if numbered && let Some((_, rest)) = list_number(line) {
            line = rest;
        }
        if pages.contains(&n) || is_cue(line) {
            continue;
        }
        if joined.ends_with('\n') && starts_with_letter(line) && ends_with_hyphen(joined.trim_end())
        {
            joined.truncate(joined.trim_end().len());
            joined.pop();
        }
        if !in_signature
            && n > 0
            && is_signature_mark(line)
            && lines.len() - n <= LINES_OF_SIGNATURE
        {
            in_signature = true;
            joined.push(FRAME_BEGINS);
        }
        line = without_heading_mark(line);
        let is_head = !in_signature && is_quotation_head(line);
        if is_head {
            joined.push(FRAME_BEGINS);
        }
        if lines.len() > LINES_OF_A_PAGE && n > 0 && page_number(line).is_some() {
            joined.push(ALONE);
        }
        joined.push_str(line.trim_end());
        if is_head {
            joined.push(FRAME_ENDS);
        }
        joined.push('\n');
    }
    Ok(joined)
}

/// The text without the tags of a forum, as [b] and [/url], and with spaces for those of an address.
fn without_codes(text: &str) -> Result<String, Error> {
    let mut plain = with_room(text.len())?;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (length, written) = match forum_tag(rest) {
            Some(length) => (length, ""),
            _ if rest.starts_with("%20") => (3, " "),
            _ => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        plain.push_str(written);
        rest = &rest[length..];
    }
    Ok(plain)
}

/// The bytes of the tag of a forum with which a text begins. None is within another one, so that each letter is
/// looked at once.
fn forum_tag(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find(['[', ']', '\n'])?;
    let name = inner[..end].trim_start_matches('/').split('=').next()?;
    (inner[end..].starts_with(']') && FORUM_TAGS.contains(&name)).then_some(end + 2)
}

/// The text with the number sign as a word for itself, with dimensions as several numbers, and without the
/// commands of LaTeX.
pub fn signs_apart<'t>(text: &'t str, bytes: &Bytes) -> Result<Cow<'t, str>, Error> {
    let is_between_digits = |row: &[u8; 3]| {
        row[0].is_ascii_digit() && row[2].is_ascii_digit() && b"xX*T".contains(&row[1])
    };
    let has_dimension =
        bytes.have_behind_digit(b"xX*T") && text.as_bytes().array_windows().any(is_between_digits);
    let has_command = bytes.have(b"\\") && bytes.have(b"{");
    // Signs behind a digit, by the bytes with which they begin; and those anywhere.
    let has_sign = bytes.have_behind_digit(b"\"\xe2")
        || bytes.have(b"\xe2") && text.contains('№')
        || bytes.have(b"\xc2\xc3") && text.contains(['×', 'º', '°']);
    if !has_sign && !has_dimension && !has_command {
        return Ok(Cow::Borrowed(text));
    }
    let mut apart = with_room(2 * text.len())?;
    let mut in_front = ' ';
    let mut in_word = false;
    let mut is_quoted = false;
    // What lies in front is written.
    let mut written = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let behind = chars.peek().map_or(' ', |(_, c)| *c);
        is_quoted ^= c == '"';
        let is_between = in_front.is_ascii_digit() && behind.is_ascii_digit();
        let instead = match c {
            '№' => Some("№ "),
            '×' | '*' if is_between => Some(" x "),
            'x' | 'X' if is_between && !in_word => Some(" x "),
            // The date and the time of ISO 8601.
            'T' if is_between && chars.clone().nth(2).is_some_and(|(_, c)| c == ':') => Some(" "),
            'Z' if in_front.is_ascii_digit() && has_dimension && !behind.is_alphanumeric() => {
                Some("")
            }
            c if is_sign_of_inch(c) && in_front.is_ascii_digit() && (c != '"' || is_quoted) => {
                is_quoted = false;
                Some(" inch ")
            }
            'º' if matches!(behind, 'C' | 'F') => Some("°"),
            // n° 7
            '°' | 'º' if matches!(in_front, 'n' | 'N') => Some(""),
            '\\' if has_command && behind.is_ascii_alphabetic() => {
                while chars.next_if(|(_, c)| c.is_ascii_alphabetic()).is_some() {}
                chars.next_if(|(_, c)| *c == '{');
                Some("")
            }
            '}' if has_command => Some(""),
            '~' if has_command => Some(" "),
            _ => None,
        };
        if let Some(instead) = instead {
            apart.push_str(&text[written..at]);
            apart.push_str(instead);
            written = chars.peek().map_or(text.len(), |(next, _)| *next);
        }
        // 0x1F and E4x7 are names, 140x200 is not.
        in_word = c.is_ascii_alphabetic() && !matches!(c, 'x' | 'X')
            || in_word && c.is_ascii_alphanumeric()
            || c == '0' && !in_front.is_ascii_digit() && in_front != '.';
        in_front = c;
    }
    apart.push_str(&text[written..]);
    Ok(Cow::Owned(apart))
}

fn is_sign_of_inch(c: char) -> bool {
    matches!(c, '"' | '\u{2033}' | '\u{201d}')
}

/// The two dashes above the signature of a mail (RFC 3676), and what is written for them.
fn is_signature_mark(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 2 && line.bytes().all(|byte| byte == b'-' || byte == b'_')
}

/// Whether a line is the times of a subtitle.
fn is_cue(line: &str) -> bool {
    let is_time = |c: char| c.is_ascii_digit() || ":.,-> ".contains(c);
    line.contains("-->") && line.trim_end().chars().all(is_time)
}

/// A line without the mark of a heading of a wiki: h2.
fn without_heading_mark(line: &str) -> &str {
    match line.as_bytes() {
        [b'h', b'1'..=b'6', b'.', b' ', ..] => &line[4..],
        [b'=', b'=', ..] if line.trim_end().ends_with("==") => line.trim_matches(['=', ' ']),
        _ => line,
    }
}

/// A line without the quotation marks of mail.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches(|c: char| c == '>' || c.is_whitespace())
}

fn starts_with_letter(line: &str) -> bool {
    line.starts_with(char::is_alphabetic)
}

fn ends_with_hyphen(line: &str) -> bool {
    let mut last = line.chars().rev();
    matches!(last.next(), Some('-' | '\u{2010}' | '\u{ad}'))
        && last.next().is_some_and(char::is_alphabetic)
}

/// The number at the begin of an item of a list, and what follows it.
fn list_number(line: &str) -> Option<(char, &str)> {
    let mut chars = line.chars();
    let number = chars.next().filter(char::is_ascii_digit)?;
    let rest = chars.as_str().strip_prefix(['.', ')', '、'])?;
    let next = rest.split_whitespace().next().unwrap_or_default();
    let is_date = lists().classes(&fold(next)).has(Classes::CALENDAR);
    let is_date = is_date && !lists().classes(&fold(next)).has(Classes::NUMERAL);
    (!rest.starts_with(|c: char| c.is_ascii_digit()) && !is_date).then_some((number, rest))
}

/// Whether lines begin with 1 and 2.
pub fn is_numbered(text: &str) -> bool {
    let mut seen = [false; 2];
    for line in text.lines() {
        match list_number(unquoted(line)) {
            Some(('1', _)) => seen[0] = true,
            Some(('2', _)) => seen[1] = true,
            _ => (),
        }
    }
    seen == [true; 2]
}

/// The lines that are page numbers. A number alone on a line is one only where a page can end: beside a form
/// feed, beside a word for page, or in numbers that grow by one with lines between them.
fn page_numbers(text: &str, lines: &[&str]) -> Vec<usize> {
    let has_feed = text.contains('\u{c}');
    let mut pages: Vec<usize> = Vec::new();
    let mut growing: Vec<(usize, u32)> = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let Some((number, is_named)) = page_number(line) else {
            continue;
        };
        let inside = n > 0 && n + 1 < lines.len();
        let begins_page = |line: &&str| line.trim_start_matches(' ').starts_with('\u{c}');
        let beside_feed =
            has_feed && (begins_page(line) || lines.get(n + 1).is_some_and(begins_page));
        if inside && is_named || beside_feed {
            pages.push(n);
        } else if inside {
            let follows = |(last, of_last): &(usize, u32)| {
                *of_last + 1 == number && n - last >= LINES_OF_A_PAGE
            };
            if !growing.last().is_some_and(follows) {
                growing.clear();
            }
            growing.push((n, number));
            match growing.len() {
                ..LEAST_PAGES => (),
                LEAST_PAGES => pages.extend(growing.iter().map(|(line, _)| *line)),
                _ => pages.push(n),
            }
        }
    }
    pages.sort_unstable();
    pages
}

/// The number of a line that has one of up to four digits and nothing beside it but words for page; and
/// whether it has such a word.
fn page_number(line: &str) -> Option<(u32, bool)> {
    if !line.contains(char::is_numeric) {
        return None;
    }
    let words = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let (mut first, mut digits, mut is_named) = (None, 0, false);
    for word in words.flat_map(|word| word.split_inclusive(['第', '共', '页', '頁'])) {
        let is_number = word.chars().all(char::is_numeric);
        if is_number {
            digits += word.chars().count();
            first = first.or(word.parse().ok());
        } else if lists().is_page_word(&word.to_lowercase()) {
            is_named |= word.chars().count() > 2 || word.contains(['页', '頁', '쪽']);
        } else {
            return None;
        }
    }
    let number = first.filter(|_| (1..=6).contains(&digits))?;
    Some((number, is_named))
}
