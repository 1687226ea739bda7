//! Hashes that people have already, in the forms in which other programs give them: as fingerprints,
//! and back.
//!
//! [`read`] makes fingerprints of hexadecimal text, unsigned numbers, bits and bytes, and refuses
//! what would have to be cut or padded; [`fault`] says why. `functions` is what SQL sees. What must
//! not live here: anything that makes a hash of data; that is `fingerprint`.
//!
//! A hash of more than 64 bits is several fingerprints, its parts, the highest bits first.
mod functions;
