//! The server process: interrupts and stack ([`backend`]), [`memory`], [`temp_file`], [`error`],
//! [`error_context`], [`encoding`], [`reportable`], [`settings`], [`activity`], [`snapshot`],
//! [`transaction`], [`subtransaction`], [`advisory_lock`], [`shared_words`]. [`compat`] has what
//! differs between PostgreSQL's majors, [`unguarded`] the calls without a guard. What must not live
//! here: anything that needs another folder of `pg`.

pub mod activity;
pub mod advisory_lock;
pub mod backend;
pub mod compat;
pub mod encoding;
pub mod error;
pub mod error_context;
pub mod memory;
mod reportable;
pub mod settings;
pub mod shared_words;
pub mod snapshot;
pub mod subtransaction;
pub mod temp_file;
pub mod transaction;
pub mod unguarded;
pub mod user;
