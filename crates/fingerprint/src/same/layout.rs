//! A text without what carries it: mark-up, quotation marks of mail, hyphens at the ends of lines,
//! page numbers and the numbers of a list. [`super`] calls it first. What is left is in the order
//! of the text.

use super::lists::lists;
use crate::error::Error;
use crate::text::markup::{Markup, strip};
use std::borrow::Cow;

/// The text as it would stand on one page, in one piece.
pub fn plain<'t>(text: &'t str, check_interrupts: &mut dyn FnMut()) -> Result<Cow<'t, str>, Error> {
    let text = match has_markup(text) {
        true => strip(Markup::Html, text, check_interrupts)?,
        false => Cow::Borrowed(text),
    };
    let trimmed = text.trim();
    if !trimmed.contains('\n') && !trimmed.starts_with('>') {
        return Ok(text);
    }
    check_interrupts();
    Ok(Cow::Owned(lines_joined(trimmed)))
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

fn lines_joined(text: &str) -> String {
    let numbered = is_numbered(text);
    let mut joined = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut line = unquoted(line);
        if numbered && let Some((_, rest)) = list_number(line) {
            line = rest;
        }
        let inside = !joined.is_empty() && lines.peek().is_some();
        if inside && is_page_number(line) {
            continue;
        }
        if joined.ends_with('\n') && starts_with_letter(line) && ends_with_hyphen(joined.trim_end())
        {
            joined.truncate(joined.trim_end().len());
            joined.pop();
        }
        joined.push_str(line.trim_end());
        joined.push('\n');
    }
    joined
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
    (!rest.starts_with(|c: char| c.is_ascii_digit())).then_some((number, rest))
}

/// Whether lines begin with 1 and 2.
fn is_numbered(text: &str) -> bool {
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

/// Whether a line has a number of up to four digits, and nothing beside it but words like "page".
fn is_page_number(line: &str) -> bool {
    let words = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut digits = 0;
    for word in words.flat_map(|word| word.split_inclusive(['第', '共', '页', '頁'])) {
        match word.chars().next().is_some_and(char::is_numeric) {
            true => digits += word.chars().filter(|c| c.is_numeric()).count(),
            false if lists().is_page_word(&word.to_lowercase()) => (),
            false => return false,
        }
    }
    (1..=6).contains(&digits)
}
