//! Text, weights, bits: from columns of text to a fingerprint. Pure Rust; knows no PostgreSQL.
//!
//! What lives here, in the order in which a row flows through: [`options`] (JSON and presets, and
//! what they make each column do), [`text`] (words), [`lexeme`] (of a tsvector), [`terms`] (what
//! words weigh), [`counter`], `letter_pairs`, `bag` and [`builder`] (features and their weights), [`hash`] and
//! `shingle_hashes` (their hashes), [`simhash`] and `minwise` (bits). `logarithm` has logarithms
//! that are the same everywhere. [`explain`] tells where two fingerprints come apart;
//! [`similarity`] compares texts, [`same`] says whether two texts are one for a person; [`methods`]
//! is what papers describe beside it. [`scalar`] writes scalar values as text that no setting
//! alters. Nothing here needs a server, a file or a clock: a fingerprint
//! depends on its arguments alone.
//!
//! ```
//! use simhash_fingerprint::Error;
//! use simhash_fingerprint::builder::{Content, FingerprintBuilder};
//! use simhash_fingerprint::hash::Width;
//! use simhash_fingerprint::options::{grammar::parse_text, plan, presets};
//!
//! let options = parse_text("{}", &mut || {})?;
//! let plan = plan::text(presets::find(Some("shingles"))?, &options)?;
//! let mut builder = FingerprintBuilder::<1>::new(Width::W64);
//! let mut fingerprint = |text| {
//!     builder.begin();
//!     builder.column(&plan, Content::Text(text), &mut || {})?;
//!     // None for a text without a feature.
//!     Ok::<u64, Error>(builder.fingerprint().map_or(0, |[bits]| bits))
//! };
//! let lamp = "The street lamp in front of number 12 has been dark for two weeks, please have it repaired before winter.";
//! let upper = lamp.to_uppercase();
//! let distance = (fingerprint(lamp)? ^ fingerprint(&upper)?).count_ones();
//! assert_eq!(distance, 0);
//! let distance = (fingerprint(lamp)? ^ fingerprint("Bus 7 is late again.")?).count_ones();
//! assert!(distance > 16);
//! # Ok::<(), Error>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bag;
pub mod builder;
pub mod counter;
pub mod error;
pub mod explain;
pub mod hash;
pub mod hashes;
mod letter_pairs;
pub mod lexeme;
mod logarithm;
pub mod methods;
mod minwise;
pub mod options;
pub mod same;
pub mod scalar;
mod shingle_hashes;
pub mod simhash;
pub mod similarity;
pub mod terms;
pub mod text;
mod weighted_tokens;

pub use error::{Class, Error};

/// Loads the word dictionary (30 MB, about 0.2 s) and the lists of [`same`] (4 to 8 ms) now instead of at
/// their first use: for a process whose children then share them.
pub fn warm() {
    text::words::dictionary();
    // Each list is loaded by what needs it: words that differ, and Han characters that do.
    let _ = same::same("Twelve lamps, 灯 one", "Twelve boats, 灭 one", &mut || ());
}

#[cfg(test)]
mod tests;
