//! How similar two rows are: the cosine of the angle between their vectors (Salton and McGill 1983).
//! The extension compares the candidates with it. Equal rows have similarity 1, rows without a common
//! feature 0.

use crate::frequencies::{Candidate, Found};
use crate::vectors::Component;
use simhash_base::store::StoreHost;
use std::collections::TryReserveError;

/// Calls `each` with the similarity of the rows of every candidate, each pair once, in the order of
/// their numbers.
pub fn compare<H: StoreHost>(
    found: Found<H>,
    host: &mut H,
    mut each: impl FnMut(Candidate, f64),
) -> Result<(), TryReserveError> {
    let Found {
        mut vectors,
        candidates,
    } = found;
    let (mut last, mut a, mut b) = (None, Vec::new(), Vec::new());
    // A row that is much longer than the others is the second one of many candidates.
    let mut longest: (Option<u32>, Vec<Component>) = (None, Vec::new());
    for candidate in candidates {
        // Two rows may share several rare features.
        if last == Some(candidate) {
            continue;
        }
        host.pause();
        if last.is_none_or(|last: Candidate| last.a != candidate.a) {
            vectors.read(candidate.a, &mut a)?;
        }
        if longest.0 != Some(candidate.b) {
            vectors.read(candidate.b, &mut b)?;
            if b.len() > LONG.max(longest.1.len()) {
                longest = (Some(candidate.b), std::mem::take(&mut b));
            }
        }
        let b = match longest.0 == Some(candidate.b) {
            true => &longest.1,
            false => &b,
        };
        last = Some(candidate);
        // The root of a square is exact, so that equal rows have similarity 1.
        let lengths = (vectors.square(candidate.a) * vectors.square(candidate.b)).sqrt();
        let similarity = match lengths > 0.0 {
            true => (product(&a, b) / lengths).min(1.0),
            false => 0.0,
        };
        each(candidate, similarity);
    }
    Ok(())
}

/// Components of a row that is long.
const LONG: usize = 4096;

/// Returns the inner product of two vectors. The time grows with the length of the shorter one.
fn product(a: &[Component], b: &[Component]) -> f64 {
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut sum = 0.0;
    for component in short {
        long = from_feature(long, component.feature);
        if let [first, ..] = long
            && first.feature == component.feature
        {
            sum += f64::from(first.weight) * f64::from(component.weight);
        }
    }
    sum
}

/// Returns the components of a vector from a feature on; most of them are looked at if there are few.
fn from_feature(vector: &[Component], feature: u32) -> &[Component] {
    let mut end = 1;
    while end <= vector.len() && vector[end - 1].feature < feature {
        end *= 2;
    }
    let start = end / 2;
    let between = &vector[start..end.min(vector.len())];
    &vector[start + between.partition_point(|component| component.feature < feature)..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frequencies::Rows;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Stores in memory.
    #[derive(Default)]
    struct StoresInMemory {
        files: usize,
    }

    impl StoreHost for StoresInMemory {
        type File = Vec<u8>;

        fn file(&mut self) -> Vec<u8> {
            self.files += 1;
            Vec::new()
        }

        fn pause(&mut self) {}
    }

    /// The features of each column.
    type Row = Vec<BTreeSet<u64>>;

    /// Returns the similarities of all candidates, and how many files it took.
    fn compared(
        rows: &[Row],
        first: Option<usize>,
        (rare, rarity): (usize, f64),
        memory: usize,
    ) -> (BTreeMap<(u32, u32), f64>, usize) {
        let mut host = StoresInMemory::default();
        let mut all = Rows::new(memory);
        for (i, row) in rows.iter().enumerate() {
            if first == Some(i) {
                all.begin_second_table();
            }
            for (column, features) in (0..).zip(row) {
                let features: Vec<u64> = features.iter().copied().collect();
                all.add(column, &features, &mut host).unwrap();
            }
            all.end_row();
        }
        if first == Some(rows.len()) {
            all.begin_second_table();
        }
        let found = all.finish(rare, rarity, &mut host).unwrap();
        let mut pairs = BTreeMap::new();
        compare(found, &mut host, |pair, similarity| {
            assert!(pairs.insert((pair.a, pair.b), similarity).is_none());
        })
        .unwrap();
        (pairs, host.files)
    }

    /// The same by the definition.
    fn expected(
        rows: &[Row],
        first: Option<usize>,
        (rare, rarity): (usize, f64),
    ) -> BTreeMap<(u32, u32), f64> {
        let has = |row: &Row, f: &u64| row.iter().any(|column| column.contains(f));
        let frequency = |f: &u64| rows.iter().filter(|row| has(row, f)).count();
        let weight = |f: &u64| {
            ((rows.len() + 1) as f64 / frequency(f) as f64)
                .ln()
                .powf(rarity)
        };
        let vector = |row: &Row| {
            let mut vector = BTreeMap::<u64, f64>::new();
            for column in row {
                let length = column.iter().map(|f| weight(f).powi(2)).sum::<f64>().sqrt();
                for f in column.iter().filter(|_| length > 0.0) {
                    *vector.entry(*f).or_default() += weight(f) / length.sqrt();
                }
            }
            vector
        };
        let vectors: Vec<_> = rows.iter().map(vector).collect();
        let length = |v: &BTreeMap<u64, f64>| v.values().map(|w| w * w).sum::<f64>().sqrt();
        let mut pairs = BTreeMap::new();
        for b in 0..rows.len() {
            for a in 0..b {
                let apart = first.is_some_and(|first| (a < first) == (b < first));
                let all: BTreeSet<u64> = rows[a].iter().flatten().copied().collect();
                let common: Vec<u64> = all.into_iter().filter(|f| has(&rows[b], f)).collect();
                if apart || !common.iter().any(|f| frequency(f) <= rare) {
                    continue;
                }
                let weight = |v: &BTreeMap<u64, f64>, f| v.get(f).copied().unwrap_or(0.0);
                let product: f64 = (common.iter())
                    .map(|f| weight(&vectors[a], f) * weight(&vectors[b], f))
                    .sum();
                let lengths = length(&vectors[a]) * length(&vectors[b]);
                let similarity = if lengths > 0.0 {
                    product / lengths
                } else {
                    0.0
                };
                pairs.insert((a as u32, b as u32), similarity);
            }
        }
        pairs
    }

    proptest! {
        #[test]
        fn candidates_are_compared_by_the_definition(
            rows in prop::collection::vec(
                prop::collection::vec(prop::collection::btree_set(0u64..60, 0..9), 0..4), 0..50),
            first in prop::option::of(0usize..50), rare in 0usize..12, rarity in 0u8..4,
            memory in 0usize..4000,
        ) {
            let first = first.map(|first| first.min(rows.len()));
            let settings = (rare, f64::from(rarity) / 2.0);
            let (found, _) = compared(&rows, first, settings, memory);
            let expected = expected(&rows, first, settings);
            prop_assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
            for (pair, similarity) in found {
                prop_assert!((similarity - expected[&pair]).abs() < 1e-5, "{pair:?}: {similarity}");
            }
        }
    }

    #[test]
    fn equal_rows_have_similarity_1() {
        let row = vec![(0..37).collect(), (30..33).collect()];
        let rows = [
            row.clone(),
            vec![(50..70).collect()],
            row,
            vec![(3..60).collect()],
        ];
        assert_eq!(compared(&rows, None, (2, 2.0), 1 << 20).0[&(0, 2)], 1.0);
        let rows = [rows[0].clone(), rows[0].clone()];
        assert_eq!(compared(&rows, None, (2, 2.0), 1 << 20).0[&(0, 1)], 1.0);
    }

    #[test]
    fn one_long_row_among_short_ones() {
        let long = 2 * LONG as u64;
        let short = |i: u64| vec![(i * 3..i * 3 + 5).collect()];
        let mut rows: Vec<Row> = (0..200).map(short).collect();
        rows.insert(70, vec![(0..long).collect()]);
        let (found, _) = compared(&rows, None, (10, 2.0), 1 << 22);
        let expected = expected(&rows, None, (10, 2.0));
        assert!(found.keys().eq(expected.keys()));
        let differ =
            |(pair, similarity): (&(u32, u32), &f64)| (similarity - expected[pair]).abs() > 1e-5;
        assert!(!found.iter().any(differ));
    }

    #[test]
    fn what_memory_does_not_hold_is_in_files() {
        let rows: Vec<Row> = (0..300u64).map(|i| vec![(i..i + 40).collect()]).collect();
        let (in_memory, no_files) = compared(&rows, None, (40, 2.0), 1 << 22);
        let (in_files, files) = compared(&rows, None, (40, 2.0), 0);
        assert_eq!((no_files, files), (0, 4));
        assert_eq!(in_memory, in_files);
        assert!(in_memory.len() > 5000);
    }
}
