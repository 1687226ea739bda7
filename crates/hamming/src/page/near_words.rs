//! Which of a few words are near another, with vectors: the test that a search makes of every
//! posting that it comes to. [`super::kernel`] calls it where the machine has AVX2, and tests it
//! against counting the bits of each word. It reads the words alone.

#![forbid(unsafe_code)]

/// Words that are tested at a time.
pub const WORDS: usize = 32;

/// Some words of a leaf, as its bytes.
pub type Words = [[u8; 4]; WORDS];

/// A bit for each word that differs from `low` in at most `budget` bits: eight words in a vector. One by
/// one, with a vector only to see whether any of them is near, a search took 2 to 3 times as long where
/// 9 bits or more may differ.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub fn avx2(words: &Words, low: u32, budget: u32) -> u32 {
    use std::arch::x86_64::*;
    let (low, budget) = (
        _mm256_set1_epi32(low as i32),
        _mm256_set1_epi32(budget as i32),
    );
    let nibble = _mm256_set1_epi8(15);
    // Set bits of each nibble, in both halves of the vector.
    let set_bits = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3,
        3, 4,
    );
    let mut near = 0;
    for (i, eight) in words.as_chunks::<8>().0.iter().enumerate() {
        let [a, b, c, d, e, f, g, h] = eight.map(i32::from_ne_bytes);
        let differing = _mm256_xor_si256(_mm256_setr_epi32(a, b, c, d, e, f, g, h), low);
        let lower = _mm256_and_si256(differing, nibble);
        let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(differing), nibble);
        let of_bytes = _mm256_add_epi8(
            _mm256_shuffle_epi8(set_bits, lower),
            _mm256_shuffle_epi8(set_bits, upper),
        );
        let of_halves = _mm256_maddubs_epi16(of_bytes, _mm256_set1_epi8(1));
        let of_words = _mm256_madd_epi16(of_halves, _mm256_set1_epi16(1));
        let far = _mm256_cmpgt_epi32(of_words, budget);
        let far = _mm256_movemask_ps(_mm256_castsi256_ps(far)) as u32;
        near |= (!far & 0xFF) << (8 * i);
    }
    near
}
