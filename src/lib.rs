//! simhash_dedup: near-duplicate rows inside PostgreSQL.
//!
//! Data flows one way. The crates of the workspace and the modules of this one each hold one
//! stretch of the way:
//!
//! ```text
//!  row --(row)--> columns of text --(simhash_fingerprint)--> features -> 64 sums -> fingerprint (bigint)
//!                                                                              |
//!  INSERT / COPY / CREATE INDEX --(index)--> filed under four (quarter, key) <-+
//!                                                                              |
//!  WHERE fp <~> $1 <= 3 --(planner)--> fp <@ hamming_ball($1, 3) --(index)--> rows
//!  pairs, clusters, flag: duplicates of a table, of a new row
//! ```
//!
//! * `simhash_fingerprint`: from columns of text to fingerprints; pure Rust; knows no PostgreSQL.
//! * `simhash_hamming`: Hamming space: quarters of fingerprints and radii, the pages of an index
//!   and the plan of a search, pairs, components; pure Rust.
//! * `simhash_records`: pairs of records that share rare features; pure Rust.
//! * `simhash_trigger`: what triggers decide without a server; pure Rust.
//! * `simhash_pg`: safe wrappers of nodes, datums, queries and catalogs; the only crate with conditions
//!   on the server's major.
//! * `simhash_base`: what these share.
//!
//! This crate joins them:
//!
//! * `row`: turns a row of any type into columns of canonical text.
//! * [`index`]: the access method `simhash`.
//! * [`planner`]: makes `fp <~> $1 <= 3` an index condition; selectivity.
//! * [`pairs`], [`clusters`]: all near-duplicates of a table, in pairs and in groups;
//!   `checked_pairs`: those that pass a check.
//! * `records`: pairs of records, by what few others have.
//! * [`routes`]: rows that are spread over several servers.
//! * [`hashes`]: hashes that people have already, as fingerprints.
//! * [`report`]: what a radius would find, estimated from a sample.
//! * [`flag`]: the trigger that looks for a duplicate of a new row; [`trigger`]: what triggers
//!   share.
//! * `citus`: which tables are distributed, and what may answer on a shard.
//! * `script`: what the SQL script's functions in PL/pgSQL need.
//! * `errors`: the SQLSTATEs of the other crates' errors.
//!
//! Unsafe code is denied except where `allow(unsafe_code)` stands: in the files of the access method and
//! of the planner, and the few others that take the server's pointers.

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod checked_pairs;
mod citus;
pub mod clusters;
mod errors;
pub mod flag;
pub mod hashes;
pub mod index;
pub mod pairs;
pub mod planner;
mod records;
pub mod report;
pub mod routes;
mod row;
mod script;
pub mod trigger;

use pgrx::prelude::*;

::pgrx::pg_module_magic!(name, version);

/// Called by the server once per process that loads the library (in the postmaster when it is
/// in `shared_preload_libraries`).
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    simhash_pg::process::error::keep_backtraces_in_the_log();
    row::init();
    index::init();
    planner::init();
}
