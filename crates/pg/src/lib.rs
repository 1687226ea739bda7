//! Safe wrappers of the server's structs and calls: nodes and datums, queries, catalogs, files.
//!
//! What lives here: small types with RAII (a file that closes itself), argument access for SQL-callable
//! functions, error reports. What must not: any knowledge of fingerprints or of the index's page
//! formats, and what the access method or the planner's hook alone need.
//!
//! Errors: a PostgreSQL ERROR raised inside a `pg_sys` call arrives here as a Rust panic, and
//! leaves through `#[pg_guard]` as an ERROR again. While it unwinds, the destructors of this module
//! do nothing: the server releases locks and pins when it aborts the transaction, and has already
//! reset its interrupt counters, which a second release would unbalance.

#![deny(missing_docs, clippy::undocumented_unsafe_blocks)]
#![allow(unsafe_code)]
#![allow(
    clippy::unnecessary_cast,
    reason = "constants have other types on other majors"
)]
#![allow(
    clippy::len_without_is_empty,
    clippy::new_without_default,
    reason = "only this workspace uses the crate, and needs neither"
)]

pub mod catalog;
pub mod nodes;
pub mod process;
pub mod spi;
pub mod sql;
pub mod table_scan;
