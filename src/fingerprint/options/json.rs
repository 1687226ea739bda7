//! Values of the JSON, read as what an option expects, and the errors where they are something else.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::fingerprint::error::Error;

/// A name that a later version will give a meaning; with a `$` in front for a row.
const RESERVED: &str = "normalize";

pub fn document(json: &str) -> Result<Value, Error> {
    serde_json::from_str(json).map_err(|e| Error::Json(e.to_string()))
}

pub fn number(place: String, value: &Value, expected: &'static str) -> Result<f64, Error> {
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

pub fn truth(key: &str, value: &Value) -> Result<bool, Error> {
    value
        .as_bool()
        .ok_or_else(|| wrong_shape(quote(key), "true or false", value))
}

pub fn names(key: &str, value: &Value) -> Result<Vec<String>, Error> {
    let list = value.as_array().and_then(|items| {
        items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    });
    list.ok_or_else(|| wrong_shape(quote(key), "an array of strings", value))
}

pub fn object(place: &str, value: &Value) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(members) => Ok(members.clone()),
        _ => Err(wrong_shape(place.to_owned(), "a JSON object", value)),
    }
}

pub fn unknown(key: &str, name: &str, known: String) -> Error {
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

pub fn unknown_key(key: &str, known: &str) -> Error {
    unknown(key, key, known.to_owned())
}

pub fn quote(key: &str) -> String {
    format!("\"{key}\"")
}

pub fn wrong_shape(place: String, expected: impl Into<Cow<'static, str>>, value: &Value) -> Error {
    Error::WrongShape {
        place,
        expected: expected.into(),
        found: shown(value),
    }
}

/// A value as an error shows it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "this array".into(),
        other => other.to_string(),
    }
}
