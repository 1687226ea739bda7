//! The numbers of the advisory locks of `simhash_maintain_clusters()`: what they stand for, and the
//! order in which they are taken. They are of the extension's own class
//! (`pg::process::advisory_lock`), named by the table of clusters and a number, and held until the
//! transaction ends. Each makes the second of two transactions wait for the first.
//!
//! With `within=` a row takes the [`of_scope`] numbers, ascending, then a share of [`CLUSTERS`];
//! without it [`CLUSTERS`] alone (`clusters::maintain::scope_locks`). A statement of several rows
//! takes those of all its rows before it answers the first of them.

/// The lock of a whole table of clusters, which no scope has.
pub const CLUSTERS: u32 = u32::MAX;

/// Numbers of scopes.
const NUMBERS: u32 = 1024;

/// The lock of a scope ([`crate::scope::scope`]) in a table of clusters. Scopes that share a number
/// wait for each other.
pub fn of_scope(scope: u64) -> u32 {
    (scope % u64::from(NUMBERS)) as u32
}
