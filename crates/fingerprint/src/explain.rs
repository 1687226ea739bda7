//! Where two fingerprints come apart: what each column of two rows has, and its part in the bits
//! that differ. `simhash_explain` returns it. The parts of all columns add up to the distance.
//!
//! A bit of a SimHash differs because the sum of its columns' sums changes its sign. The columns
//! whose own sum changes in that direction share the bit in proportion to how much. A drawn bit
//! counts for the column that it was drawn from; when that is not the same in both rows, for the one
//! that a row lacks, or else half for each.

use crate::builder::{Feature, ShownColumn, ShownRow};
use crate::error::Error;
use crate::simhash::{Sums, UNIT};
use crate::similarity::weighted_sets::{by_hash, cosine_of, probability_jaccard, side_by_side};

/// Features that are shown of those that only one row has.
const SHOWN: usize = 3;

/// Characters of a feature that are shown.
const SHOWN_CHARACTERS: usize = 80;

/// What one column has to do with the distance.
#[derive(Debug)]
pub struct ColumnExplained {
    /// Number of different features of each row.
    pub features: [usize; 2],
    /// Number of different features that both have.
    pub shared: usize,
    /// What the distance would estimate if there were this column alone; None without a feature.
    pub similarity: Option<f64>,
    /// The part in the bits that differ; None unless both rows have a fingerprint.
    pub bits: Option<f64>,
    /// The heaviest features that only one of the rows has.
    pub only: [Vec<String>; 2],
}

/// Explains the distance of two rows, a column for each of `fields`, which are those that count.
pub fn explain(
    fields: &[usize],
    mut rows: [ShownRow; 2],
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<ColumnExplained>, Error> {
    for column in rows.iter_mut().flat_map(|row| &mut row.columns) {
        by_hash(&mut column.features, check_interrupts);
    }
    let find = |row: &'_ ShownRow, field| row.columns.iter().position(|c| c.field == field);
    let columns: Vec<[Option<&ShownColumn>; 2]> = (fields.iter())
        .map(|&field| {
            rows.each_ref()
                .map(|row| find(row, field).map(|i| &row.columns[i]))
        })
        .collect();
    let parts = match (rows[0].fingerprint, rows[1].fingerprint) {
        (Some(a), Some(b)) => Some(parts(&columns, [a, b], check_interrupts)),
        _ => None,
    };
    let explained = columns.iter().enumerate().map(|(i, column)| {
        let bits = parts.as_ref().map(|parts| parts[i]);
        explain_column(*column, bits, check_interrupts)
    });
    explained.collect()
}

fn explain_column(
    column: [Option<&ShownColumn>; 2],
    bits: Option<f64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<ColumnExplained, Error> {
    let [a, b] = column.map(|column| column.map_or(&[][..], |column| &column.features));
    let is_drawn = column.iter().flatten().any(|column| column.drawn.is_some());
    let similarity = match is_drawn {
        _ if a.is_empty() && b.is_empty() => None,
        _ if a.is_empty() || b.is_empty() => Some(0.0),
        true => probability_jaccard(a, b, check_interrupts)?,
        false => cosine_of(a, b),
    };
    let mut shared = 0;
    let mut only: [Vec<&Feature>; 2] = [Vec::new(), Vec::new()];
    for pair in side_by_side(a, b) {
        check_interrupts();
        match pair {
            [Some(_), Some(_)] => shared += 1,
            [a, b] => {
                keep_heaviest(&mut only[0], a);
                keep_heaviest(&mut only[1], b);
            }
        }
    }
    Ok(ColumnExplained {
        features: [a.len(), b.len()],
        shared,
        similarity,
        bits,
        only: only.map(|features| features.iter().map(|f| readable(&f.feature)).collect()),
    })
}

/// Adds a feature, and drops the lightest if there are too many.
fn keep_heaviest<'a>(heaviest: &mut Vec<&'a Feature>, feature: Option<&'a Feature>) {
    heaviest.extend(feature);
    heaviest.sort_by(|a, b| {
        let weights = b.weight.total_cmp(&a.weight);
        weights.then_with(|| a.feature.cmp(&b.feature))
    });
    heaviest.truncate(SHOWN);
}

/// A feature, shortened if it is very long.
fn readable(feature: &str) -> String {
    match feature.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", &feature[..end]),
        None => feature.to_owned(),
    }
}

/// The part of each column in the bits that differ.
fn parts(
    columns: &[[Option<&ShownColumn>; 2]],
    [a, b]: [u64; 2],
    check_interrupts: &mut dyn FnMut(),
) -> Vec<f64> {
    let mut parts = vec![0.0; columns.len()];
    let changes: Vec<[f64; 64]> = (columns.iter())
        .map(|[a, b]| {
            let (a, b) = (sums(*a, check_interrupts), sums(*b, check_interrupts));
            std::array::from_fn(|bit| b[bit] - a[bit])
        })
        .collect();
    for bit in (0..64).filter(|bit| (a ^ b) >> bit & 1 == 1) {
        let shares = drawn_shares(columns, bit).unwrap_or_else(|| {
            let sign = if b >> bit & 1 == 1 { 1.0 } else { -1.0 };
            let change = |change: &[f64; 64]| (change[bit] * sign).max(0.0);
            changes.iter().map(change).collect()
        });
        split(&shares, &mut parts);
    }
    parts
}

/// In how many of the two rows a bit was drawn from each column; columns that one row lacks leave
/// nothing to others. None of a SimHash.
fn drawn_shares(columns: &[[Option<&ShownColumn>; 2]], bit: usize) -> Option<Vec<f64>> {
    let is_drawn = |column: Option<&ShownColumn>| {
        let drawn = column.and_then(|column| column.drawn);
        drawn.is_some_and(|bits| bits >> bit & 1 == 1)
    };
    let rows =
        |[a, b]: &[Option<&ShownColumn>; 2]| f64::from(is_drawn(*a)) + f64::from(is_drawn(*b));
    let mut shares: Vec<f64> = columns.iter().map(rows).collect();
    let is_lone = |[a, b]: &[Option<&ShownColumn>; 2]| {
        let has_none = |column: Option<&ShownColumn>| column.is_none_or(|c| c.features.is_empty());
        has_none(*a) != has_none(*b)
    };
    let both = || columns.iter().zip(&shares);
    if both().any(|(column, &share)| share > 0.0 && is_lone(column)) {
        let lone = |(column, &share)| if is_lone(column) { share } else { 0.0 };
        shares = both().map(lone).collect();
    }
    shares.iter().any(|&share| share > 0.0).then_some(shares)
}

/// The sums of a SimHash that a column adds to those of the row.
fn sums(column: Option<&ShownColumn>, check_interrupts: &mut dyn FnMut()) -> [f64; 64] {
    let mut sums = Sums::<1>::ZERO;
    for feature in column
        .filter(|column| column.drawn.is_none())
        .into_iter()
        .flat_map(|c| &c.features)
    {
        check_interrupts();
        sums.add([feature.hash], feature.weight);
    }
    *sums.low()
}

/// Adds 1 to `parts`, split in proportion to `shares`: in multiples of 1 / UNIT, so that sums are exact.
/// The largest takes what rounding leaves.
fn split(shares: &[f64], parts: &mut [f64]) {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let taker = shares.iter().position(|&share| share == largest);
    // Relative to the largest, as the sum of the shares could overflow.
    let total: f64 = shares.iter().map(|share| share / largest).sum();
    let mut left = 1.0;
    for (i, share) in shares.iter().enumerate() {
        if *share > 0.0 && Some(i) != taker {
            let part = (share / largest / total * UNIT).floor() / UNIT;
            parts[i] += part;
            left -= part;
        }
    }
    if let Some(taker) = taker {
        parts[taker] += left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Content, FingerprintBuilder};
    use crate::hash::Width;
    use crate::methods::distance::hamming;
    use crate::options::grammar::parse_row;
    use crate::options::plan::{self, ColumnPlan, Field};
    use crate::options::presets::{find, names_where};
    use proptest::prelude::*;

    fn plans(preset: &str, json: &str, count: usize) -> Vec<ColumnPlan> {
        let field = |i| Field {
            name: format!("c{i}"),
            generated: false,
            is_text: true,
        };
        let fields: Vec<Field> = (0..count).map(field).collect();
        let options = parse_row(json, &mut || {}).unwrap();
        plan::row(find(Some(preset)).unwrap(), &options, &fields).unwrap()
    }

    fn add<const W: usize>(
        builder: &mut FingerprintBuilder<W>,
        plans: &[ColumnPlan],
        row: &[Option<String>],
    ) {
        builder.begin();
        for plan in plans {
            if let Some(text) = &row[plan.field] {
                // Every other column is a value.
                let content = match plan.field % 2 {
                    0 => Content::Text(text),
                    _ => Content::Canonical(text),
                };
                builder.column(plan, content, &mut || {}).unwrap();
            }
        }
    }

    fn explained(
        plans: &[ColumnPlan],
        rows: [&[Option<String>]; 2],
    ) -> (Option<u32>, Vec<ColumnExplained>) {
        let fingerprints = rows.map(|row| {
            let mut builder = FingerprintBuilder::<1>::new(Width::W64);
            add(&mut builder, plans, row);
            builder.fingerprint().map(|[bits]| bits as i64)
        });
        let shown = rows.map(|row| {
            let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
            add(&mut builder, plans, row);
            builder.into_row().unwrap()
        });
        assert_eq!(
            shown
                .each_ref()
                .map(|row| row.fingerprint.map(|f| f as i64)),
            fingerprints
        );
        let fields: Vec<usize> = plans.iter().map(|plan| plan.field).collect();
        let distance = fingerprints[0]
            .zip(fingerprints[1])
            .map(|(a, b)| hamming(a, b));
        (distance, explain(&fields, shown, &mut || {}).unwrap())
    }

    fn row() -> impl Strategy<Value = Vec<Option<String>>> {
        prop::collection::vec(prop::option::weighted(0.8, "([a-d]{1,3} |路灯){0,12}"), 3)
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_distance(
            a in row(), b in row(), weights in prop::array::uniform3(1u8..9),
            balance in prop::sample::select(vec!["", r#", "$balance": true"#, r#", "$balance": false"#]),
        ) {
            let [x, y, z] = weights;
            for preset in names_where(|preset| preset.name != "s1").split(", ") {
                for json in [
                    format!(r#"{{"c0": {x}, "c1": {y}, "c2": {z}{balance}}}"#),
                    format!(r#"{{"c0": {x}, "c1": 0, "c2": 1e-90{balance}}}"#),
                    format!(r#"{{"c0": 1e90, "c1": {{"weight": {y}, "as": "text"}}, "c2": {z}{balance}}}"#),
                    format!(r#"{{"*": 1, "$features": {{"words": {x}, "pairs": {y}}}, "$tf": "sqrt"{balance}}}"#),
                ] {
                    let plans = plans(preset, &json, 3);
                    let (distance, columns) = explained(&plans, [&a, &b]);
                    prop_assert_eq!(columns.len(), plans.len());
                    let parts: Option<f64> = columns.iter().map(|column| column.bits).sum();
                    prop_assert_eq!(parts, distance.map(f64::from), "{} {}", preset, json);
                    for (plan, column) in plans.iter().zip(columns) {
                        let features = column.features;
                        prop_assert!(column.bits.is_none_or(|bits| bits >= 0.0));
                        prop_assert!(column.shared <= features[0].min(features[1]));
                        let only = [0, 1].map(|i| (features[i] - column.shared).min(3));
                        prop_assert_eq!(column.only.map(|only| only.len()), only);
                        prop_assert_eq!(column.similarity.is_none(), features == [0, 0]);
                        if a[plan.field] == b[plan.field] && features[0] > 0 {
                            prop_assert!((column.similarity.unwrap() - 1.0).abs() < 1e-6);
                        }
                    }
                }
            }
        }

        #[test]
        fn weighted_tokens_add_up_too(a in "([a-c]\\^[0-3] ){0,8}", b in "([a-c]\\^[0-3] ){0,8}") {
            let row = |text: &str| vec![Some(text.trim_end().to_owned()), None];
            let (distance, columns) = explained(&plans("s1", "{}", 2), [&row(&a), &row(&b)]);
            let parts: Option<f64> = columns.iter().map(|column| column.bits).sum();
            prop_assert_eq!(parts, distance.map(f64::from));
        }

        #[test]
        fn a_bit_is_split_exactly(shares in prop::collection::vec(0.0..1e300f64, 1..9)) {
            let mut parts = vec![0.0; shares.len()];
            split(&shares, &mut parts);
            prop_assert_eq!(parts.iter().sum::<f64>(), 1.0);
            prop_assert!(parts.iter().all(|&part| part >= 0.0));
        }
    }

    #[test]
    fn a_column_that_is_alike_has_no_part() {
        let row = |title: &str| vec![Some(title.to_owned()), Some("7".to_owned())];
        for preset in ["shingles", "minwise", "record", "words", "s0"] {
            let (distance, columns) = explained(
                &plans(preset, "{}", 2),
                [&row("lamp is dark"), &row("no bus today")],
            );
            assert!(distance > Some(0));
            assert_eq!(columns[0].bits, distance.map(f64::from), "{preset}");
            assert_eq!(
                (columns[1].bits, columns[1].similarity),
                (Some(0.0), Some(1.0))
            );
        }
    }

    #[test]
    fn a_column_that_a_row_lacks_has_the_bits_that_it_loses() {
        let row = |title: Option<&str>| vec![title.map(str::to_owned), Some("7".to_owned())];
        for preset in ["shingles", "minwise", "record"] {
            let (distance, columns) = explained(
                &plans(preset, "{}", 2),
                [&row(None), &row(Some("lamp is dark"))],
            );
            assert!(distance > Some(0));
            let bits = [columns[0].bits, columns[1].bits];
            assert_eq!(bits, [distance.map(f64::from), Some(0.0)], "{preset}");
        }
    }

    #[test]
    fn the_heaviest_features_come_first_and_long_ones_are_cut() {
        let long = "x".repeat(100);
        let rows = ["a a a b b c d", &format!("{long} e")].map(|text| [Some(text.to_owned())]);
        let (_, columns) = explained(&plans("plain", "{}", 1), [&rows[0], &rows[1]]);
        assert_eq!(columns[0].only[0], ["a", "b", "c"]);
        assert_eq!(
            columns[0].only[1],
            ["e".to_owned(), format!("{}...", "x".repeat(80))]
        );
        assert_eq!((columns[0].features, columns[0].shared), ([4, 2], 0));
    }
}
