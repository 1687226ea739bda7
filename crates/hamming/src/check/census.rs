//! Counts of what the leaves of an index hold: the numbers behind simhash_index_stats. Pure.

use crate::key::{KEY_BITS, Position, QUARTERS, SPACES, Space};
use crate::page::{Page, leaf};
use crate::search::probe::{KeyCounts, choose, for_each_key};

const KEYS: usize = 1 << 16;
/// Fingerprints for which the candidates of a search are counted: for a large index at least this
/// many, and fewer than twice as many.
const SAMPLE: usize = 128;

/// Counts of an index's leaves, read page by page.
pub struct Census {
    leaves: [u64; SPACES],
    postings: [u64; SPACES],
    /// Sum over the leaves of postings / capacity.
    fill: f64,
    /// For each quarter, the rows under each 16-bit key.
    rows: [Vec<u64>; QUARTERS],
    sample: SystematicSample,
}

/// The 16-bit key with the most rows.
#[derive(Debug, PartialEq)]
pub struct Hottest {
    /// The quarter of the fingerprint that is the key, 0 to 3 from the highest bits on.
    pub quarter: usize,
    /// The key, as the quarter's 16 bits.
    pub key: u16,
    /// Share of the rows that have a fingerprint.
    pub share: f64,
}

impl Default for Census {
    fn default() -> Census {
        Census {
            leaves: [0; SPACES],
            postings: [0; SPACES],
            fill: 0.0,
            rows: std::array::from_fn(|_| vec![0; KEYS]),
            sample: SystematicSample::default(),
        }
    }
}

impl Census {
    /// Counts one leaf, whose page was checked.
    pub fn add(&mut self, space: Space, page: &Page) {
        self.leaves[space.index()] += 1;
        self.postings[space.index()] += leaf::count(page) as u64;
        self.fill += leaf::count(page) as f64 / leaf::capacity(page) as f64;
        if space == Space::NULL {
            return;
        }
        for key in leaf::postings(page) {
            self.rows[space.index()][usize::from(key.first_quarter())] += 1;
            if space.index() == 0 {
                self.sample.offer(key);
            }
        }
    }

    /// Rows with a fingerprint.
    pub fn fingerprints(&self) -> u64 {
        self.postings[0]
    }

    /// Rows whose fingerprint is NULL.
    pub fn null_rows(&self) -> u64 {
        self.postings[Space::NULL.index()]
    }

    /// Leaves of all key spaces.
    pub fn all_leaves(&self) -> u64 {
        self.leaves.iter().sum()
    }

    /// Average share of a leaf's room that is used, 0 to 1.
    pub fn average_fill(&self) -> f64 {
        self.fill / self.all_leaves().max(1) as f64
    }

    /// Returns the 16-bit key with the most rows; None when no row has a fingerprint.
    pub fn hottest(&self) -> Option<Hottest> {
        let keys = (0..QUARTERS).flat_map(|b| (0..=u16::MAX).map(move |key| (b, key)));
        // The first of equal counts.
        let (quarter, key) = keys.max_by_key(|&(b, key)| {
            let first = std::cmp::Reverse((b, key));
            (self.rows(b, key), first)
        })?;
        let rows = self.rows(quarter, key);
        (rows > 0).then(|| Hottest {
            quarter,
            key,
            share: rows as f64 / self.postings[quarter] as f64,
        })
    }

    /// Postings that a search within `k` of a fingerprint like the stored ones compares, on
    /// average, with the radii that it would choose, knowing these counts. (A search that reads a
    /// leaf's slot directory compares fewer of them.)
    pub fn candidates(&self, k: u32) -> f64 {
        let sample = &self.sample.values;
        let sum: u64 = sample
            .iter()
            .map(|fp| reached(*fp, k, self, &self.postings))
            .sum();
        sum as f64 / sample.len().max(1) as f64
    }
}

/// Postings of the keys that a search within `k` of `query` visits.
fn reached(query: u64, k: u32, counts: &impl KeyCounts, postings: &[u64; SPACES]) -> u64 {
    let radii = choose(query, k, counts);
    let of_quarter = |(b, radius): (usize, &i32)| {
        // A small index is read from end to end: adding the counts of 65,536 keys, for each
        // fingerprint of the sample and each radius, would take 0.2 s.
        if *radius == KEY_BITS as i32 {
            return postings[b];
        }
        let mut sum = 0;
        let key = Space::of_quarter(b).key_of(query);
        for_each_key(key, *radius, |near| sum += counts.rows(b, near));
        sum
    };
    radii.iter().enumerate().map(of_quarter).sum()
}

impl KeyCounts for Census {
    fn leaves(&self, b: usize) -> u64 {
        self.leaves[b]
    }

    fn rows(&self, b: usize, key: u16) -> u64 {
        self.rows[b][usize::from(key)]
    }
}

/// Fingerprints at equal distances among all that are offered, without knowing how many will be.
struct SystematicSample {
    values: Vec<u64>,
    stride: u64,
    offered: u64,
}

impl Default for SystematicSample {
    fn default() -> SystematicSample {
        SystematicSample {
            values: Vec::new(),
            stride: 1,
            offered: 0,
        }
    }
}

impl SystematicSample {
    fn offer(&mut self, key: Position) {
        if self.offered.is_multiple_of(self.stride) {
            self.values.push(key.rotated);
            if self.values.len() == 2 * SAMPLE {
                let mut i = 0;
                self.values.retain(|_| {
                    i += 1;
                    i % 2 == 1
                });
                self.stride *= 2;
            }
        }
        self.offered += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PAGE_SIZE;
    use crate::page::format::Format;
    use crate::page::special::PageKind;
    use crate::search::probe::neighbours;
    use simhash_base::indexed_row::IndexedRow;
    use simhash_base::indexed_row::Tid;
    use std::cell::Cell;

    fn census(fingerprints: &[u64]) -> Census {
        let mut census = Census::default();
        for space in Space::quarters() {
            let mut keys: Vec<Position> = (0u32..)
                .zip(fingerprints)
                .map(|(i, fp)| {
                    space.key(
                        IndexedRow {
                            scope: 0,
                            fingerprint: Some(*fp),
                        },
                        Tid {
                            block: i,
                            offset: 1,
                        },
                    )
                })
                .collect();
            keys.sort();
            for postings in keys.chunks(500) {
                let mut page = [0; PAGE_SIZE];
                let kind = PageKind {
                    space,
                    level: 0,
                    stamp: 1,
                };
                leaf::init(&mut page, kind, Position::MIN, None, postings);
                census.add(space, &page);
            }
        }
        census
    }

    fn random(n: u64) -> Vec<u64> {
        (1..=n)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .collect()
    }

    #[test]
    fn nothing_is_counted_in_an_empty_index() {
        let empty = census(&[]);
        assert_eq!(
            (empty.fingerprints(), empty.null_rows(), empty.hottest()),
            (0, 0, None)
        );
        assert_eq!((empty.average_fill(), empty.candidates(3)), (0.0, 0.0));
    }

    #[test]
    fn the_hottest_key_is_found() {
        let mut all = random(3000);
        all.iter_mut()
            .take(900)
            .for_each(|fp| *fp = *fp & !0xFFFF_0000 | 0xABCD_0000);
        let census = census(&all);
        let hottest = census.hottest().unwrap();
        assert_eq!((hottest.quarter, hottest.key), (2, 0xABCD));
        assert!((hottest.share - 0.3).abs() < 0.001, "{}", hottest.share);
        assert_eq!((census.fingerprints(), census.all_leaves()), (3000, 24));
        assert!(
            (census.average_fill() - 500.0 / Format::new(false, true).capacity() as f64).abs()
                < 1e-9
        );
    }

    #[test]
    fn candidates_are_what_the_chosen_radii_reach() {
        let all = random(3000);
        let census = census(&all);
        for k in [0, 3, 5, 30] {
            let mean = census
                .sample
                .values
                .iter()
                .map(|query| {
                    let radii = choose(*query, k, &census);
                    let reached = |fp: u64| {
                        (0..QUARTERS)
                            .filter(|&b| {
                                let space = Space::of_quarter(b);
                                let apart = (space.key_of(fp) ^ space.key_of(*query)).count_ones();
                                apart as i32 <= radii[b]
                            })
                            .count()
                    };
                    all.iter().map(|fp| reached(*fp)).sum::<usize>() as f64
                })
                .sum::<f64>()
                / census.sample.values.len() as f64;
            assert!((census.candidates(k) - mean).abs() < 1e-9, "{k}");
        }
        assert!(
            (census.candidates(30) - 3000.0).abs() < 1e-9,
            "reads one key space"
        );
    }

    /// Counts how often a key's count is asked for.
    struct CountedReads<'c> {
        census: &'c Census,
        times: Cell<u64>,
    }

    impl KeyCounts for CountedReads<'_> {
        fn leaves(&self, b: usize) -> u64 {
            self.census.leaves(b)
        }

        fn rows(&self, b: usize, key: u16) -> u64 {
            self.times.set(self.times.get() + 1);
            self.census.rows(b, key)
        }
    }

    /// Whatever the rows are, the cost of a search follows from the counts of few keys: those within 3 bits,
    /// once for the choice and once for the sum.
    #[test]
    fn few_counts_are_asked_for() {
        for all in [random(300), vec![42; 400], random(3000)] {
            let census = census(&all);
            let asked = CountedReads {
                census: &census,
                times: Cell::new(0),
            };
            for k in 0..=30 {
                asked.times.set(0);
                reached(all[0], k, &asked, &census.postings);
                let most = 2 * QUARTERS as u64 * neighbours(3);
                assert!(asked.times.get() <= most, "{k}: {}", asked.times.get());
            }
        }
    }

    #[test]
    fn the_sample_is_spread_over_all() {
        let mut sample = SystematicSample::default();
        (0..100_000).for_each(|i| sample.offer(Position::at(0, i)));
        assert!((SAMPLE..2 * SAMPLE).contains(&sample.values.len()));
        let gaps: Vec<u64> = sample.values.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(gaps.iter().all(|gap| *gap == sample.stride) && sample.values[0] == 0);
        assert!(100_000 - sample.values.last().unwrap() <= sample.stride);
    }
}
