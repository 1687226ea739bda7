//! Converts existing hashes, in the forms in which other programs give them, to fingerprints, and
//! back.
//!
//! [`read`] makes fingerprints of hexadecimal text, unsigned numbers, bits and bytes, and refuses
//! what would have to be cut or padded. The SQL functions fingerprint_from_hex and its relatives
//! call it. A hash of more than 64 bits is several fingerprints, its parts, the highest bits first.

pub mod read;

#[cfg(test)]
mod tests;
