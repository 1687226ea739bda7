//! What a radius would find in a set of rows, estimated from a sample. [`draw`] draws at random,
//! [`sample`] compares the drawn rows with all others, [`estimate`] estimates how many pairs there
//! are in all, [`compared`] summarizes similarities. simhash_radius_report calls it. The same seed
//! draws the same sample.

pub mod compared;
pub mod draw;
mod estimate;
pub mod sample;
