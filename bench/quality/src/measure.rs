//! Pairs that were found, and how many of them are true.

use crate::data::{self, LabelledSet, PairKind};

/// The radii that are measured.
pub const RADII: [u32; 6] = [3, 4, 6, 8, 10, 12];
/// What the check of candidates demands of their 5-grams: that of the truth.
const CHECKED: f64 = 0.8;
/// How often groups and draws are drawn again for an interval.
const RESAMPLES: usize = 400;

/// Pairs found in one group of rows by one draw.
#[derive(Clone, Copy, Debug, Default)]
struct PairCounts {
    exact: f32,
    near: f32,
    /// Neither right nor wrong.
    grey: f32,
    wrong: f32,
}

/// What one method finds, by group of rows and, within a group, by draw; as it is and with the
/// check of candidates.
pub struct PairTally {
    draws: usize,
    unchecked: Vec<PairCounts>,
    checked: Vec<PairCounts>,
}

impl PairTally {
    pub fn new(set: &LabelledSet, draws: usize) -> Self {
        let counts = vec![PairCounts::default(); set.texts.len() * draws];
        Self {
            draws,
            unchecked: counts.clone(),
            checked: counts,
        }
    }

    fn enter(&mut self, at: usize, kind: Option<PairKind>, passed: bool) {
        self.unchecked[at].count(kind);
        if passed {
            self.checked[at].count(kind);
        }
    }

    /// The result without (false) or with the check.
    pub fn result(&self, set: &LabelledSet, check: bool) -> Measure {
        let counts = match check {
            true => &self.checked,
            false => &self.unchecked,
        };
        let mean = |part: fn(&PairCounts) -> f32| {
            let sum: f64 = counts.iter().map(|c| f64::from(part(c))).sum();
            sum / self.draws as f64
        };
        let among = |part: fn(&PairCounts) -> f32| {
            let share = |c: &PairCounts| (part(c), part(c) + c.wrong);
            Share::over_draws(counts.iter().map(share).collect(), self.draws)
        };
        let near = set.near.iter().flat_map(|near| vec![*near; self.draws]);
        let recall = counts.iter().zip(near).map(|(c, all)| (c.near, all));
        Measure {
            check,
            exact: mean(|c| c.exact),
            near: mean(|c| c.near),
            grey: mean(|c| c.grey),
            wrong: mean(|c| c.wrong),
            precision: among(|c| c.exact + c.near),
            precision_near: among(|c| c.near),
            recall: Share::over_draws(recall.collect(), self.draws),
            recall_exact: mean(|c| c.exact) / set.count(PairKind::Exact),
        }
    }
}

impl PairCounts {
    fn count(&mut self, kind: Option<PairKind>) {
        match kind {
            Some(PairKind::Exact) => self.exact += 1.0,
            Some(PairKind::Near) => self.near += 1.0,
            Some(PairKind::Grey) => self.grey += 1.0,
            None => self.wrong += 1.0,
        }
    }
}

fn similarity(set: &LabelledSet, pair: (u32, u32)) -> f64 {
    let (a, b) = (pair.0 as usize, pair.1 as usize);
    data::similarity(&set.letters[a], &set.letters[b])
}

/// Numbers of pairs are means of the draws.
pub struct Measure {
    pub check: bool,
    pub exact: f64,
    pub near: f64,
    pub grey: f64,
    pub wrong: f64,
    /// Right pairs among those that are right or wrong.
    pub precision: Share,
    /// The same without the exact pairs, which any method finds.
    pub precision_near: Share,
    /// Near pairs that were found.
    pub recall: Share,
    pub recall_exact: f64,
}

/// A share over all draws. The interval holds 95 % of the shares when both the groups and the draws
/// are drawn again and again, with replacement: neither pairs of one group nor those of one draw
/// are independent.
#[derive(Clone, Copy)]
pub struct Share {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// That of the first draw: what a lone text has without a column's name.
    pub shipped: f64,
    /// The draws' least and greatest.
    pub draws: (f64, f64),
}

/// Part and whole.
type Parts = (f32, f32);

fn ratio(parts: impl Iterator<Item = Parts>) -> f64 {
    let add =
        |sum: (f64, f64), (part, whole): Parts| (sum.0 + f64::from(part), sum.1 + f64::from(whole));
    let (part, whole) = parts.fold((0.0, 0.0), add);
    part / whole
}

/// The least and the greatest except for a share of `1 / tail` at each end.
fn range(mut shares: Vec<f64>, tail: usize) -> (f64, f64) {
    shares.retain(|share| !share.is_nan());
    shares.sort_by(f64::total_cmp);
    let left_out = shares.len() / tail;
    match shares.get(left_out) {
        Some(&low) => (low, shares[shares.len() - 1 - left_out]),
        None => (f64::NAN, f64::NAN),
    }
}

impl Share {
    /// `parts` by group and, within a group, by draw.
    fn over_draws(parts: Vec<Parts>, draws: usize) -> Self {
        let groups: Vec<&[Parts]> = (parts.chunks(draws))
            .filter(|group| group.iter().any(|part| part.1 > 0.0))
            .collect();
        let one = |draw: usize| ratio(groups.iter().map(|group| group[draw]));
        let mut random = LinearCongruential(1);
        let mut resampled = || {
            let draws: Vec<usize> = (0..draws).map(|_| random.below(draws)).collect();
            let group = |_: &&[Parts]| groups[random.below(groups.len())];
            let groups = groups.iter().map(group);
            ratio(groups.flat_map(|group| draws.iter().map(|&draw| group[draw])))
        };
        let (low, high) = range((0..RESAMPLES).map(|_| resampled()).collect(), 40);
        Share {
            value: ratio(groups.iter().flat_map(|group| group.iter().copied())),
            low,
            high,
            shipped: one(0),
            draws: range((0..draws).map(one).collect(), usize::MAX),
        }
    }
}

/// Pseudo-random numbers from a seed: the same data give the same result. Constants of Knuth's MMIX
/// generator.
pub struct LinearCongruential(pub u64);

impl LinearCongruential {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// What a configuration finds, by position in [`RADII`].
pub struct TallyByRadius(pub Vec<PairTally>);

impl TallyByRadius {
    pub fn new(set: &LabelledSet, draws: usize) -> Self {
        Self(RADII.iter().map(|_| PairTally::new(set, draws)).collect())
    }

    /// Compares all pairs of the fingerprints of one draw; rows without fingerprint are in no pair.
    pub fn add(&mut self, set: &LabelledSet, draw: usize, fingerprints: &[Option<u64>]) {
        let rows: Vec<(u32, u64)> = (fingerprints.iter().zip(0..))
            .filter_map(|(fingerprint, row)| Some((row, (*fingerprint)?)))
            .collect();
        for (i, (a, first)) in rows.iter().enumerate() {
            for (b, second) in &rows[i + 1..] {
                let distance = (first ^ second).count_ones();
                if distance <= RADII[RADII.len() - 1] {
                    self.enter(set, draw, (*a, *b), distance);
                }
            }
        }
    }

    fn enter(&mut self, set: &LabelledSet, draw: usize, pair: (u32, u32), distance: u32) {
        let kind = set.truth.get(&pair).copied();
        let passed = similarity(set, pair) >= CHECKED;
        let group = set.groups[pair.0 as usize] as usize;
        for (tally, &k) in self.0.iter_mut().zip(&RADII) {
            if distance <= k {
                tally.enter(group * tally.draws + draw, kind, passed);
            }
        }
    }
}

/// How unevenly the four 16-bit blocks of fingerprints are filled.
#[derive(Clone, Copy, Default)]
pub struct Skew {
    /// The share of the rows that the fullest key of any block holds.
    pub fullest: f64,
    /// Pairs of rows under one key, relative to those of uniform fingerprints, of the four blocks
    /// on average: how many times more postings a search meets.
    pub load: f64,
}

impl Skew {
    pub fn measure(fingerprints: &[Option<u64>]) -> Self {
        let (mut fullest, mut pairs, mut rows) = (0u32, 0.0, 0.0);
        for block in 0..4 {
            let mut counts = vec![0u32; 1 << 16];
            for fingerprint in fingerprints.iter().flatten() {
                counts[(fingerprint >> (16 * block)) as usize & 0xffff] += 1;
            }
            fullest = fullest.max(counts.iter().copied().max().unwrap_or(0));
            pairs += (counts.iter())
                .map(|&n| f64::from(n) * (f64::from(n) - 1.0))
                .sum::<f64>();
            rows = counts.iter().copied().map(f64::from).sum();
        }
        Skew {
            fullest: f64::from(fullest) / rows,
            load: pairs / 4.0 / (rows * (rows - 1.0) / 65_536.0),
        }
    }
}
