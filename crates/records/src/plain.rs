//! The plain form of values that people write in several ways: umlauts as two letters, codes in
//! groups, telephone numbers with their country, and e-mail addresses. [`super::features`] asks for
//! it before it makes words and n-grams. It depends on the value alone, not on its column or on
//! other rows.

use simhash_fingerprint::error::Error;
use std::borrow::Cow;

/// Bytes of the longest code.
const MOST_OF_CODE: usize = 64;

/// Letters that a word of a code may have without a digit, and digits of such a code.
const MOST_LETTERS: usize = 2;
const DIGITS_BESIDE_LETTERS: usize = 4;

/// Digits that a telephone number has at least, and those that do not depend on where one calls from.
const LEAST_OF_TELEPHONE: usize = 7;
const OF_TELEPHONE: usize = 9;

/// Leaves the e of ae, oe and ue out, which stand for umlauts: those lose their dots in the normal form.
pub fn without_umlauts(text: &str) -> Result<Cow<'_, str>, Error> {
    let is_pair = |a: u8, b: u8| b | 0x20 == b'e' && matches!(a | 0x20, b'a' | b'o' | b'u');
    let bytes = text.as_bytes();
    if !bytes.windows(2).any(|pair| is_pair(pair[0], pair[1])) {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = String::new();
    if plain.try_reserve_exact(text.len()).is_err() {
        return Err(Error::OutOfMemory);
    }
    let (mut from, mut at) = (0, 1);
    while at < bytes.len() {
        if is_pair(bytes[at - 1], bytes[at]) {
            plain.push_str(&text[from..at]);
            from = at + 1;
            at += 1;
        }
        at += 1;
    }
    plain.push_str(&text[from..]);
    Ok(Cow::Owned(plain))
}

/// The name and the domain of an e-mail address.
pub struct Mail {
    /// Without points and the like, and without what comes after a plus sign: that its owner chose.
    pub name: String,
    pub domain: String,
}

/// Returns the parts of a value that is one e-mail address.
pub fn mail(value: &str) -> Option<Mail> {
    let (name, domain) = value.trim().split_once('@')?;
    let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
    let name = name.split('+').next()?;
    let is_name = name.contains(char::is_alphanumeric) && !name.contains(char::is_whitespace);
    let is_mail = is_name && domain.contains('.') && domain.chars().all(is_host);
    is_mail.then(|| Mail {
        name: name.chars().filter(|c| c.is_alphanumeric()).collect(),
        domain: domain.to_lowercase(),
    })
}

/// A value whose words all have a digit: a date, a telephone number, a postcode, an account. How it is cut
/// says nothing, so it is one word. Beside four digits a word of two letters is part of a code too.
pub struct Code {
    bytes: [u8; MOST_OF_CODE],
    length: usize,
    is_code: bool,
    /// Whether a word has no digit.
    has_letters: bool,
}

impl Default for Code {
    fn default() -> Self {
        Code {
            bytes: [0; MOST_OF_CODE],
            length: 0,
            is_code: true,
            has_letters: false,
        }
    }
}

impl Code {
    /// Adds the next word of the value, in normal form.
    pub fn add(&mut self, word: &str) {
        if !word.bytes().any(|byte| byte.is_ascii_digit()) {
            self.is_code &= word.len() <= MOST_LETTERS;
            self.has_letters = true;
        }
        self.is_code &= self.length + word.len() <= MOST_OF_CODE;
        if self.is_code {
            // Digits have dots and commas between them.
            for byte in word.bytes().filter(|b| !b.is_ascii_punctuation()) {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
    }

    /// Returns the one word and the letters of n-grams, if this value is a code. Of a telephone number they are what one dials in
    /// its country, and a number with more digits is the last of them: some write a country without a sign.
    pub fn word(&self, value: &str) -> Option<(&[u8], &[u8])> {
        let word = &self.bytes[..self.length];
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_code = self.is_code && !word.is_empty();
        if !is_code || self.has_letters && digits < DIGITS_BESIDE_LETTERS {
            return None;
        }
        if digits < word.len() || value.contains(':') {
            return Some((word, word));
        }
        let number = &word[trunk(value, word)..];
        let last = number.len().saturating_sub(OF_TELEPHONE);
        Some((&number[last..], number))
    }
}

/// Returns how many digits of a number are not of it as it is called within its country: the country after a plus sign or
/// two zeros, and zeros. Short numbers stay, and those that begin with neither.
fn trunk(value: &str, digits: &[u8]) -> usize {
    let value = value.trim_start_matches(['(', ' ']);
    let is_fraction = value.trim_start_matches('0').starts_with(['.', ',']);
    if digits.len() < LEAST_OF_TELEPHONE || is_fraction {
        return 0;
    }
    let zeros = |from: usize| digits[from..].iter().take_while(|d| **d == b'0').count();
    let before_country = match value.starts_with('+') {
        true => 0,
        false => zeros(0),
    };
    let from = match value.starts_with('+') || before_country == 2 {
        true => before_country + country(&digits[before_country..]),
        false => before_country,
    };
    from + zeros(from)
}

/// Returns how many digits the country has with which an international number begins (ITU-T E.164).
fn country(digits: &[u8]) -> usize {
    match digits {
        [b'1' | b'7', ..] => 1,
        [b'2', b'0' | b'7', ..]
        | [b'3', b'0'..=b'4' | b'6' | b'9', ..]
        | [b'4', b'0' | b'1' | b'3'..=b'9', ..]
        | [b'5', b'1'..=b'8', ..]
        | [b'6', b'0'..=b'6', ..]
        | [b'8', b'1' | b'2' | b'4' | b'6', ..]
        | [b'9', b'0'..=b'5' | b'8', ..] => 2,
        _ => digits.len().min(3),
    }
}
