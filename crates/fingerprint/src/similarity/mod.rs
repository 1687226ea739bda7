//! How alike two fingerprints or two texts are.
//!
//! [`distance`] is the Hamming distance of fingerprints; [`ngram_set`] compares texts by their
//! character n-grams, [`cosine`] and [`minhash`] by other measures, to check candidates; [`diff`]
//! shows in which words they differ;
//! [`prefix_index`] finds similar ones of many texts. What must not live here: the features of a
//! fingerprint; [`weighted_sets`] takes those of a sketch.

pub mod cosine;
pub mod diff;
pub mod distance;
pub mod hash_list;
pub mod letters;
pub mod minhash;
pub mod ngram_hashes;
pub mod ngram_set;
pub mod passages;
pub mod prefix;
pub mod prefix_index;
pub mod shared_passages;
pub mod weighted_sets;
