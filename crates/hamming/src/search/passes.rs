//! The passes in which the nearest are searched. Pure: the search and its price both go by it.

#![forbid(unsafe_code)]

use super::probe::{KeyCounts, MAX_PROBED_RADIUS, walk_cost};
use crate::ball::random_share;

/// Horizon of the first probing pass: near rows cost little to find.
const FIRST_HORIZON: u32 = 7;
/// The horizon of the second pass is the least radius within which this many rows are expected, if
/// the rows of the index were uniform.
const LIKELY_ROWS: f64 = 32.0;
/// The second pass begins with the rings within which this many rows are expected, if the rows of the
/// index were uniform, or were met by the first pass. A query may take fewer, and then has read some
/// rings too many: each costs less than the second visits of leaves that going ring by ring costs.
const JUMP_ROWS: f64 = 4.0;
/// How many rings beyond its horizon the first pass counts rows. It meets about three quarters of them:
/// enough to see that rows are nearer to each other than uniform ones. Where they are, jumping by the
/// uniform expectation alone took twice as long as ring by ring.
pub const FORESEEN: u32 = 3;
/// Least number of rings that reading a whole key space completes at once, and that widening a
/// quarter completes one by one.
const RINGS_OF_A_WALK: u32 = 4;

/// Horizons of the probing passes through `rows` rows, of which none farther than `farthest` is
/// needed. A pass reads again what the pass before it has read, which is about a quarter of all it
/// reads. A horizon that is too far lets postings through the filter that the query does not
/// take: none does where the end is near.
#[inline]
pub fn horizons(rows: f64, farthest: u32) -> [u32; 3] {
    let first = first_horizon(farthest);
    if first == farthest {
        return [farthest; 3];
    }
    let likely = (FIRST_HORIZON..MAX_PROBED_RADIUS)
        .find(|k| random_share(*k as i32) * rows >= LIKELY_ROWS)
        .unwrap_or(MAX_PROBED_RADIUS);
    [first, likely, MAX_PROBED_RADIUS]
}

/// The last ring that a pass from `ring` on through `rows` rows reads at once; None if it is to go ring
/// by ring. `met` says how many rows of each ring the pass before has met.
#[inline]
pub fn jump_end((rows, met): (f64, &[usize]), ring: u32, farthest: u32) -> Option<u32> {
    let last = farthest.min(MAX_PROBED_RADIUS);
    (ring..=last).find(|k| {
        let met: usize = met[ring as usize..=*k as usize].iter().sum();
        (random_share(*k as i32) * rows).max(met as f64) >= JUMP_ROWS
    })
}

/// The horizon of the first pass.
#[inline]
pub fn first_horizon(farthest: u32) -> u32 {
    if farthest <= MAX_PROBED_RADIUS {
        farthest
    } else {
        FIRST_HORIZON
    }
}

/// The most that completing ring `ring` by widening a quarter may cost: reading a whole key space
/// instead completes some more of those up to `farthest`.
#[inline]
pub fn most_for_a_ring(counts: &impl KeyCounts, ring: u32, farthest: u32) -> u64 {
    let rings = (farthest + 1)
        .saturating_sub(ring)
        .clamp(1, RINGS_OF_A_WALK);
    walk_cost(counts) / u64::from(rings)
}

/// How many times as many rows as before it each further reading of a whole key space is to bring.
const MORE_ROWS: f64 = 8.0;

/// The last ring that is collected from a whole key space of `rows` rows (0: unknown), from `ring` on, when
/// `before` rings were the time before. All where the end is known. Otherwise the first ring within which
/// some more rows are expected than before it, if they are uniform. Near rings are almost empty: a fixed
/// number of rings would mean many readings. A band that is too wide lets most postings through the filter.
/// Where that tells nothing, twice as many rings as before.
#[inline]
pub fn band_end((ring, before): (u32, u32), rows: f64, farthest: u32) -> u32 {
    if farthest < u64::BITS {
        return farthest;
    }
    let nearer = random_share(ring as i32 - 1) * rows;
    let wanted = LIKELY_ROWS.max(MORE_ROWS * nearer);
    let likely = (ring..=farthest).find(|k| random_share(*k as i32) * rows >= wanted);
    let rings = (2 * before).max(RINGS_OF_A_WALK);
    likely.unwrap_or(farthest.min(ring + rings - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_brings_some_more_rows_than_there_were_before_it() {
        let rows_to = |k: u32, rows: f64| random_share(k as i32) * rows;
        for rows in [600.0, 1e4, 1e6, 1e8] {
            let (mut ring, mut before, mut bands) = (0, 0, 0);
            while ring <= 64 {
                let end = band_end((ring, before), rows, 64);
                assert!((ring..=64).contains(&end), "{rows}: {ring} to {end}");
                let wanted = LIKELY_ROWS.max(MORE_ROWS * random_share(ring as i32 - 1) * rows);
                if wanted <= rows {
                    assert!(rows_to(end, rows) >= wanted && rows_to(end - 1, rows) < wanted);
                } else {
                    assert!(
                        end == 64 || end + 1 - ring >= 2 * before,
                        "{rows}: {ring} to {end}"
                    );
                }
                (ring, before, bands) = (end + 1, end + 1 - ring, bands + 1);
            }
            assert!(bands <= 12, "{rows}: {bands}");
        }
        assert_eq!(band_end((0, 0), 1e4, 20), 20);
        // Nothing is known, or there is one row.
        for rows in [0.0, 1.0] {
            assert_eq!(band_end((0, 0), rows, 64), 3);
            assert_eq!(band_end((4, 4), rows, 64), 11);
            assert_eq!(band_end((60, 30), rows, 64), 64);
        }
    }

    #[test]
    fn a_pass_jumps_by_expected_rows_and_by_met_ones() {
        let mut met = [0; 65];
        let uniform = jump_end((1e7, &met), 8, 64).expect("within 15 bits");
        assert!(random_share(uniform as i32) * 1e7 >= JUMP_ROWS && uniform > 10);
        assert_eq!(jump_end((1e7, &met), 8, uniform - 1), None);
        // Those before the pass do not count.
        (met[7], met[8], met[10]) = (100, 3, 1);
        assert_eq!(jump_end((1e7, &met), 8, 64), Some(10));
        assert_eq!(jump_end((1e7, &met), 9, 64), Some(uniform));
        met[uniform as usize + 1] = 100;
        assert_eq!(jump_end((1e7, &met), 9, 64), Some(uniform));
        assert_eq!(jump_end((1e7, &met), 16, 64), None);
    }
}
