//! Every pair of rows within a radius, without an index, in bounded memory.
//!
//! [`sink`] has the rows and what takes the pairs. [`find`] is the search in memory, [`file`] the
//! one for rows that memory does not hold, which are in files (`row_file`). [`split`] decides which
//! bits divide a group, [`radix`] divides it by them, `skip` leaves out what need not be compared,
//! [`compare`] is the inner loop, and [`sets`] the search where only connections matter
//! ([`union_find`] keeps them). [`parts`] finds the pairs of hashes of more than 64 bits by those
//! of their parts. simhash_pairs, simhash_clusters and their like call it. Each pair is found once,
//! whatever the order of the rows; the rows are those of one side, or of two for pairs across.

pub(crate) mod compare;
pub mod file;
pub mod find;
pub mod parts;
pub(crate) mod radix;
mod row_file;
mod sets;
pub mod sink;
mod skip;
pub mod split;
pub mod union_find;

#[cfg(test)]
mod across_tests;
#[cfg(test)]
mod skewed_tests;
#[cfg(test)]
mod tests;
