//! The server process: interrupts, stack, user and progress ([`backend`]), [`memory`], [`temp_file`], [`error`],
//! [`encoding`], [`transaction`], [`shared_words`].
//! [`compat`] has what differs between PostgreSQL's majors, [`unguarded`] the calls without a guard.

pub mod backend;
pub mod compat;
pub mod encoding;
pub mod error;
pub mod memory;
pub mod shared_words;
pub mod temp_file;
pub mod transaction;
pub mod unguarded;
