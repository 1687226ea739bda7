//! Fingerprints of 64 bits in Hamming space: their quarters and radii, an index of pages with its searches,
//! inserts and removals, all pairs of a set, and components of pairs.
//!
//! The extension calls it with rows that it has read, and with the pages of an index behind
//! [`tree::store::PageStore`]. Nothing here reads a file, a clock or a server: the same bytes give the
//! same answer.

#![forbid(unsafe_code)]

pub mod ball;
pub mod build;
pub mod check;
pub mod components;
pub mod cost;
pub mod cost_nearest;
pub mod dead_rows;
pub mod error;
pub mod insert;
pub mod key;
pub mod nearby;
pub mod page;
pub mod pairs;
pub mod parts;
pub mod remove;
pub mod report;
pub mod routes;
pub mod row_bitmap;
pub mod search;
pub mod selectivity;
pub mod tree;

pub use error::Error;
