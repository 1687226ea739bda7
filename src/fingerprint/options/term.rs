//! The part of the JSON that says what words weigh besides their frequency.

use std::sync::Arc;

use serde_json::Value;

use super::json::{names, number, object, quote, unknown_key, wrong_shape};
use crate::fingerprint::error::Error;
use crate::fingerprint::terms::{CueWords, Idf, Length, PartOfSpeechWeights, Terms};
use crate::fingerprint::text::word_list::GatheredWords;

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
    /// Which options are given.
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
    pub fn take(&mut self, key: &str, name: &str, value: &Value) -> Result<bool, Error> {
        match name {
            "idf" => self.idf = Some(idf(key, value)?),
            "length" => self.length = Some(length(key, value)?),
            "pos" => self.part_of_speech = Some(part_of_speech(key, value)?),
            "cue_words" => self.cue_words = Some(cue_words(key, value)?),
            "title" => {
                let title = value.as_str().map(str::to_owned);
                let wrong = || wrong_shape(quote(key), "the name of a column", value);
                self.title = Some(title.ok_or_else(wrong)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn idf(key: &str, value: &Value) -> Result<Option<Arc<Idf>>, Error> {
    if value == &Value::Bool(false) {
        return Ok(None);
    }
    let expected = "false or an object with \"documents\" and \"terms\"";
    let Value::Object(members) = value else {
        return Err(wrong_shape(quote(key), expected, value));
    };
    if let Some(key) = members
        .keys()
        .find(|k| !["documents", "terms"].contains(&k.as_str()))
    {
        return Err(unknown_key(key, "documents, terms"));
    }
    let (Some(documents), Some(terms)) = (members.get("documents"), members.get("terms")) else {
        return Err(wrong_shape(quote(key), expected, value));
    };
    let whole = |place: String, value: &Value| {
        let number = value.as_u64();
        number.ok_or_else(|| wrong_shape(place, "an integer that is not negative", value))
    };
    let mut table = Idf::new(whole(quote("documents"), documents)?);
    for (term, df) in &object("\"terms\"", terms)? {
        table.add(
            term,
            whole(format!("number of documents of term \"{term}\""), df)?,
        )?;
    }
    Ok(Some(Arc::new(table)))
}

fn length(key: &str, value: &Value) -> Result<Length, Error> {
    let expected = "\"none\", \"gauss\", \"linear\" or an object with \"min\" and \"max\"";
    match value {
        Value::String(name) if name == "none" => return Ok(Length::None),
        Value::String(name) if name == "gauss" => return Ok(Length::Gauss),
        Value::String(name) if name == "linear" => return Ok(Length::S3),
        Value::Object(members) if members.len() == 2 => {
            if let (Some(min), Some(max)) = (members.get("min"), members.get("max")) {
                let expected = "a number";
                let min = number("\"min\"".into(), min, expected)?;
                let max_number = number("\"max\"".into(), max, expected)?;
                if min < max_number {
                    let max = max_number;
                    return Ok(Length::Linear { min, max });
                }
                return Err(wrong_shape("\"max\"".into(), "above \"min\"", max));
            }
        }
        _ => {}
    }
    Err(wrong_shape(quote(key), expected, value))
}

fn part_of_speech(key: &str, value: &Value) -> Result<Option<PartOfSpeechWeights>, Error> {
    let members = match value {
        Value::Bool(false) => return Ok(None),
        Value::Bool(true) => return Ok(Some(PartOfSpeechWeights::S3)),
        Value::Object(members) => members,
        _ => {
            let expected = "true, false or an object of \"noun\", \"verb\" and \"other\"";
            return Err(wrong_shape(quote(key), expected, value));
        }
    };
    let mut weights = PartOfSpeechWeights::S3;
    for (name, value) in members {
        let place = match name.as_str() {
            "noun" => &mut weights.noun,
            "verb" => &mut weights.verb,
            "other" => &mut weights.other,
            _ => return Err(unknown_key(name, "noun, verb, other")),
        };
        *place = number(
            format!("weight of part of speech \"{name}\""),
            value,
            "a number",
        )?;
    }
    Ok(Some(weights))
}

fn cue_words(key: &str, value: &Value) -> Result<CueWords, Error> {
    match value {
        Value::Bool(true) => Ok(CueWords::BuiltIn),
        Value::Bool(false) => Ok(CueWords::None),
        Value::Array(_) => {
            let mut words = GatheredWords::default();
            for word in names(key, value)? {
                words.add(&word, ())?;
            }
            Ok(CueWords::List(Arc::new(words.sorted(&mut || {}))))
        }
        _ => Err(wrong_shape(
            quote(key),
            "true, false or an array of strings",
            value,
        )),
    }
}
