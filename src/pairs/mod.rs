//! Every pair of rows within a radius, without an index, in bounded memory: `simhash_pairs`.
//!
//! The search itself is `simhash_hamming::pairs`. Here `arguments` reads those of functions,
//! `source` is a table, `named_columns` finds the relations and columns that users name, and
//! `chosen_columns` those that they leave out.
//! `scope_columns` reads the rows of one or two, `row_keys` keeps their keys, `value_store` values
//! of any kind, `scannable_source` reads tables without a query, `near_rows` by an index; `search` gives the pure search the
//! server's files and interrupts; `hashes_in_parts` is for hashes of more than 64 bits.
//! `simhash_pairs` is the SQL function. `group_pairs` is the SQL function for rows that are given
//! as arrays.
pub(crate) mod arguments;
pub(crate) mod chosen_columns;
pub(crate) mod group_pairs;
pub(crate) mod hashes_in_parts;
pub(crate) mod named_columns;
mod near_rows;
pub(crate) mod row_keys;
mod scannable_source;
pub(crate) mod scope_columns;
pub(crate) mod search;
mod simhash_pairs;
pub(crate) mod source;
pub(crate) mod value_store;
