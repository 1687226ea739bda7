//! Which features a text has under which options, and what they weigh.

use std::collections::HashSet;

use crate::builder::{Content, Feature, FingerprintBuilder};
use crate::hash::{FeatureHash, Width, bkdr, city64};
use crate::options::grammar::{parse_row, parse_text};
use crate::options::{plan, presets};

fn features(text: &str, options: &str) -> Vec<Feature> {
    let preset = presets::find(Some("plain")).unwrap();
    let plan = plan::text(preset, &parse_text(options, &mut || {}).unwrap()).unwrap();
    let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
    builder.begin();
    builder
        .column(&plan, Content::Text(text), &mut || {})
        .unwrap();
    let mut features = builder.into_features();
    features.sort_by(|a, b| a.feature.cmp(&b.feature));
    features
}

fn names(text: &str, options: &str) -> Vec<String> {
    let features = features(text, options);
    features.into_iter().map(|f| f.feature).collect()
}

#[test]
fn kinds_of_features() {
    for (options, expected) in [
        ("{}", vec!["a", "b", "c"]),
        (r#"{"features": ["pairs"]}"#, vec!["a b", "b c"]),
        (
            r#"{"features": ["words", "pairs"]}"#,
            vec!["a", "a b", "b", "b c", "c"],
        ),
        (r#"{"features": ["ngrams"], "ngram": 2}"#, vec!["ab", "bc"]),
        (r#"{"features": ["whole"]}"#, vec!["a b, c"]),
        (
            r#"{"features": ["ngrams", "whole"]}"#,
            vec!["a b, c", "abc"],
        ),
    ] {
        assert_eq!(names("A b, C", options), expected, "{options}");
    }
    assert_eq!(
        names("中国。人", r#"{"features": ["ngrams"], "ngram": 2}"#),
        ["中国", "国人"]
    );
}

#[test]
fn markup_goes_before_features_are_made() {
    let page = "<p title=x>One<br>tw<b>o</b>&nbsp;&lt;three</p><script>var x</script>";
    for (options, expected) in [
        (r#""features": ["words"]"#, vec!["one", "three", "two"]),
        (r#""features": ["pairs"]"#, vec!["one two", "two three"]),
        (
            r#""features": ["ngrams"], "ngram": 11"#,
            vec!["onetwothree"],
        ),
        (r#""features": ["whole"]"#, vec!["one two <three"]),
        (
            r#""stop_words": ["one", "two", "three"]"#,
            vec!["one", "three", "two"],
        ),
    ] {
        let html = format!(r#"{{{options}, "markup": "html"}}"#);
        assert_eq!(names(page, &html), expected, "{options}");
    }
    assert!(names(page, r#"{"markup": "none"}"#).contains(&"br".to_owned()));
    assert!(names("<p><br></p>", r#"{"markup": "html"}"#).is_empty());
}

/// The row's option holds for its columns, as text and as value, and for titles.
#[test]
fn markup_of_columns() {
    let columns = [("a", "<b>x</b>"), ("b", "<i>X</i> i"), ("c", "<u>x</u>")];
    let json = r#"{"a": {"as": "value"}, "b": {"title": "a"}, "c": {"markup": "none"}, "$markup": "html"}"#;
    let expected = [
        ("a:x", 1.0),
        ("b:i", 1.0),
        ("b:x", 5.0),
        ("c:u", 2.0),
        ("c:x", 1.0),
    ];
    assert_weights(&weighed(&columns, "plain", json), &expected);
}

/// A word, an n-gram and a whole text of the same letters are three features.
#[test]
fn kinds_do_not_mix() {
    let all = features("abc", r#"{"features": ["words", "ngrams", "whole"]}"#);
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|f| f.feature == "abc" && f.tf == 1.0));
}

#[test]
fn term_weights() {
    let text = "a a a a b";
    let ratio = |tf: &str| {
        let features = features(text, &format!(r#"{{"tf": "{tf}"}}"#));
        features[0].weight / features[1].weight
    };
    for (tf, expected) in [
        ("raw", 4.0),
        ("sqrt", 2.0),
        ("log", 1.0 + 4f64.ln()),
        ("set", 1.0),
    ] {
        assert!((ratio(tf) - expected).abs() < 1e-8, "{tf}");
    }
    let kinds = features("a b", r#"{"features": {"words": 2, "pairs": 0.5}}"#);
    assert!((kinds[0].weight / kinds[1].weight - 4.0).abs() < 1e-8);
    let nothing = r#"{"features": {"words": 1e-300, "pairs": 1}}"#;
    assert!(features("a", nothing).iter().all(|f| f.weight == 0.0));
}

#[test]
fn stop_words() {
    let built_in = r#"{"stop_words": true}"#;
    assert_eq!(names("The fox and the dog", built_in), ["dog", "fox"]);
    assert_eq!(names("关于道路的问题", built_in), ["道路", "问题"]);
    let own = r#"{"stop_words": ["FOX", "@zh"]}"#;
    assert_eq!(names("the fox 的", own), ["the"]);
    // Pairs reach over what is left out.
    let pairs = r#"{"features": ["pairs"], "stop_words": true}"#;
    assert_eq!(names("fox of the woods", pairs), ["fox woods"]);
    // One word alone is no pair, so that the stop word counts.
    assert_eq!(names("the fox", pairs), ["the fox"]);
    // A text of nothing else keeps them.
    assert_eq!(
        names("to be or not to be", built_in),
        ["be", "not", "or", "to"]
    );
    let mixed = r#"{"features": ["words", "whole"], "stop_words": true}"#;
    assert_eq!(names("to be", mixed), ["be", "to", "to be"]);
}

#[test]
fn masked_runs_are_left_out() {
    let drop = r#"{"drop_runs": true}"#;
    let masked = format!("call {} **** xxxx now 007", "0".repeat(5000));
    assert_eq!(names(&masked, drop), ["007", "call", "now"]);
    assert_eq!(names("0000 xxxx", drop), ["0000", "xxxx"]);
    let grams = r#"{"features": ["ngrams"], "ngram": 3, "drop_runs": true}"#;
    assert_eq!(names("ab0000000cd", grams), ["00c", "0cd", "ab0", "b00"]);
}

#[test]
fn words_of_a_user_dictionary() {
    let with = r#"{"dictionary": ["丹江口库区移民", "c++"]}"#;
    assert_eq!(
        names("丹江口库区移民问题", with),
        ["丹江口库区移民", "问题"]
    );
    assert_eq!(names("use C++ here", with), ["c++", "here", "use"]);
    assert!(!names("丹江口库区移民问题", "{}").contains(&"丹江口库区移民".to_owned()));
}

/// Preset s0: values weigh 2, words by tf, columns as they are.
#[test]
fn the_row_of_s0() {
    let fields = ["city", "body"].map(|name| plan::Field {
        name: name.to_owned(),
        generated: false,
        is_text: true,
    });
    let preset = presets::find(Some("s0")).unwrap();
    let options = parse_row(r#"{"city": {"as": "value"}, "body": 1}"#, &mut || {}).unwrap();
    let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
    builder.begin();
    for plan in &plan::row(preset, &options, &fields).unwrap() {
        let text = ["New York", "the road, the other road"][plan.field];
        builder
            .column(plan, Content::Text(text), &mut || {})
            .unwrap();
    }
    let shown: Vec<(String, f64)> = builder
        .into_features()
        .into_iter()
        .map(|f| (f.feature, f.weight))
        .collect();
    assert_eq!(
        shown,
        [("new york".to_owned(), 2.0), ("road".to_owned(), 2.0)]
    );
}

#[test]
fn hashes_by_name() {
    for (name, hash) in FeatureHash::NAMES {
        let options = format!(r#"{{"hash": "{name}"}}"#);
        let expected = hash.hash(Width::W64, b"word");
        assert_eq!(features("word", &options)[0].hash, expected, "{name}");
    }
    assert_eq!(features("word", "{}")[0].hash, city64(b"word"));
    // The high bits of short words must differ: raw BKDRHash has zeros there.
    let high: HashSet<u64> = ('a'..='z')
        .map(|c| bkdr(c.to_string().as_bytes()) >> 48)
        .collect();
    assert_eq!(high.len(), 26);
    // SplitMix64 of 97 (BKDRHash of one letter is the letter), worked out apart.
    assert_eq!(bkdr(b"a"), 0xaeff7d4b5b72ec99);
}

/// Features and weights of a row of text columns, not balanced.
fn weighed(columns: &[(&str, &str)], preset: &str, json: &str) -> Vec<(String, f64)> {
    let fields: Vec<plan::Field> = columns
        .iter()
        .map(|(name, _)| plan::Field {
            name: (*name).to_owned(),
            generated: false,
            is_text: true,
        })
        .collect();
    let mut options = parse_row(json, &mut || {}).unwrap();
    options.balance = Some(false);
    let plans = plan::row(presets::find(Some(preset)).unwrap(), &options, &fields).unwrap();
    let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
    builder.begin();
    for plan in &plans {
        if let Some(title) = plan.title {
            builder.title(plan, columns[title].1, &mut || {}).unwrap();
        }
        let content = Content::Text(columns[plan.field].1);
        builder.column(plan, content, &mut || {}).unwrap();
    }
    let mut features: Vec<(String, f64)> = builder
        .into_features()
        .into_iter()
        .map(|f| (format!("{}:{}", f.column, f.feature), f.weight))
        .collect();
    features.sort_by(|a, b| a.0.cmp(&b.0));
    features
}

fn assert_weights(found: &[(String, f64)], expected: &[(&str, f64)]) {
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected_names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected_names);
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        assert!(
            (found / expected - 1.0).abs() < 1e-3,
            "{name}: {found}, not {expected}"
        );
    }
}

/// tf * idf * (1 + len), with the lengths' weights as S2 prints them.
#[test]
fn the_weights_of_s2() {
    let body = [("body", "的 道路 道路 公共汽车 路")];
    let without = [
        ("body:公共汽车", 1.974),
        ("body:路", 1.282),
        ("body:道路", 2.0 * 1.524),
    ];
    assert_weights(&weighed(&body, "s2", "{}"), &without);
    let idf = r#"{"body": {"idf": {"documents": 99, "terms": {"道路": 49, "路": 99}}}}"#;
    let (rare, half) = (100f64.ln() + 1.0, 2f64.ln() + 1.0);
    let with = [
        ("body:公共汽车", 1.974 * rare),
        ("body:路", 1.282),
        ("body:道路", 2.0 * 1.524 * half),
    ];
    assert_weights(&weighed(&body, "s2", idf), &with);
    // The same table for all columns; one goes without.
    let row =
        r#"{"$idf": {"documents": 99, "terms": {}}, "body": {"idf": false}, "$length": "none"}"#;
    assert_weights(&weighed(&[("body", "路")], "s2", row), &[("body:路", 1.0)]);
}

/// tf * part of speech * length * cue word * title, the length between 1 and 8 characters.
#[test]
fn the_weights_of_s3() {
    let columns = [("subject", "道路损坏"), ("body", "但是 道路 修理 道路 12")];
    let length = |x: f64| 1.0 + (x - 1.0) / 7.0;
    let expected = |title: f64| {
        [
            ("body:12", length(2.0)),
            ("body:但是", 5.0 * length(2.0)),
            ("body:修理", 1.5 * length(2.0)),
            ("body:道路", 2.0 * 2.0 * length(2.0) * title),
        ]
    };
    assert_weights(&weighed(&columns, "s3", r#"{"body": 1}"#), &expected(1.0));
    let titled = r#"{"body": {"title": "subject"}}"#;
    assert_weights(&weighed(&columns, "s3", titled), &expected(5.0));
    // A title that counts itself is not its own title.
    let both = weighed(&columns, "s3", r#"{"$title": "subject"}"#);
    let without = weighed(&columns, "s3", r#"{"subject": 1}"#);
    assert_eq!(&both[4..], &without[..]);
    // The title of one row does not reach the next column.
    let options = r#"{"body": {"title": "subject"}, "more": 1}"#;
    let three = [columns[0], columns[1], ("more", "道路")];
    let more = weighed(&three, "plain", options);
    assert_weights(&more[4..], &[("more:道路", 1.0)]);
}

#[test]
fn parts_of_speech_and_cue_words_of_ones_own() {
    let options = r#"{"$pos": {"noun": 7, "verb": 3, "other": 0.5}, "$cue_words": ["ＬＡＭＰ"], "$stop_words": true}"#;
    let found = weighed(&[("t", "很 道路 修理 lamp 2024 C++")], "plain", options);
    let expected = [
        ("t:2024", 0.5),
        ("t:c++", 7.0),
        ("t:lamp", 35.0),
        ("t:修理", 3.0),
        ("t:道路", 7.0),
    ];
    assert_weights(&found, &expected);
    let user = r#"{"$pos": {"noun": 7}, "$dictionary": ["丹江口库区移民"]}"#;
    let found = weighed(&[("t", "丹江口库区移民")], "plain", user);
    assert_weights(&found, &[("t:丹江口库区移民", 7.0)]);
}

/// Parts of speech do not change how a text is cut.
#[test]
fn tagged_words_are_the_same_words() {
    let text = "关于丹江口库区移民问题的综合报告，请尽快处理PostgreSQL数据库，谢谢市长王小明！";
    assert_eq!(names(text, r#"{"pos": true}"#), names(text, "{}"));
}

/// Where a text has nothing else.
#[test]
fn symbols_are_features() {
    assert_eq!(names("★ ☎★ !!!", "{}"), ["!", "★", "☎"]);
    assert_eq!(names("★ ☎", r#"{"features": ["pairs"]}"#), ["★ ☎"]);
    assert_eq!(
        names("★☎\u{fe0f}!", r#"{"features": ["ngrams"], "ngram": 2}"#),
        ["★☎", "☎!"]
    );
    assert_eq!(names("★ a", "{}"), ["a"]);
    assert_eq!(names(" \u{200d}", "{}"), Vec::<String>::new());
}

#[test]
fn accents_count_where_an_option_says_so() {
    assert_eq!(names("Où Été ete", "{}"), ["ete", "ou"]);
    let keep = r#"{"normalize": "keep_accents"}"#;
    assert_eq!(names("Où Été ete", keep), ["ete", "où", "été"]);
    let lists = r#"{"normalize": "keep_accents", "stop_words": ["OÙ"], "dictionary": ["Le Café"]}"#;
    assert_eq!(names("Où est le café", lists), ["est", "le café"]);
    assert_eq!(names("Ou est le cafe", lists), ["est", "le cafe"]);
}
