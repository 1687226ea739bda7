//! Text as an error report takes it, by the encoding of the database. [`super::error`] and
//! [`super::error_context`] call it while they raise an ERROR, so it raises none itself.

use std::sync::OnceLock;

use pgrx::pg_sys;
use simhash_base::escaped::byte_of;

/// The number of UTF-8 among the server's encodings.
pub(super) const UTF8: i32 = pg_sys::pg_enc::PG_UTF8 as i32;
/// That of databases without an encoding, where text may have any.
pub(super) const SQL_ASCII: i32 = pg_sys::pg_enc::PG_SQL_ASCII as i32;

/// Returns the number of the database's encoding.
pub(super) fn database_encoding() -> i32 {
    // A backend never changes its database.
    static ENCODING: OnceLock<i32> = OnceLock::new();
    // SAFETY: reads a variable of the backend.
    *ENCODING.get_or_init(|| unsafe { pg_sys::GetDatabaseEncoding() })
}

/// Text for an error report. pgrx passes it on as it is, without conversion, so in a database of
/// another encoding than UTF-8, characters beyond ASCII become \u{...}, and bytes of names that are
/// not UTF-8 \x...
pub(crate) fn reportable(text: String) -> String {
    if database_encoding() == UTF8 || text.is_ascii() {
        return text;
    }
    let is_ascii = database_encoding() == SQL_ASCII;
    let escape = |c: char| match byte_of(c).filter(|_| is_ascii) {
        Some(byte) => format!("\\x{byte:02x}"),
        None if c.is_ascii() => c.to_string(),
        None => c.escape_unicode().to_string(),
    };
    text.chars().map(escape).collect()
}
