//! Values of the JSON, read as what an option expects, and the errors where they are anything else.
//!
//! Types that derive `Deserialize` say what an option may be; the caller says how an error calls
//! that. (Derived code would read an array for a struct, and an object for the name of a variant,
//! so that the type of the value is checked before either is read.)

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::{Error as NoVariant, StrDeserializer};
use serde_json::{Map, Value};

use crate::error::{Error, check_memory};
use crate::simhash;

/// The value of an option that has a built-in one: `true` for that, `false` for none, or a value of
/// the user.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Choice<T> {
    /// `true` for the built-in value, `false` for none.
    BuiltIn(bool),
    /// The value of the user.
    Own(T),
}

/// Most bytes of a document: it is parsed at one go, without a check for interrupts.
pub const MOST_BYTES: usize = 16 << 20;

/// Parses a document; an error when it is too long, or there is too little memory for it.
pub fn document(json: &str) -> Result<Value, Error> {
    check_length(json.len())?;
    check_memory(memory_for(json))?;
    serde_json::from_str(json).map_err(|e| Error::Json(e.to_string()))
}

/// An error when a document has too many bytes.
pub fn check_length(bytes: usize) -> Result<(), Error> {
    match bytes > MOST_BYTES {
        true => Err(Error::JsonTooLong { bytes }),
        false => Ok(()),
    }
}

/// An upper bound of the bytes that parsing takes: the values, and the strings that options copy
/// from them. A map has room for 11 members and a list for 4 elements at least; a list that grows
/// is there twice for a moment.
fn memory_for(json: &str) -> usize {
    let of_byte = |byte| match byte {
        b'{' => 704,
        b'[' => 192,
        b',' => 256,
        _ => 4,
    };
    json.bytes().map(of_byte).sum()
}

/// The value of option `key` as a `T`; `expected` says what that is.
pub fn read<'v, T: Deserialize<'v>>(
    key: &str,
    expected: &'static str,
    value: &'v Value,
) -> Result<T, Error> {
    T::deserialize(value).map_err(|_| wrong_shape(quote(key), expected, value))
}

/// The variant of `T` that a string names; `expected` lists them.
pub fn variant<'v, T: Deserialize<'v>>(
    place: String,
    expected: &'static str,
    value: &'v Value,
) -> Result<T, Error> {
    let named = |name| T::deserialize(StrDeserializer::<NoVariant>::new(name)).ok();
    let variant = value.as_str().and_then(named);
    variant.ok_or_else(|| wrong_shape(place, expected, value))
}

/// Reads true or false.
pub fn truth(key: &str, value: &Value) -> Result<bool, Error> {
    read(key, "true or false", value)
}

/// Reads an array of strings.
pub fn names(key: &str, value: &Value) -> Result<Vec<String>, Error> {
    read(key, "an array of strings", value)
}

/// Reads a weight.
pub fn number(place: String, value: &Value) -> Result<f64, Error> {
    let Some(number) = value.as_f64() else {
        return Err(wrong_shape(place, "a number", value));
    };
    if !simhash::is_weight(number) {
        return Err(Error::BadWeight {
            place,
            weight: value.to_string(),
        });
    }
    Ok(number)
}

/// Reads an object; `place` names it in the error.
pub fn object<'v>(place: &str, value: &'v Value) -> Result<&'v Map<String, Value>, Error> {
    let members = value.as_object();
    members.ok_or_else(|| wrong_shape(place.to_owned(), "a JSON object", value))
}

/// The error about a key that is not among the `known` ones.
pub fn unknown(key: &str, known: impl Into<String>) -> Error {
    Error::UnknownOption {
        key: key.to_owned(),
        known: known.into(),
    }
}

/// A key in double quotes.
pub fn quote(key: &str) -> String {
    format!("\"{key}\"")
}

/// The error about a value that is not what is expected at a place.
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
