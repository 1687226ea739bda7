//! CREATE INDEX and REINDEX: postings sorted, then loaded bottom up.
//!
//! `create` reads the table and drives a build, `parallel` does so with several processes; `spool`
//! gathers their rows, `output` takes their pages, `posting_sorter` sorts postings that come one by
//! one. `simhash_hamming::build` sorts and loads. What must not live here: inserts into an index
//! that is in use.
pub(crate) mod create;
pub(crate) mod output;
pub(crate) mod parallel;
pub(crate) mod posting_sorter;
pub(crate) mod spool;
