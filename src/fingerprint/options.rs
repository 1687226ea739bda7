//! The JSON of weights and options. docs/weights.md is its reference.
//!
//! Two forms: options of a text, `{"features": ["words"], "tf": "log"}`, and weights of a row, whose
//! plain keys are column names (so no option can collide with a column) and whose `$` keys are
//! options of the row.

use serde_json::{Map, Value};

use super::error::Error;
use super::presets::{Features, Tf};

/// Options of one text; None leaves what the preset says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextOptions {
    pub features: Option<Features>,
    pub tf: Option<Tf>,
}

/// What a column's content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Segmented into words.
    Text,
    /// One feature as a whole.
    Value,
}

/// How one column counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnOptions {
    pub weight: f64,
    /// None: as the column's type suggests.
    pub kind: Option<Kind>,
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

const TEXT_KEYS: [&str; 2] = ["features", "tf"];
const COLUMN_KEYS: [&str; 4] = ["weight", "as", "features", "tf"];
const ROW_KEYS: [&str; 5] = ["$columns", "$exclude", "$features", "$tf", "$balance"];
/// Names that later versions will give a meaning; with a `$` in front for a row.
const RESERVED: [&str; 9] = [
    "stop_words",
    "dictionary",
    "idf",
    "pos",
    "cue_words",
    "title",
    "length",
    "ngram",
    "normalize",
];

/// Options of a text, from the JSON of a SQL argument.
pub fn parse_text(json: &str) -> Result<TextOptions, Error> {
    let mut options = TextOptions::default();
    for (key, value) in &object("options", &document(json)?)? {
        if !text_option(&mut options, key, key, value)? {
            return Err(unknown(key, key, &TEXT_KEYS));
        }
    }
    Ok(options)
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
        "balance" => match value {
            Value::Bool(balance) => options.balance = Some(*balance),
            _ => return Err(wrong_shape(quote(key), "true or false", value)),
        },
        _ if text_option(&mut options.text, key, name, value)? => {}
        _ => return Err(unknown(key, name, &ROW_KEYS)),
    }
    Ok(())
}

fn column(name: &str, value: &Value) -> Result<ColumnOptions, Error> {
    let mut options = ColumnOptions::default();
    let Value::Object(members) = value else {
        options.weight = weight(name, value, "a number or an object")?;
        return Ok(options);
    };
    for (key, value) in members {
        match key.as_str() {
            "weight" => options.weight = weight(name, value, "a number")?,
            "as" => options.kind = Some(kind(name, value)?),
            _ if text_option(&mut options.text, key, key, value)? => {}
            _ => return Err(unknown(key, key, &COLUMN_KEYS)),
        }
    }
    Ok(options)
}

fn weight(column: &str, value: &Value, expected: &'static str) -> Result<f64, Error> {
    let place = || format!("weight of column \"{column}\"");
    let number = value
        .as_f64()
        .ok_or_else(|| wrong_shape(place(), expected, value))?;
    if !number.is_finite() || number < 0.0 {
        return Err(Error::BadWeight {
            place: place(),
            weight: value.to_string(),
        });
    }
    Ok(number)
}

fn kind(column: &str, value: &Value) -> Result<Kind, Error> {
    match value.as_str() {
        Some("text") => Ok(Kind::Text),
        Some("value") => Ok(Kind::Value),
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
                Some("set") => Tf::Set,
                _ => {
                    return Err(wrong_shape(
                        quote(key),
                        "\"raw\", \"log\" or \"set\"",
                        value,
                    ));
                }
            });
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn features(key: &str, value: &Value) -> Result<Features, Error> {
    let mut features = Features {
        words: false,
        pairs: false,
    };
    for name in names(key, value)? {
        match name.as_str() {
            "words" => features.words = true,
            "pairs" => features.pairs = true,
            _ => return Err(unknown(&name, &name, &["words", "pairs"])),
        }
    }
    if !(features.words || features.pairs) {
        return Err(wrong_shape(
            quote(key),
            "a list of \"words\" and \"pairs\"",
            value,
        ));
    }
    Ok(features)
}

fn names(key: &str, value: &Value) -> Result<Vec<String>, Error> {
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

fn object(place: &str, value: &Value) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(members) => Ok(members.clone()),
        _ => Err(wrong_shape(place.to_owned(), "a JSON object", value)),
    }
}

fn unknown(key: &str, name: &str, known: &[&str]) -> Error {
    if RESERVED.contains(&name) {
        return Error::ReservedOption {
            key: key.to_owned(),
        };
    }
    Error::UnknownOption {
        key: key.to_owned(),
        known: known.join(", "),
    }
}

fn quote(key: &str) -> String {
    format!("\"{key}\"")
}

fn wrong_shape(place: String, expected: &'static str, value: &Value) -> Error {
    let found = match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "this array".into(),
        other => other.to_string(),
    };
    Error::WrongShape {
        place,
        expected,
        found,
    }
}
