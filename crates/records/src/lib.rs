//! Pairs of records: which rows of short columns, or titles, describe the same thing. The extension
//! reads the rows and returns the pairs.
//!
//! In the order of the work: `abbreviations` and `plain` (one form of what people write in several
//! ways), [`features`] (the words and n-grams of a value), [`copies`] (rows that are equal),
//! [`notes`] (letters of short values and codes in titles), [`frequencies`] (which records share features, and which share a rare one), [`together`] (what two columns share
//! together), [`vectors`] (how
//! much each counts in a row), [`vector`] (one row), [`vector_blocks`] (rows in memory, a block at
//! a time), `evidence` and [`rarity`] (how much each column counts), [`comparison`] and [`pair`] (how similar two
//! rows are), [`partners`] (which row is whose best), [`scope`] (which rows
//! may be pairs), [`report`] (pairs by similarity), [`threshold`] (the one that is taken), [`sample`]
//! (pairs to label), [`quality`] (what the labels say), [`known`] (a few records beside stored
//! ones). Nothing here knows a server; what memory does not hold is in stores of the caller.
//!
//! ```
//! use simhash_base::store::InMemory;
//! use simhash_records::{comparison::compare, features::features, frequencies::Rows, vectors::Rating};
//!
//! let (mut rows, mut stores, mut found) = (Rows::new(1 << 20), InMemory, Vec::new());
//! for name in ["Ingrid Halvorsen", "Ingrid Halversen", "Tomasz Wysocki"] {
//!     features(name, 3, &mut found, &mut || {})?;
//!     rows.add(0, &found)?;
//!     rows.end_row(0, &mut stores)?;
//! }
//! let rating = Rating { rarity: 2.0, columns: Some(&[]) };
//! let mut pairs = Vec::new();
//! compare(&mut rows.finish(30, rating, &mut stores)?, 1, &mut stores, |_, pair, similarity| {
//!     pairs.push((pair.a, pair.b, similarity > 0.5));
//! })?;
//! assert_eq!(pairs, [(0, 1, true)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod abbreviations;
pub mod comparison;
pub mod copies;
mod evidence;
pub mod features;
pub mod frequencies;
pub mod known;
pub mod notes;
pub mod pair;
pub mod partners;
mod plain;
pub mod quality;
pub mod rarity;
pub mod report;
pub mod sample;
pub mod scope;
pub mod threshold;
pub mod together;
pub mod vector;
pub mod vector_blocks;
pub mod vectors;
