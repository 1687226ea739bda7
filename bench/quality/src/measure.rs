//! All pairs within k, and how many of them are true.

use std::collections::HashMap;

use crate::data::{Kind, Set};

/// The radii that are measured.
pub const RADII: [u32; 5] = [3, 4, 6, 8, 10];
/// What the check of candidates demands of their 5-grams: that of the truth.
const CHECKED: f64 = 0.8;

/// What was found within a radius, on average over the draws.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    pub exact: f64,
    pub near: f64,
    /// Neither right nor wrong.
    pub grey: f64,
    pub wrong: f64,
}

impl Found {
    /// Share of right pairs among all that are right or wrong.
    pub fn precision(&self) -> f64 {
        let right = self.exact + self.near;
        right / (right + self.wrong)
    }
}

/// What a configuration finds in a data set, by position in [`RADII`].
#[derive(Default)]
pub struct Outcome {
    pub plain: [Found; RADII.len()],
    pub checked: [Found; RADII.len()],
    /// Near pairs found, by radius; once for each draw that found them.
    pub near: [Vec<(u32, u32)>; RADII.len()],
}

impl Outcome {
    /// Compares all pairs of the fingerprints of one draw, which counts with this weight; rows without
    /// fingerprint are in no pair.
    pub fn add(&mut self, set: &Set, fingerprints: &[Option<u64>], weight: f64) {
        for (a, first) in fingerprints.iter().enumerate() {
            let Some(first) = first else { continue };
            for (b, second) in fingerprints.iter().enumerate().skip(a + 1) {
                let distance = second.map_or(u32::MAX, |second| (first ^ second).count_ones());
                if distance <= RADII[RADII.len() - 1] {
                    self.enter(set, (a as u32, b as u32), distance, weight);
                }
            }
        }
    }

    fn enter(&mut self, set: &Set, pair: (u32, u32), distance: u32, weight: f64) {
        let kind = set.truth.get(&pair).copied();
        let (a, b) = (pair.0 as usize, pair.1 as usize);
        let similarity = set.shingles[a].jaccard(&set.shingles[b]).unwrap_or(0.0);
        let within = RADII
            .iter()
            .position(|&k| distance <= k)
            .unwrap_or(RADII.len());
        for i in within..RADII.len() {
            self.plain[i].count(kind, weight);
            if similarity >= CHECKED {
                self.checked[i].count(kind, weight);
            }
            if kind == Some(Kind::Near) {
                self.near[i].push(pair);
            }
        }
    }
}

impl Found {
    fn count(&mut self, kind: Option<Kind>, weight: f64) {
        match kind {
            Some(Kind::Exact) => self.exact += weight,
            Some(Kind::Near) => self.near += weight,
            Some(Kind::Grey) => self.grey += weight,
            None => self.wrong += weight,
        }
    }
}

/// The interval that holds 95 % of the recalls of near pairs when groups of rows that belong together
/// are drawn again and again, with replacement: pairs of one group are not independent.
pub fn interval(set: &Set, found: &[(u32, u32)], weight: f64) -> (f64, f64) {
    let mut parent: Vec<u32> = (0..set.texts.len() as u32).collect();
    let near = || {
        set.truth
            .iter()
            .filter(|(_, kind)| **kind == Kind::Near)
            .map(|(pair, _)| *pair)
    };
    for (a, b) in near() {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        parent[a as usize] = b;
    }
    let mut groups: HashMap<u32, (f64, f64)> = HashMap::new();
    for (a, _) in near() {
        groups.entry(root(&mut parent, a)).or_default().1 += 1.0;
    }
    for &(a, _) in found {
        groups.entry(root(&mut parent, a)).or_default().0 += weight;
    }
    let mut keys: Vec<u32> = groups.keys().copied().collect();
    keys.sort_unstable();
    let groups: Vec<(f64, f64)> = keys.iter().map(|key| groups[key]).collect();
    percentiles(&groups)
}

fn percentiles(groups: &[(f64, f64)]) -> (f64, f64) {
    // A fixed seed: the same data give the same interval. Constants of Knuth's MMIX generator.
    let mut state: u64 = 1;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % groups.len()
    };
    let mut recalls: Vec<f64> = (0..1000)
        .map(|_| {
            let (found, all) = (0..groups.len()).fold((0.0, 0.0), |(found, all), _| {
                let group = groups[draw()];
                (found + group.0, all + group.1)
            });
            found / all
        })
        .collect();
    recalls.sort_by(f64::total_cmp);
    (recalls[25], recalls[974])
}

fn root(parent: &mut [u32], mut row: u32) -> u32 {
    while parent[row as usize] != row {
        parent[row as usize] = parent[parent[row as usize] as usize];
        row = parent[row as usize];
    }
    row
}
