//! What a value is, in one form for all ways to write it. [`super`] compares values by it, and writes it as
//! the word that stands for them. Forms of two kinds are never equal.

use super::number::Number;
use std::fmt;

/// The kinds are in the order in which one of two that overlap is taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// What stands behind the sign of a number.
    Reference(String),
    /// The numbers of an address.
    Address(String),
    Money(Number, &'static str),
    Date {
        year: Option<u32>,
        month: u32,
        day: u32,
    },
    Month(u32, Begin),
    Number(Number),
    Ordinal(Number),
    /// That many of a base unit.
    Amount(Number, &'static str),
    Time {
        hour: u32,
        minute: u32,
        second: u32,
    },
    Version(String),
    /// A day of the week.
    Day(u32, Begin),
}

/// The first two letters of a name, which its short forms have too; in another language the same letters
/// may be another word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Begin([Option<char>; 2]);

impl Begin {
    pub fn of(word: &str) -> Self {
        let mut letters = word.chars();
        Self([letters.next(), letters.next()])
    }
}

impl fmt::Display for Begin {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().flatten().try_for_each(|c| write!(to, "{c}"))
    }
}

impl fmt::Display for Form {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Reference(text) | Form::Address(text) | Form::Version(text) => to.write_str(text),
            Form::Money(number, unit) | Form::Amount(number, unit) => write!(to, "{number} {unit}"),
            Form::Date { year, month, day } => match year {
                Some(year) => write!(to, "{year}-{month:02}-{day:02}"),
                None => write!(to, "--{month:02}-{day:02}"),
            },
            Form::Month(name, begin) | Form::Day(name, begin) => write!(to, "{name} {begin}"),
            Form::Number(number) => write!(to, "{number}"),
            Form::Ordinal(number) => write!(to, "{number}."),
            Form::Time {
                hour,
                minute,
                second,
            } => {
                write!(to, "{hour:02}:{minute:02}")?;
                match second {
                    0 => Ok(()),
                    second => write!(to, ":{second:02}"),
                }
            }
        }
    }
}
