//! The JSON of weights and options: what it means, and what is refused.

use super::{fields, of_row, of_text};
use crate::fingerprint::hash::Width;
use crate::fingerprint::options::grammar::{
    RowOptions, parse_row, parse_text, parse_text_or_hint_row,
};
use crate::fingerprint::options::{plan, presets};
use crate::fingerprint::{Class, Error};

#[test]
fn the_grammar_of_weights() {
    let plan = |json: &str| {
        let options = parse_row(json)?;
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

#[test]
fn what_the_grammar_refuses() {
    let fail = |json: &str| of_row(&["a", "b"], json, "plain").unwrap_err();
    for (json, class, message) in [
        (
            "{\"zz\": 1}",
            Class::UndefinedColumn,
            "column \"zz\" in weights",
        ),
        (
            "{\"$exclude\": [\"zz\"]}",
            Class::UndefinedColumn,
            "column \"zz\" in \"$exclude\"",
        ),
        (
            "{\"a\": -1}",
            Class::InvalidValue,
            "weight of column \"a\" is out of range: -1",
        ),
        (
            "{\"a\": 1e999}",
            Class::InvalidValue,
            "cannot read the JSON",
        ),
        (
            "{\"a\": 0, \"b\": 0}",
            Class::InvalidValue,
            "add up to zero",
        ),
        (
            "{\"a\": 1e308, \"b\": 1e308}",
            Class::InvalidValue,
            "the sum of the weights",
        ),
        (
            "{\"a\": \"2\"}",
            Class::InvalidValue,
            "weight of column \"a\" must be a number",
        ),
        (
            "{\"a\": {\"weight\": null}}",
            Class::InvalidValue,
            "must be a number, not null",
        ),
        (
            "{\"a\": {\"wieght\": 1}}",
            Class::InvalidValue,
            "unknown option \"wieght\"",
        ),
        (
            "{\"a\": {\"as\": \"word\"}}",
            Class::InvalidValue,
            "\"text\" or \"value\"",
        ),
        ("{\"$tf\": 1}", Class::InvalidValue, "\"$tf\" must be"),
        (
            "{\"$features\": []}",
            Class::InvalidValue,
            "\"$features\" must be",
        ),
        (
            "{\"$features\": [\"triples\"]}",
            Class::InvalidValue,
            "unknown option \"triples\"",
        ),
        (
            "{\"$normalize\": true}",
            Class::NotSupported,
            "option \"$normalize\"",
        ),
        (
            "{\"$idf\": []}",
            Class::InvalidValue,
            "\"$idf\" must be false or an object with \"documents\" and \"terms\"",
        ),
        (
            "{\"$idf\": {\"documents\": 1}}",
            Class::InvalidValue,
            "\"$idf\" must be false or an object with \"documents\" and \"terms\", not an object",
        ),
        (
            "{\"$idf\": {\"documents\": 1, \"terms\": {}, \"words\": 1}}",
            Class::InvalidValue,
            "unknown option \"words\"",
        ),
        (
            "{\"$idf\": {\"documents\": -1, \"terms\": {}}}",
            Class::InvalidValue,
            "\"documents\" must be an integer that is not negative, not -1",
        ),
        (
            "{\"$idf\": {\"documents\": 1, \"terms\": {\"a\": 2}}}",
            Class::InvalidValue,
            "term \"a\" occurs in 2 of 1 documents",
        ),
        (
            "{\"$length\": {\"min\": 2, \"max\": 2}}",
            Class::InvalidValue,
            "\"max\" must be above \"min\", not 2",
        ),
        (
            "{\"a\": {\"length\": 3}}",
            Class::InvalidValue,
            "\"length\" must be \"none\", \"gauss\", \"linear\" or an object",
        ),
        (
            "{\"$pos\": {\"adverb\": 1}}",
            Class::InvalidValue,
            "unknown option \"adverb\"",
        ),
        (
            "{\"$pos\": {\"verb\": -1}}",
            Class::InvalidValue,
            "weight of part of speech \"verb\" is out of range: -1",
        ),
        (
            "{\"$cue_words\": \"x\"}",
            Class::InvalidValue,
            "\"$cue_words\" must be true, false or an array",
        ),
        (
            "{\"$title\": 1}",
            Class::InvalidValue,
            "\"$title\" must be the name of a column",
        ),
        (
            "{\"a\": {\"title\": \"zz\"}}",
            Class::UndefinedColumn,
            "column \"zz\" in \"title\"",
        ),
        (
            "{\"$stop_words\": 1}",
            Class::InvalidValue,
            "\"$stop_words\" must be true, false or an array",
        ),
        (
            "{\"$stop_words\": [\"@fr\"]}",
            Class::InvalidValue,
            "unknown list of stop words \"@fr\"",
        ),
        (
            "{\"a\": {\"ngram\": 17}}",
            Class::InvalidValue,
            "\"ngram\" must be an integer from 1 to 16",
        ),
        (
            "{\"$features\": {\"words\": 0}}",
            Class::InvalidValue,
            "\"$features\" must be",
        ),
        (
            "{\"$features\": {\"pairs\": -1}}",
            Class::InvalidValue,
            "weight of feature \"pairs\" is out of range: -1",
        ),
        (
            "{\"$dictionary\": \"word\"}",
            Class::InvalidValue,
            "\"$dictionary\" must be an array of strings",
        ),
        (
            "{\"$drop_runs\": 1}",
            Class::InvalidValue,
            "\"$drop_runs\" must be true or false",
        ),
        (
            "{\"$nonsense\": 1}",
            Class::InvalidValue,
            "unknown option \"$nonsense\"",
        ),
        ("{\"$balance\": 1}", Class::InvalidValue, "true or false"),
        (
            "{\"$columns\": [\"a\"]}",
            Class::InvalidValue,
            "names 1 columns",
        ),
        (
            "{\"$columns\": [\"a\", \"a\"]}",
            Class::InvalidValue,
            "more than once",
        ),
        (
            "{\"a\": 1, \"$exclude\": [\"a\"]}",
            Class::InvalidValue,
            "also excluded",
        ),
        ("[1]", Class::InvalidValue, "weights must be a JSON object"),
        (
            "null",
            Class::InvalidValue,
            "weights must be a JSON object, not null",
        ),
    ] {
        let error = fail(json);
        assert_eq!(error.class(), class, "{json}");
        assert!(error.to_string().contains(message), "{json}: {error}");
    }
    assert!(
        fail("{\"zz\": 1}")
            .detail()
            .unwrap()
            .contains("\"a\", \"b\"")
    );
    assert!(fail("{\"$x\": 1}").hint().unwrap().contains("$columns"));
    assert_eq!(
        fail("{\"tf\": \"log\"}").hint(),
        Some("If an option is meant, write \"$tf\".".into())
    );
    assert_eq!(
        fail("{\"exclude\": 1}").hint(),
        Some("If an option is meant, write \"$exclude\".".into())
    );
    assert_eq!(fail("{\"subject\": \"2\"}").hint(), None);
    let error = of_text("a", "nope", Width::W64).unwrap_err();
    assert!(
        error
            .hint()
            .unwrap()
            .contains("default, plain, s0, s1, s2, s3")
    );
    let error = parse_text("{\"title\": \"a\"}").unwrap_err();
    assert!(error.hint().unwrap().ends_with("length, pos, cue_words."));
    let s1 = presets::find(Some("s1")).unwrap();
    let error = plan::text(s1, &parse_text("{\"pos\": true}").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "option \"pos\" has no use with preset \"s1\""
    );
    let error = plan::text(s1, &parse_text("{\"tf\": \"log\"}").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "option \"tf\" has no use with preset \"s1\""
    );
}

#[test]
fn json_of_a_row_says_that_a_text_was_passed() {
    let fail = |json: &str| parse_text_or_hint_row(json).unwrap_err();
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
        assert_eq!(parse_text(json).unwrap_err().detail(), None, "{json}");
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
        plan::row(plain, &parse_row(json).unwrap(), &fields)
            .unwrap()
            .len()
    };
    assert_eq!(count("{}"), 1);
    assert_eq!(count("{\"*\": 1}"), 1);
    assert_eq!(count("{\"*\": 1, \"b\": 1}"), 2);
    assert_eq!(plan::row(plain, &RowOptions::default(), &[]), Ok(vec![]));
}
