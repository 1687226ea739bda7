//! The numbers within the sentences of a text, and the words beside each. Thousands of texts of one template differ in a number
//! alone, and each pair of them is near: that two such texts differ is told here without cutting them into words. [`super`]
//! asks before it compares. What it calls different would be different by the judge too, which the tests check.

use crate::error::Error;
use crate::hash::city64;

/// A number that stands between two words of one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    /// The words beside it, hashed.
    beside: u64,
    value: u64,
}

/// The numbers of a text, in their order.
#[derive(Clone, Debug, Default)]
pub struct Numbers(Box<[Number]>);

/// The number of a text that has one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneNumber(Number);

impl OneNumber {
    /// As [`Numbers::differ`].
    pub fn differs(&self, other: &Self) -> bool {
        self.0.beside == other.0.beside && self.0.value != other.0.value
    }
}

/// Numbers of a text that are looked at.
const MOST: usize = 64;
/// Digits of the longest.
const DIGITS: usize = 18;

impl Numbers {
    /// Finds them: digits without a zero in front, between two blanks, of which a word of letters stands before the first,
    /// and one in small letters behind the second. A longer list is not looked at.
    pub fn of(text: &str) -> Result<Self, Error> {
        let mut found = Vec::new();
        let mut words = text.split(' ');
        let (mut before, mut at) = (words.next().unwrap_or(""), words.next());
        while let Some(word) = at {
            let behind = words.next();
            if let (Some(value), Some(next)) = (value(word), behind)
                && is_word(before)
                && is_word(next)
                && next.chars().next().is_some_and(char::is_lowercase)
            {
                if found.len() == MOST {
                    return Ok(Self::default());
                }
                found.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                let beside = [before, next].map(|word| city64(word.as_bytes()));
                found.push(Number {
                    beside: beside[0].rotate_left(1) ^ beside[1],
                    value,
                });
            }
            (before, at) = (word, behind);
        }
        Ok(Self(found.into_boxed_slice()))
    }

    /// Whether another text has as many numbers beside the same words, of which one stands for one that neither text has
    /// elsewhere. Not every text that differs in a number is found.
    pub fn differ(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        let lacks =
            |numbers: &[Number], value: u64| numbers.iter().all(|number| number.value != value);
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| a.beside == b.beside)
            && a.iter()
                .zip(b)
                .any(|(x, y)| lacks(b, x.value) && lacks(a, y.value))
    }

    /// The number of a text that has one alone.
    pub fn one(&self) -> Option<OneNumber> {
        match *self.0 {
            [number] => Some(OneNumber(number)),
            _ => None,
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

fn value(word: &str) -> Option<u64> {
    let is_plain = !word.starts_with('0') && word.len() <= DIGITS;
    (is_plain && word.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| word.parse().ok())
        .flatten()
}

fn is_word(word: &str) -> bool {
    word.len() > 1 && word.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::{Prepared, Strictness, same_prepared};
    use crate::tests::verdicts;

    fn is_judged_same(a: &str, b: &str) -> bool {
        let of = |text| Prepared::new(text, &mut || {}).unwrap();
        same_prepared((a, &of(a)), (b, &of(b)), Strictness::Person, &mut || {}).unwrap()
    }

    fn differ(a: &str, b: &str) -> bool {
        Numbers::of(a).unwrap().differ(&Numbers::of(b).unwrap())
    }

    #[test]
    fn a_number_beside_equal_words_tells_texts_apart() {
        let text =
            |number: &str, rest| format!("Dear team, order {number} was placed in May{rest}");
        assert!(differ(
            &text("4711", ". Anna"),
            &text("4712", ", and came broken")
        ));
        for other in ["4711,", "04712", "4712.5", "four", "4,712"] {
            assert!(!differ(&text("4711", ""), &text(other, "")), "{other}");
        }
        assert!(!differ("from 3 to 5 of 9", "from 3 to 5 of 9"));
        assert!(!differ("from 3 to 12 years", "from 12 to 3 years"));
        assert!(!differ("in 3 weeks", "in 21 days") && !differ("May 3 Alpha", "May 4 Alpha"));
    }

    /// Texts that people wrote, beside each other, and each with another number.
    #[test]
    fn the_judge_calls_them_different_too() {
        let rows = [verdicts::rows(), verdicts::second(), verdicts::third()].concat();
        let texts: Vec<&str> = rows.iter().flat_map(|row| [&*row[3], &*row[4]]).collect();
        let mut found = 0;
        let mut check = |a: &str, b: &str| {
            found += 1;
            assert!(!is_judged_same(a, b), "{a}\n{b}");
        };
        let numbers: Vec<Numbers> = texts
            .iter()
            .map(|text| Numbers::of(text).unwrap())
            .collect();
        for (i, a) in numbers.iter().enumerate().filter(|(_, a)| a.bytes() > 0) {
            for (j, _) in numbers[..i].iter().enumerate().filter(|(_, b)| a.differ(b)) {
                check(texts[i], texts[j]);
            }
        }
        for text in texts {
            let words: Vec<&str> = text.split(' ').collect();
            for (at, word) in words.iter().enumerate() {
                let Some(number) = value(word) else { continue };
                for other in [number + 1, number * 10 + 7, number / 2 + 31, 2 * number] {
                    let mut changed = words.clone();
                    let other = other.to_string();
                    changed[at] = &other;
                    let changed = changed.join(" ");
                    if differ(text, &changed) {
                        check(text, &changed);
                    }
                }
            }
        }
        assert!(found > 800, "{found}");
    }
}
