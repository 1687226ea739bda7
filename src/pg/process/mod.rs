//! The server process: its memory, errors, encoding, settings, locks, snapshots, parallel workers and
//! temporary files; what differs between PostgreSQL's majors (`compat`).

pub mod activity;
pub mod advisory_lock;
pub mod backend;
pub mod compat;
pub mod encoding;
pub mod error;
pub mod memory;
pub mod parallel;
pub mod settings;
pub mod snapshot;
pub mod temp_file;
pub mod unguarded;
