//! The extension's settings.

use super::compat;
use pgrx::pg_sys;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// simhash_dedup.directory_cache, in kilobytes.
static DIRECTORY_CACHE: AtomicI32 = AtomicI32::new(DIRECTORY_CACHE_DEFAULT);
const DIRECTORY_CACHE_DEFAULT: c_int = 64 * 1024;
/// MAX_KILOBYTES of the server on 64-bit machines.
const MAX_KILOBYTES: c_int = c_int::MAX;

/// Registers the settings; called once, when the library is loaded.
pub fn register() {
    // SAFETY: the server keeps the pointer for the life of the process: the variable is static, and an
    // AtomicI32 has the layout of an int, which only the server's thread writes. The strings are
    // static too.
    unsafe {
        pg_sys::DefineCustomIntVariable(
            c"simhash_dedup.directory_cache".as_ptr(),
            c"Memory in which a session remembers where the leaves of simhash indexes begin."
                .as_ptr(),
            c"0 remembers nothing: searches then descend from the root with fixed radii.".as_ptr(),
            DIRECTORY_CACHE.as_ptr(),
            DIRECTORY_CACHE_DEFAULT,
            0,
            MAX_KILOBYTES,
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GUC_UNIT_KB as c_int,
            None,
            None,
            None,
        );
    }
    compat::reserve_setting_prefix(c"simhash_dedup");
}

/// Bytes that a session's leaf directories may take.
pub fn directory_cache_bytes() -> usize {
    DIRECTORY_CACHE.load(Ordering::Relaxed).max(0) as usize * 1024
}
