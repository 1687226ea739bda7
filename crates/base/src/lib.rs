//! What the crates of simhash_dedup share, and no more: a row's address and what an index
//! holds of a row ([`indexed_row`]), numbers in bytes, names that are not UTF-8 ([`escaped`]),
//! temporary stores ([`store`]) and sorting in them, what depends on the processor. The extension
//! and its crates use it, except for `simhash_fingerprint` and `simhash_trigger`. It depends on
//! nothing, and only [`processor`] has unsafe code.

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs)]

pub mod bytes;
pub mod escaped;
pub mod external_sort;
pub mod indexed_row;
pub mod processor;
pub mod runs;
pub mod store;
