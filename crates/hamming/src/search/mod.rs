//! Searches: everything within a radius, and the nearest first.
//!
//! [`probe`] chooses the radii within which a search visits keys, `next_key` steps from key to key,
//! [`passes`] has the radii in which a search for the nearest rows grows. [`leaf_walk`] walks the
//! leaves that hold these positions, [`within`] finds everything within a radius, [`nearest`] the
//! nearest rows first. [`reader`] is the index as one scan sees it, with [`counts`] of what a scope
//! holds and [`warm`] to ask for pages ahead; [`cached`] is what a session keeps of it: a
//! [`directory`] with copies of [`downlinks`], and [`key_counts`]. [`scopes`] says which scopes a
//! search reads; [`read_ahead`] how many pages are asked for.
//!
//! The access method calls it, over the pages of a [`crate::tree::store`]. A search changes no
//! page, and leaves out no position that may hold a match.

#![forbid(unsafe_code)]

pub mod cached;
mod counts;
pub mod directory;
mod downlinks;
mod key_counts;
mod leaf_walk;
pub mod nearest;
mod next_key;
pub(crate) mod passes;
pub mod probe;
pub mod read_ahead;
pub mod reader;
pub mod scopes;
mod warm;
pub mod within;
