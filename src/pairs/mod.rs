//! Every pair of rows within a radius, without an index, in bounded memory: `simhash_pairs`.
//!
//! The search itself is `simhash_hamming::pairs`. Here `source` is a table, `within` reads the rows
//! of one or two, `keys` keeps their keys, `plain_table` reads plain tables without a query, `search`
//! gives the pure search the server's files and interrupts, `shared` a second process, with which
//! `shared_scan` exchanges rows, and `function` is the SQL function. `of_arrays` is the SQL
//! function for rows that are given as arrays. What must not live here: what becomes of a pair.
mod function;
pub(crate) mod keys;
pub(crate) mod of_arrays;
mod plain_table;
pub(crate) mod search;
mod shared;
mod shared_scan;
pub(crate) mod source;
pub(crate) mod within;
