//! What is built on top of fingerprints and the index: flags, pairs, clusters.
//!
//! What lives here: the trigger `simhash_flag_duplicate()` ([`flag_options`]: its arguments,
//! [`stripes`]: what two sessions that insert near-duplicates both lock, `flag_table`: what is known of
//! a table, `flag`: what happens to a row). [`pairs`] finds every pair within a radius without an
//! index, in bounded memory ([`pairs_file`] when the rows do not fit, [`pairs_split`] decides what is
//! filed under which bits, [`compare`] is the inner loop); `source` reads a table for it, `keys` keeps
//! what stands for the rows, `pairs_function` is the SQL function. What must not: pages and postings,
//! which are `index`'s.

pub mod compare;
pub mod flag_options;
pub mod pairs;
pub mod pairs_file;
pub mod pairs_split;
pub mod stripes;

#[cfg(feature = "server")]
mod flag;
#[cfg(feature = "server")]
mod flag_table;
#[cfg(feature = "server")]
mod keys;
#[cfg(feature = "server")]
mod pairs_function;
#[cfg(feature = "server")]
mod source;

#[cfg(test)]
mod pairs_tests;
