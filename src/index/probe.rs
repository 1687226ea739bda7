//! Which positions of a key space a search must visit: radii of the four blocks, and the next
//! position that can hold a match. Pure arithmetic.
//!
//! Why it is exact (general pigeonhole): give block `i` a radius `t_i >= -1` so that the sum of
//! `t_i + 1` is `k + 1`. If a fingerprint differed from the query by more than `t_i` bits in every
//! block, it would differ by at least `sum(t_i + 1) = k + 1` bits in all. So every fingerprint
//! within `k` lies within `t_i` of the query in some block `i`, and is found in that key space.
//! (Norouzi, Punjani and Fleet, multi-index hashing; Qin et al., general pigeonhole.)

use super::key::BLOCKS;

/// Radius of each block; -1 leaves the block's key space unread.
pub type Radii = [i32; BLOCKS];

/// Reads one whole key space.
pub const WALK: Radii = [16, -1, -1, -1];

/// Beyond this radius four key spaces' neighbourhoods (697 keys each at k = 15, 2,517 at 19) cost more
/// than reading one key space from end to end.
pub const MAX_PROBED_RADIUS: u32 = 15;

/// Radii that find everything within `k`: evenly spread, or one whole key space for a large `k`.
pub fn radii(k: u32) -> Radii {
    if k > MAX_PROBED_RADIUS {
        return WALK;
    }
    let pigeons = k as i32 + 1;
    std::array::from_fn(|b| {
        pigeons / BLOCKS as i32 + i32::from((b as i32) < pigeons % BLOCKS as i32) - 1
    })
}

/// Keys within `t` bits of a 16-bit key: 1, 17, 137, 697, 2517 for t = 0..4.
pub fn neighbours(t: i32) -> u64 {
    let (mut sum, mut choose) = (0u64, 1u64);
    for r in 0..=i64::from(t.min(16)) {
        sum += choose;
        choose = choose * (16 - r as u64) / (r as u64 + 1);
    }
    sum
}

/// The lowest `y >= x` that differs from `query` in at most `within` of the 16 key bits and in at
/// most `radius` of all 64; None when there is none. Lets a search skip every page between two
/// places that can hold a match.
pub fn next_in_ball(x: u64, query: u64, within: i32, radius: u32) -> Option<u64> {
    if within < 0 {
        return None;
    }
    let within = within as u32;
    let fits = |differing: u64| {
        differing.count_ones() <= radius && (differing >> 48).count_ones() <= within
    };
    if fits(x ^ query) {
        return Some(x);
    }
    // y leaves x at the lowest possible bit: there x has 0 and y has 1, above they agree.
    (0..64).filter(|&bit| x >> bit & 1 == 0).find_map(|bit| {
        let prefix = (x >> bit | 1) << bit;
        let differing = (prefix ^ query) >> bit << bit;
        fits(differing).then(|| prefix | lowest_tail(query, bit, differing, within, radius))
    })
}

/// The lowest value of the `bits` low bits that keeps within what `differing`, the bits above, has
/// left of the two budgets: zeros from the top down as far as they last.
fn lowest_tail(query: u64, bits: u32, differing: u64, within: u32, radius: u32) -> u64 {
    let mut left = radius - differing.count_ones();
    let mut left_in_key = within - (differing >> 48).count_ones();
    let mut tail = 0;
    for bit in (0..bits).rev() {
        if query >> bit & 1 == 0 {
            continue;
        }
        let in_key = bit >= 48;
        if left > 0 && (!in_key || left_in_key > 0) {
            left -= 1;
            left_in_key -= u32::from(in_key);
        } else {
            tail |= 1 << bit;
        }
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn radii_satisfy_the_pigeonhole() {
        for k in 0..=64 {
            let r = radii(k);
            let sum: i32 = r.iter().map(|t| t + 1).sum();
            assert!(sum > k as i32 || r == WALK, "{k}: {r:?}");
            assert!(r.iter().all(|t| *t >= -1));
        }
        assert_eq!(radii(3), [0; 4]);
        assert_eq!(radii(0), [0, -1, -1, -1]);
        assert_eq!(radii(8), [2, 1, 1, 1]);
    }

    #[test]
    fn neighbours_are_binomial_sums() {
        assert_eq!(
            [-1, 0, 1, 2, 3, 4].map(neighbours),
            [0, 1, 17, 137, 697, 2517]
        );
        assert_eq!(neighbours(16), 65536);
    }

    /// The oracle works on the 16 key bits, by trying every key.
    #[test]
    fn next_key_equals_brute_force() {
        for query in [0u16, 0xFFFF, 0x8001, 0x5A5A, 0x1234] {
            for within in 0..4 {
                let mut wanted = None;
                for x in (0..=u16::MAX).rev() {
                    if (x ^ query).count_ones() as i32 <= within {
                        wanted = Some(x);
                    }
                    let q = u64::from(query) << 48;
                    let got = next_in_ball(u64::from(x) << 48, q, within, 64);
                    assert_eq!(
                        got.map(|y| (y >> 48) as u16),
                        wanted,
                        "{x:#x} {query:#x} {within}"
                    );
                }
            }
        }
    }

    proptest! {
        /// The oracle: y is in the ball, and no value in between is (checked on the low bits).
        #[test]
        fn next_is_in_the_ball_and_nothing_is_skipped(
            query: u64, x: u64, flips: u64, mask: u64, within in 0i32..5, radius in 0u32..12,
        ) {
            let inside = |v: u64| (v ^ query).count_ones() <= radius
                && ((v ^ query) >> 48).count_ones() as i32 <= within;
            for x in [x, query ^ (flips & mask & mask.rotate_left(9))] {
                match next_in_ball(x, query, within, radius) {
                    None => prop_assert!(!inside(query) || query < x),
                    Some(y) => {
                        prop_assert!(y >= x && inside(y));
                        prop_assert!(query < x || y <= query);
                        for v in (x..y).take(2000).chain((x..y).rev().take(2000)) {
                            prop_assert!(!inside(v), "{v:#x} lies in between");
                        }
                    }
                }
            }
        }

        #[test]
        fn every_member_is_reached(query: u64, flips in prop::collection::vec(0u32..64, 0..6), x: u64) {
            let member = flips.iter().fold(query, |m, f| m ^ (1 << f));
            let differing = member ^ query;
            let within = (differing >> 48).count_ones() as i32;
            let start = x.min(member);
            let next = next_in_ball(start, query, within, differing.count_ones());
            prop_assert!(next.is_some_and(|y| y <= member));
        }
    }
}
