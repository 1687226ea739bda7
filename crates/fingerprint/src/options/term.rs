//! The options that say what words weigh besides their frequency. [`super::text_options`] reads
//! them from the JSON, with its own. Weights are so small that their products and sums are finite.

use std::sync::Arc;

use serde_json::Value;

use super::json::{Choice, number, object, quote, read, unknown, wrong_shape};
use crate::error::Error;
use crate::terms::{CueWords, Idf, Length, PartOfSpeechWeights, Terms};
use crate::text::word_list::GatheredWords;

/// Options of words; None leaves what the preset says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermOptions {
    pub idf: Option<Option<Arc<Idf>>>,
    pub length: Option<Length>,
    pub part_of_speech: Option<Option<PartOfSpeechWeights>>,
    pub cue_words: Option<CueWords>,
    /// The column that is the title of this one.
    pub title: Option<String>,
}

/// In the order of [`TermOptions::given`].
pub const KEYS: [&str; 5] = ["idf", "length", "pos", "cue_words", "title"];

impl TermOptions {
    /// Returns which options are given.
    pub fn given(&self) -> [bool; 5] {
        [
            self.idf.is_some(),
            self.length.is_some(),
            self.part_of_speech.is_some(),
            self.cue_words.is_some(),
            self.title.is_some(),
        ]
    }

    /// Puts what is given in the place of what `terms` say.
    pub fn lay_over(&self, terms: &mut Terms) {
        if let Some(idf) = &self.idf {
            terms.idf.clone_from(idf);
        }
        terms.length = self.length.unwrap_or(terms.length);
        terms.part_of_speech = self.part_of_speech.unwrap_or(terms.part_of_speech);
        if let Some(cue_words) = &self.cue_words {
            terms.cue_words.clone_from(cue_words);
        }
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
            "idf" => self.idf = Some(idf(key, value, check_interrupts)?),
            "length" => self.length = Some(length(key, value)?),
            "pos" => self.part_of_speech = Some(part_of_speech(key, value)?),
            "cue_words" => self.cue_words = Some(cue_words(key, value, check_interrupts)?),
            "title" => self.title = Some(read(key, "the name of a column", value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn idf(
    key: &str,
    value: &Value,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Option<Arc<Idf>>, Error> {
    const KEYS: [&str; 2] = ["documents", "terms"];
    let wrong = || {
        let expected = "false or an object with \"documents\" and \"terms\"";
        wrong_shape(quote(key), expected, value)
    };
    let members = match value {
        Value::Bool(false) => return Ok(None),
        value => value.as_object().ok_or_else(wrong)?,
    };
    if let Some(key) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(unknown(key, KEYS.join(", ")));
    }
    let [Some(documents), Some(terms)] = KEYS.map(|key| members.get(key)) else {
        return Err(wrong());
    };
    let count = |place: String, value: &Value| {
        let wrong = || wrong_shape(place, "an integer that is not negative", value);
        value.as_u64().ok_or_else(wrong)
    };
    let mut table = Idf::new(count(quote("documents"), documents)?);
    for (term, df) in object("\"terms\"", terms)? {
        check_interrupts();
        let place = format!("number of documents of term \"{term}\"");
        table.add(term, count(place, df)?)?;
    }
    Ok(Some(Arc::new(table)))
}

fn length(key: &str, value: &Value) -> Result<Length, Error> {
    let wrong = || {
        let expected = "\"none\", \"gauss\", \"linear\" or an object with \"min\" and \"max\"";
        wrong_shape(quote(key), expected, value)
    };
    let members = match value {
        Value::String(name) if name == "none" => return Ok(Length::None),
        Value::String(name) if name == "gauss" => return Ok(Length::Gauss),
        Value::String(name) if name == "linear" => return Ok(Length::S3),
        value => value.as_object().ok_or_else(wrong)?,
    };
    let (2, Some(least), Some(most)) = (members.len(), members.get("min"), members.get("max"))
    else {
        return Err(wrong());
    };
    let (min, max) = (number(quote("min"), least)?, number(quote("max"), most)?);
    match min < max {
        true => Ok(Length::Linear { min, max }),
        false => Err(wrong_shape(quote("max"), "above \"min\"", most)),
    }
}

/// Largest weight of a part of speech. The product with the other weights of a word, and the sum of
/// such products, must stay finite.
const MOST: f64 = 1e6;

fn part_of_speech(key: &str, value: &Value) -> Result<Option<PartOfSpeechWeights>, Error> {
    let expected = "true, false or an object of \"noun\", \"verb\" and \"other\"";
    // Not copied: it may have any number of members.
    let members = match value {
        Value::Bool(false) => return Ok(None),
        Value::Bool(true) => return Ok(Some(PartOfSpeechWeights::S3)),
        value => {
            let members = value.as_object();
            members.ok_or_else(|| wrong_shape(quote(key), expected, value))?
        }
    };
    let mut weights = PartOfSpeechWeights::S3;
    for (name, value) in members {
        let weight = match name.as_str() {
            "noun" => &mut weights.noun,
            "verb" => &mut weights.verb,
            "other" => &mut weights.other,
            _ => return Err(unknown(name, "noun, verb, other")),
        };
        let place = format!("weight of part of speech \"{name}\"");
        *weight = number(place.clone(), value)?;
        if *weight > MOST {
            return Err(wrong_shape(place, "at most 1000000", value));
        }
    }
    Ok(Some(weights))
}

fn cue_words(
    key: &str,
    value: &Value,
    check_interrupts: &mut dyn FnMut(),
) -> Result<CueWords, Error> {
    let own: Vec<String> = match read(key, "true, false or an array of strings", value)? {
        Choice::BuiltIn(true) => return Ok(CueWords::BuiltIn),
        Choice::BuiltIn(false) => return Ok(CueWords::None),
        Choice::Own(own) => own,
    };
    let mut words = GatheredWords::default();
    for word in &own {
        check_interrupts();
        words.add(word, ())?;
    }
    Ok(CueWords::List(Arc::new(words.sorted(check_interrupts))))
}
