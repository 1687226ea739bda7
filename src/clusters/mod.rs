//! Groups of near-duplicates: `simhash_clusters`, and clusters that are kept in a table while rows
//! come and go ([`kept`]).
//!
//! `simhash_clusters` and `array_functions` are what SQL sees; `components` finds out which rows of
//! arrays are connected. What must not live here: the search for pairs, which is `pairs`'s, and which
//! of them pass a check, which is `checked_pairs`'s.

mod array_functions;
mod components;
pub mod kept;
mod simhash_clusters;
