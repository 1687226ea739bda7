//! Queries that the extension itself runs: once ([`query`]), or planned once and run often
//! ([`saved_query`]; for the rows of one statement [`open_query`]). Each takes its parameters as a slice
//! of values, None for NULL.

pub mod open_query;
pub mod query;
pub mod saved_query;
