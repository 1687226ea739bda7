//! Groups of near-duplicates: `simhash_clusters`, and the trigger `simhash_maintain_clusters()`, which
//! keeps a table of clusters current.
//!
//! `simhash_hamming::components` makes groups of pairs; `simhash_clusters` and `array_functions` are what SQL
//! sees; `components` finds out which rows are connected. [`maintain`] is the trigger,
//! [`kept`] what one call sets up and what notes and refreshes. What must not live here: the search
//! for pairs, which is `pairs`'s, and which of them pass a check, which is `checked_pairs`'s.

mod array_functions;
mod components;
pub mod kept;
mod simhash_clusters;
