//! The words, numbers and symbols of a folded text, numbers in one form: `1,500.00`, `1 500,00` and `1500`
//! are equal, `15,000.0` is not. The cutter makes them and all others read them. What does not decide
//! is in none of them: punctuation, white space, parameters that follow a visitor.

use crate::error::Error;
use crate::same::lists::{Classes, Entry, Languages, lists};
use crate::same::with_room;
use std::ops::Range;

/// Bytes for which room is made for each word that is longer than before.
const BYTES_OF_A_WORD: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenKind {
    Number,
    #[default]
    Word,
    /// A letter of a script that puts no spaces between words.
    Character,
    Symbol,
}

/// Whether a sentence ends with a question mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    #[default]
    No,
    /// With an exclamation mark too, as in astonishment.
    Maybe,
    Yes,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Token {
    pub begin: u32,
    pub end: u32,
    /// Where it begins in the text that was cut; several numbers in one piece begin at one place.
    pub from: u32,
    pub kind: TokenKind,
    /// A point follows, as behind an abbreviation.
    pub dot: bool,
    /// It stands in the query of an address.
    pub in_query: bool,
    /// It stands in an address of the web.
    pub in_address: bool,
    /// A sentence ends behind it.
    pub ends_sentence: bool,
    /// Whether the sentence that it ends asks.
    pub asks: Asks,
    /// A sentence or a part of one, between commas, ends behind it.
    pub ends_clause: bool,
    /// A line, a field between bars or a part between dashes ends behind it.
    pub ends_line: bool,
    /// It stands in brackets.
    pub in_bracket: bool,
    /// It stands in what carries a text: a salutation, a signature, the head of a quoted mail.
    pub in_frame: bool,
    /// A number behind #.
    pub is_reference: bool,
    /// A bar follows.
    pub bar: bool,
    /// A colon follows.
    pub colon: bool,
    /// A number that has a line for itself, as that of a page.
    pub is_alone: bool,
    /// A hyphen joins it to the word in front.
    pub is_joined: bool,
    /// What the lists have of it, and what that is in the languages of the text.
    pub entry: Option<&'static Entry>,
    pub classes: Classes,
}

/// Marks that a text has.
#[derive(Clone, Copy, Default, Debug)]
pub struct Marks {
    pub semicolons: usize,
    pub colons: usize,
    pub commas: usize,
    pub sentences: usize,
    pub questions: usize,
}

/// The words of a text, each in the form in which it is compared.
#[derive(Clone, Default, Debug)]
pub struct Tokens {
    /// The words, one behind the other.
    pub text: String,
    pub tokens: Vec<Token>,
    pub marks: Marks,
    /// The languages that it may be in.
    pub languages: Languages,
    /// The classes that its words have, and maybe others.
    pub any: Classes,
}

impl Tokens {
    #[inline]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    #[inline]
    pub fn at(&self, i: usize) -> &Token {
        &self.tokens[i]
    }

    #[inline]
    pub fn all(&self) -> &[Token] {
        &self.tokens
    }

    #[inline]
    pub fn word(&self, i: usize) -> &str {
        let token = &self.tokens[i];
        &self.text[token.begin as usize..token.end as usize]
    }

    /// A word in the one of its forms that stands for all: road for rd.
    pub fn form(&self, i: usize) -> &str {
        let entry = self.at(i).entry;
        let form = entry.and_then(|entry| lists().first_form(entry));
        form.unwrap_or_else(|| self.word(i))
    }

    /// What the lists say of a word in a text of these languages.
    #[inline]
    pub fn classes(&self, i: usize) -> Classes {
        self.tokens[i].classes
    }

    /// Words in a row, without spaces.
    pub fn joined(&self, words: &Range<usize>) -> &str {
        match words.is_empty() {
            true => "",
            false => {
                &self.text[self.tokens[words.start].begin as usize
                    ..self.tokens[words.end - 1].end as usize]
            }
        }
    }

    /// Words in a row as a person would write them.
    pub fn shown(&self, words: &Range<usize>) -> String {
        let mut shown = String::new();
        for i in words.clone() {
            let follows = i > words.start;
            let one_piece = self.tokens[i].kind == TokenKind::Character
                && follows
                && self.tokens[i - 1].kind == TokenKind::Character;
            if follows && !one_piece {
                shown.push(' ');
            }
            shown.push_str(self.word(i));
        }
        shown
    }

    /// The same words in another order.
    pub fn picked(&self, words: impl Iterator<Item = usize>) -> Self {
        let mut picked = Self {
            languages: self.languages,
            any: self.any,
            ..Self::default()
        };
        for i in words {
            let token = self.tokens[i];
            picked.push(self.word(i), token);
        }
        picked
    }

    /// No words of a text with its marks, and room for all of them and more.
    pub fn to_fill(&self, more: usize) -> Result<Self, Error> {
        let mut filled = Self {
            marks: self.marks,
            languages: self.languages,
            any: self.any,
            ..Self::default()
        };
        let reserved = filled.tokens.try_reserve_exact(self.len() + more);
        reserved.map_err(|_| Error::OutOfMemory)?;
        filled.text = with_room(self.text.len() + BYTES_OF_A_WORD * more)?;
        Ok(filled)
    }

    pub fn copied(&self) -> Result<Self, Error> {
        let mut copied = self.to_fill(0)?;
        copied.text.push_str(&self.text);
        copied.tokens.extend(&self.tokens);
        Ok(copied)
    }

    /// Gives room for more words back.
    pub fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.tokens.shrink_to_fit();
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.tokens.capacity() * size_of::<Token>()
    }

    /// Adds a word that was not cut.
    pub fn push_other(&mut self, word: &str, token: Token) {
        let entry = lists().entry(word);
        let classes = Entry::classes_of(entry, self.languages);
        let token = Token {
            entry,
            classes,
            ..token
        };
        self.any = self.any.or(classes);
        self.push(word, token);
    }

    /// Looks all words up, of which the first ones tell the languages.
    pub fn look_up(&mut self, votes: usize) {
        let lists = lists();
        let Self { text, tokens, .. } = self;
        for token in &mut *tokens {
            token.entry = lists.entry(&text[token.begin as usize..token.end as usize]);
        }
        let first = tokens.iter().take(votes);
        self.languages = Languages::spoken(first.filter_map(|token| token.entry));
        for token in tokens {
            token.classes = Entry::classes_of(token.entry, self.languages);
            self.any = self.any.or(token.classes);
        }
    }

    /// Adds words of another text.
    pub fn push_all(&mut self, other: &Tokens, words: Range<usize>) {
        let (from, to) = match words.is_empty() {
            true => return,
            false => (other.tokens[words.start].begin, self.text.len() as u32),
        };
        self.text.push_str(other.joined(&words));
        let moved = |place: u32| place - from + to;
        self.tokens
            .extend(other.tokens[words].iter().map(|token| Token {
                begin: moved(token.begin),
                end: moved(token.end),
                ..*token
            }));
    }

    #[inline]
    pub fn push(&mut self, word: &str, token: Token) {
        let begin = self.text.len() as u32;
        self.text.push_str(word);
        self.tokens.push(Token {
            begin,
            end: self.text.len() as u32,
            ..token
        });
    }
}

/// Where the number that begins a text ends. A group of three digits behind a space belongs to it.
pub fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    let mut groups = (1..=3).contains(&end) && bytes[0] != b'0';
    loop {
        match bytes.get(end) {
            Some(b' ') if groups && digits(end + 1) == 3 => end += 4,
            Some(b'.' | b',' | b'\'') if is_digit(end + 1) => {
                let length = digits(end + 1);
                groups &= length == 3;
                end += 1 + length;
            }
            _ => return end,
        }
    }
}

/// Groups of digits of the longest number that is one.
const MOST_GROUPS: usize = 64;

/// Calls `number` for what a number means in one form. Commas may separate several.
pub fn canonical(body: &str, number: &mut dyn FnMut(&str)) {
    let mut signs = body.bytes().filter(|byte| !byte.is_ascii_digit());
    let has_points_alone = signs.all(|byte| byte == b'.');
    // 10.0.3.7 and 2.5 stay as they are, 1.500 may be a group of digits.
    let is_group = |part: &str| part.len() == 3;
    if has_points_alone && (!body.contains('.') || !body.split('.').skip(1).all(is_group)) {
        return number(match body.matches('.').count() {
            1 => whole_or_decimal(body),
            _ => body,
        });
    }
    if body
        .bytes()
        .filter(|byte| !byte.is_ascii_digit())
        .nth(MOST_GROUPS)
        .is_some()
    {
        return body.split([',', ' ', '\'']).for_each(number);
    }
    let parts: Vec<&str> = body.split(is_separator).collect();
    let separators: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
    if let Some(whole) = grouped(&parts, &separators) {
        return number(whole_or_decimal(&whole));
    }
    if let ([whole, decimals], b"." | b",") = (&parts[..], &separators[..]) {
        return number(whole_or_decimal(&format!("{whole}.{decimals}")));
    }
    for part in body.split([',', ' ', '\'']) {
        number(part);
    }
}

fn is_separator(c: char) -> bool {
    !c.is_ascii_digit()
}

/// A number without the separators of its groups of digits, of which the last may be decimals.
fn grouped(parts: &[&str], separators: &[u8]) -> Option<String> {
    let first = separators[0];
    let same = separators
        .iter()
        .take_while(|separator| **separator == first)
        .count();
    let (groups, decimals) = parts.split_at(same + 1);
    let western = groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
    let (last, inner) = groups[1..].split_last()?;
    let indian = first == b','
        && !inner.is_empty()
        && last.len() == 3
        && groups[0].len() <= 2
        && inner.iter().all(|group| group.len() == 2);
    if groups[0].starts_with('0') || !(western || indian) {
        return None;
    }
    match (decimals, separators.get(same)) {
        ([], _) => Some(groups.concat()),
        ([decimals], Some(b'.' | b',')) => Some(format!("{}.{decimals}", groups.concat())),
        _ => None,
    }
}

/// A decimal number, without decimals that are all zero.
fn whole_or_decimal(number: &str) -> &str {
    match number.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|byte| byte == b'0') => whole,
        _ => number,
    }
}

#[cfg(test)]
mod numbers_tests {
    use super::*;

    fn all(body: &str) -> Vec<String> {
        let mut numbers = Vec::new();
        assert_eq!(number_end(body), body.len(), "{body}");
        canonical(body, &mut |number| numbers.push(number.to_owned()));
        numbers
    }

    #[test]
    fn one_number_written_in_several_ways() {
        for body in ["1500", "1,500.00", "1 500,00", "1.500", "1'500", "1500.0"] {
            assert_eq!(all(body), ["1500"], "{body}");
        }
        for (body, number) in [
            ("15,000.0", "15000"),
            ("12,34,567", "1234567"),
            ("0,75", "0.75"),
            ("007", "007"),
            ("1.1.12", "1.1.12"),
            ("12.0", "12"),
            ("1.10", "1.10"),
            ("1 250 000", "1250000"),
        ] {
            assert_eq!(all(body), [number], "{body}");
        }
        assert_eq!(all("1,2,3"), ["1", "2", "3"]);
        assert_eq!(number_end("020 7946 0877"), 3);
    }
}
