//! Which of a few words are near another, with vectors: the test that a search makes of every
//! posting that it comes to. [`super::kernel`] calls the one for which the machine has
//! instructions; each gives what counting the bits of one word after the other gives. They read the
//! words alone.

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

/// As [`avx2`]: sixteen words in a vector, with an instruction that counts their bits. Also writing the
/// positions of near words by an instruction (compress) saved another 1 to 2 % of a search for the nearest,
/// nothing of others.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub fn avx512(words: &Words, low: u32, budget: u32) -> u32 {
    use std::arch::x86_64::*;
    let (low, budget) = (
        _mm512_set1_epi32(low as i32),
        _mm512_set1_epi32(budget as i32),
    );
    let mut near = 0;
    for (i, sixteen) in words.as_chunks::<16>().0.iter().enumerate() {
        let [a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q] = sixteen.map(i32::from_ne_bytes);
        let sixteen = _mm512_setr_epi32(a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q);
        let differing = _mm512_popcnt_epi32(_mm512_xor_si512(sixteen, low));
        near |= u32::from(_mm512_cmple_epu32_mask(differing, budget)) << (16 * i);
    }
    near
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use multiversion::multiversion;
    use multiversion::target::match_target;
    use proptest::prelude::*;

    /// The oracle of masks: one bit after the other.
    pub fn mask(words: &Words, low: u32, budget: u32) -> u32 {
        let is_near = |i: &usize| (u32::from_ne_bytes(words[*i]) ^ low).count_ones() <= budget;
        (0..WORDS).filter(is_near).fold(0, |mask, i| mask | 1 << i)
    }

    /// That of AVX2, even where the machine has AVX-512; the oracle where it has neither.
    #[multiversion(targets("x86_64+avx2+popcnt"))]
    fn mask_avx2(words: &Words, low: u32, budget: u32) -> u32 {
        match_target! {
            "x86_64+avx2+popcnt" => avx2(words, low, budget),
            _ => mask(words, low, budget),
        }
    }

    #[multiversion(targets("x86_64+avx512f+avx512vpopcntdq"))]
    fn mask_avx512(words: &Words, low: u32, budget: u32) -> u32 {
        match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => avx512(words, low, budget),
            _ => mask(words, low, budget),
        }
    }

    proptest! {
        #[test]
        fn vectors_count_as_one_by_one(
            words in prop::array::uniform32(any::<u32>()), shifts in prop::array::uniform32(0u32..33),
            low: u32, budget in 0u32..=32,
        ) {
            // Any number of differing bits, from none to all.
            let near = |i: usize| low ^ words[i].checked_shr(shifts[i]).unwrap_or(0) ^ if budget % 2 == 0 { 0 } else { u32::MAX };
            let words: Words = std::array::from_fn(|i| near(i).to_ne_bytes());
            let expected = mask(&words, low, budget);
            prop_assert_eq!(mask_avx2(&words, low, budget), expected);
            prop_assert_eq!(mask_avx512(&words, low, budget), expected);
        }
    }
}
