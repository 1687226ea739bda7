//! Feature hashes. The default is CityHash v1.1; MurmurHash2 is what preset `s1` prescribes.

use std::hash::Hasher;

/// Seed of both Murmur hashes in preset `s1`.
pub const S1_SEED: u32 = 999_999_937;

/// Up to seven bytes as a number, which no other bytes of that length have.
#[inline]
pub(crate) fn packed(bytes: &[u8]) -> u64 {
    match *bytes {
        [] => 0,
        [first, .., last] if bytes.len() < 4 => {
            u64::from(first) | u64::from(bytes[1]) << 8 | u64::from(last) << 16
        }
        [only] => u64::from(only),
        _ => {
            let four = |four: Option<&[u8; 4]>| four.map_or(0, |four| u32::from_le_bytes(*four));
            u64::from(four(bytes.first_chunk())) | u64::from(four(bytes.last_chunk())) << 32
        }
    }
}

/// The hash family that gives a feature its bits. A family without a 32-bit hash gives the low half
/// of its 64-bit one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureHash {
    /// CityHash64; CityHash128 for 128 bits.
    City,
    /// MurmurHash64A, or MurmurHash2 for 32 bits, with [`S1_SEED`]; for 128 bits also with the seed
    /// after it.
    Murmur,
    /// BKDRHash, mixed by [`mix`]; for 128 bits the high half is its complement, mixed once more.
    Bkdr,
    /// MurmurHash3 for x64, 128 bits, seed 0; its low half for 64 bits.
    Murmur3,
    /// XXH3, 64 or 128 bits, without a seed.
    Xxh3,
}

/// Number of bits of a fingerprint of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The low half of the word; the upper half of it is zero.
    W32,
    /// All bits of the word.
    W64,
}

impl Width {
    /// The low bits of a word.
    #[inline]
    pub fn narrow(self, word: u64) -> u64 {
        match self {
            Width::W32 => word & u64::from(u32::MAX),
            Width::W64 => word,
        }
    }
}

impl FeatureHash {
    /// The names by which users choose them.
    pub const NAMES: [(&str, FeatureHash); 5] = [
        ("cityhash64", FeatureHash::City),
        ("murmur64a", FeatureHash::Murmur),
        ("bkdr", FeatureHash::Bkdr),
        ("murmur3", FeatureHash::Murmur3),
        ("xxh3", FeatureHash::Xxh3),
    ];

    /// The hash of this name.
    pub fn find(name: &str) -> Option<FeatureHash> {
        let named = Self::NAMES.iter().find(|(known, _)| *known == name);
        named.map(|(_, hash)| *hash)
    }

    /// The hash of a feature; at most `width` low bits are set.
    #[inline]
    pub fn hash(self, width: Width, bytes: &[u8]) -> u64 {
        let hash = match self {
            FeatureHash::Murmur if width == Width::W32 => u64::from(murmur2(bytes, S1_SEED)),
            FeatureHash::Murmur => murmur64a(bytes, u64::from(S1_SEED)),
            FeatureHash::City => city64(bytes),
            FeatureHash::Bkdr => bkdr(bytes),
            FeatureHash::Murmur3 => murmur3(bytes) as u64,
            FeatureHash::Xxh3 => xxhash_rust::xxh3::xxh3_64(bytes),
        };
        width.narrow(hash)
    }

    /// The hash of a feature of a 128-bit fingerprint.
    pub fn hash128(self, bytes: &[u8]) -> u128 {
        let join = |low: u64, high: u64| u128::from(high) << 64 | u128::from(low);
        match self {
            FeatureHash::City => cityhash_rs::cityhash_110_128(bytes),
            FeatureHash::Murmur3 => murmur3(bytes),
            FeatureHash::Xxh3 => xxhash_rust::xxh3::xxh3_128(bytes),
            FeatureHash::Murmur => {
                let seed = u64::from(S1_SEED);
                join(murmur64a(bytes, seed), murmur64a(bytes, seed + 1))
            }
            FeatureHash::Bkdr => {
                let low = bkdr(bytes);
                join(low, mix(!low))
            }
        }
    }

    /// The hash in words of 64 bits, the low one first; `width` narrows a single word.
    #[inline]
    pub fn words<const W: usize>(self, width: Width, bytes: &[u8]) -> [u64; W] {
        const { assert!(W == 1 || W == 2) };
        let mut words = [0; W];
        match words.as_mut_slice() {
            [word] => *word = self.hash(width, bytes),
            words => {
                let hash = self.hash128(bytes);
                words.copy_from_slice(&[hash as u64, (hash >> 64) as u64]);
            }
        }
        words
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

/// MurmurHash3 for x64, 128 bits, seed 0.
pub fn murmur3(mut bytes: &[u8]) -> u128 {
    // Reading from a slice cannot fail.
    murmur3::murmur3_x64_128(&mut bytes, 0).unwrap_or_default()
}

/// The multiplier of BKDRHash.
pub const BKDR_MULTIPLIER: u64 = 131;

/// BKDRHash (Kernighan and Ritchie's) in 64 bits, mixed: by itself it leaves the high bits of short
/// words constant, so that one key of an index would hold every row.
pub fn bkdr(bytes: &[u8]) -> u64 {
    mix(bkdr_sum(0, bytes))
}

/// BKDRHash before mixing, of bytes behind others whose sum is given.
#[inline]
pub fn bkdr_sum<'a>(before: u64, bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    let next = |sum: u64, &byte| {
        sum.wrapping_mul(BKDR_MULTIPLIER)
            .wrapping_add(u64::from(byte))
    };
    bytes.into_iter().fold(before, next)
}

/// Returns what [`FeatureHash::words`] makes of bytes with this sum.
#[inline]
pub fn bkdr_words<const W: usize>(width: Width, sum: u64) -> [u64; W] {
    let low = mix(sum);
    let words = [width.narrow(low), mix(!low)];
    std::array::from_fn(|i| words[i])
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood): a permutation in which each bit of the
/// input changes half of the bits.
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The hasher of a map whose keys are hashes: a key is its own hash.
#[derive(Clone, Debug, Default)]
pub struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
