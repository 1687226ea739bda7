//! What the triggers decide without a server. The extension's triggers call it. Equal values have
//! equal scopes, in every session.
//!
//! [`arguments`] reads the strings `name=value` of CREATE TRIGGER; [`flag_options`] and
//! [`kept_options`] are those of the functions. [`in_progress`] keeps the rows that transactions
//! have stored and not yet committed, and says for which of them a row waits; the proof is there.
//! [`scope`] numbers what rows have in the columns of `within=`. [`distribution`] says which
//! triggers a shard of Citus can have.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod arguments;
pub mod distribution;
pub mod flag_options;
pub mod in_progress;
pub mod kept_options;
pub mod scope;

pub use arguments::Error;
