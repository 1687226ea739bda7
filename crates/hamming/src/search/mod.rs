//! Searches: everything within a radius, and the nearest first.
//!
//! [`probe`] chooses the radii within which a search visits keys, [`scopes`] says which scopes it reads
//! and steps from key to key, [`passes`] has the radii in which a search for the nearest rows grows.
//! [`leaf_walk`] walks the leaves that hold these positions, [`within`] finds everything within a
//! radius, [`nearest`] the nearest rows first. [`reader`] is the index as one scan sees it, and asks for pages
//! ahead; [`directory`] is what a session keeps of it, with copies of [`downlinks`], and [`key_counts`].
//!
//! The access method calls it, over the pages of a [`crate::tree::store`]. A search changes no
//! page, and leaves out no position that may hold a match.

#![forbid(unsafe_code)]

pub mod directory;
mod downlinks;
mod key_counts;
mod leaf_walk;
pub mod nearest;
pub(crate) mod passes;
pub mod probe;
pub mod reader;
pub mod scopes;
pub mod within;
