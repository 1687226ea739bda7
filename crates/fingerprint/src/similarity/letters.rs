//! The letters of a text: its letters and digits in normal form, of which character n-grams are
//! made; of a text without any, its symbols. [`super::ngram_set`] compares them; clusters keep
//! those of many texts in memory. A letter is never 0, so no n-gram is the beginning of a packed
//! longer one.

use crate::error::Error;
use crate::text::ngrams::{is_letter, is_symbol};
use crate::text::normal;

/// Bytes of ASCII text between two pauses.
const PIECE: usize = 1 << 16;

/// The letters of a text, one byte each where all are ASCII.
#[derive(Clone, Debug, PartialEq)]
pub enum Letters {
    /// A byte each, below 128.
    Ascii(Vec<u8>),
    /// A code point each, of which one is 128 or more.
    Wide(Vec<u32>),
}

impl Default for Letters {
    fn default() -> Self {
        Letters::Ascii(Vec::new())
    }
}

impl Letters {
    /// Reads a text. Calls `check_interrupts` now and then: the caller may want to stop.
    pub fn new(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        if text.is_ascii() {
            let letters = ascii(text.as_bytes(), check_interrupts)?;
            if !letters.is_empty() {
                return Ok(Letters::Ascii(letters));
            }
        }
        let mut letters = match simple_letters(text, check_interrupts)? {
            Some(letters) => letters,
            None => normalized(text, is_letter, check_interrupts)?,
        };
        if letters.is_empty() {
            letters = normalized(text, is_symbol, check_interrupts)?;
        }
        if letters.iter().any(|letter| *letter >= 0x80) {
            return Ok(Letters::Wide(letters));
        }
        let mut ascii = reserved(letters.len())?;
        ascii.extend(letters.iter().map(|letter| *letter as u8));
        Ok(Letters::Ascii(ascii))
    }

    /// Returns the number of letters.
    pub fn count(&self) -> usize {
        match self {
            Letters::Ascii(letters) => letters.len(),
            Letters::Wide(letters) => letters.len(),
        }
    }

    /// Bytes that the letters take.
    pub fn bytes(&self) -> usize {
        match self {
            Letters::Ascii(letters) => letters.capacity(),
            Letters::Wide(letters) => letters.capacity() * size_of::<u32>(),
        }
    }
}

fn reserved<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut items = Vec::new();
    match items.try_reserve_exact(count) {
        Ok(()) => Ok(items),
        Err(_) => Err(Error::OutOfMemory),
    }
}

/// For each ASCII character the letter in normal form, or 0.
const LOWER: [u8; 128] = {
    let mut lower = [0; 128];
    let mut c = 0;
    while c < 128 {
        if (c as u8).is_ascii_alphanumeric() {
            lower[c] = (c as u8).to_ascii_lowercase();
        }
        c += 1;
    }
    lower
};

/// Writes every byte and steps over the letters alone: letters and others stand in no order that a
/// processor could foresee.
fn ascii(text: &[u8], check_interrupts: &mut dyn FnMut()) -> Result<Vec<u8>, Error> {
    let mut letters = reserved(text.len())?;
    letters.resize(text.len(), 0);
    let mut count = 0;
    for piece in text.chunks(PIECE) {
        check_interrupts();
        for byte in piece {
            let letter = LOWER[usize::from(byte & 0x7f)];
            letters[count] = letter;
            count += usize::from(letter != 0);
        }
    }
    letters.truncate(count);
    Ok(letters)
}

/// Returns the letters of a text whose characters all have a normal form of their own; None at the
/// first one that has not.
fn simple_letters(
    text: &str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Option<Vec<u32>>, Error> {
    let characters = text.chars().count();
    let mut letters = reserved(characters)?;
    letters.resize(characters, 0);
    let (mut count, mut rest) = (0, text);
    while !rest.is_empty() {
        check_interrupts();
        let end = rest.len().saturating_sub(PIECE);
        while rest.len() > end {
            let Some((letter, tail)) = next_simple(rest) else {
                return Ok(None);
            };
            letters[count] = letter;
            count += usize::from(letter != 0);
            rest = tail;
        }
    }
    letters.truncate(count);
    Ok(Some(letters))
}

/// Returns the normal form of the first character, 0 where that is not a letter, and the text after
/// it; None where the normal form may depend on the neighbours.
#[inline(always)]
fn next_simple(text: &str) -> Option<(u32, &str)> {
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u32::from(LOWER[usize::from(first)]), &text[1..]));
    }
    let c = text.chars().next()?;
    let letter = match normal::simple_form(c)? {
        c @ '\0'..='\x7f' => u32::from(LOWER[c as usize]),
        c if is_letter(c) => u32::from(c),
        _ => 0,
    };
    Some((letter, &text[c.len_utf8()..]))
}

fn push(letters: &mut Vec<u32>, letter: char) -> Result<(), Error> {
    if letters.len() == letters.capacity() && letters.try_reserve(1).is_err() {
        return Err(Error::OutOfMemory);
    }
    letters.push(u32::from(letter));
    Ok(())
}

fn normalized(
    text: &str,
    counts: fn(char) -> bool,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<u32>, Error> {
    let mut letters = Vec::new();
    let mut result = Ok(());
    normal::for_each_chunk(text, &mut String::new(), check_interrupts, &mut |chunk| {
        // The walk cannot stop half-way: it adds nothing more.
        if result.is_ok() {
            let mut found = chunk.chars().filter(|c| counts(*c));
            result = found.try_for_each(|letter| push(&mut letters, letter));
        }
    });
    result.map(|()| letters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn letters(text: &str) -> Vec<char> {
        let of_code = |code: u32| char::from_u32(code).unwrap_or('\0');
        match Letters::new(text, &mut || {}).unwrap() {
            Letters::Ascii(letters) => letters.into_iter().map(char::from).collect(),
            Letters::Wide(letters) => letters.into_iter().map(of_code).collect(),
        }
    }

    fn expected(text: &str) -> Vec<char> {
        let mut normal = String::new();
        normal::normalize_into(text, normal::Normalize::Fold, &mut normal);
        let letters: Vec<char> = normal.chars().filter(|c| c.is_alphanumeric()).collect();
        match letters.is_empty() {
            true => normal.chars().filter(|&c| is_symbol(c)).collect(),
            false => letters,
        }
    }

    #[test]
    fn each_character_gives_the_letters_of_its_normal_form() {
        for c in '\0'..='\u{1ffff}' {
            for text in [c.to_string(), format!("a{c}b"), format!("中{c}\u{301}")] {
                assert_eq!(letters(&text), expected(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn ascii_letters_take_a_byte_whatever_stands_between_them() {
        for text in ["Ab-9", "“Ab” 9", "Ａｂ９", "ﬁ"] {
            let letters = Letters::new(text, &mut || {}).unwrap();
            assert!(matches!(letters, Letters::Ascii(_)), "{text}");
        }
        assert_eq!(Letters::new("。 -", &mut || {}).unwrap().count(), 2);
        assert_eq!(Letters::new("　 \u{200b}", &mut || {}).unwrap().count(), 0);
    }

    #[test]
    fn long_texts_pause() {
        for character in ["a", "中", "é", "。"] {
            let (text, mut pauses) = (character.repeat(4 * PIECE), 0);
            Letters::new(&text, &mut || pauses += 1).unwrap();
            assert!((4..100).contains(&pauses), "{character}: {pauses}");
        }
    }

    proptest! {
        #[test]
        fn texts_give_the_letters_of_their_normal_form(
            text in "[aZ1 é中鿿一䷿ß，ＡＺ。　、“か\u{301}\u{3099}\u{1100}\u{1161}ﬁ🙂]{0,40}",
        ) {
            prop_assert_eq!(letters(&text), expected(&text));
        }
    }
}
