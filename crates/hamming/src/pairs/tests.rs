//! All pairs against brute force: in memory and through files, on random, skewed and absurd rows.

use super::file::Gathered;
use super::find::Finder;
use super::sink::{PairSink, Row};
use super::split::Task;
use proptest::prelude::*;

/// Collects what is found.
#[derive(Default)]
pub(super) struct TestSink {
    pub(super) transitive: bool,
    pub(super) distinct: bool,
    /// Whether pairs of rows of one set do not count.
    pub(super) across: bool,
    /// Whether pairs come in the order of their sides.
    pub(super) two_sides: bool,
    pub(super) pairs: Vec<(u64, u64, u32)>,
    pub(super) files: usize,
    pub(super) progress: f64,
    pub(super) reports: usize,
    pub(super) pauses: usize,
}

impl PairSink for TestSink {
    type File = Vec<u8>;

    fn file(&mut self) -> Vec<u8> {
        self.files += 1;
        Vec::new()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let (a, b) = match self.two_sides {
            true => (a, b),
            false => (a.min(b), a.max(b)),
        };
        self.pairs.push((a, b, distance));
    }

    fn is_transitive(&self) -> bool {
        self.transitive
    }

    fn wants_distinct(&self) -> bool {
        self.distinct
    }

    fn is_across(&self) -> bool {
        self.across
    }

    fn check_interrupts(&mut self) {
        self.pauses += 1;
    }

    fn progress(&mut self, share: f64) {
        assert!(share >= self.progress && share <= 1.0);
        self.progress = share;
        self.reports += 1;
    }
}

pub(super) fn rows(fingerprints: &[u64]) -> Vec<Row> {
    let row = |(i, fp): (usize, &u64)| Row {
        fingerprint: *fp,
        tag: i as u64,
    };
    fingerprints.iter().enumerate().map(row).collect()
}

fn find_pairs(collector: &mut TestSink, radius: u32, rows: &mut [Row]) {
    Finder::new(collector, radius).pairs_in([rows], Task::ALL);
}

pub(super) fn in_memory(fingerprints: &[u64], radius: u32) -> Vec<(u64, u64, u32)> {
    let mut sink = TestSink::default();
    find_pairs(&mut sink, radius, &mut rows(fingerprints));
    sink.pairs.sort();
    sink.pairs
}

/// Searches with `memory` bytes, and looks whether all rows are still there afterwards.
pub(super) fn search(fingerprints: &[u64], radius: u32, memory: usize, sink: &mut TestSink) {
    let mut gathered = Gathered::<_, 1>::new(memory);
    for row in rows(fingerprints) {
        gathered.add(0, row, sink).unwrap();
    }
    gathered.find_pairs(sink, radius);
    let mut seen = Vec::new();
    gathered.for_each(&mut || (), |row| seen.push(row));
    seen.sort_by_key(|row| row.tag);
    assert_eq!(seen, rows(fingerprints), "every row is still there");
}

/// Searches with `memory` bytes; also returns how many files were used.
pub(super) fn with_files(
    fingerprints: &[u64],
    radius: u32,
    memory: usize,
) -> (Vec<(u64, u64, u32)>, usize) {
    let mut sink = TestSink::default();
    search(fingerprints, radius, memory, &mut sink);
    sink.pairs.sort();
    (sink.pairs, sink.files)
}

/// Searches two sides with `memory` bytes; the rows come in turns. Also returns how many files were
/// used.
pub(super) fn across(
    sides: [&[u64]; 2],
    radius: u32,
    memory: usize,
) -> (Vec<(u64, u64, u32)>, usize) {
    // What a sink asks for with one side does not count.
    let mut sink = TestSink {
        two_sides: true,
        transitive: true,
        distinct: true,
        ..TestSink::default()
    };
    let mut gathered = Gathered::<_, 2>::new(memory);
    let both = sides.map(rows);
    for i in 0..both[0].len().max(both[1].len()) {
        for (side, rows) in both.iter().enumerate() {
            if let Some(row) = rows.get(i) {
                gathered.add(side, *row, &mut sink).unwrap();
            }
        }
    }
    gathered.find_pairs(&mut sink, radius);
    let mut seen = 0;
    gathered.for_each(&mut || (), |_| seen += 1);
    assert_eq!(seen, sides[0].len() + sides[1].len());
    sink.pairs.sort();
    (sink.pairs, sink.files)
}

pub(super) fn brute_force_across(sides: [&[u64]; 2], radius: u32) -> Vec<(u64, u64, u32)> {
    let mut pairs = Vec::new();
    for (i, x) in sides[0].iter().enumerate() {
        for (j, y) in sides[1].iter().enumerate() {
            let distance = (x ^ y).count_ones();
            if distance <= radius {
                pairs.push((i as u64, j as u64, distance));
            }
        }
    }
    pairs
}

fn check_across(left: &[u64], right: &[u64], what: &str) {
    for radius in (0..=8).chain([13, 64]) {
        if radius == 64 && left.len() * right.len() > 1 << 21 {
            continue;
        }
        for sides in [[left, right], [right, left]] {
            let (found, files) = across(sides, radius, 1 << 20);
            assert!(
                found == brute_force_across(sides, radius),
                "{what}: radius {radius}"
            );
            assert_eq!(files, 0);
        }
    }
}

pub(super) fn brute_force(fingerprints: &[u64], radius: u32) -> Vec<(u64, u64, u32)> {
    let mut pairs = Vec::new();
    for (i, x) in fingerprints.iter().enumerate() {
        for (j, y) in fingerprints.iter().enumerate().skip(i + 1) {
            let distance = (x ^ y).count_ones();
            if distance <= radius {
                pairs.push((i as u64, j as u64, distance));
            }
        }
    }
    pairs
}

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(super) fn mixed(seed: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Rows of which many are near others: copies of a few with bits of `mask` turned over.
pub(super) fn near_copies(
    count: usize,
    originals: u64,
    flips: u32,
    mask: u64,
    seed: u64,
) -> Vec<u64> {
    (0..count as u64)
        .map(|i| {
            let draw = mixed(seed ^ i << 20);
            let flip = |fp, f: u32| fp ^ 1 << (mixed(draw + u64::from(f)) % 64);
            let copy = (0..draw as u32 % (flips + 1)).fold(mixed(draw % originals), flip);
            copy & mask
        })
        .collect()
}

fn check(fingerprints: &[u64], what: &str) {
    for radius in (0..=8).chain([13, 64]) {
        if radius == 64 && fingerprints.len() > 2000 {
            continue;
        }
        let expected = brute_force(fingerprints, radius);
        assert!(
            in_memory(fingerprints, radius) == expected,
            "{what}: radius {radius}"
        );
    }
}

#[test]
fn sets_of_every_kind() {
    check(&[], "nothing");
    check(&[7], "one row");
    check(&[7; 700], "one value");
    check(&(0..2048).collect::<Vec<_>>(), "a subcube of 11 bits");
    check(
        &(0..2500).map(|i| mixed(i) & 0xFFF).collect::<Vec<_>>(),
        "12 bits that vary",
    );
    check(
        &(0..2500)
            .map(|i| mixed(i) & 0x0101_0101_0101_0101)
            .collect::<Vec<_>>(),
        "8 bits spread",
    );
    check(
        &(0..64).map(|i| 1 << i).collect::<Vec<u64>>(),
        "single bits",
    );
    check(&(0..3000).map(mixed).collect::<Vec<_>>(), "random");
    check(&near_copies(4000, 1000, 9, u64::MAX, 1), "near-copies");
    check(&near_copies(4000, 3, 12, u64::MAX, 2), "three balls");
    check(
        &near_copies(4000, 4000, 4, 0xFFFF_0000_0000_FFFF, 3),
        "two pieces constant",
    );
    check(
        &near_copies(3000, 500, 5, 0xFFFF_FFFF_FFFF, 4),
        "one piece constant",
    );
    check(
        &near_copies(3000, 500, 5, !0xFFFF, 5),
        "the last piece constant",
    );
    let mut masses = vec![5; 900];
    masses.extend(vec![!5; 900]);
    masses.extend(near_copies(2000, 400, 6, u64::MAX, 6));
    check(&masses, "masses of equal rows among others");
}

#[test]
fn files_find_the_same() {
    for (seed, mask) in [
        (1, u64::MAX),
        (2, 0xFFFF_FFFF_FFFF),
        (3, !0xFFF0),
        (4, 0xFFFF),
    ] {
        let mut fingerprints = near_copies(9000, 2000, 7, mask, seed);
        fingerprints.extend(vec![mask & 77; 150]);
        for radius in [0, 1, 3, 5, 8] {
            let expected = in_memory(&fingerprints, radius);
            let (found, files) = with_files(&fingerprints, radius, 1);
            assert!(found == expected, "seed {seed} radius {radius}");
            assert!(files > 0);
        }
    }
    let same = vec![9; 4500];
    assert!(with_files(&same, 3, 1).0.len() == 4500 * 4499 / 2);
    assert_eq!(
        with_files(&(0..50).collect::<Vec<_>>(), 0, 1 << 20),
        (Vec::new(), 0)
    );
}

#[test]
fn two_sides_of_every_kind() {
    let random: Vec<u64> = (0..1200).map(mixed).collect();
    check_across(&[], &random, "nothing");
    check_across(&random[7..8], &random, "one row");
    check_across(&random, &random, "the same rows twice");
    check_across(&[7; 700], &[7; 500], "one value on both sides");
    check_across(&[7; 700], &[8; 500], "one value on each side");
    let copies = |seed| near_copies(1200, 300, 9, u64::MAX, seed);
    check_across(&copies(1), &copies(1)[..90], "near-copies of the same rows");
    check_across(
        &near_copies(900, 3, 12, u64::MAX, 2),
        &near_copies(700, 3, 9, u64::MAX, 2),
        "three balls",
    );
    let skewed = near_copies(1500, 400, 6, 0xFFFF_0000_0000_FFFF, 3);
    check_across(&skewed, &copies(3), "two pieces constant on one side");
    check_across(&skewed, &skewed[..900], "two pieces constant");
    let mut masses = near_copies(700, 200, 6, u64::MAX, 6);
    let others = [&masses[..], &[5; 40], &[!5; 600]].concat();
    masses.extend([5; 500]);
    masses.extend([!5; 3]);
    check_across(&masses, &others, "masses of equal rows among others");
}

#[test]
fn files_find_the_same_across() {
    for (seed, mask) in [(1, u64::MAX), (2, 0xFFFF_FFFF_FFFF), (4, 0xFFFF)] {
        let mut left = near_copies(3000, 1000, 7, mask, seed);
        left.extend([mask & 77; 70]);
        let mut right = near_copies(2500, 1000, 7, mask, seed);
        right.extend([mask & 77; 90]);
        for sides in [[&left[..], &right[..]], [&left, &right[..1300]]] {
            for radius in [0, 3, 5, 8] {
                let (found, files) = across(sides, radius, 1);
                assert!(
                    found == brute_force_across(sides, radius),
                    "seed {seed} radius {radius}"
                );
                assert!(files > 0);
            }
        }
    }
    let (found, files) = across([&[9; 900], &[9; 4000]], 3, 1);
    assert!(found.len() == 900 * 4000 && files > 0);
    let (found, _) = across([&[9; 900], &[!9; 4000]], 64, 1);
    assert!(found.len() == 900 * 4000);
}

/// Rows of one group do not come back in the next, in memory or in files, and one that needs files
/// leaves memory for the next.
#[test]
fn groups_follow_each_other() {
    let mut sink = TestSink::default();
    let mut gathered = Gathered::<_, 1>::new(1);
    for (seed, count) in [(1, 500), (2, 9000), (3, 0), (4, 1), (5, 4000), (6, 9000)] {
        let fingerprints = near_copies(count, 900, 5, u64::MAX, seed);
        let before = sink.files;
        for row in rows(&fingerprints) {
            gathered.add(0, row, &mut sink).unwrap();
        }
        gathered.find_pairs(&mut sink, 3);
        gathered.clear();
        sink.progress = 0.0;
        let mut found = std::mem::take(&mut sink.pairs);
        found.sort();
        assert!(found == brute_force(&fingerprints, 3), "group {seed}");
        assert_eq!(sink.files > before, count == 9000);
    }
}

/// Each equal row comes in one pair, with the first of them at the end, and no pair of others is
/// lost.
#[test]
fn equal_rows_stand_for_each_other() {
    let mut fingerprints = near_copies(6000, 800, 5, u64::MAX, 8);
    fingerprints.extend([77; 5000]);
    fingerprints.extend([76; 3]);
    for (radius, memory) in [(0, 1 << 20), (3, 1 << 20), (3, 1), (5, 1), (64, 1 << 30)] {
        let some = if radius == 64 {
            300
        } else {
            fingerprints.len()
        };
        let fingerprints = &fingerprints[fingerprints.len() - some..];
        let mut sink = TestSink {
            distinct: true,
            ..TestSink::default()
        };
        search(fingerprints, radius, memory, &mut sink);
        assert_eq!(sink.files > 0, memory == 1);
        let mut first: Vec<usize> = (0..fingerprints.len()).collect();
        let (equal, others): (Vec<_>, Vec<_>) = sink.pairs.iter().partition(|pair| pair.2 == 0);
        for (a, b, _) in &equal {
            first[*b as usize] = first[*a as usize];
        }
        let mut firsts: Vec<usize> = Vec::new();
        for (row, first) in first.iter().enumerate() {
            assert_eq!(fingerprints[row], fingerprints[*first]);
            if row == *first {
                firsts.push(row);
            }
        }
        let distinct: Vec<u64> = firsts.iter().map(|row| fingerprints[*row]).collect();
        assert_eq!(equal.len(), fingerprints.len() - distinct.len());
        let mut found: Vec<_> = others
            .iter()
            .map(|(a, b, distance)| (*a as usize, *b as usize, *distance))
            .collect();
        found.sort();
        let expected: Vec<_> = brute_force(&distinct, radius)
            .into_iter()
            .map(|(a, b, distance)| (firsts[a as usize], firsts[b as usize], distance))
            .collect();
        assert!(found == expected, "radius {radius}, {memory} bytes");
    }
}

#[test]
fn every_pass_over_the_rows_pauses() {
    // Rows that are far apart, so that nearly all work is moving them: in memory, 65,536 at most
    // between two pauses; in files, 64.
    let count = 400_000;
    let fingerprints: Vec<u64> = (0..count as u64).map(mixed).collect();
    let mut sink = TestSink::default();
    find_pairs(&mut sink, 0, &mut rows(&fingerprints));
    assert!(
        sink.pauses >= 3 * (count >> 16),
        "looked at, counted, moved: {}",
        sink.pauses
    );
    let mut sink = TestSink::default();
    let mut gathered = Gathered::<_, 1>::new(1);
    for row in rows(&fingerprints) {
        gathered.add(0, row, &mut sink).unwrap();
    }
    assert!(
        sink.pauses >= 4096 / 64,
        "the first to the file: {}",
        sink.pauses
    );
    let before = sink.pauses;
    gathered.find_pairs(&mut sink, 0);
    let pauses = sink.pauses - before;
    assert!(pauses >= 2 * count / 64, "divided, read again: {pauses}");
    let mut pauses = 0;
    gathered.for_each(&mut || pauses += 1, |_| ());
    assert_eq!(pauses, count / 64);
}

/// Progress is reported also where rows are compared without being divided.
#[test]
fn one_large_comparison_reports_progress() {
    let fingerprints: Vec<u64> = (0..9000).map(mixed).collect();
    for memory in [1, 1 << 20] {
        let mut sink = TestSink::default();
        let mut gathered = Gathered::<_, 1>::new(memory);
        for row in rows(&fingerprints) {
            gathered.add(0, row, &mut sink).unwrap();
        }
        gathered.find_pairs(&mut sink, 24);
        assert!(sink.reports > 1, "{} reports", sink.reports);
        assert!((sink.progress - 1.0).abs() < 1e-9, "{}", sink.progress);
    }
}

/// The smallest row that each row is connected with, by pairs that need not be kept: where a pair
/// connects two components, all rows of one get the label of the other.
fn connected(rows: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..rows as u32).collect();
    for (a, b) in pairs {
        let (a, b) = (labels[a as usize], labels[b as usize]);
        if a != b {
            // The rows of a component are no smaller than its label.
            let rest = &mut labels[a.max(b) as usize..];
            let renamed = rest.iter_mut().filter(|label| **label == a.max(b));
            renamed.for_each(|label| *label = a.min(b));
        }
    }
    labels
}

/// A sink that asks only for connections gets the same components from fewer pairs, each of them a
/// right one.
pub(super) fn check_connected(fingerprints: &[u64], radius: u32, memory: usize) -> usize {
    let mut sink = TestSink {
        transitive: true,
        ..Default::default()
    };
    search(fingerprints, radius, memory, &mut sink);
    for (a, b, distance) in &sink.pairs {
        let differing = fingerprints[*a as usize] ^ fingerprints[*b as usize];
        assert!(a != b && *distance == differing.count_ones() && *distance <= radius);
    }
    let count = fingerprints.len() as u32;
    let near = |a: u32, b: u32| {
        (fingerprints[a as usize] ^ fingerprints[b as usize]).count_ones() <= radius
    };
    let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let expected = connected(fingerprints.len(), all.filter(|(a, b)| near(*a, *b)));
    let found = sink.pairs.iter().map(|(a, b, _)| (*a as u32, *b as u32));
    assert!(
        connected(fingerprints.len(), found) == expected,
        "radius {radius}, {memory} bytes"
    );
    sink.pairs.len()
}

#[test]
fn components_of_masses_of_equal_rows() {
    let mut clumps: Vec<u64> = (0..4000).map(|i| mixed(i % 7) ^ 1 << (i / 7 % 5)).collect();
    clumps.extend((0..1000).map(mixed));
    for (radius, memory) in [
        (0, 1),
        (1, 1),
        (3, 1),
        (0, 1 << 20),
        (2, 1 << 20),
        (20, 1 << 20),
        (20, 1),
    ] {
        check_connected(&clumps, radius, memory);
    }
    // As many pairs as rows, or a little more: half of the pairs of 6,000 equal rows would be 9
    // million.
    for memory in [1, 1 << 20] {
        assert_eq!(check_connected(&[9; 6000], 3, memory), 5999);
        // Three values, each of which is near the two others.
        let near: Vec<u64> = (0..6000).map(|i| 1 << (i % 3)).collect();
        assert_eq!(check_connected(&near, 3, memory), 5997 + 3);
    }
    // Few values, each many times, of 18 million pairs.
    let few: Vec<u64> = (0..6000).map(|i| 1 << (i % 12)).collect();
    let near_zero: Vec<u64> = (0..6000)
        .map(|i| (1 << (i % 12)) & ((i % 5) << 3))
        .collect();
    for memory in [1, 1 << 20] {
        for (rows, radius) in [(&few, 1), (&few, 2), (&near_zero, 1)] {
            let found = check_connected(rows, radius, memory);
            assert!(found < 100_000, "{found} pairs in {memory} bytes");
        }
    }
}

#[test]
fn a_hot_key_is_divided_again() {
    // All rows agree in piece 0, and in piece 1 take four values. Comparing each with each would be
    // 2e10 comparisons; this test would not end soon.
    let fingerprints: Vec<u64> = (0..200_000).map(|i| mixed(i) & 0x3_FFFF_FFFF).collect();
    let found = in_memory(&fingerprints, 3);
    let mut sample = 0;
    for (i, x) in fingerprints.iter().enumerate().step_by(1000) {
        let distance = |y: &u64| (x ^ y).count_ones();
        let near = fingerprints.iter().filter(|y| distance(y) <= 3).count() - 1;
        let of_row = |pair: &&(u64, u64, u32)| pair.0 == i as u64 || pair.1 == i as u64;
        if i % 20_000 == 0 {
            assert_eq!(found.iter().filter(of_row).count(), near);
        }
        sample += near;
    }
    assert!(sample > 0 && found.windows(2).all(|w| w[0] < w[1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_rows(
        count in 0usize..900, originals in 1u64..300, flips in 0u32..14, mask: u64, wide: bool,
        seed: u64, radius in 0u32..12,
    ) {
        let mask = if wide { u64::MAX } else { mask };
        let fingerprints = near_copies(count, originals, flips, mask, seed);
        let expected = brute_force(&fingerprints, radius);
        prop_assert!(in_memory(&fingerprints, radius) == expected);
        check_connected(&fingerprints, radius, 1 << 20);
    }

    #[test]
    fn any_rows_across(
        counts in prop::array::uniform2(0usize..900), originals in 1u64..300, flips in 0u32..14,
        mask: u64, wide: bool, seed: u64, radius in 0u32..=64,
    ) {
        let mask = if wide { u64::MAX } else { mask };
        // The originals are the same on both sides.
        let both = near_copies(counts[0] + counts[1], originals, flips, mask, seed);
        let (left, right) = both.split_at(counts[0]);
        let (found, _) = across([left, right], radius, 1 << 20);
        prop_assert!(found == brute_force_across([left, right], radius));
    }
}
