//! Precision and recall by threshold, from the labels of a stratified sample of pairs. The
//! extension calls it with what a person has said of each stratum. The intervals hold the truth in
//! 95 of 100 samples at least, however few labels there are.
//!
//! The number of true pairs of a stratum has exact limits (hypergeometric, as those of Clopper and
//! Pearson 1934, for the finite number of pairs). Limits of sums follow from those of the strata by
//! the method of variance estimates recovery (Zou, Huang and Zhang 2009: linear functions of
//! proportions). Recall r is where the true pairs above times 1 - r and those below times r have a
//! difference of 0, as in Fieller's theorem (1954).

/// A stratum of pairs, some of which were labelled.
#[derive(Clone, Copy, Debug)]
pub struct Labelled {
    /// The least similarity of its pairs.
    pub threshold: f64,
    /// Number of all its pairs.
    pub pairs: u64,
    /// Number of those that are labelled.
    pub labels: u64,
    /// Labels that say the rows are the same.
    pub same: u64,
}

/// A share, and the limits of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share, 0 to 1.
    pub estimate: f64,
    /// The lower limit, at most the estimate.
    pub low: f64,
    /// The upper limit, at least the estimate.
    pub high: f64,
}

/// What there is from a threshold on. None is a share of nothing.
#[derive(Clone, Copy, Debug)]
pub struct Quality {
    /// The least similarity of a pair that counts.
    pub threshold: f64,
    /// Number of these pairs.
    pub pairs: u64,
    /// Share of them that are the same.
    pub precision: Option<Share>,
    /// Of the true pairs among all strata.
    pub recall: Option<Share>,
}

/// How likely the truth is beyond each limit.
const BEYOND: f64 = 0.025;

/// A number of true pairs: the estimate, and how far below and above it the truth may be.
#[derive(Clone, Copy, Default)]
struct Count {
    estimate: f64,
    below: f64,
    above: f64,
    /// Of strata without labels: how far on both sides beyond that.
    unknown: f64,
}

impl Count {
    fn of(stratum: &Labelled) -> Self {
        let Labelled {
            pairs,
            labels,
            same,
            ..
        } = *stratum;
        // Without labels all is possible.
        if labels == 0 {
            let half = pairs as f64 / 2.0;
            return Count {
                estimate: half,
                unknown: half,
                ..Count::default()
            };
        }
        let estimate = pairs as f64 * (same as f64 / labels as f64);
        Count {
            unknown: 0.0,
            estimate,
            below: estimate - least_true(pairs, labels, same) as f64,
            above: most_true(pairs, labels, same) as f64 - estimate,
        }
    }

    /// Adds a number that does not depend on this one.
    fn plus(self, other: Self) -> Self {
        Count {
            estimate: self.estimate + other.estimate,
            below: root_of_squares(self.below, other.below),
            above: root_of_squares(self.above, other.above),
            unknown: self.unknown + other.unknown,
        }
    }
}

/// Adds the spreads of two independent numbers. `f64::hypot` would be the one function here that needs glibc 2.35; the square of a
/// number of pairs does not overflow.
fn root_of_squares(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// Returns what there is from each threshold on, from the highest down.
pub fn qualities(strata: &[Labelled]) -> Vec<Quality> {
    let mut strata: Vec<&Labelled> = strata.iter().collect();
    strata.sort_by(|a, b| b.threshold.total_cmp(&a.threshold));
    let counts: Vec<Count> = strata.iter().map(|stratum| Count::of(stratum)).collect();
    let sum = |counts: &[Count]| counts.iter().copied().fold(Count::default(), Count::plus);
    let mut pairs = 0;
    (strata.iter().enumerate())
        .map(|(at, stratum)| {
            pairs += stratum.pairs;
            let (above, below) = (sum(&counts[..=at]), sum(&counts[at + 1..]));
            Quality {
                threshold: stratum.threshold,
                pairs,
                precision: precision(above, pairs),
                recall: recall(above, below),
            }
        })
        .collect()
}

fn precision(true_pairs: Count, pairs: u64) -> Option<Share> {
    let share = |count: f64| (count / pairs as f64).clamp(0.0, 1.0);
    let Count {
        estimate,
        below,
        above,
        unknown,
    } = true_pairs;
    (pairs > 0).then(|| Share {
        estimate: share(estimate),
        low: share(estimate - below - unknown),
        high: share(estimate + above + unknown),
    })
}

/// Returns the share of true pairs that are above a threshold.
fn recall(above: Count, below: Count) -> Option<Share> {
    let all = above.estimate + below.estimate;
    if all <= 0.0 {
        return None;
    }
    let difference = |r: f64| (1.0 - r) * above.estimate - r * below.estimate;
    let spread = |r: f64, of_above: f64, of_below: f64| {
        let unknown = (1.0 - r) * above.unknown + r * below.unknown;
        root_of_squares((1.0 - r) * of_above, r * of_below) + unknown
    };
    Some(Share {
        estimate: above.estimate / all,
        low: last_positive(|r| difference(r) - spread(r, above.below, below.above)),
        high: last_positive(|r| difference(r) + spread(r, above.above, below.below)),
    })
}

/// Returns where in 0 to 1 a function that falls through 0 does so.
fn last_positive(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match f(middle) > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Returns the largest number of true pairs with which so few of the labels are likely enough.
fn most_true(pairs: u64, labels: u64, same: u64) -> u64 {
    let (mut low, mut high) = (same, pairs - (labels - same));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match at_most(same, labels, middle, pairs) >= BEYOND {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// Returns the smallest number of true pairs: all pairs without the largest number of false ones.
fn least_true(pairs: u64, labels: u64, same: u64) -> u64 {
    pairs - most_true(pairs, labels, labels - same)
}

/// Returns how likely at most `same` of the labels, drawn of `pairs`, are those of `true_pairs`.
fn at_most(same: u64, labels: u64, true_pairs: u64, pairs: u64) -> f64 {
    let others = pairs - true_pairs;
    let first = labels.saturating_sub(others);
    let mut ways =
        ln_choose(true_pairs, first) + ln_choose(others, labels - first) - ln_choose(pairs, labels);
    let mut sum = 0.0;
    for k in first..=same.min(true_pairs) {
        sum += ways.exp();
        let more = (true_pairs - k) as f64 * (labels - k) as f64;
        ways += (more / ((k + 1) as f64 * (others + k + 1 - labels) as f64)).ln();
    }
    sum
}

/// Returns the logarithm of the number of choices of k things out of n, by its product: n may be large, and k
/// is a number of labels.
fn ln_choose(n: u64, k: u64) -> f64 {
    let k = k.min(n - k);
    (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_stratum() {
        // Of 12 pairs 10 were drawn, none true: with two true ones that is 1 in 66.
        assert_eq!((most_true(12, 10, 0), least_true(12, 10, 0)), (1, 0));
        assert_eq!((most_true(12, 12, 5), least_true(12, 12, 5)), (5, 5));
        assert_eq!((most_true(9, 0, 0), least_true(9, 0, 0)), (9, 0));
        // Clopper and Pearson's limits of 3 in 20 are 0.0321 and 0.3789.
        let many = 10_000_000;
        let shares =
            [least_true(many, 20, 3), most_true(many, 20, 3)].map(|n| n as f64 / many as f64);
        assert!(
            (shares[0] - 0.0321).abs() < 1e-4 && (shares[1] - 0.3789).abs() < 1e-4,
            "{shares:?}"
        );
    }

    fn labelled(threshold: f64, pairs: u64, labels: u64, same: u64) -> Labelled {
        Labelled {
            threshold,
            pairs,
            labels,
            same,
        }
    }

    #[test]
    fn all_labels_leave_no_doubt() {
        let found = qualities(&[labelled(0.5, 10, 10, 4), labelled(0.9, 5, 5, 5)]);
        let exact = |estimate| Share {
            estimate,
            low: estimate,
            high: estimate,
        };
        let near = |found: Option<Share>, expected: f64| {
            let Share {
                estimate,
                low,
                high,
            } = found.unwrap();
            let exact = exact(expected);
            (estimate - exact.estimate).abs() < 1e-9
                && (low - exact.low).abs() < 1e-9
                && (high - exact.high).abs() < 1e-9
        };
        assert_eq!(
            (found[0].threshold, found[0].pairs, found[1].pairs),
            (0.9, 5, 15)
        );
        assert!(near(found[0].precision, 1.0) && near(found[0].recall, 5.0 / 9.0));
        assert!(near(found[1].precision, 0.6) && near(found[1].recall, 1.0));
    }

    #[test]
    fn nothing_is_no_share() {
        assert!(qualities(&[]).is_empty());
        let none = qualities(&[labelled(0.5, 10, 10, 0)]);
        assert_eq!(none[0].recall, None);
        let unknown = qualities(&[labelled(0.9, 10, 0, 0), labelled(0.5, 10, 0, 0)]);
        for quality in &unknown {
            let Share { low, high, .. } = quality.precision.unwrap();
            assert_eq!((low, high), (0.0, 1.0));
        }
        let Share { low, high, .. } = unknown[0].recall.unwrap();
        assert!(low < 1e-9 && high > 1.0 - 1e-9);
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws `labels` of `pairs`, and returns how many of them are of the first `true_pairs`.
    fn draw(state: &mut u64, pairs: u64, labels: u64, true_pairs: u64) -> u64 {
        let (mut same, mut left) = (0, true_pairs);
        for i in 0..labels {
            if random(state) % (pairs - i) < left {
                same += 1;
                left -= 1;
            }
        }
        same
    }

    #[test]
    fn intervals_hold_the_truth_in_95_of_100_samples() {
        // Pairs, true ones and labels of the strata from the highest down: of products, people, and a hard case
        // with a few true pairs among very many.
        let sets: [&[[u64; 3]]; 3] = [
            &[
                [400, 398, 12],
                [300, 270, 10],
                [500, 310, 14],
                [2000, 200, 28],
                [90_000, 130, 136],
            ],
            &[
                [9000, 8999, 60],
                [700, 650, 20],
                [200, 60, 10],
                [900, 9, 20],
                [40_000, 3, 90],
            ],
            &[
                [7, 6, 5],
                [30, 11, 5],
                [5000, 700, 40],
                [1_000_000, 900, 150],
            ],
        ];
        let mut state = 57;
        const RUNS: usize = 500;
        for set in sets {
            let true_pairs: u64 = set.iter().map(|[_, is_true, _]| is_true).sum();
            let mut held = vec![[0; 2]; set.len()];
            for _ in 0..RUNS {
                let strata: Vec<Labelled> = (set.iter().enumerate())
                    .map(|(at, &[pairs, is_true, labels])| {
                        let same = draw(&mut state, pairs, labels, is_true);
                        labelled(1.0 - at as f64 / 20.0, pairs, labels, same)
                    })
                    .collect();
                let (mut above, mut pairs) = (0, 0);
                for (at, quality) in qualities(&strata).iter().enumerate() {
                    above += set[at][1];
                    pairs += set[at][0];
                    let truth = [
                        above as f64 / pairs as f64,
                        above as f64 / true_pairs as f64,
                    ];
                    for (i, share) in [quality.precision, quality.recall].into_iter().enumerate() {
                        let is_held =
                            |s: Share| s.low <= truth[i] + 1e-9 && truth[i] <= s.high + 1e-9;
                        held[at][i] += usize::from(share.is_none_or(is_held));
                    }
                }
            }
            let least = held.iter().flatten().min().unwrap();
            assert!(*least >= RUNS * 95 / 100, "{held:?} of {RUNS}");
        }
    }
}
