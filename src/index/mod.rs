//! The access method `simhash`: fingerprints filed under four 16-bit keys, in one B-link tree a key
//! space, so that everything within a Hamming radius is found exactly, in a scope if the index has
//! columns for it. README.md in this folder
//! explains layout, locking, WAL and why it is exact.
//!
//! What lives here: [`key`] (what is ordered), [`page`] (formats), [`search`], [`build`] and
//! [`check`], each a folder; `handler` has the callbacks that the server knows, the other files are
//! one role of an access method each. What must not: raw pages, buffers or WAL (they are behind
//! `pg`), and anything about how a fingerprint was made.

pub mod ball;
pub mod build;
pub mod check;
pub mod cost;
pub mod cost_nearest;
pub mod key;
pub mod nearby;
pub mod page;
pub mod row_bitmap;
pub mod search;

#[cfg(feature = "server")]
mod corrupt;
#[cfg(feature = "server")]
mod cost_estimate;
#[cfg(feature = "server")]
mod handler;
#[cfg(feature = "server")]
mod insert;
#[cfg(feature = "server")]
pub(crate) mod operators;
#[cfg(feature = "server")]
mod scan;
#[cfg(feature = "server")]
mod scan_request;
#[cfg(feature = "server")]
mod table_ahead;
#[cfg(feature = "server")]
mod tree;
#[cfg(feature = "server")]
mod vacuum;
#[cfg(feature = "server")]
mod validate;

/// Registers what the access method needs of the server; called once per process from `_PG_init`.
#[cfg(feature = "server")]
pub fn init() {
    crate::pg::am::storage_parameters::register();
    crate::pg::process::settings::register();
}
