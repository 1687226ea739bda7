//! How a folded text is cut into words: a number with its sign, a name with its symbols, an address without
//! its scheme; and what single characters are there: letters of words, characters that are words,
//! signs. [`crate::same`] calls it for each text before anything is compared.
//!
//! In reading order: `bytes` tells what a text has not. `code` takes texts of code, of which each name and operator counts. `layout` takes
//! mark-up, quotation marks of mail and page numbers away and marks the `opening`, `form` what case, accents and look-alike letters
//! make. This file and `marks` make `tokens` of it; `wording` brings what is said in other words into one
//! form, `frame` marks salutations and signatures.

pub mod bytes;
pub mod code;
pub mod form;
pub mod frame;
pub mod layout;
mod marks;
mod opening;
pub mod tokens;
pub mod wording;

use crate::error::Error;
use crate::same::lists::lists;
use crate::text::ngrams;
use crate::text::scripts::is_han;
use std::ops::Range;
use tokens::{Token, TokenKind, Tokens};
use tokens::{canonical, number_end};
use unicode_normalization::char::is_combining_mark;

/// Words of a text that are compared: a comparison takes up to 230 bytes for each.
pub const MOST_WORDS: usize = 1 << 19;

/// Bytes of most words, with the space behind them.
const BYTES_OF_A_WORD: usize = 4;

/// Words by which the languages of a text are told.
const MOST_VOTES: usize = 256;

/// Bytes that are added to a word: the ending of a number, the symbols of a name.
const MOST_ADDED: usize = 8;

/// Words between two pauses.
const CHECKED_EVERY: usize = 4096;

impl Tokens {
    /// Cuts a folded text; None when it has too many words.
    pub fn cut(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<Option<Self>, Error> {
        let mut reader = Reader::new(text, Tokens::default());
        reader
            .tokens
            .text
            .try_reserve(text.len() + text.len() / 2)
            .map_err(|_| Error::OutOfMemory)?;
        let words = (text.len() / BYTES_OF_A_WORD + 1).min(2 * CHECKED_EVERY);
        let reserved = reader.tokens.tokens.try_reserve(words);
        reserved.map_err(|_| Error::OutOfMemory)?;
        let mut next_pause = CHECKED_EVERY;
        while reader.at < text.len() {
            if reader.tokens.len() >= next_pause {
                next_pause += CHECKED_EVERY;
                check_interrupts();
            }
            if reader.tokens.len() > MOST_WORDS {
                return Ok(None);
            }
            reader.step();
            if reader.is_full {
                return Err(Error::OutOfMemory);
            }
        }
        let mut tokens = reader.tokens;
        tokens.look_up(MOST_VOTES);
        Ok(Some(tokens))
    }
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) in_front: char,
    /// Where the word that is read begins, and where the address and its query end that it may stand in.
    begin: usize,
    address_end: usize,
    pub(super) query_end: usize,
    /// Whether the number of an item of a list may stand here.
    pub(super) may_begin_item: bool,
    /// Whether a hyphen stands between the word in front and the next one.
    pub(super) joins: bool,
    /// Brackets that are open.
    pub(super) depth: usize,
    pub(super) in_frame: bool,
    pub(super) is_alone: bool,
    /// There is no memory for more words.
    is_full: bool,
    pub(super) tokens: Tokens,
}

/// Whether a text begins with the sign between two numbers: the x of 4x6.
fn begins_with_times(text: &str) -> bool {
    matches!(text.as_bytes(), [b'x', digit, ..] if digit.is_ascii_digit())
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, tokens: Tokens) -> Self {
        Self {
            text,
            at: 0,
            in_front: ' ',
            begin: 0,
            address_end: 0,
            query_end: 0,
            may_begin_item: true,
            joins: false,
            depth: 0,
            in_frame: false,
            is_alone: false,
            is_full: false,
            tokens,
        }
    }

    /// Reads a word, or a character that is in none.
    fn step(&mut self) {
        let begin = self.at;
        self.begin = begin;
        match self.text.as_bytes()[begin] {
            b' ' => {
                (self.at, self.in_front, self.joins) = (begin + 1, ' ', false);
                return;
            }
            byte if byte.is_ascii_alphabetic() => {
                self.word();
                self.in_front = 'x';
                return;
            }
            // Most Han characters: from U+5000 on.
            0xe5..=0xe9 if !self.may_begin_item => {
                self.push(begin..begin + 3, TokenKind::Character);
                (self.at, self.in_front) = (begin + 3, '中');
                return;
            }
            _ => (),
        }
        let Some(c) = self.text[begin..].chars().next() else {
            return;
        };
        if is_han(c) && !self.may_begin_item {
            self.push(begin..begin + c.len_utf8(), TokenKind::Character);
            (self.at, self.in_front) = (begin + c.len_utf8(), '中');
            return;
        }
        let behind = self.text[self.at + c.len_utf8()..]
            .chars()
            .next()
            .unwrap_or(' ');
        if self.may_begin_item && self.skips_item_number() {
            return;
        }
        if c.is_ascii_digit()
            || c == '-' && behind.is_ascii_digit() && is_before_sign(self.in_front)
        {
            self.number();
        } else if is_character(c) {
            // The last vowel of サーバー may be left out, at the end and before a vowel.
            let ends = !matches!(behind, '\u{30a1}'..='\u{30fa}') || "アイウエオ".contains(behind);
            if c != 'ー' || !ends {
                self.push(begin..begin + c.len_utf8(), TokenKind::Character);
            }
            self.at += c.len_utf8();
        } else if !is_punctuation(c) && is_letter(c) {
            self.word();
        } else {
            self.mark(c, behind);
            self.at += c.len_utf8();
        }
        self.at = self.at.max(begin + c.len_utf8());
        // Behind letters and digits no mark has a meaning of its own that depends on which they are.
        self.in_front = match self.text.as_bytes()[self.at - 1] {
            byte if byte.is_ascii() => char::from(byte),
            _ if is_character(c) => '中',
            _ => 'x',
        };
    }

    #[inline]
    pub(super) fn push(&mut self, word: Range<usize>, kind: TokenKind) {
        let text = self.text;
        self.push_text(&text[word], kind);
    }

    /// Characters of at most that many bytes as a text.
    fn written(&mut self, bytes: usize, characters: impl Iterator<Item = char>) -> String {
        let mut written = String::new();
        match written.try_reserve_exact(bytes) {
            Ok(()) => written.extend(characters),
            Err(_) => self.is_full = true,
        }
        written
    }

    #[inline]
    fn push_text(&mut self, word: &str, kind: TokenKind) {
        let Tokens { text, tokens, .. } = &mut self.tokens;
        let longer = text.try_reserve(word.len() + MOST_ADDED);
        if longer.and_then(|()| tokens.try_reserve(1)).is_err() {
            self.is_full = true;
            return;
        }
        self.may_begin_item = false;
        let in_query = self.begin < self.query_end;
        let token = Token {
            from: self.begin as u32,
            kind,
            in_query,
            in_address: self.begin < self.address_end,
            in_bracket: self.depth > 0,
            in_frame: self.in_frame,
            is_reference: self.in_front == '#',
            is_alone: std::mem::take(&mut self.is_alone),
            is_joined: std::mem::take(&mut self.joins),
            ..Token::default()
        };
        self.tokens.push(word, token);
    }

    fn number(&mut self) {
        let is_negative = self.text[self.at..].starts_with('-');
        let begin = self.at + usize::from(is_negative);
        let body = &self.text[begin..];
        let end = number_end(body);
        let currency = self.currency_in_front();
        let mut sign = if is_negative { "-" } else { "" };
        let letters = body[end..]
            .bytes()
            .take_while(u8::is_ascii_alphanumeric)
            .count();
        let is_code = body[end..end + letters]
            .bytes()
            .any(|byte| byte.is_ascii_digit())
            && !(begins_with_times(&body[end..]) && &body[..end] != "0");
        let is_plain = || body.as_bytes()[..end].iter().all(u8::is_ascii_digit);
        if is_code || sign.is_empty() && is_plain() {
            let length = end + if is_code { letters } else { 0 };
            self.push_text(&body[..length], TokenKind::Number);
            self.at = begin + length;
        } else {
            canonical(&body[..end], &mut |number| {
                let number = match sign {
                    "" => number,
                    _ => &[sign, number].concat(),
                };
                sign = "";
                self.push_text(number, TokenKind::Number);
            });
            self.at = begin + end;
        }
        if let Some(currency) = currency {
            self.push_text(&currency, TokenKind::Symbol);
        }
        self.ordinal();
    }

    /// Takes a currency in front of the number away: it counts behind it.
    fn currency_in_front(&mut self) -> Option<String> {
        let last = self.tokens.len().checked_sub(1)?;
        let belongs_to_one = last > 0 && self.tokens.at(last - 1).kind == TokenKind::Number;
        if belongs_to_one || !lists().is_currency(self.tokens.word(last)) {
            return None;
        }
        let currency = self.tokens.word(last).to_owned();
        let token = self.tokens.tokens.pop()?;
        self.tokens.text.truncate(token.begin as usize);
        Some(currency)
    }

    /// Adds the ending of an ordinal number to it: 3rd, 3e and 3.º are one word.
    fn ordinal(&mut self) {
        const ENDINGS: [&str; 10] = ["st", "nd", "rd", "th", "er", "re", "eme", "e", "o", "a"];
        let rest = &self.text[self.at..];
        if !rest.starts_with(|c: char| c == '.' || c.is_ascii_alphabetic()) {
            return;
        }
        let point = usize::from(rest.starts_with(".o") || rest.starts_with(".a"));
        let ending = ENDINGS.into_iter().find(|end| {
            let behind = rest[point..].strip_prefix(end);
            behind.is_some_and(|behind| !behind.starts_with(char::is_alphanumeric))
        });
        if let Some(ending) = ending
            && let Some(token) = self.tokens.tokens.last_mut()
            && token.kind == TokenKind::Number
        {
            self.tokens.text.push_str(ending);
            token.end += ending.len() as u32;
            self.at += point + ending.len();
        }
    }

    fn word(&mut self) {
        let rest = &self.text[self.at..];
        if let Some(length) = plain_word(rest.as_bytes())
            && !self.in_front.is_ascii_digit()
        {
            self.push_text(&rest[..length], TokenKind::Word);
            self.at += length;
            if let Some(last) = self.tokens.tokens.last_mut() {
                last.dot = rest.as_bytes().get(length) == Some(&b'.');
            }
            return;
        }
        if rest.starts_with("http") || rest.starts_with("www.") {
            let address = ["https://www.", "http://www.", "https://", "http://", "www."];
            if let Some(scheme) = address.into_iter().find(|scheme| rest.starts_with(scheme)) {
                let graphic = rest.bytes().take_while(u8::is_ascii_graphic).count();
                self.address_end = self.at + graphic;
                self.at += scheme.len();
                return;
            }
        }
        let mut length = match self.in_front.is_ascii_digit() && begins_with_times(rest) {
            true => 1,
            false => word_length(rest),
        };
        // 3만원 is three times ten thousand won.
        if self.in_front.is_ascii_digit()
            && let Some(unit) = ['만', '억', '천']
                .into_iter()
                .find(|unit| rest.starts_with(*unit))
        {
            length = unit.len_utf8();
        }
        let mut word = &rest[..length];
        if behind_apostrophe(&rest[length..], word).is_some() && is_elided(word) {
            self.push_text(word, TokenKind::Word);
            self.at += length + 1;
            return;
        }
        let joined;
        while let Some(more) = behind_apostrophe(&rest[length..], word) {
            length += more;
            word = &rest[..length];
        }
        if word.bytes().any(|byte| !byte.is_ascii_alphanumeric()) {
            let is_letter = |c: &char| !matches!(c, '\'' | '"' | '`' | '\u{5f3}' | '\u{5f4}');
            joined = self.written(word.len(), word.chars().filter(is_letter));
            word = &joined;
        }
        let run;
        if let Some(shorter) = without_runs(word) {
            run = shorter;
            word = &run;
        }
        let tail = &rest[length..];
        if word == "no"
            && tail
                .trim_start_matches(['.', ':', ' '])
                .starts_with(|c: char| c.is_ascii_digit())
        {
            word = "number";
        }
        self.at += length;
        self.push_text(word, TokenKind::Word);
        self.symbols_of_word(length);
        self.at += other_gender(&self.text[self.at..], length);
        let next = self.text[self.at..].chars().next();
        let dot = matches!(next, Some('.' | '/' | '\'' | '\u{5f3}'));
        if let Some(last) = self.tokens.tokens.last_mut() {
            last.dot = dot;
        }
    }

    /// Adds the symbols that are part of a name: C++, C#.
    fn symbols_of_word(&mut self, length: usize) {
        let tail = &self.text[self.at..];
        let plus = tail.starts_with("++");
        let sharp = length <= 2
            && tail.starts_with('#')
            && !tail[1..].starts_with(|c: char| c.is_ascii_alphanumeric());
        let symbols = if plus {
            "++"
        } else if sharp {
            "#"
        } else {
            return;
        };
        if let Some(last) = self.tokens.tokens.last_mut() {
            self.tokens.text.push_str(symbols);
            last.end += symbols.len() as u32;
            self.at += symbols.len();
        }
    }
}

/// The bytes of a word of plain letters in front of a mark that belongs to none, which is one as it stands.
fn plain_word(text: &[u8]) -> Option<usize> {
    let (mut length, mut run, mut last) = (0, 1, b' ');
    for byte in text.iter().take_while(|byte| byte.is_ascii_lowercase()) {
        run = if *byte == last { run + 1 } else { 1 };
        if run > 2 {
            return None;
        }
        (last, length) = (*byte, length + 1);
    }
    let ends = matches!(
        text.get(length),
        None | Some(b' ' | b'\n' | b',' | b'.' | b')' | b';' | b'!' | b'?')
    );
    let is_special = matches!(&text[..length], b"no" | b"m" | b"www");
    (ends && length > 0 && !is_special).then_some(length)
}

/// A word with each letter that it has three times in a row once: soooo, nooo. Roman numbers and sizes
/// stay, and what has one letter alone.
fn without_runs(word: &str) -> Option<String> {
    let bytes = word.as_bytes();
    let is_run = |three: &[u8]| {
        three[0] == three[1] && three[1] == three[2] && three[0].is_ascii_alphabetic()
    };
    let has_run = bytes.windows(3).any(is_run);
    let is_size = |byte: &u8| b"ivxlcdms".contains(byte);
    if !has_run || bytes.iter().all(|byte| *byte == bytes[0] || is_size(byte)) {
        return None;
    }
    let mut letters: Vec<char> = Vec::new();
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        let mut times = 1;
        while chars.next_if_eq(&c).is_some() {
            times += 1;
        }
        letters.extend(std::iter::repeat_n(c, if times > 2 { 1 } else { times }));
    }
    Some(letters.into_iter().collect())
}

/// The bytes of the ending of the other gender or of the plural behind a word: Bäcker/in, un(e), file(s).
fn other_gender(behind: &str, length: usize) -> usize {
    const ENDINGS: [&str; 19] = [
        "in", "a", "o", "e", "as", "os", "es", "er", "ere", "en", "ne", "se", "euse", "rice",
        "trice", "s", "ra", "ka", "r",
    ];
    let close = match behind.as_bytes() {
        [b'(', ..] if length >= 2 => ")",
        [b'/' | b'*' | b':' | b'_', ..] if length >= 4 => "",
        _ => return 0,
    };
    let letters = behind[1..]
        .bytes()
        .take_while(u8::is_ascii_alphabetic)
        .count();
    let rest = &behind[1 + letters..];
    let is_ending = ENDINGS.contains(&&behind[1..1 + letters])
        && rest.starts_with(close)
        && !rest[close.len()..].starts_with(char::is_alphanumeric);
    if is_ending {
        1 + letters + close.len()
    } else {
        0
    }
}

/// The bytes of the letters and digits that begin a text. Digits end a word of another script than Latin.
pub fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ascii = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let begins_with_letter = bytes.first().is_some_and(u8::is_ascii_alphabetic);
    if begins_with_letter && bytes.get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    let of_latin = text.starts_with(|c: char| c < '\u{300}');
    let is_part = |c: char| match c {
        '0'..='9' => of_latin,
        _ => c.is_ascii_alphabetic() || !c.is_ascii() && is_letter(c) && !is_character(c),
    };
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Whether a word loses its last vowel in front of an apostrophe and is one by itself: l'eau, un'idea.
pub fn is_elided(word: &str) -> bool {
    const ELIDED: [&str; 17] = [
        "l", "d", "j", "m", "n", "s", "t", "c", "qu", "un", "dell", "all", "nell", "sull", "dall",
        "quest", "jusqu",
    ];
    ELIDED.contains(&word)
}

/// The bytes of an apostrophe within a word and of the letters behind it. Hebrew has others.
pub fn behind_apostrophe(text: &str, word: &str) -> Option<usize> {
    let is_hebrew = |word: &str| word.ends_with(|c: char| ('\u{590}'..='\u{5ff}').contains(&c));
    let mark = text.chars().next()?;
    let joins = match mark {
        '\'' | '`' => word.ends_with(char::is_alphabetic),
        '"' | '\u{5f3}' | '\u{5f4}' => is_hebrew(word),
        _ => false,
    };
    let letters = &text[mark.len_utf8()..];
    let is_inside = joins && letters.starts_with(|c: char| c.is_alphabetic() && !is_character(c));
    is_inside.then(|| mark.len_utf8() + word_length(letters))
}

/// The commonest marks beyond ASCII, none of which is a letter.
fn is_punctuation(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2046}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}')
}

/// What a minus stands behind; behind a letter or a digit the same character is a hyphen.
pub fn is_before_sign(c: char) -> bool {
    c.is_whitespace() || "([:=/<>~中".contains(c)
}

pub fn is_letter(c: char) -> bool {
    ngrams::is_letter(c) || !c.is_ascii() && is_combining_mark(c)
}

/// Letters of scripts that put no spaces between words.
pub fn is_character(c: char) -> bool {
    c >= '\u{e00}'
        && matches!(c,
            '\u{e00}'..='\u{edf}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '々' | '〇'
            | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Signs that mean something by themselves: currencies, per cent, degrees, emoji.
pub fn is_symbol(c: char) -> bool {
    matches!(c,
        '%' | '$' | '‰' | '°' | '¢'..='¥' | '\u{e3f}' | '\u{20a0}'..='\u{20cf}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}
