//! The functions of the schema `simhash_methods`: what papers describe and no index serves. The
//! server calls them; nothing else does.
//!
//! [`widths`] has fingerprints of 32 and 128 bits, and their comparison; [`similarity`] cosine,
//! MinHash and a blend; [`margin`] the bits of least margin.

mod margin;
mod similarity;
mod widths;
