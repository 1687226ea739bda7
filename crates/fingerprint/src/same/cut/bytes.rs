//! Which bytes a text has, found in one pass: most of what [`crate::same`] looks for in a text is not there.

use std::ops::RangeInclusive;

/// The bytes that occur, and those that occur behind a digit.
pub struct Bytes {
    all: [bool; 256],
    behind_digit: [bool; 256],
}

/// Whether a text has a byte in a range of those with which characters beyond ASCII begin.
pub fn has_any(text: &str, bytes: RangeInclusive<u8>) -> bool {
    // Without an end in the middle of a piece the compiler looks at many bytes at once.
    let is_in = |piece: &[u8]| {
        piece
            .iter()
            .fold(false, |any, byte| any | bytes.contains(byte))
    };
    !text.is_ascii() && text.as_bytes().chunks(256).any(is_in)
}

impl Bytes {
    pub fn of(text: &str) -> Self {
        let (mut all, mut behind_digit) = ([false; 256], [false; 256]);
        let mut is_behind = false;
        for byte in text.bytes() {
            all[usize::from(byte)] = true;
            behind_digit[usize::from(byte)] |= is_behind;
            is_behind = byte.is_ascii_digit();
        }
        Self { all, behind_digit }
    }

    /// Whether one of these occurs.
    pub fn have(&self, any: &[u8]) -> bool {
        any.iter().any(|byte| self.all[usize::from(*byte)])
    }

    /// Whether a letter of ASCII occurs.
    pub fn have_letters(&self) -> bool {
        let is_letter = |byte: u8| self.all[usize::from(byte)];
        (b'a'..=b'z').any(is_letter) || (b'A'..=b'Z').any(is_letter)
    }

    /// Whether one of these occurs behind a digit.
    pub fn have_behind_digit(&self, any: &[u8]) -> bool {
        any.iter().any(|byte| self.behind_digit[usize::from(*byte)])
    }
}
