//! Converts hashes that people have already, in the forms in which other programs give them, to
//! fingerprints and back.
//!
//! `conversions` is what SQL sees of `simhash_fingerprint::hashes`, which reads and refuses them.
//! Nothing here makes a hash of data.
mod conversions;

pub use conversions::{parts_of_hash, read_hash};
