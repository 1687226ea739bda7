//! Conversion between the database's encoding and Rust's UTF-8.

use std::borrow::Cow;

use pgrx::pg_sys;

use super::error::{SQL_ASCII, UTF8, database_encoding};
use super::memory::reserve;
use simhash_base::escaped::{escaped, unescaped};
use unicode_normalization::UnicodeNormalization;

/// Text of the database as UTF-8. In a SQL_ASCII database text may have any encoding: bytes that are
/// not valid UTF-8 are letters of their own there, see [`escaped`].
pub fn to_utf8(bytes: &[u8]) -> Cow<'_, str> {
    let encoding = database_encoding();
    if encoding == UTF8 || encoding == SQL_ASCII || bytes.is_ascii() {
        // Nearly all text is valid, and the others take longer for that.
        return match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) if encoding == SQL_ASCII => escaped(bytes),
            Err(_) => String::from_utf8_lossy(bytes),
        };
    }
    let converted = String::from_utf8(convert(bytes, encoding, UTF8));
    Cow::Owned(converted.unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// A name of the database, or text with such names, as UTF-8. In a SQL_ASCII database its bytes are
/// kept, see [`escaped`]: names that differ stay different.
pub fn name_to_utf8(bytes: &[u8]) -> Cow<'_, str> {
    match database_encoding() {
        SQL_ASCII => escaped(bytes),
        _ => to_utf8(bytes),
    }
}

/// A name, or SQL text with names, that [`name_to_utf8`] has made, as text of the database; an ERROR
/// when its encoding lacks a character.
pub fn name_from_utf8(text: &str) -> Cow<'_, [u8]> {
    match database_encoding() {
        SQL_ASCII => unescaped(text),
        encoding if encoding == UTF8 || text.is_ascii() => Cow::Borrowed(text.as_bytes()),
        encoding => Cow::Owned(convert(text.as_bytes(), UTF8, encoding)),
    }
}

/// UTF-8 as text of the database, for people. Where its encoding lacks a character of a normal form, a
/// character with that normal form stands for it, or else a question mark.
pub fn from_utf8(text: &str) -> Cow<'_, [u8]> {
    let encoding = database_encoding();
    if encoding == SQL_ASCII {
        return unescaped(text);
    }
    if encoding == UTF8 || text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut shown = Vec::new();
    let mut left = text;
    while !left.is_empty() {
        let part = &left[..left.floor_char_boundary(AT_ONCE)];
        let converted = convert_some(part, encoding, &mut shown);
        left = &left[converted..];
        if converted < part.len()
            && let Some(lacked) = left.chars().next()
        {
            left = &left[lacked.len_utf8()..];
            let stands = with_normal_form(lacked)
                .map(String::from)
                .unwrap_or_default();
            if stands.is_empty() || convert_some(&stands, encoding, &mut shown) == 0 {
                shown.push(b'?');
            }
        }
    }
    Cow::Owned(shown)
}

/// Bytes that are converted at once.
const AT_ONCE: usize = 1 << 16;

/// Adds as much of a text as has characters in an encoding. Returns how many bytes of it that is.
fn convert_some(text: &str, encoding: i32, to: &mut Vec<u8>) -> usize {
    // An encoding of the server needs at most three bytes for two of UTF-8; the last byte is zero.
    let mut room = vec![0u8; 4 * text.len() + 1];
    // SAFETY: the server reads the text, which is short, and writes to no more than the room there is.
    let converted = unsafe {
        let function = pg_sys::FindDefaultConversionProc(UTF8, encoding);
        pg_sys::pg_do_encoding_conversion_buf(
            function,
            UTF8,
            encoding,
            text.as_ptr().cast_mut(),
            text.len() as i32,
            room.as_mut_ptr(),
            room.len() as i32,
            true,
        )
    };
    to.extend(room.into_iter().take_while(|&byte| byte != 0));
    usize::try_from(converted).unwrap_or(0)
}

/// A character that East Asian encodings have, whose normal form NFKC is this one.
fn with_normal_form(normal: char) -> Option<char> {
    [
        '\u{3131}'..='\u{318e}',
        '\u{ff01}'..='\u{ffe6}',
        '\u{3200}'..='\u{33ff}',
    ]
    .into_iter()
    .flatten()
    .find(|c| c.nfkc().eq([normal]))
}

fn convert(bytes: &[u8], from: i32, to: i32) -> Vec<u8> {
    // SAFETY: the server reads `len` bytes, fewer than 1 GB, and does not write to them. The
    // callers pass two encodings that differ, neither of them SQL_ASCII, so the result is a new,
    // zero-terminated string.
    unsafe {
        let source = bytes.as_ptr().cast_mut();
        let converted = pg_sys::pg_do_encoding_conversion(source, bytes.len() as i32, from, to);
        let text = std::ffi::CStr::from_ptr(converted.cast()).to_bytes();
        let mut result = Vec::new();
        reserve(&mut result, text.len());
        result.extend_from_slice(text);
        if converted != source {
            pg_sys::pfree(converted.cast());
        }
        result
    }
}
