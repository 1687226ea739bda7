//! How alike two fingerprints or two texts are.
//!
//! [`distance`] is the Hamming distance of fingerprints; [`jaccard`] (with cosines) and [`minhash`]
//! compare texts, to check candidates. What must not live here: the features of a fingerprint.

pub mod distance;
pub mod jaccard;
pub mod minhash;
