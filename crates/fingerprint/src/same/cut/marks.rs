//! What stands between the words of a text that is cut: marks that end a sentence or a clause, the
//! parameters of an address, numbers of the items of a list. [`crate::same`] calls it where no
//! word begins. A mark is counted, and never becomes a word unless it is a symbol.

use super::Reader;
use super::layout::{ALONE, FRAME_BEGINS, FRAME_ENDS};
use super::tokens::{Asks, TokenKind};
use super::{is_character, is_symbol};
use crate::same::lists::lists;
use crate::text::mail::is_tracking;
use crate::text::scripts::is_han;

impl Reader<'_> {
    /// Reads a character that is in no word.
    pub(super) fn mark(&mut self, c: char, behind: char) {
        let place = self.at..self.at + c.len_utf8();
        let rest = &self.text[place.end..];
        let before_number = || {
            rest.trim_start_matches(' ')
                .starts_with(|c: char| c.is_ascii_digit())
        };
        match c {
            '.' if behind.is_whitespace() => self.end_sentence(),
            '!' | '?'
                if behind != '=' && (self.in_front == '中' || !behind.is_ascii_alphanumeric()) =>
            {
                self.end_sentence();
                if c == '?' {
                    self.ask(match self.in_front == '!' || behind == '!' {
                        true => Asks::Maybe,
                        false => Asks::Yes,
                    });
                }
            }
            '؟' => {
                self.end_sentence();
                self.ask(Asks::Yes);
            }
            '。' | '।' | '!' => self.end_sentence(),
            ';' => {
                self.tokens.marks.semicolons += 1;
                self.end_line();
                self.may_begin_item = true;
                self.end_clause();
                if !behind.is_whitespace() {
                    self.end_sentence();
                }
            }
            ':' if behind == ':' || self.in_front == ':' => {
                self.joins |= self.in_front.is_ascii_alphanumeric()
            }
            // The time of a clock.
            ':' if self.in_front.is_ascii_digit() && behind.is_ascii_digit() => (),
            ':' => {
                self.tokens.marks.colons += 1;
                if let Some(last) = self.tokens.tokens.last_mut() {
                    last.colon = true;
                }
                self.end_clause();
                self.may_begin_item = true;
            }
            ',' | '、' | '،' => {
                // A row of figures in brackets makes no record.
                self.tokens.marks.commas += usize::from(self.depth == 0);
                self.end_clause();
            }
            '(' | '[' | '{' | '【' | '〔' => {
                self.depth = 1;
                self.end_clause();
            }
            ')' | ']' | '}' | '】' | '〕' => {
                self.depth = 0;
                self.end_clause();
            }
            FRAME_BEGINS => self.in_frame = true,
            FRAME_ENDS => self.in_frame = false,
            ALONE => self.is_alone = true,
            '|' => {
                self.end_line();
                if let Some(last) = self.tokens.tokens.last_mut() {
                    last.bar = true;
                }
            }
            '-' | '\u{2014}' | '\u{2015}' if self.in_front == ' ' && behind == ' ' => {
                self.end_line()
            }
            '/' if self.in_front == ' ' && behind == ' ' => self.end_clause(),
            '&' if self.in_front == ' ' && behind == ' ' => {
                self.push(place.clone(), TokenKind::Word)
            }
            '-' | '_' | '/' => self.joins = self.in_front.is_ascii_alphanumeric(),
            '\n' => {
                if let Some(last) = self.tokens.tokens.last_mut() {
                    last.ends_line = true;
                }
                if behind == '\n' {
                    self.end_sentence();
                }
                self.may_begin_item = true;
            }
            '<' | '>' | '≤' | '≥' | '±' if before_number() => {
                self.push(place.clone(), TokenKind::Symbol)
            }
            '^' if behind.is_ascii_digit() && self.in_front.is_ascii_digit() => {
                self.push(place.clone(), TokenKind::Symbol)
            }
            _ if is_symbol(c) => self.push(place.clone(), TokenKind::Symbol),
            _ => (),
        }
        if matches!(c, '?' | '&' | '#') && self.in_front.is_ascii_graphic() {
            self.parameter(place.end);
        }
    }

    fn end_sentence(&mut self) {
        self.may_begin_item = true;
        if let Some(last) = self.tokens.tokens.last_mut()
            && !last.ends_sentence
        {
            (last.ends_sentence, last.ends_clause) = (true, true);
            self.tokens.marks.sentences += 1;
        }
    }

    fn ask(&mut self, asks: Asks) {
        if let Some(last) = self.tokens.tokens.last_mut() {
            last.asks = asks;
            self.tokens.marks.questions += 1;
        }
    }

    fn end_line(&mut self) {
        if let Some(last) = self.tokens.tokens.last_mut() {
            (last.ends_line, last.ends_clause) = (true, true);
        }
    }

    fn end_clause(&mut self) {
        if let Some(last) = self.tokens.tokens.last_mut() {
            last.ends_clause = true;
        }
    }

    /// Reads the name of a parameter of an address, and leaves the parameter out if it follows a visitor.
    fn parameter(&mut self, begin: usize) {
        let rest = &self.text[begin..];
        let name = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
            .count();
        if name == 0 || !rest[name..].starts_with('=') {
            return;
        }
        let value = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_graphic() && *byte != b'&')
            .count();
        match is_tracking(&rest[..name]) {
            // The caller steps over the mark in front itself.
            true => self.at = begin + value - 1,
            false => self.query_end = begin + value,
        }
    }

    /// Skips the number of an item of a list at the begin of a sentence: `1、`, `2)`, `(3)`, `一、`.
    pub(super) fn skips_item_number(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let inner = rest.strip_prefix('(').unwrap_or(rest);
        let is_numeral = |c: &char| c.is_ascii_digit() || is_han(*c) && lists().is_numeral_han(*c);
        let length = inner
            .chars()
            .take_while(is_numeral)
            .take(4)
            .map(char::len_utf8)
            .sum();
        let numeral = &inner[..length];
        let mut behind = inner[numeral.len()..].chars();
        let mark = behind.next();
        let ends = match mark {
            // Within brackets it closes them.
            Some(')') => self.depth == 0 || inner.len() < rest.len(),
            Some('、') => inner.len() == rest.len(),
            Some('.' | ',') => inner.len() == rest.len() && behind.next().is_some_and(is_character),
            _ => false,
        };
        let is_item =
            ends && !numeral.starts_with('0') && (1..=2).contains(&numeral.chars().count());
        if is_item {
            self.at += rest.len() - inner.len() + numeral.len() + mark.map_or(0, char::len_utf8);
            self.may_begin_item = false;
        }
        is_item
    }
}
