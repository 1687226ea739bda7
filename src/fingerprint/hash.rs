//! Feature hashes. The default is CityHash64 v1.1; MurmurHash2 is what preset `s1` prescribes.

/// Seed of both Murmur hashes in preset `s1`.
pub const S1_SEED: u32 = 999_999_937;

/// Which hash family gives a feature its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureHash {
    /// CityHash64; 32-bit fingerprints take its low half.
    City,
    /// MurmurHash64A, or MurmurHash2 for 32 bits, with [`S1_SEED`].
    Murmur,
    /// BKDRHash, finalised; 32-bit fingerprints take its low half.
    Bkdr,
}

/// How many bits a fingerprint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    W32,
    W64,
}

impl FeatureHash {
    /// How users name them.
    pub const NAMES: [(&str, FeatureHash); 3] = [
        ("cityhash64", FeatureHash::City),
        ("murmur64a", FeatureHash::Murmur),
        ("bkdr", FeatureHash::Bkdr),
    ];

    /// The hash of a feature; at most `width` low bits are set.
    pub fn hash(self, width: Width, bytes: &[u8]) -> u64 {
        match (self, width) {
            (FeatureHash::City, Width::W64) => city64(bytes),
            (FeatureHash::City, Width::W32) => city64(bytes) & u64::from(u32::MAX),
            (FeatureHash::Bkdr, Width::W64) => bkdr(bytes),
            (FeatureHash::Bkdr, Width::W32) => bkdr(bytes) & u64::from(u32::MAX),
            (FeatureHash::Murmur, Width::W64) => murmur64a(bytes, u64::from(S1_SEED)),
            (FeatureHash::Murmur, Width::W32) => u64::from(murmur2(bytes, S1_SEED)),
        }
    }
}

/// CityHash64 v1.1.
pub fn city64(bytes: &[u8]) -> u64 {
    cityhasher::hash(bytes)
}

/// MurmurHash2, 32 bits, reading the input as little-endian words (Appleby's public-domain hash).
pub fn murmur2(bytes: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    // The original mixes in the length as a 32-bit integer.
    let mut h = seed ^ (bytes.len() as u32);
    let (words, tail) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        h = h.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        let mut word = [0; 4];
        word[..tail.len()].copy_from_slice(tail);
        h = (h ^ u32::from_le_bytes(word)).wrapping_mul(M);
    }
    h = (h ^ (h >> 13)).wrapping_mul(M);
    h ^ (h >> 15)
}

/// MurmurHash64A, reading the input as little-endian words (Appleby's public-domain hash).
pub fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut h = seed ^ (bytes.len() as u64).wrapping_mul(M);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 47;
        h = (h ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let mut word = [0; 8];
        word[..tail.len()].copy_from_slice(tail);
        h = (h ^ u64::from_le_bytes(word)).wrapping_mul(M);
    }
    h = (h ^ (h >> 47)).wrapping_mul(M);
    h ^ (h >> 47)
}

/// BKDRHash (Kernighan and Ritchie's, multiplier 131) in 64 bits, mixed: by itself it leaves the high bits
/// of short words constant, so that one key of an index would hold every row.
pub fn bkdr(bytes: &[u8]) -> u64 {
    mix(bytes.iter().fold(0u64, |h, &byte| {
        h.wrapping_mul(131).wrapping_add(u64::from(byte))
    }))
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood): a permutation in which each bit of the input
/// changes half of the bits.
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
