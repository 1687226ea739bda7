//! The inner loop of every search: which of a leaf's low words are near the query's.
//!
//! One portable body, compiled for three instruction sets, chosen at run time: counting bits in
//! software costs a search 14 to 16 %. Wider vectors showed no more than another 10 %.

use super::leaf::CAPACITY;

/// Positions of the entries that passed, in the leaf's order.
pub struct Hits {
    positions: [u16; CAPACITY],
    count: usize,
}

impl Hits {
    pub fn new() -> Hits {
        Hits {
            positions: [0; CAPACITY],
            count: 0,
        }
    }

    pub fn positions(&self) -> &[u16] {
        &self.positions[..self.count]
    }
}

/// Adds the positions, counted from `first`, of the 4-byte words that differ from `low` in at most
/// `budget` bits. There must be room: a leaf's words are shown once.
#[inline(always)]
fn near_body(words: &[u8], first: usize, low: u32, budget: u32, hits: &mut Hits) {
    let mut count = hits.count;
    for (i, word) in words.chunks_exact(4).enumerate() {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        // Always written, kept only if near: no branch to mispredict.
        hits.positions[count.min(CAPACITY - 1)] = (first + i) as u16;
        count += usize::from((word ^ low).count_ones() <= budget);
    }
    hits.count = count.min(CAPACITY);
}

fn near_portable(words: &[u8], first: usize, low: u32, budget: u32, hits: &mut Hits) {
    near_body(words, first, low, budget, hits);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn near_popcnt(words: &[u8], first: usize, low: u32, budget: u32, hits: &mut Hits) {
    near_body(words, first, low, budget, hits);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn near_avx2(words: &[u8], first: usize, low: u32, budget: u32, hits: &mut Hits) {
    near_body(words, first, low, budget, hits);
}

/// As the body above, with the best instructions that this machine has.
pub fn near(words: &[u8], first: usize, low: u32, budget: u32, hits: &mut Hits) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("popcnt") {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has both features.
                return unsafe { near_avx2(words, first, low, budget, hits) };
            }
            // SAFETY: the machine has the feature.
            return unsafe { near_popcnt(words, first, low, budget, hits) };
        }
    }
    near_portable(words, first, low, budget, hits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_kernel_finds_what_brute_force_finds(
            words in prop::collection::vec(any::<u32>(), 0..CAPACITY), low: u32, few: bool,
            budget in 0u32..=32, split: prop::sample::Index,
        ) {
            let words: Vec<u32> = words.iter().map(|w| if few { w & 0x0101 ^ low } else { *w }).collect();
            let wanted: Vec<u16> = (0..words.len() as u16)
                .filter(|i| (words[usize::from(*i)] ^ low).count_ones() <= budget)
                .collect();
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let at = split.index(words.len() + 1);
            let run = |kernel: &dyn Fn(&[u8], usize, u32, u32, &mut Hits)| {
                let mut hits = Hits::new();
                kernel(&bytes[..4 * at], 0, low, budget, &mut hits);
                kernel(&bytes[4 * at..], at, low, budget, &mut hits);
                hits.positions().to_vec()
            };
            prop_assert_eq!(run(&near_portable), wanted.clone());
            prop_assert_eq!(run(&near), wanted.clone());
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("popcnt") {
                // SAFETY: the machine has the feature.
                prop_assert_eq!(run(&|w, f, l, b, h| unsafe { near_popcnt(w, f, l, b, h) }), wanted);
            }
        }
    }
}
