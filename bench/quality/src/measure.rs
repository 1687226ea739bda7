//! Pairs that were found, and how many of them are true.

use crate::data::{Kind, Set};

/// The radii that are measured.
pub const RADII: [u32; 5] = [3, 4, 6, 8, 10];
/// What the check of candidates demands of their 5-grams: that of the truth.
const CHECKED: f64 = 0.8;
/// How often the groups are drawn for an interval.
const RESAMPLES: usize = 1000;

/// Pairs found in one group of rows, on average over the draws.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    exact: f64,
    near: f64,
    /// Neither right nor wrong.
    grey: f64,
    wrong: f64,
}

/// What one method finds, by group of rows, as it is and with the check of candidates.
pub struct Tally {
    plain: Vec<Counts>,
    checked: Vec<Counts>,
}

impl Tally {
    pub fn new(set: &Set) -> Self {
        let counts = vec![Counts::default(); set.texts.len()];
        Self {
            plain: counts.clone(),
            checked: counts,
        }
    }

    pub fn add(&mut self, set: &Set, pair: (u32, u32), weight: f64) {
        let kind = set.truth.get(&pair).copied();
        let passed = similarity(set, pair) >= CHECKED;
        self.enter(set, pair, kind, passed, weight);
    }

    fn enter(
        &mut self,
        set: &Set,
        pair: (u32, u32),
        kind: Option<Kind>,
        passed: bool,
        weight: f64,
    ) {
        let group = set.groups[pair.0 as usize] as usize;
        self.plain[group].count(kind, weight);
        if passed {
            self.checked[group].count(kind, weight);
        }
    }

    /// The result without (false) or with the check.
    pub fn result(&self, set: &Set, check: bool) -> Measure {
        let counts = match check {
            true => &self.checked,
            false => &self.plain,
        };
        let sum = |part: fn(&Counts) -> f64| counts.iter().map(part).sum::<f64>();
        let right = |c: &Counts| c.exact + c.near;
        let precision: Vec<(f64, f64)> = (counts.iter())
            .map(|c| (right(c), right(c) + c.wrong))
            .collect();
        let recall: Vec<(f64, f64)> = (counts.iter().zip(&set.near))
            .map(|(c, &near)| (c.near, near))
            .collect();
        Measure {
            check,
            exact: sum(|c| c.exact),
            near: sum(|c| c.near),
            grey: sum(|c| c.grey),
            wrong: sum(|c| c.wrong),
            precision: Share::of(&precision),
            recall: Share::of(&recall),
            recall_exact: sum(|c| c.exact) / set.count(Kind::Exact),
        }
    }
}

impl Counts {
    fn count(&mut self, kind: Option<Kind>, weight: f64) {
        match kind {
            Some(Kind::Exact) => self.exact += weight,
            Some(Kind::Near) => self.near += weight,
            Some(Kind::Grey) => self.grey += weight,
            None => self.wrong += weight,
        }
    }
}

pub fn similarity(set: &Set, pair: (u32, u32)) -> f64 {
    let (a, b) = (pair.0 as usize, pair.1 as usize);
    set.shingles[a].jaccard(&set.shingles[b]).unwrap_or(0.0)
}

pub struct Measure {
    pub check: bool,
    pub exact: f64,
    pub near: f64,
    pub grey: f64,
    pub wrong: f64,
    /// Right pairs among those that are right or wrong.
    pub precision: Share,
    /// Near pairs that were found.
    pub recall: Share,
    pub recall_exact: f64,
}

/// A share, and the interval that holds 95 % of the shares when the groups are drawn again and
/// again, with replacement: pairs of one group are not independent.
#[derive(Clone, Copy)]
pub struct Share {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Share {
    fn of(groups: &[(f64, f64)]) -> Self {
        let groups: Vec<(f64, f64)> = groups.iter().copied().filter(|g| g.1 > 0.0).collect();
        let share = |all: &mut dyn Iterator<Item = (f64, f64)>| {
            let (part, whole) = all.fold((0.0, 0.0), |(p, w), g| (p + g.0, w + g.1));
            part / whole
        };
        let value = share(&mut groups.iter().copied());
        if groups.is_empty() {
            return Share {
                value,
                low: value,
                high: value,
            };
        }
        let mut random = Random(1);
        let mut shares: Vec<f64> = (0..RESAMPLES)
            .map(|_| share(&mut groups.iter().map(|_| groups[random.below(groups.len())])))
            .collect();
        shares.sort_by(f64::total_cmp);
        Share {
            value,
            low: shares[RESAMPLES / 40],
            high: shares[RESAMPLES - 1 - RESAMPLES / 40],
        }
    }
}

/// Pseudo-random numbers from a seed: the same data give the same result. Constants of Knuth's MMIX
/// generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// What a configuration finds, by position in [`RADII`].
pub struct Outcome(pub Vec<Tally>);

impl Outcome {
    pub fn new(set: &Set) -> Self {
        Self(RADII.iter().map(|_| Tally::new(set)).collect())
    }

    /// Compares all pairs of the fingerprints of one draw, which counts with this weight; rows
    /// without fingerprint are in no pair.
    pub fn add(&mut self, set: &Set, fingerprints: &[Option<u64>], weight: f64) {
        let rows: Vec<(u32, u64)> = (fingerprints.iter().zip(0..))
            .filter_map(|(fingerprint, row)| Some((row, (*fingerprint)?)))
            .collect();
        for (i, (a, first)) in rows.iter().enumerate() {
            for (b, second) in &rows[i + 1..] {
                let distance = (first ^ second).count_ones();
                if distance <= RADII[RADII.len() - 1] {
                    self.enter(set, (*a, *b), distance, weight);
                }
            }
        }
    }

    fn enter(&mut self, set: &Set, pair: (u32, u32), distance: u32, weight: f64) {
        let kind = set.truth.get(&pair).copied();
        let passed = similarity(set, pair) >= CHECKED;
        for (tally, &k) in self.0.iter_mut().zip(&RADII) {
            if distance <= k {
                tally.enter(set, pair, kind, passed, weight);
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
    pub fn of(fingerprints: &[Option<u64>]) -> Self {
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
