//! Searching: from a radius to the postings that can match.
//!
//! [`probe`] plans which positions of a key space a search must visit, `visit` walks the leaves
//! that hold them, `within` finds everything within a radius, `nearest` the nearest rows first,
//! `within_scopes` and `nearest_in_scopes` those of several [`scopes`]. `sample` reads leaves for the planner's estimate;
//! `view` is the index as one scan sees it; `cache` keeps the [`directory`] of its leaves for a
//! session; [`read_ahead`] says how many pages to ask of the operating system ahead of reading them.
//! What must not live here: changes of pages.

#![forbid(unsafe_code)]

pub mod directory;
pub mod key_counts;
pub mod passes;
pub mod probe;
pub mod read_ahead;
pub mod scope_lists;
pub mod scopes;

#[cfg(feature = "server")]
pub(crate) mod cache;
#[cfg(feature = "server")]
pub(crate) mod nearest;
#[cfg(feature = "server")]
pub(crate) mod nearest_in_scopes;
#[cfg(feature = "server")]
pub(crate) mod sample;
#[cfg(feature = "server")]
pub(crate) mod view;
#[cfg(feature = "server")]
pub(crate) mod visit;
#[cfg(feature = "server")]
pub(crate) mod within;
#[cfg(feature = "server")]
pub(crate) mod within_scopes;
