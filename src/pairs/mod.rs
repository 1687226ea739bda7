//! Every pair of rows within a radius, without an index, in bounded memory: `simhash_pairs`.
//!
//! [`find`] is the search in memory, [`file`] the one for rows that memory does not hold, which are
//! in files ([`part`]). [`split`] decides which bits divide a group, [`arrange`] divides it by them,
//! `needless` leaves out what need not be compared, [`compare`] is the inner loop, and [`sets`] the
//! search where only connections matter ([`union_find`] keeps them). All of these are pure, and
//! search the rows of one side, or those of two for pairs across.
//!
//! `source` is a table, `within` reads the rows of one or two, `keys` keeps their keys, `plain` reads
//! plain tables without a query, `search` gives the pure search the server's files and interrupts,
//! `shared` a second process, with which `shared_scan` exchanges rows, and `function` is the SQL
//! function. `of_arrays` is the SQL function for rows that are given as arrays. What must not live
//! here: what becomes of a pair.
mod function;
pub(crate) mod keys;
pub(crate) mod of_arrays;
mod plain;
pub(crate) mod search;
mod shared;
mod shared_scan;
pub(crate) mod source;
pub(crate) mod within;
