//! Reading a whole index: simhash_index_verify and simhash_index_stats.
//!
//! `verify` drives the verification: [`pages`] checks the structure of the trees, with
//! [`downlinks`] for pages that seem to have none and [`level_ahead`] for the pages to read next;
//! `postings` walks a key space while others write,
//! [`key_comparison`] compares two walks, `doubts` looks up again the rows on which they do not
//! agree. `stats` drives the statistics, [`census`] counts. `distributed` refuses indexes whose rows are
//! elsewhere. What must not live here: changes of pages.
pub(crate) mod distributed;
pub(crate) mod doubts;
pub(crate) mod postings;
pub(crate) mod stats;
pub(crate) mod verify;
