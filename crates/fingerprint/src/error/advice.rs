//! What a user can do about an error: the lines DETAIL and HINT.

use super::Error;
use crate::hashes::read::{FINGERPRINT_BITS, MOST_BITS};
use crate::options::grammar::is_row_option;
use crate::options::presets::{BARE, Method, names_where};
use crate::options::text_options::Needs;

impl Error {
    /// The DETAIL line, if any.
    pub fn detail(&self) -> Option<String> {
        match self {
            Error::UnknownColumn { columns, .. } | Error::NoText { columns } => {
                let quoted: Vec<String> = columns.iter().map(|c| format!("\"{c}\"")).collect();
                Some(format!("The row's columns are {}.", quoted.join(", ")))
            }
            Error::RowOption { known, .. } => Some(format!(
                "The argument is a text, not a row. The options of a text are {known}."
            )),
            Error::OptionWithoutUse { preset, .. } if *preset == BARE => {
                Some(format!("A call without a preset has preset \"{BARE}\"."))
            }
            Error::HexLength {
                digits, expected, ..
            } => Some(format!("It has {digits} characters, not {expected}.")),
            Error::NoHexDigit { character, .. } => {
                Some(format!("\"{character}\" is not a hexadecimal digit."))
            }
            Error::PartSubscripts(found) => Some(format!("Its subscripts are {found}.")),
            _ => None,
        }
    }

    /// The HINT line, if any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::UnknownPreset { known, .. } => Some(format!("The presets are {known}.")),
            Error::UnknownOption { known, .. } => Some(format!("The options are {known}.")),
            Error::RowOption { .. } => Some(
                "Weights of columns need a row: ROW(a, b), or t.* where the table t has a column t."
                    .into(),
            ),
            Error::UnknownStopWords { known, .. } => {
                Some(format!("The built-in lists are {known}."))
            }
            Error::LineOfDictionary { .. } => Some(
                "Give the word alone; an object has the part of speech of each, such as {\"lamp\": \"n\"}.".into(),
            ),
            Error::BadWeight { .. } => Some("A weight is a number from 0 to 1e100.".into()),
            Error::JsonTooLong { .. } => Some(format!(
                "At most {} bytes are read. Leave out words that are in few documents.",
                crate::options::json::MOST_BYTES
            )),
            Error::NoWeight => Some("Give at least one column a weight above 0.".into()),
            Error::NoText { columns } => Some(format!(
                "Other columns count when weights name them, such as '{{\"{}\": 1}}'.",
                columns.first().map_or("*", String::as_str)
            )),
            Error::WeightedToken { .. } => Some(
                "Preset s1 reads tokens with weights, separated by single spaces, such as \
                 \"fast^2 car^1\"."
                    .into(),
            ),
            Error::UnknownColumn { columns, .. } if columns.iter().any(|c| c == "f1") => Some(
                "The fields of a bare ROW(...) are f1, f2, ...; \"$columns\" names them.".into(),
            ),
            Error::UnknownColumn { column, .. } | Error::WeightShape { column, .. }
                if is_row_option(column) =>
            {
                Some(format!("If an option is meant, write \"${column}\"."))
            }
            Error::OutOfRange {
                name, least, most, ..
            } => Some(format!("{name} is an integer from {least} to {most}.")),
            Error::NoShare { name, .. } => Some(format!("{name} is a number from 0 to 1.")),
            Error::TooManyProbes { .. } => Some(format!(
                "At most {} fingerprints are given: take fewer bits or flips.",
                crate::methods::margin::MOST_PROBES
            )),
            Error::NoMargin => Some(format!(
                "Presets that have them: {}. With others search a larger radius instead.",
                names_where(|preset| preset.method == Method::SimHash)
            )),
            Error::OptionWithoutUse { key, .. } => {
                let needs = Needs::for_option(key.trim_start_matches('$'));
                let which = match needs {
                    Needs::Text => "read natural text",
                    Needs::Words => "cut texts into words",
                    Needs::Ngrams => "cut texts into n-grams",
                };
                let presets = names_where(|preset| needs.met_by(&preset.input));
                Some(format!("Presets that {which} use it: {presets}."))
            }
            Error::BitLengths { .. } => Some("Both are fingerprints of 128 bits.".into()),
            Error::Width(_) => Some("Fingerprints have 64 or 32 bits.".into()),
            Error::HexLength {
                digits, expected, ..
            } => Some(
                of_another_length(*digits, *expected, "hex", 4).unwrap_or_else(|| {
                    format!("Write {expected} digits, with or without 0x in front.")
                }),
            ),
            Error::NoHexDigit { .. } => {
                Some("The digits are 0 to 9 and a to f, without blanks and signs.".into())
            }
            Error::Unsigned(found) if found.parse::<i64>().is_ok() => {
                Some("A negative number is a signed hash: cast it to bigint.".into())
            }
            Error::Unsigned(_) | Error::NoInteger(_) => {
                Some("An unsigned hash is an integer from 0 to 18446744073709551615.".into())
            }
            Error::BitCount { bits, expected } => of_another_length(*bits, *expected, "bits", 1),
            Error::ByteCount { found, expected } => {
                of_another_length(*found, *expected, "bytes", 8)
            }
            Error::HashWidth(_) => Some(format!("A hash has 1 to {MOST_BITS} bits.")),
            Error::TooManyParts(_) => Some(format!("A hash has at most {MOST_BITS} bits.")),
            Error::PartCounts { .. } => {
                Some("Hashes of one tool have the same number of parts, 1 to 64.".into())
            }
            _ => None,
        }
    }
}

/// The HINT for a hash of `found` units of `bits` bits each, where `expected` were asked for, that
/// the functions with this name at their end read.
fn of_another_length(found: usize, expected: usize, name: &str, bits: usize) -> Option<String> {
    match found * bits {
        FINGERPRINT_BITS => Some(format!(
            "A hash of 64 bits is read by fingerprint_from_{name}(hash)."
        )),
        wide if wide % FINGERPRINT_BITS > 0 && found < expected => {
            Some("If zeros were left out in front, call it with pad => true.".into())
        }
        wide @ 1..=MOST_BITS => Some(format!(
            "A hash of {wide} bits is read by fingerprint_parts_from_{name}(hash, {wide})."
        )),
        _ => None,
    }
}
