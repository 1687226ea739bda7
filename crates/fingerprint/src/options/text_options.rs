//! The options that every text has. [`super::grammar`] reads them from the JSON of a text, a column
//! or a row, and [`super::plan`] lays them over a preset. An option that is not given leaves what
//! the preset says.

use std::sync::Arc;

use serde_json::Value;

use super::json::{Choice, names, number, quote, read, truth, unknown, variant, wrong_shape};
use super::presets::{Features, Input, Rules, Tf};
use super::term::{self, TermOptions};
use crate::error::Error;
use crate::hash::FeatureHash;
use crate::text::markup::Markup;
use crate::text::ngrams::GramLengths;
use crate::text::normal::Normalize;
use crate::text::part_of_speech::PartOfSpeech;
use crate::text::stop_words::{BuiltIn, StopWords};
use crate::text::user_words::UserWords;

/// Options of one text; None leaves what the preset says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextOptions {
    /// `features`: which kinds a text becomes.
    pub features: Option<Features>,
    /// `tf`: how the number of its occurrences counts for a feature.
    pub tf: Option<Tf>,
    /// Letters of a character n-gram.
    pub ngram: Option<usize>,
    /// `stop_words`: words that are left out.
    pub stop_words: Option<StopWords>,
    /// Whether features of equal characters are left out.
    pub drop_runs: Option<bool>,
    /// Words of the user that are never cut.
    pub dictionary: Option<Arc<UserWords>>,
    /// `hash`: the hash function of features.
    pub hash: Option<FeatureHash>,
    /// `markup`: what is taken out of a text before anything else.
    pub markup: Option<Markup>,
    /// `normalize`: whether accents count.
    pub normalize: Option<Normalize>,
    /// Weights of words besides their frequency.
    pub terms: TermOptions,
}

impl TextOptions {
    /// The keys of the options that are given.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        let text = [
            self.features.is_some(),
            self.tf.is_some(),
            self.ngram.is_some(),
            self.stop_words.is_some(),
            self.drop_runs.is_some(),
            self.dictionary.is_some(),
            self.hash.is_some(),
            self.markup.is_some(),
            self.normalize.is_some(),
        ];
        let keys = KEYS.iter().chain(&term::KEYS);
        let given = text.into_iter().chain(self.terms.given());
        keys.zip(given)
            .filter(|(_, given)| *given)
            .map(|(key, _)| *key)
    }

    /// Puts what is given in the place of what `rules` say.
    pub fn lay_over(&self, rules: &mut Rules) {
        fn put<T: Clone>(place: &mut T, given: &Option<T>) {
            if let Some(value) = given {
                *place = value.clone();
            }
        }
        put(&mut rules.features, &self.features);
        if self.features.is_some() || self.ngram.is_some() {
            // Features that are named count at any length.
            rules.adapts_to_length = false;
        }
        put(&mut rules.tf, &self.tf);
        put(&mut rules.ngram, &self.ngram.map(GramLengths::all));
        put(&mut rules.stop_words, &self.stop_words);
        put(&mut rules.drop_runs, &self.drop_runs);
        put(&mut rules.markup, &self.markup);
        put(&mut rules.normalize, &self.normalize);
        if self.dictionary.is_some() {
            rules.dictionary.clone_from(&self.dictionary);
        }
        self.terms.lay_over(&mut rules.terms);
    }

    /// Takes an option; false when `name` is none of these. `key` is how the user wrote it.
    pub fn take(
        &mut self,
        key: &str,
        name: &str,
        value: &Value,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        match name {
            "features" => self.features = Some(features(key, value)?),
            "tf" => {
                let expected = "\"raw\", \"log\", \"sqrt\" or \"set\"";
                self.tf = Some(variant(quote(key), expected, value)?);
            }
            "ngram" => {
                let length = value.as_u64().filter(|n| NGRAMS.contains(n));
                let wrong = || wrong_shape(quote(key), "an integer from 1 to 16", value);
                self.ngram = Some(length.ok_or_else(wrong)? as usize);
            }
            "stop_words" => self.stop_words = Some(stop_words(key, value, check_interrupts)?),
            "drop_runs" => self.drop_runs = Some(truth(key, value)?),
            "dictionary" => {
                self.dictionary = Some(Arc::new(dictionary(key, value, check_interrupts)?));
            }
            "hash" => {
                let named = value.as_str().and_then(FeatureHash::find);
                let wrong = || wrong_shape(quote(key), hash_names(), value);
                self.hash = Some(named.ok_or_else(wrong)?);
            }
            "markup" => {
                let expected = "\"html\", \"mail\", \"subtitles\" or \"none\"";
                self.markup = Some(variant(quote(key), expected, value)?);
            }
            "normalize" => {
                let expected = "\"fold\" or \"keep_accents\"";
                self.normalize = Some(variant(quote(key), expected, value)?);
            }
            _ => return self.terms.take(key, name, value, check_interrupts),
        }
        Ok(true)
    }
}

/// The form into which a text must be cut for an option to have a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None: any natural text will do.
    Text,
    /// Single words, or pairs of them.
    Words,
    /// N-grams of letters.
    Ngrams,
}

impl Needs {
    /// Returns the needs of the option with this key.
    pub fn for_option(key: &str) -> Self {
        match key {
            "ngram" => Needs::Ngrams,
            "stop_words" | "dictionary" => Needs::Words,
            _ if term::KEYS.contains(&key) => Needs::Words,
            _ => Needs::Text,
        }
    }

    /// Returns whether an input cuts texts into that form.
    pub fn met_by(self, input: &Input) -> bool {
        let Input::Words(Rules { features, .. }) = input else {
            return false;
        };
        match self {
            Needs::Text => true,
            Needs::Words => features.words > 0.0 || features.pairs > 0.0,
            Needs::Ngrams => features.ngrams > 0.0,
        }
    }
}

/// In the order of [`TextOptions::given`].
pub const KEYS: [&str; 9] = [
    "features",
    "tf",
    "ngram",
    "stop_words",
    "drop_runs",
    "dictionary",
    "hash",
    "markup",
    "normalize",
];
const FEATURES: [&str; 4] = ["words", "pairs", "ngrams", "whole"];
/// Lengths of character n-grams.
const NGRAMS: std::ops::RangeInclusive<u64> = 1..=16;

/// The names of the feature hashes as an error message lists them: `"a", "b" or "c"`.
fn hash_names() -> String {
    let names = FeatureHash::NAMES.map(|(name, _)| format!("\"{name}\""));
    let (last, others) = names.split_last().unwrap_or((&names[0], &[]));
    format!("{} or {last}", others.join(", "))
}

fn stop_words(
    key: &str,
    value: &Value,
    check_interrupts: &mut dyn FnMut(),
) -> Result<StopWords, Error> {
    let entries: Vec<String> = match read(key, "true, false or an array of strings", value)? {
        Choice::BuiltIn(true) => return Ok(StopWords::BuiltIn),
        Choice::BuiltIn(false) => return Ok(StopWords::None),
        Choice::Own(entries) => entries,
    };
    let unknown = |entry: &&String| entry.starts_with('@') && BuiltIn::find(entry).is_none();
    match entries.iter().find(unknown) {
        Some(name) => Err(Error::UnknownStopWords {
            name: name.clone(),
            known: BuiltIn::NAMES.join(", "),
        }),
        None => StopWords::list(&entries, check_interrupts),
    }
}

/// An array of words, or an object of words and their parts of speech.
fn dictionary(
    key: &str,
    value: &Value,
    check_interrupts: &mut dyn FnMut(),
) -> Result<UserWords, Error> {
    let noun = |word| (word, PartOfSpeech::Noun);
    let Value::Object(members) = value else {
        let words = names(key, value)?;
        return UserWords::new(words.iter().map(String::as_str).map(noun), check_interrupts);
    };
    let mut words = Vec::new();
    for (word, tag) in members {
        let wrong = || {
            wrong_shape(
                format!("part of speech of word \"{word}\""),
                "a string",
                tag,
            )
        };
        let tag = tag.as_str().ok_or_else(wrong)?;
        words.push((word.as_str(), PartOfSpeech::of_tag(tag)));
    }
    UserWords::new(words, check_interrupts)
}

/// An array of kinds, or an object of kinds and what they weigh next to each other.
fn features(key: &str, value: &Value) -> Result<Features, Error> {
    let weighed = |(kind, value): (&String, &Value)| {
        let weight = number(format!("weight of feature \"{kind}\""), value)?;
        Ok::<_, Error>((kind.clone(), weight))
    };
    let kinds: Vec<(String, f64)> = match value {
        Value::Object(members) => members.iter().map(weighed).collect::<Result<_, _>>()?,
        _ => {
            let kinds = names(key, value)?.into_iter();
            kinds.map(|kind| (kind, 1.0)).collect()
        }
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
            _ => return Err(unknown(&kind, FEATURES.join(", "))),
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
