//! Which features a text has under which options, and what they weigh.

use std::collections::HashSet;

use crate::fingerprint::hash::{FeatureHash, Width, bkdr, city64};
use crate::fingerprint::options::{parse_row, parse_text};
use crate::fingerprint::sketch::{Content, Feature, Sketch};
use crate::fingerprint::{plan, presets};

fn features(text: &str, options: &str) -> Vec<Feature> {
    let preset = presets::find(Some("plain")).unwrap();
    let plan = plan::text(preset, &parse_text(options).unwrap()).unwrap();
    let mut sketch = Sketch::<1>::showing(Width::W64);
    sketch.begin();
    sketch
        .column(&plan, Content::Text(text), &mut || {})
        .unwrap();
    let mut features = sketch.into_features();
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
    });
    let preset = presets::find(Some("s0")).unwrap();
    let options = parse_row(r#"{"city": {"as": "value"}, "body": 1}"#).unwrap();
    let mut sketch = Sketch::<1>::showing(Width::W64);
    sketch.begin();
    for plan in &plan::row(preset, &options, &fields).unwrap() {
        let text = ["New York", "the road, the other road"][plan.field];
        sketch
            .column(plan, Content::Text(text), &mut || {})
            .unwrap();
    }
    let shown: Vec<(String, f64)> = sketch
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
