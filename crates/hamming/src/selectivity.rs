//! The share of rows that lies within `k` bits of a fingerprint: arithmetic over a column's sample.
//!
//! All results are shares between 0 and 1. A sample is what ANALYZE keeps: the most common values
//! and a histogram. Where it says nothing, uniform random fingerprints are the model; real ones are
//! denser, so the model is a floor, as is a number of rows that the caller gives.

#![forbid(unsafe_code)]

use crate::ball::random_share;

/// Common values of each side that are compared with each other in a join estimate: a statistics
/// target of 10,000 would otherwise mean 10^8 comparisons for one clause.
const MAX_JOINED_VALUES: usize = 1000;

/// The share when nothing at all is known, not even a table: as PostgreSQL assumes for `=`.
pub const UNKNOWN: f64 = 0.005;

/// A column's values as ANALYZE sampled them.
#[derive(Clone, Copy, Default)]
pub struct FingerprintSample<'a> {
    /// Most common values with their share of all rows.
    pub common: &'a [(i64, f64)],
    /// The bounds of ANALYZE's histogram: values at regular intervals of the rest of the sample,
    /// sorted.
    pub histogram: &'a [i64],
    /// Share of rows with NULL.
    pub null_share: f64,
    /// Rows of the table; 0 when unknown.
    pub rows: f64,
    /// Distinct values; None when unknown, which for fingerprints means: nearly as many as rows.
    pub distinct: Option<f64>,
}

/// Share of the column's rows within `k` of a known centre; at least `least_rows` rows.
pub fn of_constant(sample: FingerprintSample<'_>, centre: i64, k: i32, least_rows: f64) -> f64 {
    if k < 0 {
        return 0.0;
    }
    let is_near = |&&(value, _): &&(i64, f64)| within(value, centre, k);
    let common = sum(sample.common.iter().filter(is_near));
    let rest = (1.0 - sample.null_share - sum(sample.common.iter())).max(0.0);
    let of_rest = histogram_share(sample.histogram, centre, k).max(random_share(k));
    at_least(least_rows, common + rest * of_rest, sample)
}

/// Share of the rows within `k` of a centre that is not known at planning; at least `least_rows`
/// rows. It is assumed to be distributed like the column.
pub fn of_unknown(sample: FingerprintSample<'_>, k: i32, least_rows: f64) -> f64 {
    if k < 0 {
        return 0.0;
    }
    at_least(least_rows, of_join(sample, sample, k), sample)
}

/// Share of all pairs of rows of two columns that are within `k`: the largest of what random
/// fingerprints give, what the most common values give, and what equal values give (as PostgreSQL
/// estimates `=`: each row meets its equals in the column with more distinct values).
pub fn of_join(left: FingerprintSample<'_>, right: FingerprintSample<'_>, k: i32) -> f64 {
    if k < 0 {
        return 0.0;
    }
    let both_given = (1.0 - left.null_share) * (1.0 - right.null_share);
    let equals = match distinct(left).max(distinct(right)) {
        values if values >= 1.0 => 1.0 / values,
        _ => UNKNOWN,
    };
    let estimate = (both_given * random_share(k).max(equals)).max(common_pairs(left, right, k));
    bounded(estimate, 0.0, both_given)
}

/// Share of the outer rows that have at least one match among `inner_rows` rows.
pub fn of_semi_join(
    outer: FingerprintSample<'_>,
    inner: FingerprintSample<'_>,
    inner_rows: f64,
    k: i32,
) -> f64 {
    bounded(
        of_join(outer, inner, k) * inner_rows,
        0.0,
        1.0 - outer.null_share,
    )
}

fn within(a: i64, b: i64, k: i32) -> bool {
    i64::from((a ^ b).count_ones()) <= i64::from(k)
}

fn sum<'a>(values: impl Iterator<Item = &'a (i64, f64)>) -> f64 {
    values.map(|&(_, share)| share).sum()
}

/// Share of histogram values near the centre, after the first: that a single row of a cluster, perhaps
/// the centre itself, was drawn into the sample says nothing about how many others there are.
fn histogram_share(histogram: &[i64], centre: i64, k: i32) -> f64 {
    let near = histogram.iter().filter(|&&value| within(value, centre, k));
    near.skip(1).count() as f64 / histogram.len().max(1) as f64
}

fn common_pairs(left: FingerprintSample<'_>, right: FingerprintSample<'_>, k: i32) -> f64 {
    let right = &right.common[..right.common.len().min(MAX_JOINED_VALUES)];
    let left = left.common.iter().take(MAX_JOINED_VALUES);
    left.map(|&(value, share)| {
        share * sum(right.iter().filter(|&&(other, _)| within(value, other, k)))
    })
    .sum()
}

fn distinct(sample: FingerprintSample<'_>) -> f64 {
    sample.distinct.unwrap_or(sample.rows)
}

/// `estimate`, but not less than a number of rows, where the table's is known.
fn at_least(rows: f64, estimate: f64, sample: FingerprintSample<'_>) -> f64 {
    let floor = if sample.rows >= 1.0 {
        rows / sample.rows
    } else {
        0.0
    };
    bounded(estimate, floor, 1.0 - sample.null_share)
}

/// `estimate` between a floor and a ceiling; the ceiling wins.
fn bounded(estimate: f64, floor: f64, ceiling: f64) -> f64 {
    estimate.max(floor).min(ceiling.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1e-300)
    }

    #[test]
    fn random_share_is_the_binomial_sum() {
        let two_to_64 = 18_446_744_073_709_551_616.0;
        assert!(close(random_share(0), 1.0 / two_to_64));
        assert!(close(
            random_share(3),
            (1.0 + 64.0 + 2016.0 + 41664.0) / two_to_64
        ));
        assert_eq!(random_share(-1), 0.0);
        assert!(close(random_share(64), 1.0));
        assert!(close(random_share(i32::MAX), 1.0));
        // Symmetry: at most 31 and at least 33 are equally likely.
        assert!(close(random_share(31) + random_share(32), 1.0));
    }

    #[test]
    fn common_values_near_the_centre_add_up() {
        let common = [(0, 0.2), (1, 0.1), (0b1111, 0.05)];
        let sample = FingerprintSample {
            common: &common,
            rows: 1e6,
            null_share: 0.1,
            ..FingerprintSample::default()
        };
        assert!(close(
            of_constant(sample, 0, 0, 1.0),
            0.2 + 0.55 * random_share(0)
        ));
        assert!((of_constant(sample, 0, 3, 1.0) - 0.3).abs() < 1e-9);
        assert!((of_constant(sample, 0, 4, 1.0) - 0.35).abs() < 1e-9);
        assert!(
            (of_constant(sample, 0, 64, 1.0) - 0.9).abs() < 1e-9,
            "all but the NULLs"
        );
    }

    #[test]
    fn the_histogram_counts_neighbours_after_the_first() {
        let histogram: Vec<i64> = vec![7, 7 ^ 1, -1, i64::MIN + 12345];
        let sample = FingerprintSample {
            histogram: &histogram,
            rows: 1e6,
            ..FingerprintSample::default()
        };
        assert!((of_constant(sample, 7, 3, 1.0) - 0.25).abs() < 1e-9);
        assert!(
            (of_constant(sample, 7, 0, 1.0) - 1e-6).abs() < 1e-9,
            "one row"
        );
        let repeated = [7, 7, 7, -1];
        let sample = FingerprintSample {
            histogram: &repeated,
            rows: 1e6,
            ..FingerprintSample::default()
        };
        assert!((of_constant(sample, 7, 0, 1.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn never_less_than_the_rows_given_and_nothing_for_negative_radius() {
        let sample = FingerprintSample {
            rows: 1e7,
            ..FingerprintSample::default()
        };
        assert!(close(of_constant(sample, 42, 3, 1.0), 1e-7));
        assert!(close(of_constant(sample, 42, 3, 5.0), 5e-7));
        assert!(close(
            of_constant(
                FingerprintSample {
                    rows: 2.0,
                    ..sample
                },
                42,
                3,
                5.0
            ),
            1.0
        ));
        assert_eq!(of_constant(sample, 42, -1, 1.0), 0.0);
        assert_eq!(of_unknown(sample, -1, 1.0), 0.0);
        assert_eq!(
            of_constant(
                FingerprintSample {
                    null_share: 1.0,
                    ..sample
                },
                42,
                3,
                1.0
            ),
            0.0
        );
        // A wide radius meets the model: about 0.17 % of random fingerprints at 20 bits.
        assert!(close(of_constant(sample, 42, 20, 1.0), random_share(20)));
    }

    #[test]
    fn joins_meet_equal_and_common_values() {
        let plain = FingerprintSample {
            rows: 1e6,
            ..FingerprintSample::default()
        };
        assert!(close(
            of_join(plain, FingerprintSample { rows: 1e3, ..plain }, 3),
            1e-6
        ));
        let common = [(5, 0.5)];
        let skewed = FingerprintSample {
            common: &common,
            ..plain
        };
        assert!(close(of_join(skewed, skewed, 0), 0.25));
        assert!(close(of_semi_join(plain, plain, 1e6, 3), 1.0));
        assert!(close(of_semi_join(plain, plain, 1e5, 3), 0.1));
        assert_eq!(of_join(plain, plain, -1), 0.0);
        let unknown = FingerprintSample::default();
        assert!(close(of_join(unknown, unknown, 3), UNKNOWN));
    }

    proptest! {
        #[test]
        fn shares_grow_with_the_radius_and_stay_in_range(
            common in prop::collection::vec((any::<i64>(), 0.0..0.05f64), 0..10),
            histogram in prop::collection::vec(any::<i64>(), 0..50),
            null_share in 0.0..1.0f64,
            rows in 0.0..1e9f64,
            centre: i64,
        ) {
            let sample =
                FingerprintSample { common: &common, histogram: &histogram, null_share, rows, distinct: None };
            let mut before = (0.0, 0.0);
            for k in -1..=65 {
                let now = (of_constant(sample, centre, k, 1.0), of_unknown(sample, k, 1.0));
                prop_assert!((0.0..=1.0).contains(&now.0) && (0.0..=1.0).contains(&now.1));
                prop_assert!(now.0 >= before.0 && now.1 >= before.1);
                before = now;
            }
        }
    }
}
