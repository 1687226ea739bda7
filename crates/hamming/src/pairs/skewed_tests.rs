//! Skewed rows against brute force: many that share a value, dense areas in which nearly all rows
//! are connected, in memory and through files.

use super::compare::DEEPEST;
use super::find::Finder;
use super::sets::is_crowded;
use super::split::{Size, Task};
use super::tests::{
    TestSink, across, brute_force, brute_force_across, check_connected, in_memory, mixed,
    near_copies, rows, search, with_files,
};
use proptest::prelude::*;

/// Rows of which one in `hot` has the same 16 bits at the top; the next 16 have few values, most of
/// them one; the others are set with a probability of 1 in 4. Every twentieth is a near-copy.
fn skewed(count: usize, hot: u64, seed: u64) -> Vec<u64> {
    let mut rows: Vec<u64> = Vec::new();
    for i in 0..count as u64 {
        let draw = |n: u64| mixed(mixed(seed ^ i << 8) + n);
        let row = match i % 20 {
            19 => rows[(draw(0) % i) as usize] ^ 1 << (draw(1) % 64) ^ 1 << (draw(2) % 64),
            _ => {
                let top = if draw(0).is_multiple_of(hot) {
                    0x5A5A
                } else {
                    draw(1) & 0xFFFF
                };
                let next = mixed(draw(2) % (1 + draw(3) % 40)) & 0xFFFF;
                top << 48 | next << 32 | draw(4) & draw(5) & 0xFFFF_FFFF
            }
        };
        rows.push(row);
    }
    rows
}

#[test]
fn pairs_of_skewed_rows() {
    for hot in [1, 2, 5] {
        let fingerprints = skewed(6000, hot, hot);
        for radius in [0, 3, 6, 8, 12] {
            let expected = brute_force(&fingerprints, radius);
            assert!(
                in_memory(&fingerprints, radius) == expected,
                "{hot}, radius {radius}"
            );
            let (found, files) = with_files(&fingerprints, radius, 1);
            assert!(
                found == expected && files > 0,
                "{hot}, radius {radius}, files"
            );
        }
    }
}

/// However rows are ordered, the search does not go deeper and deeper.
#[test]
fn rows_are_separated_up_to_a_depth() {
    let fingerprints: Vec<u64> = (0..1000).collect();
    let mut sink = TestSink::default();
    let mut finder = Finder::new(&mut sink, 3);
    // All agree in a piece that comes before.
    finder.differ = vec![0xFFFF << 48];
    for (separations, is_left) in [(0, false), (DEEPEST - 1, false), (DEEPEST, true)] {
        finder.separations = separations;
        let mut rows = rows(&fingerprints);
        let left = finder.needed([&mut rows[..]], Task::ALL, Size::from_counts([1000]));
        assert_eq!(left.is_some(), is_left, "{separations}");
        assert_eq!(finder.separations, separations);
    }
}

#[test]
fn pairs_of_skewed_rows_across() {
    let (left, right) = (skewed(3000, 2, 7), skewed(5000, 5, 8));
    for sides in [[&left[..], &right], [&right, &left[..300]], [&left, &left]] {
        for radius in [0, 3, 8] {
            let expected = brute_force_across(sides, radius);
            for memory in [1, 1 << 20] {
                assert!(
                    across(sides, radius, memory).0 == expected,
                    "radius {radius}, {memory}"
                );
            }
        }
    }
}

/// Where near pairs are many, sets are kept: what comes is one pair less than each set has rows,
/// unless there is no room. Nothing is lost in files, where each part has its own sets.
#[test]
fn components_of_skewed_rows() {
    let kinds = [
        skewed(7000, 1, 1),
        skewed(7000, 5, 2),
        near_copies(7000, 3, 12, u64::MAX, 3),
        near_copies(7000, 700, 7, u64::MAX, 4),
        (0..7000).collect(),
    ];
    for (kind, fingerprints) in kinds.iter().enumerate() {
        assert!(is_crowded(&rows(fingerprints), 8), "kind {kind}");
        for radius in [1, 3, 8] {
            let in_memory = check_connected(fingerprints, radius, 1 << 20);
            if is_crowded(&rows(fingerprints), radius) {
                assert!(
                    in_memory < fingerprints.len(),
                    "kind {kind}, radius {radius}"
                );
            }
            // Room for the rows, but not for their sets; room for the rows of a part.
            for memory in [7000 * 16, 1] {
                check_connected(fingerprints, radius, memory);
            }
        }
    }
}

/// Pairs that need not be compared count as done.
#[test]
fn progress_of_skewed_rows_reaches_the_end() {
    for transitive in [false, true] {
        let mut sink = TestSink {
            transitive,
            ..TestSink::default()
        };
        search(&skewed(20_000, 2, 5), 8, 1 << 20, &mut sink);
        assert!(sink.reports > 5, "{} reports", sink.reports);
        assert!((sink.progress - 1.0).abs() < 1e-9, "{}", sink.progress);
        assert_eq!(sink.files, 0);
    }
}

#[test]
fn few_or_distant_rows_are_not_crowded() {
    assert!(!is_crowded(&rows(&[1; 500]), 3));
    let random: Vec<u64> = (0..200_000).map(mixed).collect();
    assert!(!is_crowded(&rows(&random), 8));
    assert!(is_crowded(&rows(&(0..200_000).collect::<Vec<_>>()), 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_skewed_rows(
        count in 300usize..2500, hot in 1u64..6, originals in 1u64..200, seed: u64,
        radius in 0u32..12,
    ) {
        let mut fingerprints = skewed(count, hot, seed);
        fingerprints.extend(near_copies(count / 3, originals, 9, u64::MAX, seed));
        let expected = brute_force(&fingerprints, radius);
        prop_assert!(in_memory(&fingerprints, radius) == expected);
        check_connected(&fingerprints, radius, 1 << 20);
        let sides = fingerprints.split_at(count / 2);
        let sides = [sides.0, sides.1];
        let (found, _) = across(sides, radius, 1 << 20);
        prop_assert!(found == brute_force_across(sides, radius));
    }
}
