//! Every pair of rows within a radius, without an index, in bounded memory.
//!
//! [`sink`] has the rows and what takes the pairs. [`find`] is the search in memory, [`file`] the
//! one for rows that memory does not hold, which are in files (`row_file`). [`split`] decides which
//! bits divide a group, and divides it by them, [`compare`] is the inner loop, which leaves out what need
//! not be compared, and [`sets`] the search where only connections matter. [`parts`] finds the pairs of
//! hashes of more than 64 bits by those of their parts. simhash_pairs, simhash_clusters and their like call it. Each pair is found once,
//! whatever the order of the rows; the rows are those of one side, or of two for pairs across.

pub(crate) mod compare;
pub mod file;
pub mod find;
pub mod parts;
mod row_file;
pub mod sets;
pub mod sink;
pub mod split;

#[cfg(test)]
mod across_tests;
#[cfg(test)]
mod skewed_tests;
#[cfg(test)]
mod tests;
