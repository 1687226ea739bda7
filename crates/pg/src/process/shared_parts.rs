//! Keys of the parts of shared memory that a leader shares with its background workers.
//!
//! A worker loads the library when it starts. If the file was replaced since the leader loaded it,
//! the two may be of versions that lay out their parts differently. So the keys hold the version: a
//! worker of another version finds no part, and says why.

use super::error::Error;
use pgrx::{PgSqlErrorCode, pg_sys};
use std::ffi::c_void;

/// The keys of this version follow this number. The server's own have high bits set.
pub const BEFORE_FIRST: u64 = before_first(env!("CARGO_PKG_VERSION"));

/// A hash of the version (FNV-1a, 32 bits), with room for 65,536 keys behind it.
const fn before_first(version: &str) -> u64 {
    let bytes = version.as_bytes();
    let mut hash: u32 = 0x811c_9dc5;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash as u64) << 16
}

/// A part, for a worker. Raises an error if the leader's library is another.
///
/// # Safety
/// As for the server's `shm_toc_lookup`.
pub unsafe fn part_of_leader(toc: *mut pg_sys::shm_toc, key: u64) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    let place = unsafe { pg_sys::shm_toc_lookup(toc, key, true) };
    if place.is_null() {
        Error::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "the library simhash_dedup was replaced while this session was open",
        )
        .hint("Reconnect and try again.")
        .raise();
    }
    place
}
