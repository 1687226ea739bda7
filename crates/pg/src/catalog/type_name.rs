//! The name of a type, and strings that the catalogs return. What reads tables and values calls it;
//! it calls neither.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use crate::process::encoding::name_to_utf8;

/// # Safety
/// `text` must be null or a zero-terminated string.
pub(crate) unsafe fn string(text: *const c_char) -> Option<String> {
    // SAFETY: guaranteed by the caller.
    (!text.is_null()).then(|| unsafe { name_to_utf8(CStr::from_ptr(text).to_bytes()).into_owned() })
}

/// A type's name, for messages.
pub fn type_name(type_id: Oid) -> String {
    // SAFETY: a catalog look-up that always yields a string.
    unsafe { string(pg_sys::format_type_be(type_id)) }.unwrap_or_default()
}
