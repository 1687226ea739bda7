//! Golden values, and oracles of a few lines beside the real thing.

use std::collections::BTreeMap;

use proptest::prelude::*;

mod adaptive;
mod features;
mod grammar;
mod hashes;
mod markup;
mod minwise;
mod ties;
pub(crate) mod verdicts;

use super::Class;
use super::builder::{Content, FingerprintBuilder};
use super::error::Error;
use super::hash::{FeatureHash, S1_SEED, Width, city64, murmur2, murmur64a};
use super::methods::distance::{bits, hamming, similarity};
use super::options::grammar::{parse_row, parse_text};
use super::options::plan::{self, Field};
use super::options::presets;
use super::options::text_options::TextOptions;
use super::simhash::simhash;

fn of_text(text: &str, preset: &str, width: Width) -> Result<Option<u64>, Error> {
    let plan = plan::text(presets::find(Some(preset))?, &TextOptions::default())?;
    let mut builder = FingerprintBuilder::<1>::new(width);
    builder.begin();
    builder.column(&plan, Content::Text(text), &mut || {})?;
    Ok(builder.fingerprint().map(|[bits]| bits))
}

/// A row of text columns named a, b, c, ...
fn of_row(columns: &[&str], weights: &str, preset: &str) -> Result<Option<u64>, Error> {
    let fields = fields(columns.len());
    let plans = plan::row(
        presets::find(Some(preset))?,
        &parse_row(weights, &mut || {})?,
        &fields,
    )?;
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    for plan in &plans {
        let texts: Vec<&str> = plan.fields().map(|field| columns[field]).collect();
        builder.column(plan, Content::Text(&texts.join("\n")), &mut || {})?;
    }
    Ok(builder.fingerprint().map(|[bits]| bits))
}

fn fields(count: usize) -> Vec<Field> {
    let name = |i| char::from(b'a' + i as u8).to_string();
    (0..count)
        .map(|i| Field {
            name: name(i),
            generated: false,
            is_text: true,
        })
        .collect()
}

#[test]
fn s1_golden_values() {
    let w64 = |text| of_text(text, "s1", Width::W64).unwrap().unwrap();
    let w32 = |text| of_text(text, "s1", Width::W32).unwrap().unwrap();
    let (first, second) = (w32("中国^2 知乎^1 读者^2"), w32("中国^2 世界^1 读者^2"));
    assert_eq!((first, second), (0xe13f_422d, 0xff2d_6f60));
    assert_eq!(
        bits(first as i64, Width::W32).unwrap(),
        "11100001001111110100001000101101"
    );
    assert_eq!(
        bits(second as i64, Width::W32).unwrap(),
        "11111111001011010110111101100000"
    );
    assert_eq!(
        similarity(first as i64, second as i64, Width::W32),
        Ok(0.5625)
    );

    let (a, b) = (w64("中国^2 知乎^1 读者^2"), w64("中国^2 知乎^1 读者^1"));
    // The second has 17 exact ties: a sum of 0 gives bit 0.
    assert_eq!((a, b), (0xe93d_d71c_a297_24a0, 0xc034_d614_2087_24a0));
    assert_eq!(similarity(a as i64, b as i64, Width::W64), Ok(0.84375));
    let c = w64("中国^2 世界^1 读者^2");
    assert_eq!(c, 0xf7ac_d41c_a287_7e20);
    assert_eq!(hamming(a as i64, c as i64), 15);
}

#[test]
fn murmur_golden_values() {
    for (text, hash) in [
        ("中国", 0xc0b4_f616_60a7_74a0),
        ("知乎", 0xe95d_d7bc_a79c_a186),
        ("世界", 0xf78c_5c39_a2c6_5b24),
        ("读者", 0xbf2b_955c_a297_2e30),
        ("", 0xce83_a64b_e448_8b52),
        ("abcdefgh", 0x88f6_eebf_3df1_243a),
        ("abcdefghi", 0x2ed0_88bf_9e9b_e3da),
    ] {
        assert_eq!(
            murmur64a(text.as_bytes(), u64::from(S1_SEED)),
            hash,
            "{text}"
        );
    }
    for (text, hash) in [
        ("中国", 0xe3bd_7464),
        ("知乎", 0xa077_022f),
        ("世界", 0xff28_efc2),
        ("读者", 0x5d0f_4b39),
    ] {
        assert_eq!(murmur2(text.as_bytes(), S1_SEED), hash, "{text}");
    }
}

/// Numbers from another implementation of CityHash64 v1.1, one per code path of the hash.
#[test]
fn city_vectors() {
    for (text, hash) in [
        (String::new(), 0x9ae1_6a3b_2f90_404f),
        ("a".into(), 0xb345_4265_b6df_75e3),
        ("中国".into(), 0xe449_9ba8_daad_0087),
        ("abcdefg".into(), 0x3c40_c92b_1ccb_7355),
        ("abcdefgh".into(), 0xfee9_d229_90c8_2909),
        ("hello world".into(), 0x588f_b747_8bd6_b01b),
        ("subject\u{1f}hello".into(), 0x34c9_f690_a8d0_7283),
        ("0123456789abcdef0".into(), 0x6deb_36b4_a021_a909),
        ("x".repeat(32), 0xb30b_9bac_cc74_dc05),
        ("x".repeat(33), 0x3efc_e6b6_a0cf_e809),
        ("x".repeat(64), 0xe6a5_6470_4469_47d1),
        ("x".repeat(65), 0xfdf0_f1ab_ca45_3515),
        ("0123456789".repeat(20), 0xc2d6_fe63_e783_03f8),
        ("重复数据".repeat(100), 0xb239_c4bb_de65_d720),
    ] {
        assert_eq!(city64(text.as_bytes()), hash, "{text}");
    }
    let bytes: Vec<u8> = (0..=255).collect();
    let fold = (0..=256).fold(0u64, |h, n| {
        h.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(city64(&bytes[..n]))
    });
    assert_eq!(fold, 0x824c_d791_56c5_7870);
}

/// Weighted SimHash as its definition says it.
fn oracle(features: &[(u64, f64)]) -> u64 {
    let bit = |i: u32| {
        features
            .iter()
            .map(move |&(h, w)| if h >> i & 1 == 1 { w } else { -w })
    };
    (0..64)
        .filter(|&i| bit(i).sum::<f64>() > 0.0)
        .map(|i| 1 << i)
        .sum()
}

/// A row's fingerprint from split-at-space words, without any of the module's code but the hash.
/// None when a sum is so close to 0 that rounding decides.
fn row_oracle(columns: &[(&str, f64, &str)], log: bool, pairs: bool) -> Option<u64> {
    let total: f64 = columns.iter().map(|c| c.1).sum();
    let mut features = Vec::new();
    for (name, weight, text) in columns {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        let pair = words.windows(2).filter(|_| pairs).map(|p| p.join(" "));
        for feature in words.iter().map(|w| (*w).to_owned()).chain(pair) {
            *counts.entry(feature).or_default() += 1.0;
        }
        if log {
            counts.values_mut().for_each(|n| *n = 1.0 + n.ln());
        }
        let norm = counts.values().map(|n| n * n).sum::<f64>().sqrt();
        features.extend(counts.iter().map(|(feature, n)| {
            let hash = city64(format!("{name}\u{1f}{feature}").as_bytes());
            (hash, n / norm * (weight / total).sqrt())
        }));
    }
    let sum = |i| {
        features
            .iter()
            .map(|&(h, w)| if h >> i & 1 == 1 { w } else { -w })
            .sum::<f64>()
    };
    (0..64)
        .all(|i: u32| sum(i).abs() > 1e-6)
        .then(|| oracle(&features))
}

proptest! {
    #[test]
    fn simhash_equals_its_definition(
        features in prop::collection::vec((any::<u64>(), 0u32..9), 1..40),
    ) {
        let features: Vec<(u64, f64)> = features.iter().map(|&(h, w)| (h, f64::from(w))).collect();
        let expected = features.iter().any(|f| f.1 > 0.0).then(|| oracle(&features));
        let hashes = features.iter().map(|&(h, w)| ([h], w));
        prop_assert_eq!(simhash(hashes), expected.map(|bits| [bits]));
    }

    #[test]
    fn rows_equal_the_balanced_definition(
        a in "[a-f]{1,2}( [a-f]{1,2}){0,12}",
        b in "[a-f]{1,2}( [a-f]{1,2}){0,12}",
        weights in (1u32..20, 1u32..20),
    ) {
        let (wa, wb) = (f64::from(weights.0), f64::from(weights.1));
        let columns = [("a", wa, a.as_str()), ("b", wb, b.as_str())];
        let log_pairs = ", \"$features\": [\"words\", \"pairs\"], \"$tf\": \"log\"";
        for (options, log, pairs) in [("", false, false), (log_pairs, true, true)] {
            let json = format!("{{\"a\": {wa}, \"b\": {wb}{options}}}");
            if let Some(expected) = row_oracle(&columns, log, pairs) {
                prop_assert_eq!(of_row(&[&a, &b], &json, "plain").unwrap(), Some(expected));
            }
        }
    }

    #[test]
    fn order_of_words_does_not_matter_without_pairs(
        words in prop::collection::vec("[a-d]{1,3}", 1..30),
    ) {
        let reversed: Vec<String> = words.iter().rev().cloned().collect();
        for options in ["{\"tf\": \"log\"}", "{\"tf\": \"set\"}", "{}"] {
            let preset = presets::find(Some("plain")).unwrap();
            let plan = plan::text(preset, &parse_text(options, &mut || {}).unwrap()).unwrap();
            let [one, two] = [&words, &reversed].map(|words| {
                let mut builder = FingerprintBuilder::<1>::new(Width::W64);
                builder.begin();
                builder.column(&plan, Content::Text(&words.join(" ")), &mut || {}).unwrap();
                builder.fingerprint()
            });
            prop_assert_eq!(one, two);
        }
    }

    #[test]
    fn shown_features_add_up_to_the_fingerprint(
        text in "[a-f ,.]{0,60}|[中国知乎读者世界 ]{0,20}",
        preset in prop::sample::select(vec!["plain", "words"]),
    ) {
        let preset = presets::find(Some(preset)).unwrap();
        let plan = plan::text(preset, &TextOptions::default()).unwrap();
        let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
        builder.begin();
        builder.column(&plan, Content::Text(&text), &mut || {}).unwrap();
        let fingerprint = builder.fingerprint();
        let features = builder.into_features();
        prop_assert_eq!(fingerprint.is_none(), features.is_empty());
        for feature in &features {
            prop_assert_eq!(city64(feature.feature.as_bytes()), feature.hash);
        }
        // The unscaled weights are sums of small numbers: unit length over all.
        if !features.is_empty() {
            let square: f64 = features.iter().map(|f| f.weight * f.weight).sum();
            prop_assert!((square - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn any_text_gives_a_fingerprint_or_none_in_every_preset(text in ".{0,200}") {
        for preset in ["plain", "words", "s0", "s2", "s3"] {
            prop_assert!(of_text(&text, preset, Width::W64).is_ok());
        }
        let _ = of_text(&text, "s1", Width::W64);
    }

    #[test]
    fn any_json_is_read_or_refused(json in "[{}\\[\\]\",:$*a-c0-9.e-]{0,40}") {
        let _ = (parse_row(&json, &mut || {}), parse_text(&json, &mut || {}));
    }
}

#[test]
fn columns_of_equal_words_differ_and_s1_ignores_names() {
    let (ab, ba) = (
        of_row(&["x y", "z"], "{}", "plain"),
        of_row(&["z", "x y"], "{}", "plain"),
    );
    assert_ne!(ab, ba);
    let row = of_row(&["中国^2 知乎^1", "读者^2"], "{}", "s1");
    assert_eq!(row, of_text("中国^2 知乎^1 读者^2", "s1", Width::W64));
    // A column's weight multiplies the weights of its tokens.
    let row = of_row(&["中国^2 知乎^1", "读者^1"], "{\"a\": 1, \"b\": 2}", "s1");
    assert_eq!(row, of_text("中国^2 知乎^1 读者^2", "s1", Width::W64));
}

/// A long column must not drown a short one of the same share: that is what balance is for.
#[test]
fn a_balanced_short_column_decides_over_a_longer_but_lighter_one() {
    let long: String = (0..200).map(|i| format!("word{i} ")).collect();
    let short = of_row(&["title", ""], "{}", "plain").unwrap().unwrap();
    let d = |weights: &str| {
        let both = of_row(&["title", &long], weights, "plain")
            .unwrap()
            .unwrap();
        hamming(both as i64, short as i64)
    };
    // One feature of 0.99 of the squared length outweighs 200 that share the rest.
    assert_eq!(d("{\"a\": 99, \"b\": 1}"), 0);
    // Raw, 200 words of weight 1 flip many signs of one word of weight 9.
    assert!(d("{\"a\": 9, \"b\": 1}") <= 2);
    assert!(d("{\"a\": 9, \"b\": 1, \"$balance\": false}") > 8);
    assert!(d("{\"a\": 1, \"b\": 99}") > 8);
}

#[test]
fn thirty_two_bits_are_the_low_half_except_in_s1() {
    for preset in ["plain", "words"] {
        let wide = of_text("the quick brown fox", preset, Width::W64)
            .unwrap()
            .unwrap();
        let narrow = of_text("the quick brown fox", preset, Width::W32)
            .unwrap()
            .unwrap();
        assert_eq!(narrow, wide & u64::from(u32::MAX));
    }
    assert_eq!(
        FeatureHash::City.hash(Width::W32, b"a"),
        city64(b"a") & 0xffff_ffff
    );
}

#[test]
fn nothing_has_no_fingerprint() {
    for text in ["", "  ", "\u{feff}\n", "　"] {
        assert_eq!(of_text(text, "plain", Width::W64), Ok(None));
        assert_eq!(of_text(text, "words", Width::W64), Ok(None));
    }
    assert_eq!(of_text("", "s1", Width::W64), Ok(None));
    assert_eq!(of_text("a^0 b^0", "s1", Width::W64), Ok(None));
    assert_eq!(of_row(&["", ""], "{}", "plain"), Ok(None));
    assert_eq!(simhash::<1>([]), None);
}

/// A cancelled row leaves its words behind; the next one must not count them.
#[test]
fn a_row_after_a_cancelled_one_starts_anew() {
    let plan = plan::text(
        presets::find(Some("plain")).unwrap(),
        &TextOptions::default(),
    )
    .unwrap();
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    let long = "first ".repeat(1 << 15);
    let mut pauses = 0;
    let mut cancel = || {
        pauses += 1;
        assert!(pauses < 2, "cancelled");
    };
    let cancelled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        builder.begin();
        builder.column(&plan, Content::Text(&long), &mut cancel)
    }));
    assert!(cancelled.is_err());
    builder.begin();
    builder
        .column(&plan, Content::Text("second"), &mut || {})
        .unwrap();
    assert_eq!(builder.fingerprint(), Some([city64(b"second")]));
}

#[test]
fn malformed_weighted_tokens_are_errors() {
    for (text, position, fault) in [
        (" a^1", 1, "empty"),
        ("a^1  b^1", 2, "empty"),
        ("a^1 ", 2, "empty"),
        ("a^1 b", 2, "missing"),
        ("^1", 1, "nothing before"),
        ("a^", 1, "not a number"),
        ("a^1x", 1, "not a number"),
        ("a^-1", 1, "not between"),
        ("a^NaN", 1, "not between"),
        ("a^1e999", 1, "not between"),
        // Three such weights have a sum that is not finite.
        ("a^1 b^1e308", 2, "not between"),
    ] {
        match of_text(text, "s1", Width::W64) {
            Err(
                e @ Error::WeightedToken {
                    position: at,
                    fault: found,
                    ..
                },
            ) => {
                assert_eq!(at, position, "{text}");
                assert!(found.contains(fault), "{text}: {found}");
                assert_eq!(e.class(), Class::InvalidText);
                assert!(e.hint().is_some_and(|hint| hint.contains("fast^2")));
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(
        of_text("a^b^2", "s1", Width::W64),
        Ok(simhash([([murmur64a(b"a^b", 999_999_937)], 2.0)]).map(|[bits]| bits))
    );
}

#[test]
fn distance_and_bits_check_their_width() {
    assert_eq!(hamming(-1, 0), 64);
    assert_eq!(similarity(-1, 0, Width::W64), Ok(0.0));
    assert_eq!(bits(-1, Width::W64).unwrap(), "1".repeat(64));
    assert_eq!(bits(5, Width::W64).unwrap(), format!("{:0>64}", "101"));
    assert!(bits(-1, Width::W32).is_err());
    assert!(similarity(0, 1 << 32, Width::W32).is_err());
    assert_eq!(super::methods::distance::width(33), Err(Error::Width(33)));
}
