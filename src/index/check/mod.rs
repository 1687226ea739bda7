//! Reading a whole index: simhash_index_verify and simhash_index_stats.
//!
//! `verify` drives the verification, whose checks are in `simhash_hamming::check`: `postings` walks
//! a key space while others write, `suspect_rows` looks up again the rows on which two walks do not
//! agree. `stats` drives the statistics.
//! What must not live here: changes of pages.
pub(crate) mod postings;
pub(crate) mod stats;
pub(crate) mod suspect_rows;
pub(crate) mod verify;
