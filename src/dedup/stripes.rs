//! Which locks sessions take before they look for near-duplicates of a row that they insert, so that
//! of two that insert near-duplicates of each other one waits, and then sees the other's row.
//!
//! Two fingerprints within 3 bits agree in one of their four 16-bit blocks: both sessions lock that
//! (block, key). The 262,144 keys are folded into 1,024 stripes, so that a COPY of any length holds
//! at most that many locks; a fold makes sessions wait for each other in vain now and then, never
//! the other way round. Beyond 3 bits no key need be shared: one lock stands for the table.

/// Stripes of a table.
pub const STRIPES: u32 = 1024;
/// The lock of a whole table: no stripe's number.
pub const WHOLE_TABLE: u32 = STRIPES;
/// Largest radius at which near-duplicates share one of the four blocks.
const SHARES_A_BLOCK: u32 = 3;

/// The locks of a fingerprint, to be taken in this (ascending) order, each once: among sessions that lock
/// for one row alone there is no deadlock, unless they wait for other things as well (a row that is
/// updated too, another trigger's locks).
pub fn stripes(fingerprint: u64, radius: u32) -> impl Iterator<Item = u32> {
    let mut stripes = [WHOLE_TABLE; 4];
    if radius <= SHARES_A_BLOCK {
        for (block, stripe) in stripes.iter_mut().enumerate() {
            *stripe = fold(block as u64, (fingerprint >> (48 - 16 * block)) & 0xFFFF);
        }
        stripes.sort_unstable();
    }
    let mut last = None;
    stripes
        .into_iter()
        .filter(move |stripe| last.replace(*stripe) != Some(*stripe))
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming 6.4): neighbouring keys, which
/// skewed fingerprints have many of, fall into different stripes.
fn fold(block: u64, key: u64) -> u32 {
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (block << 16 | key).wrapping_mul(GOLDEN_RATIO);
    (mixed >> (64 - STRIPES.trailing_zeros())) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(fingerprint: u64, radius: u32) -> Vec<u32> {
        stripes(fingerprint, radius).collect()
    }

    proptest! {
        #[test]
        fn near_duplicates_share_a_lock(
            a: u64,
            flips in prop::collection::vec(0u32..64, 0..=64),
            radius in 0u32..=64,
        ) {
            let b = flips.iter().take(radius as usize).fold(a, |b, bit| b ^ (1 << bit));
            let (a, b) = (set(a, radius), set(b, radius));
            prop_assert!(a.iter().any(|stripe| b.contains(stripe)));
        }

        #[test]
        fn locks_ascend_and_are_few(a: u64, radius in 0u32..=64) {
            let set = set(a, radius);
            prop_assert!(set.is_sorted_by(|a, b| a < b));
            prop_assert!((1..=4).contains(&set.len()));
            prop_assert!(set.iter().all(|stripe| *stripe < STRIPES || radius > 3));
        }
    }

    #[test]
    fn all_stripes_are_used_alike() {
        let mut load = vec![0u32; STRIPES as usize];
        for block in 0..4 {
            for key in 0..65_536 {
                load[fold(block, key) as usize] += 1;
            }
        }
        assert!(load.iter().all(|l| (200..320).contains(l)), "{load:?}");
    }

    #[test]
    fn unrelated_rows_seldom_wait_for_each_other() {
        let a = set(0x0123_4567_89AB_CDEF, 3);
        let mut shared = 0;
        for i in 1..=1000u64 {
            let b = set(i.wrapping_mul(0xD134_2543_DE82_EF95), 3);
            shared += u32::from(a.iter().any(|stripe| b.contains(stripe)));
        }
        assert!(shared < 50, "{shared} of 1000, 16 expected");
    }
}
