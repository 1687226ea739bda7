//! The access method `simhash`: fingerprints stored under four 16-bit keys, in one B-link tree per
//! key space, so that everything within a Hamming radius is found exactly, in a scope if the index
//! has columns for it. README.md in this folder explains layout, locking, WAL and why it is exact.
//!
//! What lives here: [`search`], [`build`] and [`check`], each a folder; `handler` has the callbacks
//! that the server knows, the other files are one role of an access method each. Page formats and
//! the plan of a search are in `simhash_hamming`; raw pages, buffers and WAL are behind
//! `simhash_pg`. Nothing here knows how a fingerprint was made.
pub mod build;
pub mod check;
mod cost_estimate;
mod dead_postings;
mod dead_rows;
mod handler;
mod insert;
pub(crate) mod operators;
pub mod sample;
mod scan;
mod scan_request;
mod session_cache;
mod store;
mod table_read_ahead;
mod vacuum;
mod validate;

/// Registers what the access method needs of the server; called once per process from `_PG_init`.
pub fn init() {
    simhash_pg::am::storage_parameters::register();
    simhash_pg::process::settings::register();
}
