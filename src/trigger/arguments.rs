//! The arguments of our trigger functions: strings `name=value`, as CREATE TRIGGER has them.

use std::fmt::Display;
use std::str::FromStr;

/// Bits of a fingerprint: the largest radius.
const MAX_RADIUS: u32 = u64::BITS;
/// The radius without `radius=`.
const DEFAULT_RADIUS: u32 = 3;

/// Why arguments are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub hint: Option<String>,
}

pub type Parsed<T> = Result<T, Refusal>;

/// Refuses with a hint.
pub fn refuse<T>(message: impl Into<String>, hint: impl Into<String>) -> Parsed<T> {
    Err(Refusal {
        message: message.into(),
        hint: Some(hint.into()),
    })
}

fn refuse_plainly<T>(message: String) -> Parsed<T> {
    Err(Refusal {
        message,
        hint: None,
    })
}

/// The values by name, each given at most once.
#[derive(Debug)]
pub struct TriggerArguments<'a> {
    names: &'static [&'static str],
    values: Vec<Option<&'a str>>,
}

impl<'a> TriggerArguments<'a> {
    /// Takes the arguments apart; `names` are those that the function knows.
    pub fn read(names: &'static [&'static str], arguments: &'a [String]) -> Parsed<Self> {
        let known = || format!("Known arguments: {}.", names.join(", "));
        let mut values = vec![None; names.len()];
        for argument in arguments {
            let Some((name, value)) = argument.split_once('=') else {
                let message =
                    format!("trigger argument \"{argument}\" is not of the form name=value");
                return refuse(message, known());
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(place) = names.iter().position(|known| *known == name) else {
                return refuse(format!("unknown trigger argument \"{name}\""), known());
            };
            if value.is_empty() {
                return refuse_plainly(format!("trigger argument \"{name}\" has no value"));
            }
            if values[place].replace(value).is_some() {
                return refuse_plainly(format!("trigger argument \"{name}\" is given twice"));
            }
        }
        Ok(Self { names, values })
    }

    pub fn get(&self, name: &str) -> Option<&'a str> {
        let place = self.names.iter().position(|known| *known == name)?;
        self.values[place]
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// An argument without a default; `example` is a call of the function that has it.
    pub fn required(&self, name: &str, example: &str) -> Parsed<String> {
        match self.text(name) {
            Some(value) => Ok(value),
            None => refuse(
                format!("trigger argument \"{name}\" is missing"),
                format!("Write for example {example}."),
            ),
        }
    }

    /// A number within a range, or the default.
    pub fn number<T>(&self, name: &str, default: T, least: T, most: T) -> Parsed<T>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(value) if value >= least && value <= most => Ok(value),
            _ => refuse_plainly(format!(
                "trigger argument \"{name}\" must be a number from {least} to {most}, \
                 not \"{text}\""
            )),
        }
    }

    /// `radius=`, in bits.
    pub fn radius(&self) -> Parsed<u32> {
        self.number("radius", DEFAULT_RADIUS, 0, MAX_RADIUS)
    }

    /// One of a few words; the first is the default.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Parsed<T> {
        let Some(text) = self.get(name) else {
            return Ok(words[0].1);
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        refuse_plainly(format!(
            "trigger argument \"{name}\" must be one of {}, not \"{text}\"",
            known.join(", ")
        ))
    }

    /// Refuses an argument that has no effect without another one.
    pub fn needs(&self, name: &str, other: &str) -> Parsed<()> {
        match (self.get(name), self.get(other)) {
            (Some(_), None) => refuse(
                format!("trigger argument \"{name}\" needs \"{other}\""),
                format!("Add '{other}=...', or leave '{name}=...' out."),
            ),
            _ => Ok(()),
        }
    }

    /// Refuses two arguments that name the same column; `why` is the hint.
    pub fn differ(&self, one: &str, other: &str, why: &str) -> Parsed<()> {
        match (self.get(one), self.get(other)) {
            (Some(column), Some(same)) if column == same => refuse(
                format!(
                    "trigger arguments \"{one}\" and \"{other}\" both name column \"{column}\""
                ),
                why,
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["one", "other", "radius"];

    fn with<T>(arguments: &[&str], f: impl FnOnce(TriggerArguments) -> Parsed<T>) -> Parsed<T> {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        TriggerArguments::read(NAMES, &owned).and_then(f)
    }

    fn message<T>(refused: Parsed<T>) -> String {
        refused.map_or_else(|r| r.message, |_| "accepted".to_owned())
    }

    fn read(arguments: &[&str]) -> String {
        message(with(arguments, |_| Ok(())))
    }

    #[test]
    fn blanks_around_do_not_count_and_values_may_hold_anything() {
        let one = with(&[" one = a = b "], |given| Ok(given.text("one")));
        assert_eq!(one, Ok(Some("a = b".to_owned())));
        assert_eq!(with(&[], |given| Ok(given.text("one"))), Ok(None));
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        assert_eq!(
            read(&["one"]),
            "trigger argument \"one\" is not of the form name=value"
        );
        assert_eq!(
            read(&[""]),
            "trigger argument \"\" is not of the form name=value"
        );
        assert_eq!(read(&["One=1"]), "unknown trigger argument \"One\"");
        assert_eq!(read(&["=1"]), "unknown trigger argument \"\"");
        assert_eq!(read(&["one= "]), "trigger argument \"one\" has no value");
        assert_eq!(
            read(&["one=1", "one=1"]),
            "trigger argument \"one\" is given twice"
        );
        for wrong in ["One=1", "one"] {
            let hint = with(&[wrong], |_| Ok(())).unwrap_err().hint;
            assert_eq!(
                hint.as_deref(),
                Some("Known arguments: one, other, radius.")
            );
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let radius = |text: &str| with(&[&format!("radius={text}")], |given| given.radius());
        assert_eq!(with(&[], |given| given.radius()), Ok(3));
        assert_eq!((radius("0"), radius("64")), (Ok(0), Ok(64)));
        for wrong in ["65", "-1", "3.0", "three", "4294967299"] {
            assert_eq!(
                message(radius(wrong)),
                format!(
                    "trigger argument \"radius\" must be a number from 0 to 64, not \"{wrong}\""
                )
            );
        }
        let word = |text| with(&[text], |given| given.word("one", &[("a", 1), ("b", 2)]));
        assert_eq!((word("other=x"), word("one=b")), (Ok(1), Ok(2)));
        assert_eq!(
            message(word("one=c")),
            "trigger argument \"one\" must be one of a, b, not \"c\""
        );
    }

    #[test]
    fn arguments_that_belong_together() {
        let missing = with(&["other=1"], |given| given.required("one", "f('one=1')"));
        let missing = missing.unwrap_err();
        assert_eq!(missing.message, "trigger argument \"one\" is missing");
        assert_eq!(
            missing.hint.as_deref(),
            Some("Write for example f('one=1').")
        );
        let needs = |arguments: &[&str]| message(with(arguments, |g| g.needs("one", "other")));
        assert_eq!(
            needs(&["one=1"]),
            "trigger argument \"one\" needs \"other\""
        );
        assert_eq!(needs(&["one=1", "other=2"]), "accepted");
        assert_eq!(needs(&[]), "accepted");
        let differ = |arguments: &[&str]| {
            message(with(arguments, |g| {
                g.differ("one", "other", "They differ.")
            }))
        };
        assert_eq!(
            differ(&["one=a b", "other= a b"]),
            "trigger arguments \"one\" and \"other\" both name column \"a b\""
        );
        assert_eq!(differ(&["one=a", "other=A"]), "accepted");
        assert_eq!(differ(&["one=a"]), "accepted");
        assert_eq!(differ(&["radius=1"]), "accepted");
    }
}
