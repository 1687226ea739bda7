//! The JSON of weights and options: what it means, and what is refused.

use super::{fields, of_row, of_text};
use crate::hash::Width;
use crate::options::grammar::{RowOptions, parse_row, parse_text, parse_text_or_hint_row};
use crate::options::{plan, presets};
use crate::{Class, Error};

#[test]
fn the_grammar_of_weights() {
    let plan = |json: &str| {
        let options = parse_row(json, &mut || {})?;
        let plans = plan::row(presets::find(Some("plain"))?, &options, &fields(3))?;
        Ok::<_, Error>(
            plans
                .into_iter()
                .map(|p| (p.field, p.factor))
                .collect::<Vec<_>>(),
        )
    };
    let share = |w: f64, total: f64| w.sqrt() / total.sqrt();
    assert_eq!(
        plan("{}"),
        Ok((0..3).map(|i| (i, share(1.0, 3.0))).collect())
    );
    assert_eq!(plan("{\"b\": 2}"), Ok(vec![(1, 1.0)]));
    let body = "{\"a\": 2, \"b\": {\"weight\": 6, \"as\": \"value\", \"tf\": \"set\"}}";
    assert_eq!(
        plan(body),
        Ok(vec![(0, share(2.0, 8.0)), (1, share(6.0, 8.0))])
    );
    let rest = "{\"b\": 2, \"*\": 1, \"$exclude\": [\"c\"]}";
    assert_eq!(
        plan(rest),
        Ok(vec![(0, share(1.0, 3.0)), (1, share(2.0, 3.0))])
    );
    assert_eq!(plan("{\"a\": 0, \"*\": 1}").map(|p| p.len()), Ok(2));
    assert_eq!(plan("{\"$exclude\": [\"a\", \"b\"]}"), Ok(vec![(2, 1.0)]));
    let renamed = "{\"$columns\": [\"x\", \"$y\", \"z\"], \"$$y\": 1}";
    assert_eq!(plan(renamed), Ok(vec![(1, 1.0)]));
}

/// Each JSON of a row of columns a and b is refused with an error of this class, whose message
/// contains what stands beside it.
fn assert_refused(class: Class, cases: &[(&str, &str)]) {
    for (json, message) in cases {
        let error = refused(json);
        assert_eq!(error.class(), class, "{json}");
        assert!(error.to_string().contains(message), "{json}: {error}");
    }
}

fn refused(json: &str) -> Error {
    of_row(&["a", "b"], json, "plain").unwrap_err()
}

#[test]
fn columns_that_the_row_lacks_are_refused() {
    let cases = [
        (r#"{"zz": 1}"#, r#"column "zz" in weights"#),
        (r#"{"$exclude": ["zz"]}"#, r#"column "zz" in "$exclude""#),
        (r#"{"a": {"title": "zz"}}"#, r#"column "zz" in "title""#),
    ];
    assert_refused(Class::UndefinedColumn, &cases);
}

#[test]
fn weights_out_of_range_are_refused() {
    let cases = [
        (
            r#"{"a": -1}"#,
            r#"weight of column "a" is out of range: -1"#,
        ),
        (r#"{"a": 1e999}"#, "cannot read the JSON"),
        (r#"{"a": 0, "b": 0}"#, "add up to zero"),
        (
            r#"{"a": 1e101}"#,
            r#"weight of column "a" is out of range: 1e"#,
        ),
        (
            r#"{"a": "2"}"#,
            r#"weight of column "a" must be a number or an object, not "2""#,
        ),
        (r#"{"a": {"weight": null}}"#, "must be a number, not null"),
        (r#"{"a": 1, "$exclude": ["a"]}"#, "also excluded"),
    ];
    assert_refused(Class::InvalidValue, &cases);
}

#[test]
fn options_of_a_row_or_column_of_another_shape_are_refused() {
    let cases = [
        ("[1]", "weights must be a JSON object, not this array"),
        ("null", "weights must be a JSON object, not null"),
        (r#"{"$nonsense": 1}"#, r#"unknown option "$nonsense""#),
        (r#"{"a": {"wieght": 1}}"#, r#"unknown option "wieght""#),
        (
            r#"{"a": {"as": "word"}}"#,
            r#""as" of column "a" must be "text" or "value", not "word""#,
        ),
        (
            r#"{"a": {"as": {"text": null}}}"#,
            r#"must be "text" or "value", not an object"#,
        ),
        (
            r#"{"$balance": 1}"#,
            r#""$balance" must be true or false, not 1"#,
        ),
        (r#"{"$columns": ["a"]}"#, "names 1 columns"),
        (r#"{"$columns": ["a", "a"]}"#, "more than once"),
        (
            r#"{"$columns": ["a", 1]}"#,
            r#""$columns" must be an array of strings, not this array"#,
        ),
    ];
    assert_refused(Class::InvalidValue, &cases);
}

#[test]
fn options_of_texts_of_another_shape_are_refused() {
    let tf = r#""$tf" must be "raw", "log", "sqrt" or "set", not"#;
    let stop_words = r#""$stop_words" must be true, false or an array of strings, not"#;
    let cases = [
        (r#"{"$tf": 1}"#, tf),
        (r#"{"$tf": "idf"}"#, tf),
        (r#"{"$tf": {"raw": null}}"#, tf),
        (
            r#"{"$normalize": true}"#,
            r#""$normalize" must be "fold" or "keep_accents", not true"#,
        ),
        (r#"{"$features": []}"#, r#""$features" must be"#),
        (
            r#"{"$features": "words"}"#,
            r#""$features" must be an array of strings, not "words""#,
        ),
        (
            r#"{"$features": ["triples"]}"#,
            r#"unknown option "triples""#,
        ),
        (r#"{"$features": {"words": 0}}"#, r#""$features" must be"#),
        (
            r#"{"$features": {"pairs": -1}}"#,
            r#"weight of feature "pairs" is out of range: -1"#,
        ),
        (
            r#"{"a": {"ngram": 17}}"#,
            r#""ngram" must be an integer from 1 to 16, not 17"#,
        ),
        (r#"{"$stop_words": 1}"#, stop_words),
        (r#"{"$stop_words": [1]}"#, stop_words),
        (
            r#"{"$stop_words": ["@fr"]}"#,
            r#"unknown list of stop words "@fr""#,
        ),
        (
            r#"{"$dictionary": "word"}"#,
            r#""$dictionary" must be an array of strings, not "word""#,
        ),
        (
            r#"{"$drop_runs": 1}"#,
            r#""$drop_runs" must be true or false, not 1"#,
        ),
        (
            r#"{"$markup": "xml"}"#,
            r#""$markup" must be "html", "mail", "subtitles" or "none", not "xml""#,
        ),
        (
            r#"{"a": {"markup": true}}"#,
            r#""markup" must be "html", "mail", "subtitles" or "none", not true"#,
        ),
        (
            r#"{"$hash": "md5"}"#,
            r#""$hash" must be "cityhash64", "murmur64a", "bkdr", "murmur3" or"#,
        ),
    ];
    assert_refused(Class::InvalidValue, &cases);
}

#[test]
fn options_of_words_of_another_shape_are_refused() {
    let idf = r#""$idf" must be false or an object with "documents" and "terms", not"#;
    let length =
        r#""$length" must be "none", "gauss", "linear" or an object with "min" and "max", not"#;
    let pos = r#""$pos" must be true, false or an object of "noun", "verb" and "other", not"#;
    let count = "must be an integer that is not negative, not";
    let cases = [
        (r#"{"$idf": []}"#, idf),
        (r#"{"$idf": true}"#, idf),
        (r#"{"$idf": {"documents": 1}}"#, idf),
        (
            r#"{"$idf": {"documents": 1, "terms": {}, "words": 1}}"#,
            r#"unknown option "words""#,
        ),
        (r#"{"$idf": {"documents": -1, "terms": {}}}"#, count),
        (r#"{"$idf": {"documents": 1, "terms": {"a": 0.5}}}"#, count),
        (
            r#"{"$idf": {"documents": 1, "terms": []}}"#,
            r#""terms" must be a JSON object"#,
        ),
        (
            r#"{"$idf": {"documents": 1, "terms": {"a": 2}}}"#,
            r#"term "a" occurs in 2 of 1 documents"#,
        ),
        (r#"{"$length": 3}"#, length),
        (r#"{"$length": [1, 2]}"#, length),
        (r#"{"$length": {"min": 2, "max": 2, "mean": 2}}"#, length),
        (
            r#"{"$length": {"min": 2, "max": 2}}"#,
            r#""max" must be above "min", not 2"#,
        ),
        (
            r#"{"$length": {"min": -2, "max": 2}}"#,
            r#""min" is out of range: -2"#,
        ),
        (r#"{"$pos": []}"#, pos),
        (r#"{"$pos": {"adverb": 1}}"#, r#"unknown option "adverb""#),
        (
            r#"{"$pos": {"verb": -1}}"#,
            r#"weight of part of speech "verb" is out of range: -1"#,
        ),
        (
            r#"{"$pos": {"noun": 2000000}}"#,
            r#"weight of part of speech "noun" must be at most 1000000, not 2000000"#,
        ),
        (
            r#"{"$cue_words": "x"}"#,
            r#""$cue_words" must be true, false or an array of strings"#,
        ),
        (
            r#"{"$title": 1}"#,
            r#""$title" must be the name of a column, not 1"#,
        ),
    ];
    assert_refused(Class::InvalidValue, &cases);
}

#[test]
fn what_hints_say() {
    let hint = |json| refused(json).hint();
    assert!(
        refused(r#"{"zz": 1}"#)
            .detail()
            .unwrap()
            .contains(r#""a", "b""#)
    );
    assert!(hint(r#"{"$x": 1}"#).unwrap().contains("$columns"));
    let sign = |key| Some(format!("If an option is meant, write \"${key}\"."));
    assert_eq!(hint(r#"{"tf": "log"}"#), sign("tf"));
    assert_eq!(hint(r#"{"exclude": 1}"#), sign("exclude"));
    assert_eq!(hint(r#"{"subject": "2"}"#), None);
    let presets = of_text("a", "nope", Width::W64).unwrap_err().hint();
    assert!(
        presets
            .unwrap()
            .contains("shingles, minwise, record, words, plain, s0, s1, s2, s3")
    );
    let of_texts = parse_text(r#"{"title": "a"}"#, &mut || {})
        .unwrap_err()
        .hint();
    assert!(of_texts.unwrap().ends_with("length, pos, cue_words."));
}

#[test]
fn options_without_use_are_refused() {
    let cut = "Presets that cut texts into words use it: minwise, words, plain, s0, s2, s3.";
    for (preset, json, key, hint) in [
        (Some("s1"), r#"{"pos": true}"#, "pos", cut),
        (
            Some("s1"),
            r#"{"tf": "log"}"#,
            "tf",
            "Presets that read natural text use it: \
             adaptive, shingles, minwise, record, words, plain, s0, s2, s3.",
        ),
        (None, r#"{"stop_words": true}"#, "stop_words", cut),
        (
            Some("shingles"),
            r#"{"dictionary": ["a"]}"#,
            "dictionary",
            cut,
        ),
        (
            Some("record"),
            r#"{"idf": {"documents": 1, "terms": {}}}"#,
            "idf",
            cut,
        ),
        (
            Some("words"),
            r#"{"ngram": 4}"#,
            "ngram",
            "Presets that cut texts into n-grams use it: adaptive, shingles, record.",
        ),
    ] {
        let named = presets::find(preset).unwrap();
        let error = plan::text(named, &parse_text(json, &mut || {}).unwrap()).unwrap_err();
        let message = format!("option \"{key}\" has no use with preset \"{}\"", named.name);
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hint().as_deref(), Some(hint));
        let bare = (named.name == "adaptive")
            .then(|| "A call without a preset has preset \"adaptive\".".to_owned());
        assert_eq!(error.detail(), bare);
    }
    // The kinds of features decide, not the preset's name.
    for (preset, json) in [
        (None, r#"{"features": ["words"], "stop_words": true}"#),
        (Some("words"), r#"{"features": ["ngrams"], "ngram": 4}"#),
        (None, r#"{"features": ["pairs"], "dictionary": ["a b"]}"#),
    ] {
        let named = presets::find(preset).unwrap();
        plan::text(named, &parse_text(json, &mut || {}).unwrap()).unwrap();
    }
}

/// An option of the row has a use when one column uses it, an option of a column only there.
#[test]
fn a_column_uses_its_options() {
    let words = r#"{"a": {"features": ["words"]}, "b": 1, "$stop_words": true}"#;
    assert!(of_row(&["x y", "z"], words, "shingles").is_ok());
    for (json, key) in [
        (r#"{"$stop_words": true}"#, "$stop_words"),
        (r#"{"a": {"stop_words": true}}"#, "stop_words"),
        (
            r#"{"a": {"features": ["words"]}, "b": {"stop_words": true}}"#,
            "stop_words",
        ),
        (
            r#"{"a": {"features": ["words"], "weight": 0}, "b": 1, "$stop_words": true}"#,
            "$stop_words",
        ),
    ] {
        let error = of_row(&["x y", "z"], json, "shingles").unwrap_err();
        let message = format!("option \"{key}\" has no use with preset \"shingles\"");
        assert_eq!(error.to_string(), message, "{json}");
    }
}

/// A dictionary is of use when some column may be cut into words.
#[test]
fn a_call_without_a_preset() {
    let found = |name| presets::find(name).unwrap().name;
    assert_eq!(found(None), "adaptive");
    assert_eq!(found(Some("words")), "words");
    assert!(presets::find(Some("default")).is_err());
}

#[test]
fn json_of_a_row_says_that_a_text_was_passed() {
    let fail = |json: &str| parse_text_or_hint_row(json, &mut || {}).unwrap_err();
    for json in [
        "{\"subject\": 1}",
        "{\"$features\": [\"words\"]}",
        "{\"title\": 2, \"body\": {\"weight\": 3}}",
    ] {
        let error = fail(json);
        assert!(error.to_string().starts_with("unknown option"), "{error}");
        let detail = error.detail().unwrap();
        assert!(detail.starts_with("The argument is a text, not a row."));
        assert!(error.hint().unwrap().contains("ROW(a, b)"), "{json}");
        assert_eq!(
            parse_text(json, &mut || {}).unwrap_err().detail(),
            None,
            "{json}"
        );
    }
    // No row has such JSON either.
    assert_eq!(fail("{\"featurs\": [\"words\"]}").detail(), None);
    assert_eq!(fail("{\"tf\": 1}").detail(), None);
}

#[test]
fn generated_columns_count_only_when_named() {
    let mut fields = fields(2);
    fields[1].generated = true;
    let plain = presets::find(Some("plain")).unwrap();
    let count = |json: &str| {
        plan::row(plain, &parse_row(json, &mut || {}).unwrap(), &fields)
            .unwrap()
            .len()
    };
    assert_eq!(count("{}"), 1);
    assert_eq!(count("{\"*\": 1}"), 1);
    assert_eq!(count("{\"*\": 1, \"b\": 1}"), 2);
    assert_eq!(plan::row(plain, &RowOptions::default(), &[]), Ok(vec![]));
}

#[test]
fn a_document_that_is_too_long_is_refused() {
    let document = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
    assert!(parse_text(&document(16 << 20), &mut || {}).is_ok());
    let error = parse_text(&document((16 << 20) + 1), &mut || {}).unwrap_err();
    assert_eq!(error.class(), Class::InvalidValue);
    assert_eq!(
        error.to_string(),
        "the JSON of the options is too long: 16777217 bytes"
    );
}

#[test]
fn lists_of_words_pause() {
    let words: Vec<String> = (0..1000)
        .map(|i| format!("\"w{}\"", i * 7 % 1000))
        .collect();
    let words = words.join(",");
    for key in ["stop_words", "dictionary", "cue_words"] {
        let (mut pauses, json) = (0, format!("{{\"{key}\": [{words}]}}"));
        parse_text(&json, &mut || pauses += 1).unwrap();
        assert!(pauses > 2000, "{key}: {pauses}");
    }
    let terms = words.replace(',', ": 1,");
    let json = format!(r#"{{"idf": {{"documents": 9, "terms": {{{terms}: 1}}}}}}"#);
    let mut pauses = 0;
    parse_text(&json, &mut || pauses += 1).unwrap();
    assert!(pauses >= 1000, "{pauses}");
}
