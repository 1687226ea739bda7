//! How alike two texts are.
//!
//! [`ngram_set`] compares texts by their character n-grams, [`cosine`] by what their features
//! weigh, to check candidates; [`diff`] shows in which words they differ; [`prefix_index`] finds
//! similar ones of many texts. [`weighted_sets`] takes the features of a fingerprint
//! from a builder.

pub mod cosine;
pub mod diff;
pub mod hash_list;
pub mod letters;
pub mod ngram_hashes;
pub mod ngram_set;
pub mod passages;
pub mod prefix;
pub mod prefix_index;
pub mod shared_passages;
pub mod weighted_sets;
mod window_minimum;
