//! Groups of near-duplicates: `simhash_clusters`, and clusters that are kept in a table while rows
//! come and go ([`kept`]).
//!
//! `simhash_clusters` and `array_functions` are what SQL sees. `pairs` searches for pairs, and `checked_pairs`
//! says which of them pass a check.

mod array_functions;
pub mod kept;
mod simhash_clusters;
