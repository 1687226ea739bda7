//! Every pair of rows within a radius, without an index, in bounded memory: `simhash_pairs`.
//!
//! [`find`] is the search in memory, [`file`] the one for rows that memory does not hold, [`split`]
//! decides which bits divide a group, [`compare`] is the inner loop: all four are pure, and search
//! the rows of one side, or those of two for pairs across. `source` is a table, `within` reads the
//! rows of one or two, `keys` keeps their keys, `plain` reads plain tables without a query, `search`
//! gives the pure search the server's files and interrupts, `shared` a second process, with which
//! `shared_scan` exchanges rows, `function` is the SQL function. What must not live here: what becomes of a pair.

pub mod compare;
pub mod file;
pub mod find;
pub mod split;

#[cfg(feature = "server")]
mod function;
#[cfg(feature = "server")]
pub(crate) mod keys;
#[cfg(feature = "server")]
mod plain;
#[cfg(feature = "server")]
pub(crate) mod search;
#[cfg(feature = "server")]
mod shared;
#[cfg(feature = "server")]
mod shared_scan;
#[cfg(feature = "server")]
pub(crate) mod source;
#[cfg(feature = "server")]
pub(crate) mod within;

#[cfg(test)]
mod tests;
