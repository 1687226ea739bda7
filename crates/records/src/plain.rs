//! The plain form of values that people write in several ways: umlauts as two letters, and codes in groups.
//! [`super::features`] asks for it before it makes words and n-grams. It depends on the value alone, not on
//! its column or on other rows.

use simhash_fingerprint::error::Error;
use std::borrow::Cow;

/// Bytes of the longest code.
const MOST_OF_CODE: usize = 64;

/// Digits of a telephone number that do not depend on where one calls from.
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

/// A value whose words all have a digit: a date, a telephone number, a postcode, an account. How it is cut
/// says nothing, so it is one word.
pub struct Code {
    bytes: [u8; MOST_OF_CODE],
    length: usize,
    is_code: bool,
}

impl Default for Code {
    fn default() -> Self {
        Code {
            bytes: [0; MOST_OF_CODE],
            length: 0,
            is_code: true,
        }
    }
}

impl Code {
    /// Adds the next word of the value, in normal form.
    pub fn add(&mut self, word: &str) {
        self.is_code &= word.bytes().any(|byte| byte.is_ascii_digit());
        self.is_code &= self.length + word.len() <= MOST_OF_CODE;
        if self.is_code {
            // Digits have dots and commas between them.
            for byte in word.bytes().filter(|b| !b.is_ascii_punctuation()) {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
    }

    /// Returns the one word, if this value is a code. A number with more digits than a telephone number
    /// needs is the last of them: some write its country, others a zero. Colons are in times.
    pub fn word(&self, value: &str) -> Option<&[u8]> {
        let word = &self.bytes[..self.length];
        if !self.is_code || word.is_empty() {
            return None;
        }
        let is_number = word.iter().all(u8::is_ascii_digit) && !value.contains(':');
        let from = match is_number {
            true => word.len().saturating_sub(OF_TELEPHONE),
            false => 0,
        };
        Some(&word[from..])
    }
}
