//! The part of a search that needs no server. [`probe`] plans which positions of a key space a
//! search visits, [`passes`] the radii in which a search for the nearest rows grows. [`directory`]
//! remembers where the leaves are, [`key_counts`] counts rows by block and key. [`scopes`] are the
//! scopes that a search reads and [`scope_lists`] those of lists. [`read_ahead`] says how many
//! pages are prefetched from the file.
//!
//! The extension's searches call it. A probe never leaves out a position that may hold a match.

#![forbid(unsafe_code)]

pub mod directory;
pub mod key_counts;
pub mod passes;
pub mod probe;
pub mod read_ahead;
pub mod scope_lists;
pub mod scopes;
