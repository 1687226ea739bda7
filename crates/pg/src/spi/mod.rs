//! Queries that the extension itself runs: once ([`query`]), planned once and run often
//! ([`saved_query`]; for the rows of one statement [`held_query`], whose executor is
//! `held_executor`), or with text as parameters and results ([`text_query`]); [`connection`] is
//! what they share. What must not live here: the SQL texts.

pub mod connection;
mod held_executor;
pub mod held_query;
pub mod query;
pub mod saved_query;
pub mod text_query;
