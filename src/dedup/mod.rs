//! What is built on top of fingerprints and the index: flags, pairs, clusters.
//!
//! What lives here: the trigger `simhash_flag_duplicate()` ([`flag_options`]: its arguments,
//! [`locks`]: what two sessions that store near-duplicates both lock, `flag_locks`: in which tables,
//! `flag_table`: what is known of a table, `flag_search`: the query, `flag_moves`: rows that change their partition, `flag`: what
//! happens to a row), and `assign_cluster`, the trigger that keeps clusters current ([`assign_options`],
//! `cluster_table`: what it writes to); [`trigger_arguments`] and `triggers` are what they share. [`pairs`] finds every pair within a radius without an
//! index, in bounded memory ([`pairs_file`] when the rows do not fit, [`pairs_split`] decides what is
//! filed under which bits, [`compare`] is the inner loop); `search` is its
//! server side, `source` reads a table for it, `keys` keeps what stands for the rows, `pairs_function` is
//! the SQL function. [`clusters`] makes groups of pairs
//! ([`union_find`] helps); `clusters_function` is the SQL function (`cluster_members` collects the rows
//! that have pairs, `cluster_texts` compares their texts), `cluster_window` the window
//! function. What must not: pages and
//! postings, which are `index`'s.

pub mod assign_options;
pub mod clusters;
pub mod compare;
pub mod flag_options;
pub mod locks;
pub mod pairs;
pub mod pairs_file;
pub mod pairs_split;
pub mod trigger_arguments;
pub mod union_find;

#[cfg(feature = "server")]
mod assign_cluster;
#[cfg(feature = "server")]
mod cluster_members;
#[cfg(feature = "server")]
mod cluster_table;
#[cfg(feature = "server")]
mod cluster_texts;
#[cfg(feature = "server")]
mod cluster_window;
#[cfg(feature = "server")]
mod clusters_function;
#[cfg(feature = "server")]
mod flag;
#[cfg(feature = "server")]
mod flag_locks;
#[cfg(feature = "server")]
mod flag_moves;
#[cfg(feature = "server")]
mod flag_search;
#[cfg(feature = "server")]
mod flag_table;
#[cfg(feature = "server")]
mod keys;
#[cfg(feature = "server")]
mod pairs_function;
#[cfg(feature = "server")]
mod search;
#[cfg(feature = "server")]
mod source;
#[cfg(feature = "server")]
mod triggers;

#[cfg(test)]
mod pairs_tests;
