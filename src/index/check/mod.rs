//! Reading a whole index: simhash_index_verify and simhash_index_stats.
//!
//! `verify` drives the verification: [`pages`] checks the structure of the trees, with
//! [`downlinks`] for pages that seem to have none and [`level_ahead`] for the pages to read next;
//! `postings` walks a key space while others write,
//! [`key_comparison`] compares two walks, `doubts` looks up again the rows on which they do not
//! agree. `stats` drives the statistics, [`census`] counts. `distributed` refuses indexes whose rows are
//! elsewhere. What must not live here: changes of pages.

pub mod census;
pub mod downlinks;
pub mod key_comparison;
pub mod level_ahead;
pub mod pages;

#[cfg(feature = "server")]
pub(crate) mod distributed;
#[cfg(feature = "server")]
pub(crate) mod doubts;
#[cfg(feature = "server")]
pub(crate) mod postings;
#[cfg(feature = "server")]
pub(crate) mod stats;
#[cfg(feature = "server")]
pub(crate) mod verify;

#[cfg(test)]
mod tests;
