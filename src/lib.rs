//! simhash_dedup: near-duplicate rows inside PostgreSQL.
//!
//! Data flows one way, and each module of this crate holds one stretch of the way:
//!
//! ```text
//!  row --(row)--> columns of text --(fingerprint)--> features -> 64 sums -> fingerprint (bigint)
//!                                                                              |
//!  INSERT / COPY / CREATE INDEX --(index)--> filed under four (block, key) <---+
//!                                                                              |
//!  WHERE fp <~> $1 <= 3 --(planner)--> fp <@ hamming_ball($1, 3) --(index)--> rows
//!  pairs, clusters, flag: duplicates of a table, of a new row
//! ```
//!
//! * [`fingerprint`]: pure Rust; knows no PostgreSQL.
//! * `row`: turns a row of any type into columns of canonical text.
//! * [`index`]: the access method `simhash`; its page formats and its search plan are pure.
//! * [`planner`]: makes `fp <~> $1 <= 3` an index condition; selectivity.
//! * [`pairs`], [`clusters`]: all near-duplicates of a table, in pairs and in groups.
//! * [`routes`]: rows that are spread over several servers.
//! * [`hashes`]: hashes that people have already, as fingerprints.
//! * [`report`]: what a radius would find, judged by a sample.
//! * [`flag`]: the trigger that looks for a duplicate of a new row; [`trigger`]: what triggers
//!   share.
//! * `script`: what the SQL script's functions in PL/pgSQL need.
//! * [`store`], [`tid`], `bytes`, `passed_checks`, `processor`: what several of these use.
//! * `pg`: safe wrappers of pages, buffers, WAL, nodes and datums; the only place with raw
//!   PostgreSQL structs.
//!
//! Without a `pgNN` feature only the pure parts are compiled (see Cargo.toml).
//!
//! Unsafe code is denied except where `allow(unsafe_code)` stands: in `pg`; in the callbacks of the
//! access method and the few other files that take the server's pointers; and in the two inner
//! loops that are compiled for several instruction sets. The pure files forbid it.

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod bytes;
pub mod clusters;
pub mod filed;
pub mod flag;
pub mod hashes;
pub mod index;
pub mod pairs;
#[cfg(any(feature = "server", test))]
mod passed_checks;
pub mod planner;
mod processor;
pub mod report;
pub mod routes;
pub mod store;
pub mod tid;
pub mod trigger;

#[cfg(feature = "server")]
mod pg;
#[cfg(feature = "server")]
mod row;
#[cfg(feature = "server")]
mod script;

#[cfg(feature = "server")]
mod server {
    use pgrx::prelude::*;

    ::pgrx::pg_module_magic!(name, version);

    /// Called by the server once per process that loads the library (in the postmaster when it is
    /// in `shared_preload_libraries`).
    #[pg_guard]
    pub extern "C-unwind" fn _PG_init() {
        crate::pg::process::error::keep_backtraces_in_the_log();
        crate::row::init();
        crate::index::init();
        crate::planner::init();
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    /// The sources that hold a text.
    fn files_with(text: &str) -> Vec<PathBuf> {
        fn files(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    files(&path, found);
                } else {
                    found.push(path);
                }
            }
        }
        let mut found = Vec::new();
        files(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut found,
        );
        found.retain(|path| std::fs::read_to_string(path).unwrap().contains(text));
        found
    }

    /// The server's major decides how pages are logged: only one folder may ask for it.
    #[test]
    fn majors_are_told_apart_in_one_folder() {
        let found = files_with(concat!("feature = ", "\"pg"));
        assert!(!found.is_empty());
        for path in found {
            assert_eq!(
                path.parent().and_then(Path::file_name),
                Some("compat".as_ref())
            );
        }
    }

    /// What one architecture alone can do has a portable form beside it.
    #[test]
    fn architectures_are_told_apart_in_one_file() {
        for text in [
            concat!("target", "_arch"),
            concat!("target", "_feature"),
            concat!("std::", "arch"),
            concat!("core::", "arch"),
        ] {
            let found = files_with(text);
            assert!(
                found.iter().all(|path| path.ends_with("src/processor.rs")),
                "{found:?}"
            );
        }
    }
}
