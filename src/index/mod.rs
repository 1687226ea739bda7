//! The access method `simhash`: fingerprints stored under four 16-bit keys, in one B-link tree per
//! key space, so that everything within a Hamming radius is found exactly, in a scope if the index
//! has columns for it. README.md in this folder explains layout, locking, WAL and why it is exact.
//!
//! The algorithms are in `simhash_hamming`: pages, tree, search, insert, removal. [`store`] gives
//! them the server's pages, which [`buffer`] pins and locks. [`handler`] names the callbacks that the
//! server knows; each role of an access method is a file with the server's half of it: [`build`],
//! [`insert`], [`scan`], [`vacuum`], [`cost_estimate`], [`opclass`], and [`verify`] and [`stats`] for
//! users. Nothing here knows how a fingerprint was made.

#![allow(
    clippy::unnecessary_cast,
    reason = "constants have other types on other majors"
)]

mod buffer;
mod build;
mod bulk_writer;
mod cost_estimate;
mod dead_postings;
mod handler;
mod insert;
pub(crate) mod opclass;
pub(crate) mod open_index;
mod parallel_build;
mod row_address;
mod scan;
mod scan_request;
mod session_cache;
mod spool;
mod stats;
mod store;
mod vacuum;
mod verify;

use opclass::FINGERPRINT;
use pgrx::pg_sys;
use simhash_pg::catalog::lookup;

/// Registers what the access method needs of the server; called once per process from `_PG_init`.
pub fn init() {
    handler::register_options();
    session_cache::register_setting();
}

/// Returns the function that makes the fingerprints of an index, if it is one of ours.
pub fn fingerprint_function(
    access_method: pg_sys::Oid,
    family: pg_sys::Oid,
    class_type: pg_sys::Oid,
) -> Option<pg_sys::Oid> {
    if class_type == pg_sys::INT8OID || !lookup::is_extension_access_method(access_method) {
        return None;
    }
    let handler = lookup::access_method_handler(access_method)?;
    lookup::is_symbol(handler, handler::simhash_handler::symbol)
        .then(|| lookup::family_function(family, class_type, FINGERPRINT))
        .flatten()
}
