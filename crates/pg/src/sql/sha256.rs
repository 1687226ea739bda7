//! SHA-256, as the server computes it.

use pgrx::{IntoDatum, direct_function_call, pg_sys};

pub(crate) const SIZE: usize = 32;

/// The SHA-256 of these bytes, fewer than 1 GB.
pub fn sha256(bytes: &[u8]) -> [u8; SIZE] {
    let datum = bytes.into_datum();
    // SAFETY: the server's function takes and gives bytea; the argument is ours to free.
    let digest: Option<Vec<u8>> = unsafe {
        let digest = direct_function_call(pg_sys::sha256_bytea, &[datum]);
        if let Some(datum) = datum {
            pg_sys::pfree(datum.cast_mut_ptr());
        }
        digest
    };
    let digest = digest.and_then(|digest| digest.try_into().ok());
    digest.unwrap_or([0; SIZE])
}
