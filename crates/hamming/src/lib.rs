//! Fingerprints of 64 bits in Hamming space: their quarters and radii, an index of pages with its
//! searches, inserts and removals, all pairs of a set, and components of pairs.
//!
//! [`key`] has the quarters of a fingerprint and the key spaces of an index; [`ball`] what lies
//! within a radius; [`parts`] hashes of more than 64 bits. [`page`] has the bytes of an index's
//! pages, [`tree`] the B-link tree of a key space over a [`tree::store::PageStore`]; [`build`]
//! fills pages from sorted postings, [`search`] finds everything within a radius and the nearest
//! first, [`insert`] and [`remove`] change the postings of a row, [`check`] says whether pages are
//! sound. [`cost`], [`cost_nearest`] and [`selectivity`] are what the planner is told. [`pairs`]
//! are all pairs of a set within a radius, [`components`] the groups that they connect, [`report`]
//! a sample of them. [`routes`] are the keys by which rows are spread over servers.
//!
//! The extension calls it with rows that it has read, and with the pages of an index behind
//! [`tree::store::PageStore`]. Nothing here reads a file, a clock or a server: the same bytes give
//! the same answer.
//!
//! All pairs of three fingerprints within 3 bits:
//!
//! ```
//! use simhash_hamming::pairs::file::Gathered;
//! use simhash_hamming::pairs::sink::{PairSink, Row};
//!
//! #[derive(Default)]
//! struct Found(Vec<(u64, u64, u32)>);
//!
//! impl PairSink for Found {
//!     // What memory does not hold goes here.
//!     type File = Vec<u8>;
//!     fn file(&mut self) -> Vec<u8> {
//!         Vec::new()
//!     }
//!     fn pair(&mut self, a: u64, b: u64, distance: u32) {
//!         self.0.push((a.min(b), a.max(b), distance));
//!     }
//!     fn check_interrupts(&mut self) {}
//!     fn progress(&mut self, _share: f64) {}
//! }
//!
//! let (mut found, mut rows) = (Found::default(), Gathered::<Vec<u8>, 1>::new(1 << 20));
//! for (tag, fingerprint) in (0..).zip([0xFF00, 0xFF07, 0x1234_5678_9ABC_DEF0]) {
//!     rows.add(0, Row { fingerprint, tag }, &mut found)?;
//! }
//! rows.find_pairs(&mut found, 3);
//! assert_eq!(found.0, [(0, 1, 3)]);
//! # Ok::<(), std::collections::TryReserveError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod ball;
pub mod build;
pub mod check;
pub mod components;
pub mod cost;
pub mod cost_nearest;
mod error;
pub mod insert;
pub mod key;
pub mod page;
pub mod pairs;
pub mod parts;
pub mod remove;
pub mod report;
pub mod routes;
pub mod search;
pub mod selectivity;
pub mod tree;

pub use error::Error;
