//! Bytes of any kind as text, and back: what is UTF-8 stays as it is, and each other byte stands as
//! a character of its own. Pure.
//!
//! In a SQL_ASCII database a name may be any bytes. Two names that differ are two texts.

#![forbid(unsafe_code)]

use std::borrow::Cow;

/// The character of byte 0. Those of the bytes from 128 on are the last of the private use area. If
/// a name already contains such a character, its own bytes are escaped in the same way.
const FIRST: u32 = 0x10_FF00;

/// The byte for which a character stands, if it stands for one.
pub fn byte_of(c: char) -> Option<u8> {
    let byte = u32::from(c).checked_sub(FIRST)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

fn stands_for_a_byte(c: char) -> bool {
    byte_of(c).is_some()
}

/// Bytes as text.
pub fn escaped(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(stands_for_a_byte) => Cow::Borrowed(text),
        _ => {
            let mut text = String::new();
            let push = |text: &mut String, bytes: &[u8]| {
                let character = |byte: &u8| char::from_u32(FIRST + u32::from(*byte));
                text.extend(bytes.iter().filter_map(character));
            };
            for chunk in bytes.utf8_chunks() {
                for c in chunk.valid().chars() {
                    match stands_for_a_byte(c) {
                        true => push(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                        false => text.push(c),
                    }
                }
                push(&mut text, chunk.invalid());
            }
            Cow::Owned(text)
        }
    }
}

/// The bytes of which [`escaped`] has made this text, or parts of it.
pub fn unescaped(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(stands_for_a_byte) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::new();
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_come_back(
            parts in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..6),
                "\\PC{0,4}".prop_map(String::into_bytes),
                "[\u{10FF00}-\u{10FFFF}]{1,2}".prop_map(String::into_bytes),
            ], 0..6),
        ) {
            let bytes = parts.concat();
            let text = escaped(&bytes).into_owned();
            prop_assert_eq!(unescaped(&text), bytes.as_slice());
            // Parts of a statement are made one by one.
            let apart: String = parts.iter().map(|part| escaped(part)).collect();
            prop_assert_eq!(unescaped(&apart), bytes.as_slice());
        }

        #[test]
        fn other_text_stays_as_it_is(text in "[^\u{10FF80}-\u{10FFFF}]{0,20}") {
            prop_assert_eq!(escaped(text.as_bytes()), text.as_str());
            prop_assert_eq!(unescaped(&text), text.as_bytes());
        }
    }

    #[test]
    fn names_that_differ_in_such_a_byte_differ() {
        assert_ne!(escaped(b"caf\xe9"), escaped(b"caf\xe8"));
        assert_eq!(
            escaped(b"caf\xe9").chars().last().and_then(byte_of),
            Some(0xe9)
        );
        assert_eq!(byte_of('\u{10FF7F}'), None);
        assert_eq!(byte_of('é'), None);
    }
}
