//! Conversion between the database's encoding and Rust's UTF-8.

use std::borrow::Cow;

use pgrx::pg_sys;

use super::memory::reserve;
use super::reportable::{SQL_ASCII, UTF8, database_encoding};
use simhash_base::escaped::{escaped, unescaped};

/// Text of the database as UTF-8. In a SQL_ASCII database, where text may have any encoding, bytes
/// that are not valid UTF-8 become U+FFFD.
pub fn to_utf8(bytes: &[u8]) -> Cow<'_, str> {
    let encoding = database_encoding();
    if encoding == UTF8 || encoding == SQL_ASCII || bytes.is_ascii() {
        // Nearly all text is valid, and `from_utf8_lossy` alone takes longer for that.
        return match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
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

/// A name, or SQL text with names, that [`name_to_utf8`] has made, as text of the database.
pub fn name_from_utf8(text: &str) -> Cow<'_, [u8]> {
    match database_encoding() {
        SQL_ASCII => unescaped(text),
        _ => from_utf8(text),
    }
}

/// UTF-8 as text of the database; an ERROR when its encoding lacks a character.
pub fn from_utf8(text: &str) -> Cow<'_, [u8]> {
    let encoding = database_encoding();
    if encoding == UTF8 || encoding == SQL_ASCII || text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    Cow::Owned(convert(text.as_bytes(), UTF8, encoding))
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
