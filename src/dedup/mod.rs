//! What is built on top of fingerprints and the index: flags, pairs, clusters.
//!
//! What lives here: the trigger `simhash_flag_duplicate()` ([`flag_options`]: its arguments,
//! [`stripes`]: what two sessions that insert near-duplicates both lock, `flag_table`: what is known of
//! a table, `flag`: what happens to a row). What must not: pages and postings, which are `index`'s.

pub mod flag_options;
pub mod stripes;

#[cfg(feature = "server")]
mod flag;
#[cfg(feature = "server")]
mod flag_table;
