//! Samples of all rows count all pairs; those of some draw pairs of their rows; memory is counted.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const PLACE: GroupAndSet = GroupAndSet {
    group: 0,
    set: None,
};

fn key(row: usize) -> Vec<u8> {
    format!("row {row}").into_bytes()
}

fn sampled(rows: &[u64], sample: usize, max: u32) -> Sample {
    sampled_hashes(rows, sample, max, |row| Hash::Fingerprint(*row))
}

fn sampled_hashes(rows: &[u64], sample: usize, max: u32, hash: impl Fn(&u64) -> Hash) -> Sample {
    let mut drawing = Drawing::new(sample, max, 1 << 24, Random::new(3));
    for (row, fingerprint) in rows.iter().enumerate() {
        drawing.add(hash(fingerprint), PLACE, &key(row)).unwrap();
    }
    assert_eq!(drawing.read(), rows.len() as u64);
    let mut sample = drawing.finish(&mut || ()).unwrap();
    // In another order: a relation need not be read in the same one.
    for (row, fingerprint) in rows.iter().enumerate().rev() {
        sample.meet(&hash(fingerprint), PLACE, &key(row)).unwrap();
    }
    sample
}

type Found = BTreeSet<[Vec<u8>; 2]>;

fn brute_force(rows: &[u64], distance: u32) -> Found {
    let mut found = Found::new();
    for (a, x) in rows.iter().enumerate() {
        for (b, y) in rows.iter().enumerate().skip(a + 1) {
            if (x ^ y).count_ones() == distance {
                let mut pair = [key(a), key(b)];
                pair.sort();
                found.insert(pair);
            }
        }
    }
    found
}

fn drawn(sample: &Sample, distance: u32) -> Found {
    let mut found = Found::new();
    for pair in sample.drawn(distance as usize) {
        let mut pair = pair.map(<[u8]>::to_vec);
        pair.sort();
        assert!(found.insert(pair), "a pair comes twice");
    }
    found
}

proptest! {
    #[test]
    fn a_sample_of_all_rows_counts_all_pairs(
        rows in prop::collection::vec(0u64..1 << 7, 0..120), max in 0u32..8, more in 0usize..3, in_parts: bool,
    ) {
        // The same bits, of which some are in another part.
        let in_two = |row: &u64| Hash::Parts([row & 5, !(row & !5), 9].into());
        let sample = match in_parts {
            true => sampled_hashes(&rows, rows.len() + more, max, in_two),
            false => sampled(&rows, rows.len() + more, max),
        };
        for distance in 0..=max {
            let pairs = brute_force(&rows, distance);
            let found = sample.estimate(distance as usize);
            prop_assert_eq!(found.pairs, pairs.len() as f64);
            prop_assert_eq!((found.low, found.high), (found.pairs, found.pairs));
            let drawn = drawn(&sample, distance);
            prop_assert_eq!(drawn.len(), pairs.len().min(DRAWN));
            prop_assert!(drawn.is_subset(&pairs));
        }
    }

    #[test]
    fn a_sample_draws_pairs_of_its_rows(
        rows in prop::collection::vec(0u64..1 << 7, 2..120), max in 0u32..8, size in 1usize..40,
    ) {
        let sample = sampled(&rows, size, max);
        let keys: BTreeSet<Vec<u8>> = sample.rows.iter().map(|row| row.key.clone()).collect();
        prop_assert_eq!(keys.len(), size.min(rows.len()));
        for distance in 0..=max {
            let mut pairs = brute_force(&rows, distance);
            pairs.retain(|pair| pair.iter().any(|key| keys.contains(key)));
            let drawn = drawn(&sample, distance);
            prop_assert_eq!(drawn.len(), pairs.len().min(DRAWN));
            prop_assert!(drawn.is_subset(&pairs));
        }
    }
}

/// Pairs of rows of one group, and of different sets.
#[test]
fn groups_and_sets() {
    let rows: Vec<u64> = (0..300).map(|row| row % 7).collect();
    let place = |row: usize| GroupAndSet {
        group: row as u32 % 2,
        // Some rows are in no set with another.
        set: (!row.is_multiple_of(11)).then_some(row as u32 / 50),
    };
    for is_across in [false, true] {
        let mut drawing = Drawing::new(300, 64, 1 << 24, Random::new(1)).across(is_across);
        for (row, fingerprint) in rows.iter().enumerate() {
            drawing
                .add(Hash::Fingerprint(*fingerprint), place(row), &key(row))
                .unwrap();
        }
        let mut sample = drawing.finish(&mut || ()).unwrap();
        for (row, fingerprint) in rows.iter().enumerate() {
            sample
                .meet(&Hash::Fingerprint(*fingerprint), place(row), &key(row))
                .unwrap();
        }
        for distance in 0..4 {
            let pairs = (0..300).flat_map(|a| (0..a).map(move |b| (a, b)));
            let truth = pairs.filter(|(a, b)| {
                let (one, two) = (place(*a), place(*b));
                one.group == two.group
                    && !(is_across && one.set.is_some() && one.set == two.set)
                    && (rows[*a] ^ rows[*b]).count_ones() == distance
            });
            let found = sample.estimate(distance as usize);
            assert_eq!(found.pairs, truth.count() as f64);
        }
    }
}

/// More rows than a tile of the comparison holds, most of them equal.
#[test]
fn equal_rows_are_counts() {
    let rows: Vec<u64> = (0..5000).map(|row| u64::from(row % 10 == 0)).collect();
    let sample = sampled(&rows, 3000, 1);
    let (equal, near) = (sample.estimate(0), sample.estimate(1));
    let truth = (4500.0 * 4499.0 + 500.0 * 499.0) / 2.0;
    assert!((equal.low..=equal.high).contains(&truth), "{equal:?}");
    assert!(
        (near.low..=near.high).contains(&(4500.0 * 500.0)),
        "{near:?}"
    );
    assert!((equal.pairs / truth - 1.0).abs() < 0.01, "{equal:?}");
}

#[test]
fn rows_of_one_key_are_refused() {
    for (first, second) in [(5, 5), (5, 4)] {
        let mut drawing = Drawing::new(1, 3, 1000, Random::new(1));
        drawing
            .add(Hash::Fingerprint(first), PLACE, b"one")
            .unwrap();
        let mut sample = drawing.finish(&mut || ()).unwrap();
        sample
            .meet(&Hash::Fingerprint(first), PLACE, b"one")
            .unwrap();
        assert_eq!(
            sample.meet(&Hash::Fingerprint(second), PLACE, b"one"),
            Err(Error::SameKey)
        );
    }
    let mut drawing = Drawing::new(2, 3, 1000, Random::new(1));
    drawing.add(Hash::Fingerprint(1), PLACE, b"one").unwrap();
    drawing.add(Hash::Fingerprint(2), PLACE, b"one").unwrap();
    assert_eq!(drawing.finish(&mut || ()).err(), Some(Error::SameKey));
}

#[test]
fn hashes_of_two_lengths_are_refused() {
    let hash = |parts: &[u64]| Hash::Parts(parts.into());
    let mut drawing = Drawing::new(3, 3, 1000, Random::new(1));
    drawing.add(hash(&[1, 2]), PLACE, b"one").unwrap();
    let (found, expected) = (3, 2);
    let refused = Err(Error::PartCount { found, expected });
    assert_eq!(drawing.add(hash(&[1, 2, 3]), PLACE, b"two"), refused);
    let mut sample = drawing.finish(&mut || ()).unwrap();
    assert_eq!(sample.meet(&hash(&[1, 2, 3]), PLACE, b"two"), refused);
}

#[test]
fn memory_is_counted() {
    let mut drawing = Drawing::new(10, 0, 500, Random::new(1));
    let refused = (0..10).find(|row| {
        drawing
            .add(Hash::Fingerprint(1), PLACE, &key(*row))
            .is_err()
    });
    assert!(refused.is_some_and(|row| row > 3), "{refused:?}");
    // A row that makes way for another gives its bytes back.
    let mut drawing = Drawing::new(3, 0, 1000, Random::new(1));
    (0..1000).for_each(|row| drawing.add(Hash::Fingerprint(1), PLACE, &key(row)).unwrap());
    let mut sample = drawing.finish(&mut || ()).unwrap();
    let refused =
        (0..1000).find_map(|row| sample.meet(&Hash::Fingerprint(1), PLACE, &key(row)).err());
    assert_eq!(refused, Some(Error::SampleTooLarge));
}
