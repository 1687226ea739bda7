//! The options that every text has.

use std::sync::Arc;

use serde_json::Value;

use super::json::{names, number, quote, truth, unknown, wrong_shape};
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
        let keys = KEYS.iter().chain(&term::KEYS);
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

/// In the order of [`TextOptions::first_given`].
pub const KEYS: [&str; 7] = [
    "features",
    "tf",
    "ngram",
    "stop_words",
    "drop_runs",
    "dictionary",
    "hash",
];
const FEATURES: [&str; 4] = ["words", "pairs", "ngrams", "whole"];
/// Lengths of character n-grams.
const NGRAMS: std::ops::RangeInclusive<u64> = 1..=16;

/// Takes an option that every text has; false when `name` is none. `key` is how the user wrote it.
pub fn text_option(
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

/// The options of a place: its own and, with `sign` in front, those of every text.
pub fn known(own: &[&str], sign: &str) -> String {
    let own = own.iter().map(|&key| key.to_owned());
    let text = KEYS.iter().chain(&term::KEYS);
    let text = text.map(|key| format!("{sign}{key}"));
    own.chain(text).collect::<Vec<_>>().join(", ")
}
