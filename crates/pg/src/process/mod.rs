//! The server process: interrupts, stack and user ([`backend`]), [`memory`], [`temp_file`], [`error`],
//! [`encoding`], [`activity`], [`transaction`], [`subtransaction`], [`advisory_lock`], [`shared_words`].
//! [`compat`] has what differs between PostgreSQL's majors, [`unguarded`] the calls without a guard.

pub mod activity;
pub mod advisory_lock;
pub mod backend;
pub mod compat;
pub mod encoding;
pub mod error;
pub mod memory;
pub mod shared_words;
pub mod subtransaction;
pub mod temp_file;
pub mod transaction;
pub mod unguarded;
