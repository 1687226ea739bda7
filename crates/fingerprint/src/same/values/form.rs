//! What a value is, in one form for all ways to write it, and numbers by their value: a whole number and
//! decimals. [`super`] compares values by it, and writes it as the word that stands for them. Forms of two
//! kinds are never equal.

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

/// A number: digits, of which the last ones are decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    digits: u128,
    decimals: u32,
    is_negative: bool,
}

/// Digits that are read; a longer number is not an amount.
const MOST_DIGITS: usize = 24;

impl Number {
    /// Reads a number in the form of the cutter: digits with a point in front of the decimals.
    pub fn read(word: &str) -> Option<Self> {
        let (is_negative, word) = match word.strip_prefix('-') {
            Some(word) => (true, word),
            None => (false, word),
        };
        let (whole, decimals) = word.split_once('.').unwrap_or((word, ""));
        let is_number = !whole.is_empty() && whole.len() + decimals.len() <= MOST_DIGITS;
        if !is_number || whole.len() > 1 && whole.starts_with('0') {
            return None;
        }
        let mut digits = 0;
        for byte in whole.bytes().chain(decimals.bytes()) {
            let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
            digits = 10 * digits + u128::from(digit);
        }
        let number = Self {
            digits,
            decimals: decimals.len() as u32,
            is_negative,
        };
        Some(number.without_zeros())
    }

    /// Whether a word that is read as this number has as many decimals.
    pub fn has_all_decimals(self, word: &str) -> bool {
        let decimals = word
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        self.decimals as usize == decimals
    }

    pub fn whole(number: u64) -> Self {
        Self {
            digits: u128::from(number),
            decimals: 0,
            is_negative: false,
        }
    }

    /// The number, if it has no decimals.
    pub fn as_whole(self) -> Option<u64> {
        let is_whole = self.decimals == 0 && !self.is_negative;
        is_whole.then_some(self.digits)?.try_into().ok()
    }

    /// That many times the number.
    pub fn times(self, factor: u64) -> Option<Self> {
        let digits = self.digits.checked_mul(u128::from(factor))?;
        Some(Self { digits, ..self }.without_zeros())
    }

    /// The sum of two whole numbers.
    pub fn plus(self, other: Self) -> Option<Self> {
        let sum = self.as_whole()?.checked_add(other.as_whole()?)?;
        Some(Self::whole(sum))
    }

    /// Without decimals that are zero at the end.
    fn without_zeros(mut self) -> Self {
        while self.decimals > 0 && self.digits.is_multiple_of(10) {
            (self.digits, self.decimals) = (self.digits / 10, self.decimals - 1);
        }
        self
    }
}

impl fmt::Display for Number {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let unit = 10_u128.pow(self.decimals);
        write!(to, "{sign}{}", self.digits / unit)?;
        match self.decimals {
            0 => Ok(()),
            decimals => write!(
                to,
                ".{:0width$}",
                self.digits % unit,
                width = decimals as usize
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_form() {
        let shown = |word: &str| Number::read(word).map(|number| number.to_string());
        assert_eq!(shown("1.50").as_deref(), Some("1.5"));
        assert_eq!(shown("-0.05").as_deref(), Some("-0.05"));
        assert_eq!(shown("0").as_deref(), Some("0"));
        for word in ["", "007", "1.2.3", "x", "9999999999999999999999999"] {
            assert_eq!(shown(word), None, "{word}");
        }
        let litres = Number::read("0.75").and_then(|number| number.times(1000));
        assert_eq!(litres.and_then(Number::as_whole), Some(750));
    }

    proptest! {
        #[test]
        fn times_as_with_whole_numbers(whole in 0u64..1_000_000, thousandths in 0u64..1000) {
            let number = Number::read(&format!("{whole}.{thousandths:03}")).unwrap();
            let times = number.times(1000).and_then(Number::as_whole);
            prop_assert_eq!(times, Some(1000 * whole + thousandths));
        }
    }
}
