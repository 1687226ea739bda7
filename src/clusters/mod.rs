//! Groups of near-duplicates: `simhash_clusters`, the window function `simhash_cluster_number`, and
//! the trigger `simhash_maintain_clusters()`, which keeps a table of clusters current.
//!
//! [`group`] makes groups of pairs, which [`edges`] lists and [`edge_sort`] sorts; `members` collects
//! the rows that have pairs, `texts` compares their texts, `equal_texts` finds those that are equal,
//! `function`, `window` and `of_arrays` are what SQL sees; `components` says which rows are connected.
//! [`maintain`] is the trigger, [`kept`] what one call sets up and what notes and refreshes.
//! What must not live here: the search for pairs, which is `pairs`'s.

pub mod edge_sort;
pub mod edges;
pub mod group;
pub mod kept;
pub mod maintain;

#[cfg(feature = "server")]
mod components;
#[cfg(feature = "server")]
mod equal_texts;
#[cfg(feature = "server")]
mod function;
#[cfg(feature = "server")]
mod members;
#[cfg(feature = "server")]
mod of_arrays;
#[cfg(feature = "server")]
pub(crate) mod texts;
#[cfg(feature = "server")]
mod window;

#[cfg(test)]
mod tests;
