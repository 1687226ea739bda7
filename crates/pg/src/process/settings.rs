//! The extension's settings.

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::pg_sys;

/// simhash_dedup.directory_cache, in kilobytes.
static DIRECTORY_CACHE: GucSetting<i32> = GucSetting::<i32>::new(64 * 1024);
/// MAX_KILOBYTES of the server on 64-bit machines.
const MAX_KILOBYTES: i32 = i32::MAX;

/// Registers the settings; called once, when the library is loaded.
pub fn register() {
    GucRegistry::define_int_guc(
        c"simhash_dedup.directory_cache",
        c"Memory in which a session remembers where the pages of simhash indexes are.",
        c"0 remembers nothing: searches then descend from the root with fixed radii.",
        &DIRECTORY_CACHE,
        0,
        MAX_KILOBYTES,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    // SAFETY: called while the library is loaded; the server copies the string.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"simhash_dedup".as_ptr()) };
}

/// Bytes that a session's leaf directories may take.
pub fn directory_cache_bytes() -> usize {
    DIRECTORY_CACHE.get().max(0) as usize * 1024
}
