//! Text, weights, bits: from columns of text to a fingerprint. Pure Rust; knows no PostgreSQL.
//!
//! What lives here, in the order in which a row flows through: [`options`] (the JSON grammar),
//! [`presets`] and [`plan`] (which column counts how), [`normal`] (normal form), [`text`] (words and character
//! n-grams), [`user_words`] and [`stop_words`] (words that users add and that do not count), [`word_list`] (how
//! such words are kept), [`terms`] (what words weigh), [`lexeme`] (of a tsvector), [`bag`] and [`sketch`] (features
//! and their weights), [`hash`] and [`simhash`] (bits), [`distance`].
//! [`margin`] tells which bits are in doubt. [`jaccard`] and [`minhash`] check what has close
//! fingerprints. [`canonical`] writes scalar values as text that no setting alters. What must not live here:
//! anything that needs a server, a file or a clock; a fingerprint depends on its arguments alone.

pub mod bag;
pub mod canonical;
pub mod distance;
pub mod error;
pub mod hash;
pub mod jaccard;
pub mod lexeme;
pub mod margin;
pub mod minhash;
pub mod normal;
pub mod options;
pub mod plan;
pub mod presets;
pub mod simhash;
pub mod sketch;
pub mod stop_words;
pub mod term_options;
pub mod terms;
pub mod text;
pub mod user_words;
pub mod weighted_tokens;
pub mod word_list;

pub use error::{Class, Error};

/// Loads the word dictionary (30 MB, about 0.1 s) now instead of at the first Han word: for a
/// process whose children then share it.
pub fn warm() {
    text::dictionary();
}

#[cfg(test)]
mod tests;
