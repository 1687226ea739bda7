//! simhash_dedup: near-duplicate rows inside PostgreSQL.
//!
//! Data flows one way, and each room of this crate holds one stretch of the way:
//!
//! ```text
//!  row --(row)--> columns of text --(fingerprint)--> features -> 64 sums -> fingerprint (bigint)
//!                                                                              |
//!  INSERT / COPY / CREATE INDEX --(index)--> filed under four (block, key) <---+
//!                                                                              |
//!  WHERE fp <~> $1 <= 3 --(planner)--> fp <@ hamming_ball($1, 3) --(index)--> rows
//!  triggers, pairs, clusters --(dedup)--> duplicates
//! ```
//!
//! * [`fingerprint`]: pure Rust; knows no PostgreSQL.
//! * `row`: turns a row of any type into columns of canonical text.
//! * [`index`]: the access method `simhash`; its page formats and its search plan are pure.
//! * [`planner`]: makes `fp <~> $1 <= 3` an index condition; selectivity.
//! * [`dedup`]: what is built on top: flags, pairs, clusters.
//! * `pg`: safe wrappers of pages, buffers, WAL, nodes and datums; the only place with raw
//!   PostgreSQL structs.
//!
//! Without a `pgNN` feature only the pure parts are compiled (see Cargo.toml).

pub mod dedup;
pub mod fingerprint;
pub mod index;
pub mod planner;

#[cfg(feature = "server")]
mod pg;
#[cfg(feature = "server")]
mod row;

#[cfg(feature = "server")]
mod server {
    use pgrx::prelude::*;

    ::pgrx::pg_module_magic!(name, version);

    /// Called by the server once per process that loads the library (in the postmaster when it is
    /// in `shared_preload_libraries`).
    #[pg_guard]
    pub extern "C-unwind" fn _PG_init() {
        crate::pg::error::keep_backtraces_in_the_log();
        crate::row::init();
        crate::index::init();
        crate::planner::init();
    }
}
