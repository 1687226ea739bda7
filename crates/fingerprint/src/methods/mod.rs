//! What the papers behind SimHash describe and no index serves: for the schema `simhash_methods`
//! alone.
//!
//! [`distance`] compares and shows fingerprints of other widths and has S2's blend, [`minhash`] is
//! MinHash, [`margin`] has the bits in doubt. The rest of the crate uses one limit of it, which an
//! error names: it can go without a fingerprint changing.

pub mod distance;
pub mod margin;
pub mod minhash;
