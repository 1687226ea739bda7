//! Entries of a list of references: two styles put the year and the place elsewhere, write initials for
//! names, and have labels of numbers or not. [`crate::same`] asks where something decides; each word and
//! number that one entry has, the other has too.

use super::order::Content;
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{LEAST_OF_REFERENCE, MOST_OF_REFERENCE};
use crate::same::lists::{Classes, lists};
use crate::same::values::is_of_roman_letters;
use std::borrow::Cow;

/// Whether two texts are one entry of a list of references: the same words, with initials for names, the
/// year and the place elsewhere, with or without the number of an issue.
pub fn is_same_reference(a: &Tokens, b: &Tokens) -> bool {
    // Most texts have no initials and no labels.
    let has_marks = |text: &Tokens| {
        (0..text.len().min(MOST_OF_REFERENCE)).any(|i| {
            text.at(i).dot && text.word(i).len() <= 2 || text.classes(i).has(Classes::LABEL)
        })
    };
    if !has_marks(a) && !has_marks(b) {
        return false;
    }
    let (Some(x), Some(y)) = (Reference::of(a), Reference::of(b)) else {
        return false;
    };
    let has_issue = |x: &Reference, y: &Reference| x.numbers == y.all_numbers;
    x.year == y.year
        && (x.has_marks || y.has_marks)
        && (x.all_numbers == y.all_numbers || has_issue(&x, &y) || has_issue(&y, &x))
        && x.is_named_in(&y)
        && y.is_named_in(&x)
}

/// What counts of an entry of a list of references.
struct Reference<'t> {
    year: &'t str,
    /// In order, without the year; of the first ones, what stands in brackets is left out, as an issue.
    numbers: Vec<Cow<'t, str>>,
    all_numbers: Vec<Cow<'t, str>>,
    words: Vec<&'t str>,
    initials: Vec<&'t str>,
    /// It has initials or labels of numbers.
    has_marks: bool,
}

impl<'t> Reference<'t> {
    fn of(text: &'t Tokens) -> Option<Self> {
        if !(LEAST_OF_REFERENCE..MOST_OF_REFERENCE).contains(&text.len()) {
            return None;
        }
        let is_year = |word: &str| word.len() == 4 && matches!(word.parse(), Ok(1500..2100));
        let number = |i: usize| text.at(i).kind == TokenKind::Number;
        let at = (0..text.len()).rfind(|i| number(*i) && is_year(text.word(*i)))?;
        let mut reference = Self {
            year: text.word(at),
            numbers: Vec::new(),
            all_numbers: Vec::new(),
            words: Vec::new(),
            initials: Vec::new(),
            has_marks: false,
        };
        let ends = |i: &usize| matches!(text.word(*i), "doi" | "isbn");
        for i in (0..text.len())
            .take_while(|i| !ends(i))
            .filter(|i| *i != at)
        {
            let (word, classes) = (text.word(i), text.classes(i));
            if classes.has(Classes::LABEL) && i + 1 < text.len() && number(i + 1) {
                reference.has_marks = true;
            } else if number(i) {
                // Pages 112-9 are 112-119.
                let last = reference.all_numbers.last();
                let last = last.filter(|last| text.at(i).is_joined && last.is_ascii());
                let begin = last.and_then(|last| last.get(..last.len().checked_sub(word.len())?));
                let number = match begin {
                    Some(begin) => Cow::from([begin, word].concat()),
                    None => Cow::from(word),
                };
                let is_issue =
                    i > 0 && matches!(text.word(i - 1), "number" | "no" | "nr" | "issue");
                let in_issue = text.at(i).in_bracket || is_issue;
                reference
                    .numbers
                    .extend((!in_issue).then(|| number.clone()));
                reference.all_numbers.push(number);
            } else if word.chars().nth(1).is_none() {
                reference.has_marks |= text.at(i).dot;
                reference.initials.push(word);
            } else if Content::counts(classes) && !matches!(word, "vgl" | "cf" | "see") {
                reference.words.push(word);
            }
        }
        Some(reference)
    }

    /// Whether another one has each word and each initial, or an initial for a name and a name for an initial.
    fn is_named_in(&self, other: &Reference) -> bool {
        let mut words = other.words.clone();
        let mut take = |word: &&str| {
            let at = words.iter().position(|other| other == word);
            at.map(|at| words.swap_remove(at)).is_some()
        };
        const DECIDES: Classes = Classes::NEGATION.or(Classes::OUTCOME).or(Classes::MODIFIER);
        let is_name = |word: &str| {
            word.chars().nth(2).is_some()
                && !is_of_roman_letters(word)
                && !lists().classes(word).has(DECIDES)
        };
        let begins = |word: &str| {
            other
                .initials
                .iter()
                .any(|initial| word.starts_with(initial))
        };
        let lacks = |word: &&&str| !take(word);
        let names: Vec<_> = self.words.iter().filter(lacks).collect();
        let has_initial = |initial: &&str| {
            other.initials.contains(initial)
                || other.words.iter().any(|word| word.starts_with(*initial))
        };
        // Clim. is Climate.
        let is_short = |word: &str| {
            let is_begin = |other: &&str| word.starts_with(*other) || other.starts_with(word);
            let mut others = other
                .words
                .iter()
                .filter(|word| word.chars().nth(2).is_some());
            word.chars().nth(2).is_some() && others.any(is_begin)
        };
        names
            .into_iter()
            .all(|word| is_name(word) && (begins(word) || is_short(word)))
            && self.initials.iter().all(has_initial)
    }
}
