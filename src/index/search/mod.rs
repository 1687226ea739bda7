//! Searching: from a radius to the postings that can match.
//!
//! `simhash_hamming::search` plans which positions of a key space a search must visit, `leaf_walk`
//! walks the leaves that hold them, `within` finds everything within a radius, `nearest` the
//! nearest rows first, `within_scopes` and `nearest_in_scopes` those of several scopes. `sample`
//! reads leaves for the planner's estimate; `view` is the index as one scan sees it; `cache` keeps
//! the directory of its leaves for a session. What must not live here: changes of pages.

#![forbid(unsafe_code)]
pub(crate) mod cache;
pub(crate) mod leaf_walk;
pub(crate) mod nearest;
pub(crate) mod nearest_in_scopes;
pub(crate) mod sample;
pub(crate) mod view;
pub(crate) mod within;
pub(crate) mod within_scopes;
