//! The arguments of `simhash_flag_duplicate()`: strings `name=value`, as CREATE TRIGGER has them.

use std::fmt::Display;
use std::str::FromStr;

/// Bits of a fingerprint: the largest radius.
pub const MAX_RADIUS: u32 = 64;
/// The radius without `radius=`.
pub const DEFAULT_RADIUS: u32 = 3;
/// The least Jaccard similarity without `min_jaccard=`.
pub const DEFAULT_MIN_JACCARD: f64 = 0.8;

const NAMES: [&str; 12] = [
    "fingerprint",
    "radius",
    "mode",
    "flag",
    "duplicate_of",
    "key",
    "among",
    "text",
    "min_jaccard",
    "weights",
    "preset",
    "lock",
];

/// What becomes of a near-duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is stored, and marked.
    Flag,
    /// The statement fails.
    Reject,
    /// It is left out, silently.
    Skip,
}

/// A text column that a candidate's must resemble.
#[derive(Clone, Debug, PartialEq)]
pub struct TextCheck {
    pub column: String,
    /// Least Jaccard similarity of the sets of character 5-grams.
    pub min_jaccard: f64,
}

/// How the trigger fills the fingerprint column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// JSON, as simhash64 takes it.
    pub weights: String,
    pub preset: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlagOptions {
    pub fingerprint: String,
    /// Bits.
    pub radius: u32,
    pub mode: Mode,
    /// A boolean column.
    pub flag: Option<String>,
    /// A column of the key's type.
    pub duplicate_of: Option<String>,
    pub key: Option<String>,
    /// Compare with rows that are no duplicates themselves only.
    pub originals_only: bool,
    pub text: Option<TextCheck>,
    pub recipe: Option<Recipe>,
    pub lock: bool,
}

/// Why arguments are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub hint: Option<String>,
}

type Parsed<T> = Result<T, Refusal>;

fn refuse<T>(message: impl Into<String>, hint: impl Into<String>) -> Parsed<T> {
    Err(Refusal {
        message: message.into(),
        hint: Some(hint.into()),
    })
}

/// The values by name, each at most once.
struct Given<'a>([Option<&'a str>; NAMES.len()]);

impl<'a> Given<'a> {
    fn read(arguments: &'a [String]) -> Parsed<Given<'a>> {
        let mut given = Given([None; NAMES.len()]);
        for argument in arguments {
            let Some((name, value)) = argument.split_once('=') else {
                let message =
                    format!("trigger argument \"{argument}\" is not of the form name=value");
                return refuse(message, known());
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(place) = NAMES.iter().position(|known| *known == name) else {
                return refuse(format!("unknown trigger argument \"{name}\""), known());
            };
            if value.is_empty() {
                return Err(Refusal {
                    message: format!("trigger argument \"{name}\" has no value"),
                    hint: None,
                });
            }
            if given.0[place].replace(value).is_some() {
                return Err(Refusal {
                    message: format!("trigger argument \"{name}\" is given twice"),
                    hint: None,
                });
            }
        }
        Ok(given)
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let place = NAMES.iter().position(|known| *known == name)?;
        self.0[place]
    }

    fn name(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// A number within a range, or the default.
    fn number<T>(&self, name: &str, default: T, least: T, most: T) -> Parsed<T>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(value) if value >= least && value <= most => Ok(value),
            _ => Err(Refusal {
                message: format!(
                    "trigger argument \"{name}\" must be a number from {least} to {most}, not \"{text}\""
                ),
                hint: None,
            }),
        }
    }

    /// One of a few words; the first is the default.
    fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Parsed<T> {
        let Some(text) = self.get(name) else {
            return Ok(words[0].1);
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Err(Refusal {
            message: format!(
                "trigger argument \"{name}\" must be one of {}, not \"{text}\"",
                known.join(", ")
            ),
            hint: None,
        })
    }

    /// An argument that says nothing without another one.
    fn needs(&self, name: &str, other: &str) -> Parsed<()> {
        match (self.get(name), self.get(other)) {
            (Some(_), None) => refuse(
                format!("trigger argument \"{name}\" needs \"{other}\""),
                format!("Add '{other}=...', or leave '{name}=...' out."),
            ),
            _ => Ok(()),
        }
    }
}

fn known() -> String {
    format!("Known arguments: {}.", NAMES.join(", "))
}

/// Parses the arguments of a trigger.
pub fn parse(arguments: &[String]) -> Parsed<FlagOptions> {
    let given = Given::read(arguments)?;
    let Some(fingerprint) = given.name("fingerprint") else {
        return refuse(
            "the fingerprint column is not named",
            "Write for example simhash_flag_duplicate('fingerprint=fp', 'radius=3', 'flag=is_duplicate').",
        );
    };
    given.needs("min_jaccard", "text")?;
    given.needs("preset", "weights")?;
    let options = FlagOptions {
        fingerprint,
        radius: given.number("radius", DEFAULT_RADIUS, 0, MAX_RADIUS)?,
        mode: given.word(
            "mode",
            &[
                ("flag", Mode::Flag),
                ("reject", Mode::Reject),
                ("skip", Mode::Skip),
            ],
        )?,
        flag: given.name("flag"),
        duplicate_of: given.name("duplicate_of"),
        key: given.name("key"),
        originals_only: given.word("among", &[("all", false), ("originals", true)])?,
        text: match given.name("text") {
            Some(column) => Some(TextCheck {
                column,
                min_jaccard: given.number("min_jaccard", DEFAULT_MIN_JACCARD, 0.0, 1.0)?,
            }),
            None => None,
        },
        recipe: given.name("weights").map(|weights| Recipe {
            weights,
            preset: given.name("preset"),
        }),
        lock: given.word("lock", &[("on", true), ("off", false)])?,
    };
    check_marks(&options)?;
    Ok(options)
}

/// The columns that mark duplicates belong to mode `flag`, which needs one.
fn check_marks(options: &FlagOptions) -> Parsed<()> {
    let marks = options.flag.is_some() || options.duplicate_of.is_some();
    match options.mode {
        Mode::Flag if !marks => refuse(
            "no column is named that marks a duplicate",
            "Add 'flag=...' (boolean), 'duplicate_of=...' (of the key's type) or both, or 'mode=reject' or 'mode=skip'.",
        ),
        Mode::Reject | Mode::Skip if marks => refuse(
            "columns that mark a duplicate are of no use when duplicates are not stored",
            "Leave 'flag=...' and 'duplicate_of=...' out, or 'mode=...'.",
        ),
        Mode::Reject | Mode::Skip if options.originals_only => refuse(
            "\"among=originals\" is of no use when duplicates are not stored",
            "Leave it out: every stored row is an original then.",
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Parsed<FlagOptions> {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        parse(&owned)
    }

    fn message(arguments: &[&str]) -> String {
        of(arguments).map_or_else(|r| r.message, |o| format!("accepted: {o:?}"))
    }

    #[test]
    fn everything_has_a_default_but_the_fingerprint_and_a_mark() {
        let options = of(&["fingerprint=fp", "flag=dup"]).unwrap();
        assert_eq!(options.fingerprint, "fp");
        assert_eq!(options.radius, 3);
        assert_eq!(options.mode, Mode::Flag);
        assert!(options.lock && !options.originals_only);
        assert_eq!(
            (options.key, options.text, options.recipe),
            (None, None, None)
        );
        assert_eq!(
            message(&["flag=dup"]),
            "the fingerprint column is not named"
        );
        assert_eq!(
            message(&["fingerprint=fp"]),
            "no column is named that marks a duplicate"
        );
        assert!(of(&["fingerprint=fp", "mode=skip"]).is_ok());
    }

    #[test]
    fn values_may_hold_equals_signs_and_spaces() {
        let options = of(&[
            "fingerprint = my fp",
            "flag=a=b",
            r#"weights={"x = y": 1}"#,
            "preset=plain",
        ])
        .unwrap();
        assert_eq!(options.fingerprint, "my fp");
        assert_eq!(options.flag.as_deref(), Some("a=b"));
        let recipe = options.recipe.unwrap();
        assert_eq!(recipe.weights, r#"{"x = y": 1}"#);
        assert_eq!(recipe.preset.as_deref(), Some("plain"));
    }

    #[test]
    fn what_is_unknown_repeated_or_out_of_range_is_refused() {
        let with = |extra: &str| message(&["fingerprint=fp", "flag=dup", extra]);
        assert_eq!(with("radios=3"), "unknown trigger argument \"radios\"");
        assert_eq!(
            with("radius"),
            "trigger argument \"radius\" is not of the form name=value"
        );
        assert_eq!(with("key="), "trigger argument \"key\" has no value");
        assert_eq!(with("flag=x"), "trigger argument \"flag\" is given twice");
        for radius in ["65", "-1", "3.0", "three"] {
            let argument = format!("radius={radius}");
            assert_eq!(
                with(&argument),
                format!(
                    "trigger argument \"radius\" must be a number from 0 to 64, not \"{radius}\""
                )
            );
        }
        assert!(of(&["fingerprint=fp", "flag=dup", "radius=64"]).is_ok());
        assert_eq!(
            with("mode=refuse"),
            "trigger argument \"mode\" must be one of flag, reject, skip, not \"refuse\""
        );
        assert_eq!(
            with("min_jaccard=0.5"),
            "trigger argument \"min_jaccard\" needs \"text\""
        );
        assert_eq!(
            with("preset=plain"),
            "trigger argument \"preset\" needs \"weights\""
        );
        assert_eq!(
            message(&["fingerprint=fp", "flag=dup", "text=body", "min_jaccard=NaN"]),
            "trigger argument \"min_jaccard\" must be a number from 0 to 1, not \"NaN\""
        );
        assert_eq!(
            with("mode=skip"),
            "columns that mark a duplicate are of no use when duplicates are not stored"
        );
    }

    #[test]
    fn a_refusal_of_a_name_lists_the_known_ones() {
        let refusal = of(&["x=1"]).unwrap_err();
        let hint = refusal.hint.unwrap();
        assert!(NAMES.iter().all(|name| hint.contains(name)));
    }
}
