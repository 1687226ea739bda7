//! What the triggers decide without a server: what their arguments mean, which locks a row takes,
//! and what a shard may answer. The extension's triggers call it.
//! The same arguments always give the same locks, in every session and release.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod cluster_options;
pub mod distribution;
pub mod error;
pub mod flag_options;
pub mod kept_options;
pub mod locks;

pub use error::Error;
