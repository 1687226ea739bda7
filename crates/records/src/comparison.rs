//! How similar the rows of the candidates are. Each candidate is compared once, and a record that
//! several rows are is a pair by itself. The extension calls it when all rows are read.

use crate::copies::{Candidate, Copies};
use crate::frequencies::Found;
use crate::pair::{Pair, Part};
use crate::vector::Vector;
use simhash_base::store::TempStores;
use std::collections::TryReserveError;

/// Calls `each` with the similarity of every candidate, and of every record that several rows are.
/// `columns` is the number of columns, or 0 if those of one number are not one column in all rows.
pub fn compare<S: TempStores>(
    found: &mut Found<S>,
    columns: usize,
    stores: &mut S,
    mut each: impl FnMut(&Copies, Candidate, f64),
) -> Result<(), TryReserveError> {
    let Found {
        vectors,
        candidates,
        copies,
        ..
    } = found;
    let mut vector = Vector::default();
    for record in 0..copies.records() {
        stores.check_interrupts();
        let pair = Candidate {
            a: record,
            b: record,
        };
        if copies.of(record).len() > 1 && copies.count(pair) > 0 {
            vectors.read(record, &mut vector)?;
            each(copies, pair, vector.similarity_of_equal(columns));
        }
    }
    vectors.for_each_pair(candidates, stores, |pair, a, b| {
        each(copies, pair, Pair { a, b, columns }.similarity());
    })
}

impl<S: TempStores> Found<S> {
    /// Returns what each column does for the similarity of two records.
    pub fn parts(&mut self, pair: Candidate, columns: usize) -> Result<Vec<Part>, TryReserveError> {
        let (mut a, mut b) = (Vector::default(), Vector::default());
        self.vectors.read(pair.a, &mut a)?;
        self.vectors.read(pair.b, &mut b)?;
        let (a, b) = (&a, &b);
        Ok(match pair.a == pair.b {
            true => a.parts_of_equal(columns),
            false => Pair { a, b, columns }.parts(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frequencies::Rows;
    use crate::vectors::Rating;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Stores in memory.
    #[derive(Default)]
    struct StoresInMemory {
        files: usize,
    }

    impl TempStores for StoresInMemory {
        type File = Vec<u8>;

        fn file(&mut self) -> Vec<u8> {
            self.files += 1;
            Vec::new()
        }

        fn check_interrupts(&mut self) {}
    }

    /// The features of each column.
    type Row = Vec<BTreeSet<u64>>;

    /// Returns the similarities of all pairs of rows, and how many files it took.
    fn compared(
        rows: &[Row],
        first: Option<usize>,
        (rare, rating): (usize, Rating<'_>),
        memory: usize,
    ) -> (BTreeMap<(u32, u32), f64>, usize) {
        let mut stores = StoresInMemory::default();
        let mut all = Rows::new(memory);
        for (i, row) in rows.iter().enumerate() {
            if first == Some(i) {
                all.begin_second_table();
            }
            for (column, features) in (0..).zip(row) {
                let features: Vec<u64> = features.iter().copied().collect();
                all.add(column, &features).unwrap();
            }
            all.end_row(scope(i), &mut stores).unwrap();
        }
        if first == Some(rows.len()) {
            all.begin_second_table();
        }
        let mut found = all.finish(rare, rating, &mut stores).unwrap();
        let mut alike: Vec<(Candidate, f64)> = Vec::new();
        compare(&mut found, 4, &mut stores, |_, pair, similarity| {
            alike.push((pair, similarity));
        })
        .unwrap();
        let mut pairs = BTreeMap::new();
        for (pair, similarity) in alike {
            let parts = found.parts(pair, 4).unwrap();
            let shared: f64 = parts.iter().map(|part| part.shared).sum();
            let against: f64 = parts.iter().map(|part| part.against).sum();
            assert!((shared - similarity).abs() < 1e-6, "{parts:?}");
            assert!((against - (1.0 - similarity)).abs() < 1e-6, "{parts:?}");
            found.copies.for_each(pair, |a, b| {
                let pair = (a.min(b), a.max(b));
                assert!(pairs.insert(pair, similarity).is_none());
            });
        }
        (pairs, stores.files)
    }

    /// Rows pair within their third.
    fn scope(row: usize) -> u64 {
        row as u64 % 3
    }

    fn only_rarity(rarity: f64) -> Rating<'static> {
        Rating {
            rarity,
            columns: Some(&[]),
        }
    }

    /// The same by the definition.
    fn expected(
        rows: &[Row],
        first: Option<usize>,
        (rare, rating): (usize, Rating<'_>),
    ) -> BTreeMap<(u32, u32), f64> {
        let has = |row: &Row, f: &u64| row.iter().any(|column| column.contains(f));
        let is_empty = |row: &Row| row.iter().all(BTreeSet::is_empty);
        let full = |row: &Row| -> Row {
            let mut row = row.clone();
            row.resize(4, BTreeSet::new());
            row
        };
        let records: BTreeSet<(u64, Row)> = (0..rows.len())
            .map(|i| (scope(i), full(&rows[i])))
            .filter(|(_, row)| !is_empty(row))
            .collect();
        let empty = rows.iter().filter(|row| is_empty(row)).count();
        let count = (records.len() + empty + 51) as f64;
        let mut frequencies: BTreeMap<u64, usize> = BTreeMap::new();
        for (_, row) in &records {
            for f in row.iter().flatten().collect::<BTreeSet<_>>() {
                *frequencies.entry(*f).or_default() += 1;
            }
        }
        let frequency = |f: &u64| frequencies[f];
        let weight = |f: &u64| {
            let share = if frequency(f) > 1 { 1.0 } else { 0.5 };
            share * (count / frequency(f) as f64).ln().powf(rating.rarity)
        };
        // The weight of each feature of each column.
        let vector = |row: &Row| -> Vec<BTreeMap<u64, f64>> {
            let square =
                |column: &BTreeSet<u64>| column.iter().map(|f| weight(f).powi(2)).sum::<f64>();
            let length = |column: &BTreeSet<u64>| (square(column) * column.len() as f64).powf(0.2);
            let lengths: Vec<f64> = row.iter().map(length).collect();
            let count = lengths.iter().filter(|length| **length > 0.0).count() as f64;
            let column = |(i, column): (usize, &BTreeSet<u64>)| {
                let others = lengths.iter().sum::<f64>() - lengths[i];
                let most = if count > 1.0 {
                    3.0 * others / (count - 1.0)
                } else {
                    f64::INFINITY
                };
                let scale = (lengths[i].min(most) / square(column)).sqrt();
                let scale = rating.columns.unwrap().get(i).unwrap_or(&1.0) * scale;
                column.iter().map(|f| (*f, weight(f) * scale)).collect()
            };
            row.iter().enumerate().map(column).collect()
        };
        // Whether two columns of both rows have equal values, which few rows have together.
        let all_records = (records.len() + empty) as f64;
        let shares_two = |x: &Row, y: &Row| {
            let least = |i: usize| x[i].iter().map(frequency).min().unwrap_or(0);
            let is_common = |i: usize| x[i] == y[i] && least(i) > rare;
            let together = |i: usize, j: usize| {
                let have = |(_, row): &&(u64, Row)| row[i] == x[i] && row[j] == x[j];
                let product = (least(i) * least(j)) as f64;
                product <= 4.0 * rare as f64 * all_records
                    && records.iter().filter(have).count() <= rare
            };
            let mut two = (0..4).flat_map(|j| (0..j).map(move |i| (i, j)));
            two.any(|(i, j)| is_common(i) && is_common(j) && together(i, j))
        };
        let whole = |v: &[BTreeMap<u64, f64>], f: &u64| {
            v.iter().filter_map(|column| column.get(f)).sum::<f64>()
        };
        let length = |v: &[BTreeMap<u64, f64>], w: &[BTreeMap<u64, f64>]| {
            let mut square = 0.0;
            for (column, other) in v.iter().zip(w) {
                for (f, weight) in column {
                    let counts = !other.is_empty() || whole(w, f) > 0.0;
                    square += if counts { 1.0 } else { 0.75 } * weight * whole(v, f);
                }
            }
            square.sqrt()
        };
        let mut pairs = BTreeMap::new();
        for b in 0..rows.len() {
            for a in 0..b {
                let apart = first.is_some_and(|first| (a < first) == (b < first));
                let (x, y) = (full(&rows[a]), full(&rows[b]));
                let all: BTreeSet<u64> = x.iter().flatten().copied().collect();
                let common: Vec<u64> = all.into_iter().filter(|f| has(&y, f)).collect();
                let is_candidate =
                    x == y || common.iter().any(|f| frequency(f) <= rare) || shares_two(&x, &y);
                if apart || scope(a) != scope(b) || is_empty(&x) || !is_candidate {
                    continue;
                }
                let (v, w) = (vector(&x), vector(&y));
                let product: f64 = common.iter().map(|f| whole(&v, f) * whole(&w, f)).sum();
                let is_lone =
                    |row: &Row| row.iter().filter(|column| !column.is_empty()).count() == 1;
                let times = if is_lone(&x) && is_lone(&y) { 0.9 } else { 1.0 };
                let similarity = times * product / (length(&v, &w) * length(&w, &v));
                pairs.insert((a as u32, b as u32), similarity);
            }
        }
        pairs
    }

    proptest! {
        #[test]
        fn candidates_are_compared_by_the_definition(
            rows in prop::collection::vec(
                prop::collection::vec(prop_oneof![prop::collection::btree_set(0u64..60, 0..9),
                    prop::collection::btree_set(60u64..63, 1..2)], 0..4), 0..50),
            first in prop::option::of(0usize..50), rare in 0usize..12, rarity in 0u8..4,
            memory in 0usize..4000,
        ) {
            let first = first.map(|first| first.min(rows.len()));
            let columns = [1.0, 3.0, 0.5];
            let settings = (rare, Rating { rarity: f64::from(rarity) / 2.0, columns: Some(&columns) });
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
        let row: Row = vec![(0..37).collect(), (30..33).collect()];
        let other: Row = vec![(3..60).collect(), (3..4).collect()];
        let row_of = |i| {
            if i % 3 == 0 {
                row.clone()
            } else {
                other.clone()
            }
        };
        let rows: Vec<Row> = (0..40).map(row_of).collect();
        // Copies are more than are rare.
        let (found, _) = compared(&rows, None, (2, only_rarity(2.0)), 1 << 20);
        assert_eq!(found.len(), 14 * 13 / 2 + 2 * (13 * 12 / 2));
        assert!(found.values().all(|similarity| *similarity == 1.0));
    }

    #[test]
    fn one_value_of_several_says_little() {
        let (name, town): (BTreeSet<u64>, BTreeSet<u64>) = ((0..5).collect(), (6..7).collect());
        let rows: [Row; 3] = [vec![name.clone()], vec![name.clone()], vec![name, town]];
        let mut all = Rows::new(1 << 20);
        for row in &rows {
            for (column, features) in (0..).zip(row) {
                let features: Vec<u64> = BTreeSet::iter(features).copied().collect();
                all.add(column, &features).unwrap();
            }
            all.end_row(0, &mut StoresInMemory::default()).unwrap();
        }
        let mut stores = StoresInMemory::default();
        let mut found = all.finish(30, only_rarity(2.0), &mut stores).unwrap();
        for (columns, equal) in [(2, 0.9), (1, 1.0), (0, 1.0)] {
            let pair = Candidate { a: 0, b: 0 };
            let parts = found.parts(pair, columns).unwrap();
            assert_eq!(parts[0].shared, equal);
        }
        let mut similarities = Vec::new();
        compare(&mut found, 2, &mut stores, |_, pair, s| {
            similarities.push((pair.b, s))
        })
        .unwrap();
        assert!(
            similarities[0] == (0, 0.9) && similarities[1].1 < 1.0,
            "{similarities:?}"
        );
    }

    #[test]
    fn what_differs_in_a_column_is_no_pair() {
        // Rows that share all but a value which two of them lack.
        let values = [[1, 0], [3, 0], [0, 0], [1, 5], [1, 7], [0, 0]];
        let mut stores = StoresInMemory::default();
        let mut all = Rows::new(1 << 20);
        for (i, value) in values.iter().enumerate() {
            all.add(0, &[1, 2, 3, 10 + i as u64 % 5]).unwrap();
            all.differ().extend(value);
            all.end_row(0, &mut stores).unwrap();
        }
        let mut found = all.finish(30, only_rarity(2.0), &mut stores).unwrap();
        let mut pairs = Vec::new();
        compare(&mut found, 1, &mut stores, |_, pair, _| {
            pairs.push((pair.a, pair.b))
        })
        .unwrap();
        let differ = [(0, 1), (1, 3), (1, 4), (3, 4)];
        let expected: Vec<_> = (0..6)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .filter(|pair| !differ.contains(pair))
            .collect();
        pairs.sort_by_key(|(a, b)| (*b, *a));
        assert_eq!(pairs, expected);
    }

    #[test]
    fn one_long_row_among_short_ones() {
        let long = 8192;
        let short = |i: u64| vec![(i * 3..i * 3 + 5).collect()];
        let mut rows: Vec<Row> = (0..200).map(short).collect();
        rows.insert(70, vec![(0..long).collect()]);
        let (found, _) = compared(&rows, None, (10, only_rarity(2.0)), 1 << 22);
        let expected = expected(&rows, None, (10, only_rarity(2.0)));
        assert!(found.keys().eq(expected.keys()));
        let differ =
            |(pair, similarity): (&(u32, u32), &f64)| (similarity - expected[pair]).abs() > 1e-5;
        assert!(!found.iter().any(differ));
    }

    #[test]
    fn what_memory_does_not_hold_is_in_files() {
        let rows: Vec<Row> = (0..300u64).map(|i| vec![(i..i + 40).collect()]).collect();
        let (in_memory, no_files) = compared(&rows, None, (40, only_rarity(2.0)), 1 << 22);
        let (in_files, files) = compared(&rows, None, (40, only_rarity(2.0)), 0);
        assert_eq!((no_files, files), (0, 4));
        assert_eq!(in_memory, in_files);
        assert!(in_memory.len() > 3000);
    }
}
