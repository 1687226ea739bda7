//! The access method `simhash`: fingerprints filed under four 16-bit keys, in one B-link tree a key
//! space, so that everything within a Hamming radius is found exactly. README.md in this folder
//! explains layout, locking, WAL and why it is exact.
//!
//! What lives here: [`key`], [`page`] and [`probe`] are pure (keys, page formats, search plan); the
//! other files are the access method's roles, one each. What must not: raw pages, buffers or WAL
//! (they are behind `pg`), and anything about how a fingerprint was made.

pub mod ball;
pub mod census;
pub mod compare;
pub mod cost;
pub mod directory;
pub mod key;
pub mod load;
pub mod page;
pub mod probe;
pub mod sort;
pub mod verify;

#[cfg(feature = "server")]
mod build;
#[cfg(feature = "server")]
mod build_shared;
#[cfg(feature = "server")]
mod cache;
#[cfg(feature = "server")]
mod check;
#[cfg(feature = "server")]
mod corrupt;
#[cfg(feature = "server")]
mod doubts;
#[cfg(feature = "server")]
mod estimate;
#[cfg(feature = "server")]
mod handler;
#[cfg(feature = "server")]
mod insert;
#[cfg(feature = "server")]
mod nearest;
#[cfg(feature = "server")]
mod operators;
#[cfg(feature = "server")]
mod postings;
#[cfg(feature = "server")]
mod scan;
#[cfg(feature = "server")]
mod search;
#[cfg(feature = "server")]
mod sorter;
#[cfg(feature = "server")]
mod stats;
#[cfg(feature = "server")]
mod tree;
#[cfg(feature = "server")]
mod vacuum;
#[cfg(feature = "server")]
mod validate;
#[cfg(feature = "server")]
mod view;
#[cfg(feature = "server")]
mod visit;

/// Registers what the access method needs of the server; called once per process from `_PG_init`.
#[cfg(feature = "server")]
pub fn init() {
    crate::pg::am::storage_parameters::register();
    crate::pg::process::settings::register();
}
