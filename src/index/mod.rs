//! The access method `simhash`: fingerprints filed under four 16-bit keys, in one B-link tree a key
//! space, so that everything within a Hamming radius is found exactly. README.md in this folder
//! explains layout, locking, WAL and why it is exact.
//!
//! What lives here: [`key`], [`page`] and [`probe`] are pure (keys, page formats, search plan); the
//! other files are the access method's roles, one each. What must not: raw pages, buffers or WAL
//! (they are behind `pg`), and anything about how a fingerprint was made.

pub mod key;
pub mod page;
pub mod probe;

#[cfg(feature = "server")]
pub fn init() {}
