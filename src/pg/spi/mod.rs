//! Queries that the extension runs itself, through the server programming interface.

pub mod connection;
pub mod query;
pub mod saved_query;
pub mod text_query;
