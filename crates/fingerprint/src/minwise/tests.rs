use std::collections::BTreeMap;

use super::one_permutation::HashBins;
use super::*;

/// Features of a column with their weights, by number.
type Column = BTreeMap<u64, f64>;

fn column(weights: &[u8], unit: f64) -> Column {
    let weighted = weights.iter().zip(0..).filter(|(weight, _)| **weight > 0);
    weighted
        .map(|(&weight, i)| (i, f64::from(weight) * unit))
        .collect()
}

/// The formula of the module's head.
fn similarity(x: &Column, y: &Column) -> f64 {
    let weight = |set: &Column, i: &u64| set.get(i).copied().unwrap_or(0.0);
    let all: Column = x.iter().chain(y).map(|(&i, &weight)| (i, weight)).collect();
    let common = x.keys().filter(|i| y.contains_key(i)).map(|i| {
        let (x_i, y_i) = (weight(x, i), weight(y, i));
        let larger = |k: &u64| f64::max(weight(x, k) / x_i, weight(y, k) / y_i);
        1.0 / all.keys().map(larger).sum::<f64>()
    });
    common.sum()
}

/// Another draw of the hash functions is as good as other features.
fn hash(draw: u64, feature: u64) -> u64 {
    mix(mix(draw) ^ feature)
}

fn set(draw: u64, column: &Column) -> u64 {
    let mut bins = HashBins::EMPTY;
    column
        .keys()
        .for_each(|&feature| bins.add(hash(draw, feature)));
    bins.bits()
}

fn raced(draw: u64, column: &Column) -> u64 {
    let features = column
        .iter()
        .map(|(&feature, &weight)| ([hash(draw, feature)], weight));
    races::bits(&features.collect::<Vec<_>>(), &mut || {}).unwrap()[0]
}

/// Asserts that the mean of 1 - distance / 32 over 10,000 draws is the similarity, within 4
/// standard errors.
fn assert_mean(exact: f64, draw: impl Fn(u64) -> [u64; 2]) {
    let draws = 10_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for n in 0..draws {
        let [x, y] = draw(n);
        let estimate = 1.0 - f64::from((x ^ y).count_ones()) / 32.0;
        sum += estimate;
        squares += estimate * estimate;
    }
    let mean = sum / draws as f64;
    let error = ((squares / draws as f64 - mean * mean) / draws as f64).sqrt();
    assert!(
        (mean - exact).abs() <= 4.0 * error,
        "{mean} instead of {exact}, +-{error}"
    );
}

const PAIRS: [(&[u8], &[u8]); 7] = [
    (&[1, 1, 1, 1], &[1, 1, 1, 0, 1]),
    (&[9, 1], &[1, 9]),
    (&[200, 1, 1, 1, 1, 1], &[200, 0, 0, 0, 0, 1]),
    (&[1; 100], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
    (
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    ),
    (&[1, 0, 3], &[0, 2, 0, 4]),
    (&[1; 30], &[1; 27]),
];

#[test]
fn races_agree_as_often_as_the_similarity_says() {
    for (x, y) in PAIRS {
        let (x, y) = (column(x, 1.0), column(y, 0.1));
        assert_mean(similarity(&x, &y), |n| [raced(n, &x), raced(n, &y)]);
    }
}

/// Features that have nothing in common, enough of them that winners win with their first point.
#[test]
fn long_columns_agree_by_chance() {
    let x: Column = (0..300).map(|i| (i, 1.0 + (i % 5) as f64 / 4.0)).collect();
    let y: Column = x.iter().map(|(i, weight)| (i + 300, *weight)).collect();
    assert_mean(0.0, |n| [raced(n, &x), raced(n, &y)]);
    assert_mean(0.0, |n| [set(n, &x), set(n, &y)]);
    for drawn in [raced, set] {
        let mut ones = [0u32; 64];
        for n in 0..10_000 {
            let bits = drawn(n, &x);
            (0..64).for_each(|j| ones[j] += (bits >> j & 1) as u32);
        }
        // Six standard errors.
        assert!(
            ones.iter().all(|ones| ones.abs_diff(5_000) < 300),
            "{ones:?}"
        );
    }
}

#[test]
fn sets_agree_as_often_as_their_jaccard_similarity_says() {
    for (x, y) in PAIRS {
        let (x, y) = (column(x, 1.0), column(y, 1.0));
        let common = x.keys().filter(|i| y.contains_key(i)).count();
        let jaccard = common as f64 / (x.len() + y.len() - common) as f64;
        assert_mean(jaccard, |n| [set(n, &x), set(n, &y)]);
    }
}

#[test]
fn rows_agree_as_often_as_their_columns_say() {
    // Three columns; the first row lacks the second, the second row the third. Each column that
    // both have has a similarity of its own.
    let shares = [0.5, 0.3, 0.2];
    let (x, y) = (column(&[1, 1, 1, 1], 1.0), column(&[1, 1, 1, 0], 1.0));
    let owners = |row: [Option<f64>; 3]| {
        let present = row
            .iter()
            .zip(0..)
            .filter_map(|(share, c)| Some((c, (*share)?)));
        present.collect::<Column>()
    };
    let [a, b, c] = shares.map(Some);
    for (first, second) in [([a, b, c], [a, b, c]), ([a, None, c], [a, b, None])] {
        let of_owners = similarity(&owners(first), &owners(second));
        assert_mean(0.75 * of_owners, |n| {
            let fingerprint = |row: [Option<f64>; 3], features: &Column| {
                let mut all = Owners::<1>::NONE;
                for (share, name) in row.iter().zip(1000..) {
                    let Some(share) = share else { continue };
                    // A column's name is in front of its features.
                    let bits = set(hash(n, name), features);
                    all.add(&unit_times(hash(n, name)), *share, [bits]);
                }
                all.bits().unwrap()[0]
            };
            [fingerprint(first, &x), fingerprint(second, &y)]
        });
    }
}

#[test]
fn a_lone_column_owns_all_bits() {
    for weight in [0.0, 5e-324, 1e-300, 1.0, 1e100] {
        let mut owners = Owners::<2>::NONE;
        assert_eq!(owners.bits(), None);
        owners.add(&unit_times(3), weight, [11, 12]);
        assert_eq!(owners.bits(), Some([11, 12]));
    }
}

#[test]
fn the_order_of_columns_does_not_matter() {
    let columns = [
        (unit_times(1), 0.2, [!0]),
        (unit_times(2), 0.5, [0]),
        (unit_times(3), 0.3, [0x5555]),
    ];
    let join = |order: [usize; 3]| {
        let mut owners = Owners::<1>::NONE;
        for i in order {
            let (unit_times, weight, bits) = &columns[i];
            owners.add(unit_times, *weight, *bits);
        }
        owners.bits()
    };
    assert_eq!(join([0, 1, 2]), join([2, 0, 1]));
    assert_eq!(join([0, 1, 2]), join([1, 2, 0]));
}

#[test]
fn columns_own_close_to_their_share() {
    let shares = [0.5, 0.3, 0.2];
    let draws = 1_000;
    let mut squares = 0.0;
    for draw in 0..draws {
        let mut owners = Owners::<1>::NONE;
        for (column, share) in shares.iter().enumerate() {
            // Only the second column sets its bits.
            let bits = if column == 1 { !0 } else { 0 };
            owners.add(&unit_times(hash(draw, column as u64)), *share, [bits]);
        }
        let own = owners.bits().unwrap()[0].count_ones();
        squares += (f64::from(own) - 0.3 * 64.0).powi(2);
    }
    // For independent times it would be 64 * 0.3 * 0.7 = 13.4.
    let variance = squares / draws as f64;
    assert!(variance < 10.0, "{variance}");
}
