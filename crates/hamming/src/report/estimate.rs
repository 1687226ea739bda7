//! The number of pairs that a relation has, estimated from a sample of its rows. Pure.
//!
//! A sampled row is compared with all rows, so its number of partners is known. A pair is the
//! partner of two rows: N rows with h partners each on average have N h / 2 pairs. The sampled rows
//! are what is drawn at random, and partners may be very uneven: one row in a thousand with a
//! thousand partners weighs as much as all others. The number of rows with w partners that a sample
//! holds is nearly a Poisson count, and the estimate the sum of these counts with weights w. For
//! such sums Fay and Feuer (1997) give bounds by quantiles of gamma distributions that have the
//! sum's mean and variance, the upper one as if one more row of the largest weight had been drawn.
//! For a single weight they are the bounds of a Poisson count: three rows of one large group say no more
//! about it than three pairs do about pairs.

#![forbid(unsafe_code)]

/// Standard deviations between the middle and the ends of a 95 % interval of the normal distribution.
const DEVIATIONS: f64 = 1.959_964;

/// A number of pairs, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairEstimate {
    /// The estimate.
    pub pairs: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The pairs of `rows` rows, from the number of partners that each row of a sample has.
pub fn pairs(partners: impl ExactSizeIterator<Item = u64>, rows: u64) -> PairEstimate {
    let sampled = partners.len() as f64;
    let (mut sum, mut squares, mut most) = (0.0, 0.0, 1.0f64);
    for partners in partners.map(|partners| partners as f64) {
        sum += partners;
        squares += partners * partners;
        most = most.max(partners);
    }
    if sampled == 0.0 {
        return PairEstimate {
            pairs: 0.0,
            low: 0.0,
            high: 0.0,
        };
    }
    let rows = rows as f64;
    let low = match sum > 0.0 {
        true => end(-DEVIATIONS, sum, squares),
        false => 0.0,
    };
    let high = end(DEVIATIONS, sum + most, squares + most * most);
    // Rows are not drawn twice: what is left to chance is the share that was not drawn, and nothing
    // when all were.
    let chance = (1.0 - sampled / rows).max(0.0).sqrt();
    let pairs = |partners: f64| partners * rows / sampled / 2.0;
    // Each pair was seen at most from both of its ends.
    let seen = sum / 2.0;
    PairEstimate {
        pairs: pairs(sum),
        low: pairs(sum - chance * (sum - low)).max(seen),
        high: pairs(sum + chance * (high - sum)).min(rows * (rows - 1.0) / 2.0),
    }
}

/// Returns the lower or the upper end of the interval in which a gamma variable of this mean and variance, both above
/// 0, lies with a probability of 95 %. Its cube root is nearly normal (Wilson and Hilferty 1931); of a mean of 1 the
/// upper end is 3.67 instead of 3.69.
fn end(deviations: f64, mean: f64, variance: f64) -> f64 {
    let spread = variance / (mean * mean) / 9.0;
    let root = 1.0 - spread + deviations * spread.sqrt();
    mean * root.max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use super::super::draw::Random;
    use super::*;

    /// The partners of each row where equal rows are in groups of these sizes.
    fn of_groups(sizes: impl IntoIterator<Item = usize>, rows: usize) -> Vec<u64> {
        let mut partners = Vec::new();
        for size in sizes {
            if partners.len() + size > rows {
                break;
            }
            partners.extend(std::iter::repeat_n(size as u64 - 1, size));
        }
        partners.resize(rows, 0);
        partners
    }

    /// Returns the share of samples whose interval ends below the true number, and that of samples
    /// whose interval begins above it.
    fn misses(partners: &mut [u64], sample: usize, random: &mut Random) -> (f64, f64) {
        const ROUNDS: u32 = 1000;
        let rows = partners.len() as u64;
        let truth = partners.iter().sum::<u64>() as f64 / 2.0;
        let (mut too_low, mut too_high) = (0, 0);
        for _ in 0..ROUNDS {
            for i in 0..sample {
                let other = i + random.below(rows - i as u64) as usize;
                partners.swap(i, other);
            }
            let found = pairs(partners[..sample].iter().copied(), rows);
            assert!(found.low <= found.pairs && found.pairs <= found.high);
            too_low += u32::from(found.high < truth);
            too_high += u32::from(found.low > truth);
        }
        (
            f64::from(too_low) / f64::from(ROUNDS),
            f64::from(too_high) / f64::from(ROUNDS),
        )
    }

    #[test]
    fn intervals_hold_the_true_number() {
        const ROWS: usize = 50_000;
        let mut random = Random::new(7);
        let mut even = |most: u64| 1 + random.below(most) as usize;
        let families: Vec<usize> = (0..8000).map(|_| even(8)).collect();
        // Sizes by rank, and sizes whose logarithm is even.
        let by_rank = |first: usize| (1..20_000).map(move |rank| (first / rank).max(1));
        let mut skewed: Vec<usize> = (0..3000).map(|_| 1 << even(9)).collect();
        skewed.truncate(300);
        let sets: Vec<(&str, Vec<u64>)> = vec![
            ("100 pairs", of_groups([2; 100], ROWS)),
            ("2,500 pairs", of_groups([2; 2500], ROWS)),
            ("families", of_groups(families, ROWS)),
            ("a group of 5,000", of_groups([5000], ROWS)),
            (
                "a group of 1,000 beside pairs",
                of_groups([&[1000][..], &[2; 1000]].concat(), ROWS),
            ),
            (
                "groups beside pairs",
                of_groups([&[600, 300, 200][..], &[2; 500], &[3; 200]].concat(), ROWS),
            ),
            ("sizes by rank", of_groups(by_rank(2000), ROWS)),
            ("smaller sizes by rank", of_groups(by_rank(200), ROWS)),
            ("skewed sizes", of_groups(skewed, ROWS)),
        ];
        for (name, mut partners) in sets {
            for sample in [500, 2000, 20_000] {
                let (too_low, too_high) = misses(&mut partners, sample, &mut random);
                // Three standard deviations above 0.05. The largest of the smaller sizes by rank,
                // 200 rows, is in no sample of 500 rows at all one time in eight.
                let most = if name.starts_with("smaller") && sample == 500 {
                    0.1
                } else {
                    0.07
                };
                assert!(
                    too_low + too_high < most,
                    "{name}, {sample}: {too_low}, {too_high}"
                );
            }
        }
    }

    #[test]
    fn the_whole_relation_is_no_estimate() {
        let whole = pairs([2, 2, 2, 1, 1, 0].into_iter(), 6);
        assert_eq!(
            whole,
            PairEstimate {
                pairs: 4.0,
                low: 4.0,
                high: 4.0
            }
        );
        let nothing = pairs([0; 100].into_iter(), 100);
        assert_eq!(
            nothing,
            PairEstimate {
                pairs: 0.0,
                low: 0.0,
                high: 0.0
            }
        );
        assert_eq!(pairs([].into_iter(), 0).high, 0.0);
    }

    #[test]
    fn what_no_sampled_row_has_is_not_ruled_out() {
        let none = pairs([0; 1000].into_iter(), 1_000_000);
        assert_eq!((none.pairs, none.low), (0.0, 0.0));
        // 3.7 rows of a thousand, of a million, are 3,668, half as many pairs.
        assert!((1825.0..1850.0).contains(&none.high), "{}", none.high);
    }

    #[test]
    fn what_was_seen_is_there() {
        let one = pairs([0, 0, 0, 1].into_iter(), 1000);
        assert!(one.low >= 0.5 && one.pairs == 125.0, "{one:?}");
        let all = pairs([9; 5].into_iter(), 10);
        assert_eq!((all.pairs, all.high), (45.0, 45.0));
    }
}

#[cfg(test)]
mod gamma_tests {
    use super::*;

    /// The exact bounds of a Poisson count are gamma quantiles; published to three digits (Garwood 1936).
    #[test]
    fn the_bounds_of_poisson_counts() {
        for (count, low, high) in [
            (1.0, 0.0253, 5.572),
            (10.0, 4.795, 18.390),
            (50.0, 37.111, 65.919),
        ] {
            let near = |found: f64, exact: f64| (found - exact).abs() < 0.015;
            let ends = (
                end(-DEVIATIONS, count, count),
                end(DEVIATIONS, count + 1.0, count + 1.0),
            );
            assert!(
                near(ends.0, low) && near(ends.1, high),
                "{ends:?}, not {low}, {high}"
            );
        }
        assert_eq!(end(-DEVIATIONS, 7.0, 4900.0), 0.0);
    }
}
