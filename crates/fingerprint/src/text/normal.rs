//! The normal form of text: NFKC, then lower case, character by character.
//!
//! Text is processed in chunks, so that memory stays small and a caller can stop the work between
//! them; the time is linear in the length.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::error::Error;

/// Bytes of raw text between two pauses.
const CHUNK: usize = 1 << 16;

/// Calls `chunk` for each chunk of the normal form of `text`, and `pause` before it. No word is cut
/// at the end of a chunk unless it is longer than one. `buffer` is scratch space.
pub fn for_each_chunk(
    text: &str,
    buffer: &mut String,
    pause: &mut dyn FnMut(),
    chunk: &mut dyn FnMut(&str),
) {
    for raw in chunks(text) {
        pause();
        buffer.clear();
        normalize_into(raw, buffer);
        chunk(buffer);
    }
}

/// Writes the normal form of `text`, without white space at its ends, into `buffer`.
pub fn normal_form(text: &str, buffer: &mut String, pause: &mut dyn FnMut()) -> Result<(), Error> {
    buffer.clear();
    for chunk in chunks(text.trim()) {
        pause();
        // NFKC makes at most 11 times the bytes, lower case 1.5 times those.
        buffer
            .try_reserve(17 * chunk.len())
            .map_err(|_| Error::OutOfMemory)?;
        normalize_into(chunk, buffer);
    }
    Ok(())
}

/// The normal form of a word of a list.
pub fn normal_word(word: &str) -> Result<String, Error> {
    let mut normal = String::new();
    normal_form(word, &mut normal, &mut || {})?;
    Ok(normal)
}

/// NFKC, then lower case. Most characters of most texts have a simple form, and are not looked up in the tables.
fn normalize_into(text: &str, buffer: &mut String) {
    const KEPT: [bool; 256] = byte_table([true; 256]);
    let begin = buffer.len();
    // What lies before `copied` is in the buffer, before `at` has a simple form, before `done` has been
    // looked up in the tables.
    let (mut copied, mut at, mut done) = (0, 0, 0);
    if text.is_ascii() {
        at = text.len();
    }
    while at < text.len() {
        at += length_in_table(&text[at..], &KEPT);
        let Some(c) = text[at..].chars().next() else {
            break;
        };
        let normal = simple_form(c);
        if normal == Some(c) {
            at += c.len_utf8();
            continue;
        }
        buffer.push_str(&text[copied..at]);
        if let Some(normal) = normal {
            buffer.push(normal);
            at += c.len_utf8();
        } else {
            // The simple character in front may compose with what follows.
            let in_front = text[done..at].chars().next_back();
            let from = at - in_front.map_or(0, char::len_utf8);
            if in_front.is_some() {
                buffer.pop();
            }
            let end = text[at..].find(|c| simple_form(c).is_some());
            at = end.map_or(text.len(), |n| at + n);
            done = at;
            buffer.extend(text[from..at].nfkc().flat_map(char::to_lowercase));
        }
        copied = at;
    }
    buffer.push_str(&text[copied..]);
    buffer[begin..].make_ascii_lowercase();
}

/// A table of the bytes of common Han characters (U+4000 to U+9FFF) and of the ASCII characters of
/// another table.
pub const fn byte_table(ascii: [bool; 256]) -> [bool; 256] {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = match byte {
            0..=0x7f => ascii[byte],
            0x80..=0xbf | 0xe4..=0xe9 => true,
            _ => false,
        };
        byte += 1;
    }
    bytes
}

/// Returns the number of bytes in front that belong to characters of a table. Most text is made of
/// a few kinds that stand in no order that a processor could foresee, so that each byte is looked
/// at by itself, without a branch for its kind.
pub fn length_in_table(text: &str, table: &[bool; 256]) -> usize {
    let mut bytes = text.bytes();
    bytes
        .position(|byte| !table[usize::from(byte)])
        .unwrap_or(text.len())
}

/// The normal form of a character that composes with nothing in front of it: ASCII, its wide forms,
/// common Han characters and their punctuation.
pub fn simple_form(c: char) -> Option<char> {
    match c {
        '\0'..='\x7f' => Some(c.to_ascii_lowercase()),
        '\u{4000}'..='\u{9fff}'
        | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}'
        | '\u{2018}'
        | '\u{2019}'
        | '\u{201c}'
        | '\u{201d}' => Some(c),
        '\u{3000}' => Some(' '),
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).map(|c| c.to_ascii_lowercase())
        }
        _ => None,
    }
}

fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (chunk, tail) = rest.split_at(chunk_end(rest));
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Returns where the first chunk of `text` ends: in front of white space when there is any, else of
/// another character that is part of no word, else (a 'word' as long as a chunk) between two
/// characters.
fn chunk_end(text: &str) -> usize {
    if text.len() <= CHUNK {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(CHUNK)];
    let gap = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    [
        window.rfind(|c: char| c.is_ascii_whitespace()),
        window.rfind(gap),
    ]
    .into_iter()
    .flatten()
    .find(|&end| end > 0)
    .unwrap_or(window.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalized(text: &str) -> String {
        let mut buffer = "before".to_owned();
        normalize_into(text, &mut buffer);
        buffer.split_off("before".len())
    }

    #[test]
    fn plain_characters_are_what_the_tables_say() {
        let neighbours = [
            "", "e", "E", "\u{301}", "中", "Ａ", "か", "\u{3099}", "\u{1100}", "\u{1161}", "ß",
        ];
        for c in '\0'..='\u{1ffff}' {
            for before in neighbours {
                for after in ["", "a", "\u{301}", "\u{338}", "\u{3099}"] {
                    let text = format!("{before}{c}{after}");
                    let expected: String = text.nfkc().flat_map(char::to_lowercase).collect();
                    assert_eq!(normalized(&text), expected, "{text:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn shortcuts_give_what_the_tables_give(text in "[aZ1 é中鿿一䷿ß，ＡＺ。　、“か\u{301}\u{3099}\u{1100}\u{1161}ﬁ🙂]{0,24}") {
            let expected: String = text.nfkc().flat_map(char::to_lowercase).collect();
            prop_assert_eq!(normalized(&text), expected);
        }
    }

    #[test]
    fn bytes_tell_the_common_characters() {
        let digits = byte_table(std::array::from_fn(|byte| (byte as u8).is_ascii_digit()));
        for c in '\0'..=char::MAX {
            let is_in_table = matches!(c, '0'..='9' | '\u{4000}'..='\u{9fff}');
            for (before, after) in [("", ""), ("1中", ""), ("", "1"), ("中", "㐀1")] {
                let text = format!("{before}{c}{after}");
                let more = after.bytes().take_while(u8::is_ascii_digit).count();
                let expected = before.len() + usize::from(is_in_table) * (c.len_utf8() + more);
                assert_eq!(length_in_table(&text, &digits), expected, "{text:?}");
            }
        }
        assert_eq!(length_in_table("", &digits), 0);
    }

    #[test]
    fn chunks_lose_nothing() {
        for word in ["word ", "词语，", "été "] {
            let text = word.repeat(3 * CHUNK / word.len());
            assert!(chunks(&text).count() >= 3);
            assert!(chunks(&text).all(|c| c.len() <= CHUNK));
            assert_eq!(chunks(&text).collect::<String>(), text);
        }
    }

    #[test]
    fn a_word_longer_than_a_chunk_is_cut_between_characters() {
        let text = "é".repeat(CHUNK);
        for gap in ["", " ", "。"] {
            let text = format!("{gap}{text}");
            assert_eq!(chunks(&text).collect::<String>(), text);
        }
        let mut pauses = 0;
        for_each_chunk(&text, &mut String::new(), &mut || pauses += 1, &mut |_| {});
        assert_eq!(pauses, 2);
    }
}
