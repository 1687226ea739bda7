//! The JSON of weights and options. docs/weights.md is its reference.
//!
//! Two forms: options of a text, `{"features": ["words"], "tf": "log"}`, and weights of a row,
//! whose plain keys are column names (so no option can collide with a column) and whose `$` keys
//! are options of the row.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::presets::{Features, Rules, Tf};
use super::term::{self, TermOptions};
use crate::fingerprint::error::Error;
use crate::fingerprint::hash::FeatureHash;
use crate::fingerprint::text::stop_words::{BuiltIn, StopWords};
use crate::fingerprint::text::user_words::UserWords;

/// Options of one text; None leaves what the preset says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextOptions {
    pub features: Option<Features>,
    pub tf: Option<Tf>,
    pub ngram: Option<usize>,
    pub stop_words: Option<StopWords>,
    pub drop_runs: Option<bool>,
    pub dictionary: Option<Arc<UserWords>>,
    pub hash: Option<FeatureHash>,
    /// What words weigh besides their frequency.
    pub terms: TermOptions,
}

impl TextOptions {
    /// The key of an option that is given.
    pub fn first_given(&self) -> Option<&'static str> {
        let text = [
            self.features.is_some(),
            self.tf.is_some(),
            self.ngram.is_some(),
            self.stop_words.is_some(),
            self.drop_runs.is_some(),
            self.dictionary.is_some(),
            self.hash.is_some(),
        ];
        let keys = TEXT_KEYS.iter().chain(&term::KEYS);
        let given = text.into_iter().chain(self.terms.given());
        Some(*keys.zip(given).find(|(_, given)| *given)?.0)
    }

    /// Puts what is given in the place of what `rules` say.
    pub fn lay_over(&self, rules: &mut Rules) {
        fn put<T: Clone>(place: &mut T, given: &Option<T>) {
            if let Some(value) = given {
                *place = value.clone();
            }
        }
        put(&mut rules.features, &self.features);
        put(&mut rules.tf, &self.tf);
        put(&mut rules.ngram, &self.ngram);
        put(&mut rules.stop_words, &self.stop_words);
        put(&mut rules.drop_runs, &self.drop_runs);
        if self.dictionary.is_some() {
            rules.dictionary.clone_from(&self.dictionary);
        }
        self.terms.lay_over(&mut rules.terms);
    }
}

/// What a column's content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Cut into words.
    Text,
    /// One feature as a whole.
    Value,
}

/// How one column counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnOptions {
    pub weight: f64,
    /// None: as the column's type suggests.
    pub kind: Option<ContentKind>,
    pub text: TextOptions,
}

impl Default for ColumnOptions {
    fn default() -> Self {
        Self {
            weight: 1.0,
            kind: None,
            text: TextOptions::default(),
        }
    }
}

/// Weights and options of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowOptions {
    pub named: Vec<(String, ColumnOptions)>,
    /// `"*"`: the columns that are not named.
    pub rest: Option<ColumnOptions>,
    /// `"$columns"`: what the row's fields are called, in order.
    pub columns: Option<Vec<String>>,
    pub exclude: Vec<String>,
    pub text: TextOptions,
    pub balance: Option<bool>,
}

/// In the order of [`TextOptions::first_given`].
const TEXT_KEYS: [&str; 7] = [
    "features",
    "tf",
    "ngram",
    "stop_words",
    "drop_runs",
    "dictionary",
    "hash",
];
const COLUMN_KEYS: [&str; 2] = ["weight", "as"];
const ROW_KEYS: [&str; 3] = ["$columns", "$exclude", "$balance"];
const FEATURES: [&str; 4] = ["words", "pairs", "ngrams", "whole"];
/// Lengths of character n-grams.
const NGRAMS: std::ops::RangeInclusive<u64> = 1..=16;
/// A name that a later version will give a meaning; with a `$` in front for a row.
const RESERVED: &str = "normalize";

/// Options of a text, from the JSON of a SQL argument.
pub fn parse_text(json: &str) -> Result<TextOptions, Error> {
    let mut options = TextOptions::default();
    for (key, value) in &object("options", &document(json)?)? {
        // A lone text has no other column that could be its title.
        if key == "title" || !text_option(&mut options, key, key, value)? {
            let known = known(&[], "");
            let known = known.trim_end_matches(", title").to_owned();
            return Err(unknown(key, key, known));
        }
    }
    Ok(options)
}

/// As [`parse_text`], of a function that takes rows as well: JSON of a row says that a text was
/// passed.
pub fn parse_text_or_hint_row(json: &str) -> Result<TextOptions, Error> {
    parse_text(json).map_err(|error| match error {
        Error::UnknownOption { key, known } if parse_row(json).is_ok() => {
            Error::RowOption { key, known }
        }
        other => other,
    })
}

/// Weights and options of a row, from the JSON of a SQL argument.
pub fn parse_row(json: &str) -> Result<RowOptions, Error> {
    let mut options = RowOptions::default();
    for (key, value) in &object("weights", &document(json)?)? {
        match key.strip_prefix('$') {
            // `$$name` is the column `$name`.
            Some(name) if name.starts_with('$') => {
                options.named.push((name.to_owned(), column(name, value)?));
            }
            Some(option) => row_option(&mut options, key, option, value)?,
            None if key == "*" => options.rest = Some(column(key, value)?),
            None => options.named.push((key.clone(), column(key, value)?)),
        }
    }
    Ok(options)
}

fn document(json: &str) -> Result<Value, Error> {
    serde_json::from_str(json).map_err(|e| Error::Json(e.to_string()))
}

fn row_option(options: &mut RowOptions, key: &str, name: &str, value: &Value) -> Result<(), Error> {
    match name {
        "columns" => options.columns = Some(distinct("\"$columns\"", names(key, value)?)?),
        "exclude" => options.exclude = names(key, value)?,
        "balance" => options.balance = Some(truth(key, value)?),
        _ if text_option(&mut options.text, key, name, value)? => {}
        _ => return Err(unknown(key, name, known(&ROW_KEYS, "$"))),
    }
    Ok(())
}

fn column(name: &str, value: &Value) -> Result<ColumnOptions, Error> {
    let mut options = ColumnOptions::default();
    let Value::Object(members) = value else {
        if !value.is_number() {
            return Err(Error::WeightShape {
                column: name.to_owned(),
                found: shown(value),
            });
        }
        options.weight = weight(name, value)?;
        return Ok(options);
    };
    for (key, value) in members {
        match key.as_str() {
            "weight" => options.weight = weight(name, value)?,
            "as" => options.kind = Some(kind(name, value)?),
            _ if text_option(&mut options.text, key, key, value)? => {}
            _ => return Err(unknown(key, key, known(&COLUMN_KEYS, ""))),
        }
    }
    Ok(options)
}

fn weight(column: &str, value: &Value) -> Result<f64, Error> {
    number(format!("weight of column \"{column}\""), value, "a number")
}

pub(in crate::fingerprint) fn number(
    place: String,
    value: &Value,
    expected: &'static str,
) -> Result<f64, Error> {
    let Some(number) = value.as_f64() else {
        return Err(wrong_shape(place, expected, value));
    };
    if !number.is_finite() || number < 0.0 {
        return Err(Error::BadWeight {
            place,
            weight: value.to_string(),
        });
    }
    Ok(number)
}

fn kind(column: &str, value: &Value) -> Result<ContentKind, Error> {
    match value.as_str() {
        Some("text") => Ok(ContentKind::Text),
        Some("value") => Ok(ContentKind::Value),
        _ => Err(wrong_shape(
            format!("\"as\" of column \"{column}\""),
            "\"text\" or \"value\"",
            value,
        )),
    }
}

/// Takes an option that every text has; false when `name` is none. `key` is how the user wrote it.
fn text_option(
    options: &mut TextOptions,
    key: &str,
    name: &str,
    value: &Value,
) -> Result<bool, Error> {
    match name {
        "features" => options.features = Some(features(key, value)?),
        "tf" => {
            options.tf = Some(match value.as_str() {
                Some("raw") => Tf::Raw,
                Some("log") => Tf::Log,
                Some("sqrt") => Tf::Sqrt,
                Some("set") => Tf::Set,
                _ => {
                    return Err(wrong_shape(
                        quote(key),
                        "\"raw\", \"log\", \"sqrt\" or \"set\"",
                        value,
                    ));
                }
            });
        }
        "ngram" => {
            let length = value.as_u64().filter(|n| NGRAMS.contains(n));
            let length =
                length.ok_or_else(|| wrong_shape(quote(key), "an integer from 1 to 16", value))?;
            options.ngram = Some(length as usize);
        }
        "stop_words" => options.stop_words = Some(stop_words(key, value)?),
        "drop_runs" => options.drop_runs = Some(truth(key, value)?),
        "dictionary" => {
            options.dictionary = Some(Arc::new(UserWords::new(&names(key, value)?)?));
        }
        "hash" => {
            let named = value.as_str().and_then(FeatureHash::find);
            options.hash = match named {
                None => return Err(wrong_shape(quote(key), hash_names(), value)),
                found => found,
            };
        }
        _ => return options.terms.take(key, name, value),
    }
    Ok(true)
}

/// The names of the feature hashes as an error message lists them: `"a", "b" or "c"`.
fn hash_names() -> String {
    let names = FeatureHash::NAMES.map(|(name, _)| format!("\"{name}\""));
    let (last, others) = names.split_last().unwrap_or((&names[0], &[]));
    format!("{} or {last}", others.join(", "))
}

fn stop_words(key: &str, value: &Value) -> Result<StopWords, Error> {
    match value {
        Value::Bool(true) => Ok(StopWords::BuiltIn),
        Value::Bool(false) => Ok(StopWords::None),
        Value::Array(_) => {
            let list = names(key, value)?;
            match list
                .iter()
                .find(|word| word.starts_with('@') && BuiltIn::find(word).is_none())
            {
                Some(word) => Err(Error::UnknownStopWords {
                    name: word.clone(),
                    known: BuiltIn::NAMES.join(", "),
                }),
                None => StopWords::list(&list),
            }
        }
        _ => Err(wrong_shape(
            quote(key),
            "true, false or an array of strings",
            value,
        )),
    }
}

fn truth(key: &str, value: &Value) -> Result<bool, Error> {
    value
        .as_bool()
        .ok_or_else(|| wrong_shape(quote(key), "true or false", value))
}

/// An array of kinds, or an object of kinds and what they weigh next to each other.
fn features(key: &str, value: &Value) -> Result<Features, Error> {
    let kinds: Vec<(String, f64)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(kind, value)| {
                let place = format!("weight of feature \"{kind}\"");
                Ok((kind.clone(), number(place, value, "a number")?))
            })
            .collect::<Result<_, Error>>()?,
        _ => names(key, value)?
            .into_iter()
            .map(|kind| (kind, 1.0))
            .collect(),
    };
    let heaviest = kinds.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    let mut features = Features::NONE;
    for (kind, weight) in kinds {
        // Only the ratio matters: the heaviest kind weighs 1.
        let weight = weight / if heaviest > 0.0 { heaviest } else { 1.0 };
        match kind.as_str() {
            "words" => features.words = weight,
            "pairs" => features.pairs = weight,
            "ngrams" => features.ngrams = weight,
            "whole" => features.whole = weight,
            _ => return Err(unknown(&kind, &kind, FEATURES.join(", "))),
        }
    }
    if features == Features::NONE {
        let expected = "a list of \"words\", \"pairs\", \"ngrams\" and \"whole\"";
        return Err(wrong_shape(quote(key), expected, value));
    }
    Ok(features)
}

pub(in crate::fingerprint) fn names(key: &str, value: &Value) -> Result<Vec<String>, Error> {
    let list = value.as_array().and_then(|items| {
        items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    });
    list.ok_or_else(|| wrong_shape(quote(key), "an array of strings", value))
}

fn distinct(place: &'static str, names: Vec<String>) -> Result<Vec<String>, Error> {
    let mut seen = std::collections::HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::ColumnTwice {
            place,
            column: name.clone(),
        }),
        None => Ok(names),
    }
}

pub(in crate::fingerprint) fn object(
    place: &str,
    value: &Value,
) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(members) => Ok(members.clone()),
        _ => Err(wrong_shape(place.to_owned(), "a JSON object", value)),
    }
}

/// The options of a place: its own and, with `sign` in front, those of every text.
fn known(own: &[&str], sign: &str) -> String {
    let own = own.iter().map(|&key| key.to_owned());
    let text = TEXT_KEYS.iter().chain(&term::KEYS);
    let text = text.map(|key| format!("{sign}{key}"));
    own.chain(text).collect::<Vec<_>>().join(", ")
}

/// Do rows have an option of this name, written with `$`?
pub(in crate::fingerprint) fn is_row_option(name: &str) -> bool {
    let mut text = TEXT_KEYS.iter().chain(&term::KEYS);
    text.any(|key| *key == name) || ROW_KEYS.iter().any(|key| key[1..] == *name)
}

fn unknown(key: &str, name: &str, known: String) -> Error {
    if name == RESERVED {
        return Error::ReservedOption {
            key: key.to_owned(),
        };
    }
    Error::UnknownOption {
        key: key.to_owned(),
        known,
    }
}

pub(in crate::fingerprint) fn unknown_key(key: &str, known: &str) -> Error {
    unknown(key, key, known.to_owned())
}

pub(in crate::fingerprint) fn quote(key: &str) -> String {
    format!("\"{key}\"")
}

pub(in crate::fingerprint) fn wrong_shape(
    place: String,
    expected: impl Into<Cow<'static, str>>,
    value: &Value,
) -> Error {
    Error::WrongShape {
        place,
        expected: expected.into(),
        found: shown(value),
    }
}

/// A value as an error shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "this array".into(),
        other => other.to_string(),
    }
}
