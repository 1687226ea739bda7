//! Which keys of a key space a search must visit: radii of the four quarters, by what they cost. Pure
//! arithmetic; [`super::scopes`] steps through the positions that have such keys.
//!
//! Why it is exact (general pigeonhole): give quarter `i` a radius `t_i >= -1` so that the sum of
//! `t_i + 1` is `k + 1`. If a fingerprint differed from the query by more than `t_i` bits in every
//! quarter, it would differ by at least `sum(t_i + 1) = k + 1` bits in all. So every fingerprint
//! within `k` lies within `t_i` of the query in some quarter `i`, and is found in that key space.
//! (Norouzi, Punjani and Fleet, multi-index hashing; Qin et al., general pigeonhole.)

use super::scopes::WIDEST;
use crate::key::{KEY_BITS, QUARTERS, Space};
use crate::page::leaf::LIKELY_COUNT;

/// Radius of each quarter; -1 leaves the quarter's key space unread.
pub type Radii = [i32; QUARTERS];

/// Reads one whole key space.
pub const WHOLE_KEY_SPACE: Radii = [16, -1, -1, -1];

/// Beyond this radius four key spaces' neighbourhoods (697 keys each at k = 15, 2,517 at 19) cost
/// more than reading one key space from end to end.
pub const MAX_PROBED_RADIUS: u32 = 15;

/// Radii that find everything within `k`: evenly spread, or one whole key space for a large `k`.
#[inline]
pub fn even_radii(k: u32) -> Radii {
    if k > MAX_PROBED_RADIUS {
        return WHOLE_KEY_SPACE;
    }
    let pigeons = k as i32 + 1;
    std::array::from_fn(|b| {
        pigeons / QUARTERS as i32 + i32::from((b as i32) < pigeons % QUARTERS as i32) - 1
    })
}

/// The farthest that a chosen radius goes.
const MAX_CHOSEN: usize = WIDEST as usize;
/// The costs of visiting one more leaf and of testing one more posting, in tenths of a nanosecond,
/// measured in memory. The optimum is flat: half or twice these changes little.
const VISIT: u64 = 3000;
const TEST: u64 = 7;

/// Estimates about a key space, possibly stale.
pub trait KeyCounts {
    /// Leaves of the key space of quarter `b`.
    fn leaves(&self, b: usize) -> u64;
    /// Rows whose quarter `b` is `key`.
    fn rows(&self, b: usize, key: u16) -> u64;
}

/// Evenly spread rows, on this many leaves of each key space.
pub struct Even {
    /// Leaves of each key space.
    pub leaves: u64,
}

impl KeyCounts for Even {
    fn leaves(&self, _: usize) -> u64 {
        self.leaves
    }

    fn rows(&self, _: usize, _: u16) -> u64 {
        (self.leaves * u64::from(LIKELY_COUNT)) >> KEY_BITS
    }
}

/// Returns the cost of reading one key space from end to end.
#[inline]
pub fn walk_cost(counts: &impl KeyCounts) -> u64 {
    counts.leaves(0) * (VISIT + TEST * u64::from(LIKELY_COUNT))
}

/// Returns the cost of visiting, in quarter `b`, the leaves of the keys that are exactly `t` bits
/// away.
#[inline]
pub fn visits_cost(counts: &impl KeyCounts, b: usize, t: usize) -> u64 {
    SHELLS[t].min(counts.leaves(b)) * VISIT
}

/// Number of keys at each exact distance from a 16-bit key. Counted once: a search weighs up to
/// thirty choices of four radii, and counting for each would take as long as reading a leaf.
const SHELLS: [u64; KEY_BITS as usize + 1] = {
    let (mut shells, mut t) = ([1; KEY_BITS as usize + 1], 1);
    while t < shells.len() {
        shells[t] = shells[t - 1] * (KEY_BITS as u64 + 1 - t as u64) / t as u64;
        t += 1;
    }
    shells
};

/// Returns the cost of reading, in quarter `b`, the keys exactly `t` bits away from the query's.
#[inline]
pub fn shell_cost(counts: &impl KeyCounts, b: usize, key: u16, t: usize) -> u64 {
    let mut rows = 0;
    for_each_mask(t, |mask| rows += counts.rows(b, key ^ mask));
    visits_cost(counts, b, t) + rows * TEST
}

/// Calls `each` with every key within `radius` bits of `key`.
#[inline]
pub fn for_each_key(key: u16, radius: i32, mut each: impl FnMut(u16)) {
    for t in 0..=radius {
        for_each_mask(t as usize, |mask| each(key ^ mask));
    }
}

/// Calls `each` with every 16-bit mask of `t` set bits.
fn for_each_mask(t: usize, mut each: impl FnMut(u16)) {
    // Gosper's hack: the next larger number with as many bits set.
    let mut mask: u32 = (1 << t) - 1;
    while mask < 1 << KEY_BITS {
        each(mask as u16);
        if mask == 0 {
            return;
        }
        let lowest = mask & mask.wrapping_neg();
        let carried = mask + lowest;
        // Shifted down by the place of the lowest bit: a division would take twenty cycles.
        mask = carried | (mask ^ carried) >> (2 + lowest.trailing_zeros());
    }
}

/// The cheapest radii that find everything within `k` of `query`, as far as the counts tell. A
/// quarter whose key is hot gets a small radius or none, and rarer quarters a larger one; reading one
/// whole key space is one of the choices.
#[inline]
pub fn choose(query: u64, k: u32, counts: &impl KeyCounts) -> Radii {
    if k > MAX_PROBED_RADIUS {
        return WHOLE_KEY_SPACE;
    }
    // Spending far more than the even share on one quarter never pays.
    let most = MAX_CHOSEN.min(k as usize / QUARTERS + 1);
    let mut shells = Shells::new(query, counts, most);
    let mut best = (walk_cost(counts), WHOLE_KEY_SPACE);
    // The even choice first: it is seldom far from the best, and rules out most others.
    shells.weigh(even_radii(k), &mut best);
    if shells.least_uneven_cost(k) < best.0 {
        for_each_share(k, most, |radii| shells.weigh(radii, &mut best));
    }
    best.1
}

/// Calls `each` with all radii of at most `most` whose `t + 1` add up to `k + 1`.
fn for_each_share(k: u32, most: usize, mut each: impl FnMut(Radii)) {
    let shares = 0..most + 2;
    for c in shares.clone() {
        for b in shares.clone() {
            for a in shares.clone() {
                if let Some(d) = (k as usize + 1).checked_sub(a + b + c)
                    && shares.contains(&d)
                {
                    each([a, b, c, d].map(|share| share as i32 - 1));
                }
            }
        }
    }
}

/// Costs of the shells around a query, counted when first asked for.
struct Shells<'c, C> {
    query: u64,
    counts: &'c C,
    known: [[Option<u64>; MAX_CHOSEN + 1]; QUARTERS],
    /// For each quarter and radius + 1, what the shells up to it cost at least: those that are not
    /// known as if no row had one of their keys.
    least: [[u64; MAX_CHOSEN + 2]; QUARTERS],
}

impl<'c, C: KeyCounts> Shells<'c, C> {
    fn new(query: u64, counts: &'c C, most: usize) -> Self {
        let mut least = [[0; MAX_CHOSEN + 2]; QUARTERS];
        for (b, least) in least.iter_mut().enumerate() {
            for t in 0..=most {
                least[t + 1] = least[t] + visits_cost(counts, b, t);
            }
        }
        Self {
            query,
            counts,
            known: [[None; MAX_CHOSEN + 1]; QUARTERS],
            least,
        }
    }

    /// Makes these radii the best ones if they cost less.
    fn weigh(&mut self, radii: Radii, best: &mut (u64, Radii)) {
        // The rows are counted only where the visits alone do not rule the choice out.
        if self.least_cost(&radii) < best.0 {
            let cost = self.cost(&radii);
            if cost < best.0 {
                *best = (cost, radii);
            }
        }
    }

    /// Returns what every choice but the even one costs at least: the visits of a quarter that goes
    /// farther than the even share; 0 where the quarters cannot share `k` evenly. Within 3 bits, the
    /// radius of most searches, this rules out all others without weighing each of them.
    fn least_uneven_cost(&self, k: u32) -> u64 {
        let pigeons = k as usize + 1;
        let farther = pigeons / QUARTERS + 1;
        let least = |of_quarter: &[u64; MAX_CHOSEN + 2]| of_quarter.get(farther).copied();
        match (
            self.least.iter().filter_map(least).min(),
            pigeons % QUARTERS,
        ) {
            (Some(cost), 0) => cost,
            // No quarter may go farther.
            (None, 0) => u64::MAX,
            _ => 0,
        }
    }

    fn cost(&mut self, radii: &Radii) -> u64 {
        let mut sum = 0;
        for (b, radius) in radii.iter().enumerate() {
            let key = Space::of_quarter(b).key_of(self.query);
            for t in 0..=*radius {
                sum += self.shell(b, key, t as usize);
            }
        }
        sum
    }

    fn shell(&mut self, b: usize, key: u16, t: usize) -> u64 {
        if let Some(known) = self.known[b][t] {
            return known;
        }
        let cost = shell_cost(self.counts, b, key, t);
        let more = cost - visits_cost(self.counts, b, t);
        self.known[b][t] = Some(cost);
        self.least[b][t + 1..]
            .iter_mut()
            .for_each(|least| *least += more);
        cost
    }

    fn least_cost(&self, radii: &Radii) -> u64 {
        let of_quarter =
            |(least, radius): (&[u64; MAX_CHOSEN + 2], &i32)| least[(radius + 1) as usize];
        std::iter::zip(&self.least, radii).map(of_quarter).sum()
    }
}

/// Keys within `t` bits of a 16-bit key: 1, 17, 137, 697, 2517 for t = 0..4.
#[inline]
pub fn neighbours(t: i32) -> u64 {
    SHELLS.iter().take((t + 1).max(0) as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn radii_satisfy_the_pigeonhole() {
        for k in 0..=64 {
            let r = even_radii(k);
            let sum: i32 = r.iter().map(|t| t + 1).sum();
            assert!(sum > k as i32 || r == WHOLE_KEY_SPACE, "{k}: {r:?}");
            assert!(r.iter().all(|t| *t >= -1));
        }
        assert_eq!(even_radii(3), [0; 4]);
        assert_eq!(even_radii(0), [0, -1, -1, -1]);
        assert_eq!(even_radii(8), [2, 1, 1, 1]);
    }

    /// Any numbers at all.
    struct Absurd(u64);

    impl Absurd {
        fn number(&self, b: usize, n: u64) -> u64 {
            let mixed = (self.0 ^ (n << 3) ^ b as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed >> (mixed & 63).max(24)
        }
    }

    impl KeyCounts for Absurd {
        fn leaves(&self, b: usize) -> u64 {
            self.number(b, 1 << 40)
        }

        fn rows(&self, b: usize, key: u16) -> u64 {
            self.number(b, u64::from(key))
        }
    }

    /// Evenly spread rows, and one hot key in quarter 0.
    struct Hot(u64);

    impl KeyCounts for Hot {
        fn leaves(&self, _: usize) -> u64 {
            16_600
        }

        fn rows(&self, b: usize, key: u16) -> u64 {
            if b == 0 && u64::from(key) == self.0 {
                2_000_000
            } else {
                152
            }
        }
    }

    #[test]
    fn masks_are_all_and_only_those() {
        for t in 0..=4 {
            let mut seen = std::collections::BTreeSet::new();
            for_each_mask(t, |mask| {
                assert_eq!(mask.count_ones() as usize, t);
                seen.insert(mask);
            });
            let expected = neighbours(t as i32) - neighbours(t as i32 - 1);
            assert_eq!(seen.len() as u64, expected);
        }
    }

    #[test]
    fn a_hot_key_is_avoided() {
        let query = 0x1234_5678_9ABC_DEF0;
        assert_eq!(choose(query, 3, &Hot(0)), [0; 4]);
        let avoided = choose(query, 3, &Hot(0x1234));
        assert_eq!(avoided[0], -1);
        assert_eq!(avoided.iter().map(|t| t + 1).sum::<i32>(), 4);
        assert_eq!(choose(query, 30, &Hot(0)), WHOLE_KEY_SPACE);
    }

    #[test]
    fn neighbours_are_binomial_sums() {
        assert_eq!(
            [-1, 0, 1, 2, 3, 4].map(neighbours),
            [0, 1, 17, 137, 697, 2517]
        );
        assert_eq!(neighbours(16), 65536);
    }

    proptest! {
        /// Whatever the counts say, the radii satisfy the pigeonhole: counts are never a matter of
        /// correctness.
        #[test]
        fn absurd_counts_choose_exact_radii(query: u64, k in 0u32..=64, seed: u64) {
            let radii = choose(query, k, &Absurd(seed));
            let sum: i32 = radii.iter().map(|t| t + 1).sum();
            prop_assert!(radii == WHOLE_KEY_SPACE || sum == k as i32 + 1, "{radii:?}");
            prop_assert!(radii.iter().all(|t| *t >= -1));
        }

        /// The oracle weighs each choice on its own.
        #[test]
        fn the_chosen_radii_cost_least(
            query: u64, k in 0u32..=MAX_PROBED_RADIUS, leaves in 1u64..200_000, hot: u64, often: bool,
        ) {
            let hot = if often { u64::from(Space::of_quarter(0).key_of(query)) } else { hot };
            fn check(query: u64, k: u32, counts: &impl KeyCounts) -> (u64, u64) {
                let most = MAX_CHOSEN.min(k as usize / QUARTERS + 1);
                let weighed = |radii: &Radii| match *radii {
                    WHOLE_KEY_SPACE => walk_cost(counts),
                    _ => Shells::new(query, counts, most).cost(radii),
                };
                let mut least = weighed(&WHOLE_KEY_SPACE).min(weighed(&even_radii(k)));
                for_each_share(k, most, |radii| least = least.min(weighed(&radii)));
                (weighed(&choose(query, k, counts)), least)
            }
            for (chosen, least) in [check(query, k, &Even { leaves }), check(query, k, &Hot(hot))] {
                prop_assert_eq!(chosen, least);
            }
        }
    }
}
