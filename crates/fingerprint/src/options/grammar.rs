//! The JSON of weights and options. Its reference is docs/reference/options.md.
//!
//! Two forms: options of a text, `{"features": ["words"], "tf": "log"}`, and weights of a row,
//! whose keys without `$` are column names (so no option can collide with a column) and whose `$`
//! keys are options of the row.

use serde::Deserialize;
use serde_json::Value;

use super::json::{document, names, number, object, shown, truth, unknown, variant};
use super::term;
use super::text_options::{KEYS, TextOptions, known};
use crate::error::Error;

/// Kind of a column's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentKind {
    /// Cut into words.
    Text,
    /// One feature as a whole.
    Value,
}

/// Options that say how one column counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnOptions {
    /// How much the column counts; 1 unless the user says it.
    pub weight: f64,
    /// None: as the column's type suggests.
    pub kind: Option<ContentKind>,
    /// How its text becomes features, beyond what the row says.
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
    /// The columns that are named, with their options.
    pub named: Vec<(String, ColumnOptions)>,
    /// `"*"`: the columns that are not named.
    pub rest: Option<ColumnOptions>,
    /// `"$columns"`: what the row's fields are called, in order.
    pub columns: Option<Vec<String>>,
    /// `"$exclude"`: columns that do not count.
    pub exclude: Vec<String>,
    /// How texts of all columns become features.
    pub text: TextOptions,
    /// `"$balance"`; None leaves what the preset says.
    pub balance: Option<bool>,
}

const COLUMN_KEYS: [&str; 2] = ["weight", "as"];
const ROW_KEYS: [&str; 3] = ["$columns", "$exclude", "$balance"];

/// Options of a text, from the JSON of a SQL argument. `check_interrupts` is called often, and may unwind.
pub fn parse_text(json: &str, check_interrupts: &mut dyn FnMut()) -> Result<TextOptions, Error> {
    let mut options = TextOptions::default();
    for (key, value) in object("options", &document(json)?)? {
        // A lone text has no other column that could be its title.
        if key == "title" || !options.take(key, key, value, check_interrupts)? {
            return Err(unknown(key, known(&[], "").trim_end_matches(", title")));
        }
    }
    Ok(options)
}

/// As [`parse_text`], for a function that takes rows as well: JSON of a row says that a text was
/// passed.
pub fn parse_text_or_hint_row(
    json: &str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<TextOptions, Error> {
    parse_text(json, check_interrupts).map_err(|error| match error {
        Error::UnknownOption { key, known } if parse_row(json, check_interrupts).is_ok() => {
            Error::RowOption { key, known }
        }
        other => other,
    })
}

/// Weights and options of a row, from the JSON of a SQL argument. `check_interrupts` is called often, and may
/// unwind.
pub fn parse_row(json: &str, check_interrupts: &mut dyn FnMut()) -> Result<RowOptions, Error> {
    let mut options = RowOptions::default();
    for (key, value) in object("weights", &document(json)?)? {
        match key.strip_prefix('$') {
            // `$$name` is the column `$name`.
            Some(name) if name.starts_with('$') => {
                options
                    .named
                    .push((name.to_owned(), column(name, value, check_interrupts)?));
            }
            Some(option) => row_option(&mut options, key, option, value, check_interrupts)?,
            None if key == "*" => options.rest = Some(column(key, value, check_interrupts)?),
            None => options
                .named
                .push((key.clone(), column(key, value, check_interrupts)?)),
        }
    }
    Ok(options)
}

fn row_option(
    options: &mut RowOptions,
    key: &str,
    name: &str,
    value: &Value,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    match name {
        "columns" => options.columns = Some(distinct("\"$columns\"", names(key, value)?)?),
        "exclude" => options.exclude = names(key, value)?,
        "balance" => options.balance = Some(truth(key, value)?),
        _ if options.text.take(key, name, value, check_interrupts)? => {}
        _ => return Err(unknown(key, known(&ROW_KEYS, "$"))),
    }
    Ok(())
}

fn column(
    name: &str,
    value: &Value,
    check_interrupts: &mut dyn FnMut(),
) -> Result<ColumnOptions, Error> {
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
            "as" => {
                let (place, expected) = (
                    format!("\"as\" of column \"{name}\""),
                    "\"text\" or \"value\"",
                );
                options.kind = Some(variant(place, expected, value)?);
            }
            _ if options.text.take(key, key, value, check_interrupts)? => {}
            _ => return Err(unknown(key, known(&COLUMN_KEYS, ""))),
        }
    }
    Ok(options)
}

fn weight(column: &str, value: &Value) -> Result<f64, Error> {
    number(format!("weight of column \"{column}\""), value)
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

/// Returns whether rows have an option of this name, written with `$`.
pub(crate) fn is_row_option(name: &str) -> bool {
    let mut text = KEYS.iter().chain(&term::KEYS);
    text.any(|key| *key == name) || ROW_KEYS.iter().any(|key| key[1..] == *name)
}
