//! Pairs of rows of different sets against brute force: in memory, through files, of one side and
//! of two, of fingerprints and of longer hashes.

use super::file::Gathered;
use super::parts::find_pairs;
use super::sets::UnionFind;
use super::sink::{Row, set};
use super::tests::{TestSink, mixed, near_copies};
use crate::parts::{Hashes, distance};
use proptest::prelude::*;

type Found = Vec<(u64, u64, u32)>;

fn sink(two_sides: bool) -> TestSink {
    TestSink {
        across: true,
        two_sides,
        ..TestSink::default()
    }
}

/// Rows of these fingerprints, each in a set that its number decides.
fn rows(fingerprints: &[u64], set_of: impl Fn(u64) -> u64) -> Vec<Row> {
    let row = |(i, fingerprint): (u64, &u64)| Row {
        fingerprint: *fingerprint,
        tag: set_of(i) << u32::BITS | i,
    };
    (0..).zip(fingerprints).map(row).collect()
}

fn search<const N: usize>(sides: [&[Row]; N], radius: u32, memory: usize) -> (Found, usize) {
    let mut sink = sink(N == 2);
    let mut gathered = Gathered::<_, N>::new(memory);
    for (side, rows) in sides.iter().enumerate() {
        for row in *rows {
            gathered.add(side, *row, &mut sink).unwrap();
        }
    }
    gathered.find_pairs(&mut sink, radius);
    sink.pairs.sort_unstable();
    (sink.pairs, sink.files)
}

/// The pairs of one side, or of two, by comparing all.
fn brute_force<const N: usize>(sides: [&[Row]; N], radius: u32) -> Found {
    let mut pairs = Found::new();
    for (i, a) in sides[0].iter().enumerate() {
        for b in &sides[N - 1][if N == 1 { i + 1 } else { 0 }..] {
            let distance = (a.fingerprint ^ b.fingerprint).count_ones();
            if distance <= radius && set(a) != set(b) {
                let (a, b) = match N {
                    1 => (a.tag.min(b.tag), a.tag.max(b.tag)),
                    _ => (a.tag, b.tag),
                };
                pairs.push((a, b, distance));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn check<const N: usize>(sides: [&[Row]; N], what: &str) {
    for radius in [0, 1, 3, 5, 8, 64] {
        if radius == 64 && sides[0].len() > 1000 {
            continue;
        }
        let expected = brute_force(sides, radius);
        let (found, files) = search(sides, radius, 1 << 20);
        assert!(found == expected, "{what}: radius {radius}");
        assert_eq!(files, 0);
        let (found, _) = search(sides, radius, 1);
        assert!(found == expected, "{what}: radius {radius}, in files");
    }
}

#[test]
fn sets_of_every_kind() {
    let mut videos = near_copies(5000, 700, 6, u64::MAX, 1);
    videos.extend([0; 500]);
    let kinds: [(&str, &dyn Fn(u64) -> u64); 5] = [
        ("each row alone", &|i| i),
        ("all in one", &|_| 7),
        ("sixty rows", &|i| i / 60),
        ("one large set", &|i| {
            if i % 10 == 0 { i } else { u64::from(u32::MAX) }
        }),
        ("two sets", &|i| i % 2),
    ];
    for (what, set_of) in kinds {
        let rows = rows(&videos, set_of);
        check([&rows], what);
        let (left, right) = rows.split_at(2500);
        check([left, right], what);
    }
    let skewed = near_copies(5000, 400, 5, 0xFFFF_0000_0000_FFFF, 2);
    check([&rows(&skewed, |i| i / 100)], "two pieces constant");
}

/// The pairs that do not count are not compared: there are 2e10 of them.
#[test]
fn equal_rows_of_a_large_set() {
    let mut fingerprints = vec![5; 200_000];
    fingerprints.extend((1..1000).map(mixed));
    let set_of = |i| u64::from(i % 100_000 != 0);
    let (found, _) = search([&rows(&fingerprints, set_of)], 3, 1 << 24);
    // The two rows of another set with all others of the value.
    assert_eq!(found.len(), 2 * (200_000 - 2));
}

/// The smallest tag that each row is connected with.
fn components(rows: &[Row], pairs: &Found) -> Vec<u64> {
    let mut tags: Vec<u64> = rows.iter().map(|row| row.tag).collect();
    tags.sort_unstable();
    let mut sets = UnionFind::new();
    for _ in &tags {
        sets.add().unwrap();
    }
    let place = |tag: u64| tags.binary_search(&tag).unwrap() as u32;
    for (a, b, _) in pairs {
        sets.union(place(*a), place(*b));
    }
    (0..tags.len() as u32)
        .map(|row| tags[sets.find(row) as usize])
        .collect()
}

/// Where only connections matter, fewer pairs connect the same rows.
fn check_connected(rows: &[Row], radius: u32, memory: usize) -> usize {
    let mut sink = TestSink {
        distinct: true,
        ..sink(false)
    };
    let mut gathered = Gathered::<_, 1>::new(memory);
    for row in rows {
        gathered.add(0, *row, &mut sink).unwrap();
    }
    gathered.find_pairs(&mut sink, radius);
    let expected = brute_force([rows], radius);
    assert!(
        sink.pairs
            .iter()
            .all(|pair| expected.binary_search(pair).is_ok())
    );
    assert!(
        components(rows, &sink.pairs) == components(rows, &expected),
        "radius {radius}, {memory} bytes"
    );
    sink.pairs.len()
}

#[test]
fn connected_rows_of_sets() {
    let videos = near_copies(5000, 700, 6, u64::MAX, 1);
    for memory in [1, 1 << 20] {
        for radius in [0, 3] {
            check_connected(&rows(&videos, |i| i / 60), radius, memory);
            check_connected(&rows(&videos, |i| i % 2), radius, memory);
            check_connected(&rows(&[9; 5000], |_| 7), radius, memory);
        }
        // Black frames: each of another video but for some.
        let black = rows(&[9; 5000], |i| i.max(300));
        assert_eq!(check_connected(&black, 3, memory), 5000);
        let near: Vec<u64> = (0..5000).map(|i| 1 << (i % 4)).collect();
        assert!(check_connected(&rows(&near, |i| i / 3), 3, memory) < 5100);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_rows(
        count in 0usize..900, originals in 1u64..200, flips in 0u32..9, sets in 1u64..90, seed: u64, radius in 0u32..12,
    ) {
        let rows = rows(&near_copies(count, originals, flips, u64::MAX, seed), |i| mixed(i) % sets);
        prop_assert!(search([&rows], radius, 1 << 20).0 == brute_force([&rows], radius));
        check_connected(&rows, radius, 1 << 20);
        let (left, right) = rows.split_at(count / 3);
        prop_assert!(search([left, right], radius, 1 << 20).0 == brute_force([left, right], radius));
    }

    #[test]
    fn longer_hashes(
        values in prop::collection::vec(prop::array::uniform3(0u64..4), 0..60), sets in 1u64..9, radius in 0u32..8,
    ) {
        let mut hashes = Hashes::default();
        for value in &values {
            hashes.add(value.iter().copied()).unwrap();
        }
        let numbers: Vec<u64> = (0..values.len() as u64).collect();
        let rows = rows(&numbers, |i| mixed(i) % sets);
        let wanted = |pairs: &mut dyn Iterator<Item = (&Row, &Row)>| {
            let mut found: Found = pairs
                .map(|(a, b)| (a.tag, b.tag, distance(hashes.get(a.fingerprint), hashes.get(b.fingerprint)), set(a) != set(b)))
                .filter(|pair| pair.2 <= radius && pair.3)
                .map(|pair| (pair.0, pair.1, pair.2))
                .collect();
            found.sort_unstable();
            found
        };
        let mut of_one = sink(false);
        find_pairs([&hashes], [&mut rows.clone()], &mut of_one, radius).unwrap();
        of_one.pairs.sort_unstable();
        let mut sorted = rows.clone();
        sorted.sort_unstable_by_key(|row| row.tag);
        let pairs = sorted.iter().enumerate().flat_map(|(i, a)| sorted[i + 1..].iter().map(move |b| (a, b)));
        let all = wanted(&mut pairs.into_iter());
        prop_assert_eq!(&of_one.pairs, &all);
        let mut connected = TestSink { distinct: true, ..sink(false) };
        find_pairs([&hashes], [&mut rows.clone()], &mut connected, radius).unwrap();
        prop_assert!(connected.pairs.iter().all(|pair| all.binary_search(pair).is_ok()));
        prop_assert_eq!(components(&rows, &connected.pairs), components(&rows, &all));
        let (mut left, mut right) = (rows.clone(), rows.clone());
        let (mut left, mut right) = (left.split_off(rows.len() / 2), { right.truncate(rows.len() / 2); right });
        let expected = {
            let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
            wanted(&mut pairs.into_iter())
        };
        let mut of_two = sink(true);
        find_pairs([&hashes, &hashes], [&mut left, &mut right], &mut of_two, radius).unwrap();
        of_two.pairs.sort_unstable();
        prop_assert_eq!(of_two.pairs, expected);
    }
}
