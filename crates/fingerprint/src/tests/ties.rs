//! Sums of weights that are fractions: where both sides of a sum are equal, the bit is 0.

use std::collections::BTreeMap;

use crate::builder::{Content, Feature, FingerprintBuilder};
use crate::hash::Width;
use crate::options::grammar::parse_row;
use crate::options::{plan, presets};

/// Words of several lengths and parts of speech.
const WORDS: [&str; 10] = [
    "道路",
    "修理",
    "公共汽车",
    "路",
    "快",
    "建议",
    "lamp",
    "12",
    "repairs",
    "但是",
];

/// The fingerprint of a row of columns, and its features with what they weigh in their column.
fn row(columns: &[&str], preset: &str, json: &str) -> (u64, Vec<Feature>) {
    let field = |i| plan::Field {
        name: format!("c{i}"),
        generated: false,
        is_text: true,
    };
    let fields: Vec<plan::Field> = (0..columns.len()).map(field).collect();
    let mut options = parse_row(json, &mut || {}).unwrap();
    let preset = presets::find(Some(preset)).unwrap();
    let builder = |options: &_| {
        let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
        builder.begin();
        for plan in &plan::row(preset, options, &fields).unwrap() {
            let content = Content::Text(columns[plan.field]);
            builder.column(plan, content, &mut || {}).unwrap();
        }
        builder
    };
    let [fingerprint] = builder(&options).fingerprint().unwrap();
    options.balance = Some(false);
    (fingerprint, builder(&options).into_features())
}

/// Texts of these words, each up to three times.
fn texts() -> impl Iterator<Item = String> {
    (1u32..2000).map(|seed| {
        let mut state = u64::from(seed);
        let words = WORDS.iter().flat_map(|word| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed.into());
            std::iter::repeat_n(*word, (state >> 60) as usize % 4)
        });
        words.collect::<Vec<_>>().join(" ") + " 路"
    })
}

/// Compares each bit with the sum of integers that the words of one kind add up to, each kind with a
/// weight that no sum of others equals. Returns how many sums were ties.
fn ties(columns: &[&str], preset: &str, json: &str, parts: impl Fn(&Feature) -> (u64, i64)) -> u32 {
    let (fingerprint, features) = row(columns, preset, json);
    let mut ties = 0;
    for bit in 0..64 {
        let mut kinds: BTreeMap<u64, i64> = BTreeMap::new();
        let mut sum = 0.0;
        for feature in &features {
            let sign = if feature.hash >> bit & 1 == 1 { 1 } else { -1 };
            let (kind, parts) = parts(feature);
            *kinds.entry(kind).or_default() += sign * parts;
            sum += sign as f64 * feature.weight;
        }
        let is_tie = kinds.values().all(|sum| *sum == 0);
        ties += u32::from(is_tie);
        let expected = !is_tie && sum > 0.0;
        assert_eq!(
            fingerprint >> bit & 1 == 1,
            expected,
            "{columns:?}, bit {bit}: {sum}"
        );
    }
    ties
}

/// Lengths are sevenths, parts of speech halves, all others integers.
#[test]
fn ties_of_s3_give_0() {
    let parts = |feature: &Feature| (0, (feature.weight * 14.0).round() as i64);
    let found: u32 = texts().map(|text| ties(&[&text], "s3", "{}", parts)).sum();
    assert!(found > 100, "{found} ties");
}

/// A weight by length is a multiple of no other.
#[test]
fn ties_of_s2_give_0() {
    let idf = r#"{"$idf": {"documents": 9, "terms": {"路": 3, "快": 3, "道路": 3, "修理": 3}}}"#;
    let parts = |feature: &Feature| {
        let of_one = feature.weight / feature.tf;
        ((of_one * 1e6).round() as u64, feature.tf as i64)
    };
    let of = |json: &str| -> u32 { texts().map(|text| ties(&[&text], "s2", json, parts)).sum() };
    let found = of("{}") + of(idf);
    assert!(found > 20, "{found} ties");
}

/// Columns of one word each weigh the same, whatever the word weighs.
#[test]
fn ties_of_columns_give_0() {
    let mut found = 0;
    for (i, a) in WORDS.iter().enumerate() {
        for b in &WORDS[..i] {
            found += ties(&[a, b], "s3", "{}", |_| (0, 1));
        }
    }
    assert!(found > 100, "{found} ties");
}
