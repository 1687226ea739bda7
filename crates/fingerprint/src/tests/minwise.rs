//! Presets whose fingerprints are drawn.

use super::*;

fn text(preset: &str, text: &str) -> Option<u64> {
    of_text(text, preset, Width::W64).unwrap()
}

/// Fixed: a change of any of them changes stored fingerprints.
#[test]
fn golden_values() {
    let texts = [
        "a",
        "The street lamp is dark, please repair it",
        "路灯坏了，请尽快修理。谢谢",
    ];
    let presets = ["minwise", "shingles", "record"];
    let all = presets.map(|preset| texts.map(|one| text(preset, one).unwrap()));
    assert_eq!(
        all,
        [
            [
                0xeef2_2a66_bc09_47ad,
                0x3f50_619c_186c_0d75,
                0x93d5_c31a_df78_0f86
            ],
            [
                0x2a1c_383b_420c_ae3b,
                0xc6d5_71a3_6791_f208,
                0x299f_8142_4109_dc9e
            ],
            [
                0x2a1c_383b_420c_ae3b,
                0x1b12_91dd_4a3a_7690,
                0x299f_8142_4109_dc9e
            ],
        ]
    );
    let rows = presets.map(|preset| of_row(&texts, r#"{"a": 1, "b": 2, "c": 3}"#, preset));
    assert_eq!(
        rows,
        [
            Ok(Some(0x8783_c3f7_446a_e81c)),
            Ok(Some(0x4dd9_d4f4_a702_1577)),
            Ok(Some(0x4d9f_d4f6_bb90_147f))
        ]
    );
    let weighted = of_row(&texts, r#"{"$tf": "log"}"#, "minwise");
    assert_eq!(weighted, Ok(Some(0xc711_6691_01b8_dc09)));
}

#[test]
fn how_often_a_word_occurs_does_not_matter() {
    assert_eq!(text("minwise", "a b b c"), text("minwise", "c b, A"));
    assert_ne!(text("minwise", "a b c"), text("minwise", "a b d"));
    assert_eq!(
        text("shingles", "abcdefg abcdefg"),
        text("shingles", "abcdefgabcdefgabcdefg")
    );
}

#[test]
fn nothing_has_no_fingerprint() {
    for preset in ["adaptive", "minwise", "shingles", "record"] {
        assert_eq!(text(preset, " 　\u{200b}"), None);
        assert_eq!(of_row(&["", "　"], "{}", preset), Ok(None));
    }
}

/// Whatever its name and weight.
#[test]
fn a_column_without_features_changes_nothing() {
    for preset in ["adaptive", "minwise", "shingles", "record"] {
        let three = of_row(
            &["street lamp", "", "dark"],
            r#"{"a": 2, "b": 7, "c": 1}"#,
            preset,
        );
        let two = of_row(&["street lamp", "x", "dark"], r#"{"a": 2, "c": 1}"#, preset);
        assert!(matches!(three, Ok(Some(_))));
        assert_eq!(three, two, "{preset}");
    }
}

/// The content of other columns costs a row no more bits than their share.
#[test]
fn a_column_has_its_share_of_the_bits() {
    for preset in ["adaptive", "minwise", "shingles", "record"] {
        let weights = r#"{"a": 3, "b": 1}"#;
        let with = |b: &str| {
            of_row(&["the street lamp is dark", b], weights, preset)
                .unwrap()
                .unwrap()
        };
        let apart = |i: u32| (with(&i.to_string()) ^ with(&(i + 1000).to_string())).count_ones();
        let most = (1000..1500).map(apart).max().unwrap();
        assert!((6..=22).contains(&most), "{preset}: {most}");
    }
}

/// Without balance a column weighs as much as its features do together.
#[test]
fn unbalanced_columns_weigh_what_they_hold() {
    let long: String = (0..200).map(|n| format!("w{n} ")).collect();
    let apart = |json: &str| {
        let row = |b: &str| of_row(&[&long, b], json, "minwise").unwrap().unwrap();
        (0..200)
            .map(|n| (row(&n.to_string()) ^ row("other")).count_ones())
            .sum::<u32>()
    };
    let (balanced, not) = (apart("{}"), apart(r#"{"$balance": false}"#));
    assert!(balanced > 10 * not, "{balanced} {not}");
}

#[test]
fn features_show_the_share_of_the_bits() {
    let preset = presets::find(Some("minwise")).unwrap();
    let options = parse_row(r#"{"a": 3, "b": 1}"#, &mut || {}).unwrap();
    let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
    builder.begin();
    for plan in &plan::row(preset, &options, &fields(2)).unwrap() {
        let text = ["one two three", "four"][plan.field];
        builder
            .column(plan, Content::Text(text), &mut || {})
            .unwrap();
    }
    let weights = builder
        .into_features()
        .into_iter()
        .map(|feature| feature.weight);
    assert_eq!(weights.collect::<Vec<_>>(), [0.25; 4]);
}

/// Showing its features does not change a row's fingerprint.
#[test]
fn a_shown_row_has_its_fingerprint() {
    let long = "one two two three ".repeat(15);
    let texts = [long.as_str(), "four"];
    for (preset, json) in [
        ("minwise", "{}"),
        ("adaptive", "{}"),
        ("adaptive", r#"{"a": 2, "b": 1}"#),
        (
            "adaptive",
            r#"{"$hash": "xxh3", "$normalize": "keep_accents"}"#,
        ),
        ("shingles", "{}"),
        ("record", "{}"),
        ("minwise", r#"{"$tf": "log"}"#),
        ("minwise", r#"{"$balance": false}"#),
        ("minwise", r#"{"$features": {"words": 1e-300}}"#),
        (
            "shingles",
            r#"{"$features": {"ngrams": 7, "whole": 7}, "$hash": "xxh3"}"#,
        ),
        ("shingles", r#"{"$features": {"ngrams": 7, "whole": 2}}"#),
    ] {
        let options = parse_row(json, &mut || {}).unwrap();
        let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
        builder.begin();
        for plan in &plan::row(presets::find(Some(preset)).unwrap(), &options, &fields(2)).unwrap()
        {
            let text = plan.fields().map(|field| texts[field]);
            let text = text.collect::<Vec<_>>().join("\n");
            builder
                .column(plan, Content::Text(&text), &mut || {})
                .unwrap();
        }
        let shown = builder.fingerprint().map(|[bits]| bits);
        assert_eq!(of_row(&texts, json, preset), Ok(shown), "{preset} {json}");
        let weights: f64 = builder
            .into_features()
            .iter()
            .map(|feature| feature.weight)
            .sum();
        assert!(
            weights > 0.9 || shown.is_none(),
            "{preset} {json}: {weights}"
        );
    }
}

#[test]
fn margins_are_refused() {
    let preset = presets::find(Some("shingles")).unwrap();
    let plan = plan::text(preset, &TextOptions::default()).unwrap();
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    assert_eq!(builder.margin(3), Ok(None));
    builder
        .column(&plan, Content::Text("street lamp"), &mut || {})
        .unwrap();
    assert_eq!(builder.margin(3), Err(Error::NoMargin));
}

#[test]
fn narrow_fingerprints_have_32_bits() {
    for preset in ["adaptive", "minwise", "shingles", "record"] {
        let narrow = of_text("the street lamp is dark", preset, Width::W32)
            .unwrap()
            .unwrap();
        assert!(narrow > 0 && narrow <= u64::from(u32::MAX));
    }
}

/// A row of columns that may have one name, as that of a sub-select.
fn of_columns(columns: &[(&str, &str)], json: &str) -> Option<u64> {
    let field = |(name, _): &(&str, &str)| Field {
        name: (*name).to_owned(),
        generated: false,
        is_text: true,
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let options = parse_row(json, &mut || {}).unwrap();
    let plans = plan::row(presets::find(Some("minwise")).unwrap(), &options, &fields).unwrap();
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    for plan in &plans {
        let content = Content::Text(columns[plan.field].1);
        builder.column(plan, content, &mut || {}).unwrap();
    }
    builder.fingerprint().map(|[bits]| bits)
}

#[test]
fn columns_of_one_name_all_count() {
    let of = |first, second| of_columns(&[("lower", first), ("lower", second)], "{}");
    assert_ne!(of("street lamp", "dark"), of("street lamp", "broken"));
    assert_ne!(of("street lamp", "dark"), of("street", "dark"));
}

/// Neither of two columns with tiny weights takes all bits, whichever comes first.
#[test]
fn tiny_weights_are_weights() {
    for json in [
        r#"{"a": 1e-290, "b": 1e-290}"#,
        r#"{"$balance": false, "a": 1e-280, "b": 1e-280}"#,
        r#"{"a": 1e100, "b": 3e-190, "c": 1e-190}"#,
    ] {
        let of = |a: &str, b: &str| of_columns(&[("a", a), ("b", b), ("c", "")], json);
        let (a, b) = if json.contains("1e100") {
            ("", "x y")
        } else {
            ("x y", "z")
        };
        assert_ne!(of(a, b), of("", "z"), "{json}");
        let swapped = of_columns(&[("c", ""), ("b", b), ("a", a)], json);
        assert_eq!(of(a, b), swapped, "{json}");
    }
}
