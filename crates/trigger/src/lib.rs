//! What the triggers decide without a server: what their arguments mean, for which rows in progress
//! a row waits, and what a shard may answer. The extension's triggers call it. Equal values have
//! equal scopes, in every session.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod arguments;
pub mod distribution;
pub mod error;
pub mod flag_options;
pub mod in_progress;
pub mod kept_options;
pub mod scope;

pub use error::Error;
