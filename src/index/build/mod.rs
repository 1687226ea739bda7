//! CREATE INDEX and REINDEX: postings sorted, then loaded bottom up.
//!
//! `create` reads the table and drives a build, `shared` does so with several processes; `spool`
//! gathers their rows, `output` takes their pages; [`sort`] and [`load`] are pure, `sorter` sorts
//! postings that come one by one. What must not live here: inserts into an index that is in use.

pub mod load;
pub mod sort;

#[cfg(feature = "server")]
pub(crate) mod create;
#[cfg(feature = "server")]
pub(crate) mod output;
#[cfg(feature = "server")]
pub(crate) mod shared;
#[cfg(feature = "server")]
pub(crate) mod sorter;
#[cfg(feature = "server")]
pub(crate) mod spool;
