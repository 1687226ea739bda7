//! Values: numbers, dates, times, amounts and money, which two texts may write in different forms.
//! [`super`] calls [`meet`] for two texts that are cut, before they are aligned.
//!
//! A stretch of words that stands for a value which the other text writes in other words becomes one
//! word in both, the value. Words that stand for no value of the other text stay as they are, so
//! that a numeral, which is often an ordinary word of another language, matters only where it meets
//! the same value; another value decides as any other word does.
//!
//! `table` has the words. `numerals` with `figures`, `dates`, `times`, `quantities` and `addresses`
//! read what begins at a word; `number` is how an amount is kept. The answer depends on the two texts
//! alone and not on their order.

mod addresses;
mod dates;
mod figures;
mod number;
mod numerals;
mod quantities;
mod table;
#[cfg(test)]
mod tests;
mod times;

use super::align::middle;
use super::tokens::{Token, TokenKind, Tokens};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use table::{Meaning, is_known, longest_phrase, meanings};

/// Words around those that differ that may belong to a value with them.
const AROUND: usize = 4;

/// Words that differ in which values are looked for.
const MOST_WORDS: usize = 1 << 14;

/// Bytes that a phrase of the table has at most.
const MOST_BYTES: usize = 40;

/// A text that is cut, with what it was cut from.
#[derive(Clone, Copy)]
struct Text<'t> {
    tokens: &'t Tokens,
    source: &'t str,
}

impl<'t> Text<'t> {
    fn word(self, i: usize) -> &'t str {
        match i < self.tokens.len() {
            true => self.tokens.word(i),
            false => "",
        }
    }

    fn is(self, i: usize, kind: TokenKind) -> bool {
        i < self.tokens.len() && self.tokens.at(i).kind == kind
    }

    /// The text from a word on; empty where it does not begin there.
    fn from(self, i: usize) -> &'t str {
        let begin = |i: usize| self.tokens.at(i).from;
        let is_part = i >= self.tokens.len() || i > 0 && begin(i - 1) == begin(i);
        match is_part {
            true => "",
            false => &self.source[begin(i) as usize..],
        }
    }

    /// The last character in front of a word.
    fn in_front(self, i: usize) -> Option<char> {
        let begin = self.tokens.at(i).from as usize;
        self.source[..begin].chars().next_back()
    }

    /// The first word behind that many bytes from a word on.
    fn behind(self, i: usize, bytes: usize) -> usize {
        let end = self.tokens.at(i).from as usize + bytes;
        let is_inside = |j: &usize| (self.tokens.at(*j).from as usize) < end;
        (i..self.tokens.len())
            .take_while(is_inside)
            .last()
            .map_or(i, |last| last + 1)
    }

    /// What the words from a place on may mean, with where they end.
    fn meanings(self, i: usize) -> Vec<(usize, Meaning)> {
        let mut found = Vec::new();
        let first = self.word(i);
        found.extend(meanings(first).map(|meaning| (i + 1, meaning)));
        for end in i + 2..=(i + longest_phrase(first)).min(self.tokens.len()) {
            let phrase = self.tokens.joined(&(i..end));
            if phrase.len() > MOST_BYTES {
                break;
            }
            found.extend(meanings(phrase).map(|meaning| (end, meaning)));
        }
        found
    }

    /// Whether the words that end in front of a place have a meaning, and where they begin.
    fn meaning_in_front(self, i: usize, is_it: impl Fn(Meaning) -> bool) -> Option<usize> {
        let begins = (i.saturating_sub(2)..i).rev();
        let mut found =
            begins.filter(|begin| meanings(self.tokens.joined(&(*begin..i))).any(&is_it));
        found.next()
    }
}

/// What the words from a place on may mean, with where they end.
type Found = [(usize, Meaning)];

/// Words that stand for a value.
struct Value {
    words: Range<usize>,
    /// What it is: a letter for its kind, and the form that all forms of it have in common.
    form: String,
    /// The words of its unit, if a script without spaces has it.
    unit: Range<usize>,
    /// It is a numeral in words, which may be another word of another language.
    is_word: bool,
}

/// The values of a text that were found so far.
#[derive(Default)]
struct Values(Vec<Value>);

impl Values {
    fn push(&mut self, words: Range<usize>, form: String) {
        self.0.push(Value {
            words,
            form,
            unit: 0..0,
            is_word: false,
        });
    }
}

/// Gives the values that both texts have one form, where they write them in different ones. The source is
/// the text that was cut.
pub fn meet(
    (a, source_of_a): (&mut Tokens, &str),
    (b, source_of_b): (&mut Tokens, &str),
    check_interrupts: &mut dyn FnMut(),
) {
    let differs = middle(a, b);
    if differs.a.len() + differs.b.len() > MOST_WORDS {
        return;
    }
    let text_a = Text {
        tokens: a,
        source: source_of_a,
    };
    let text_b = Text {
        tokens: b,
        source: source_of_b,
    };
    let (around_a, around_b) = (around(text_a, differs.a), around(text_b, differs.b));
    // Without any figure only the names of days and months may differ in their form.
    let has_figures = has_figures(text_a, &around_a) || has_figures(text_b, &around_b);
    let in_a = values(text_a, around_a, has_figures, check_interrupts);
    if in_a.is_empty() {
        return;
    }
    let in_b = values(text_b, around_b, has_figures, check_interrupts);
    let (mut of_a, mut of_b) = written_differently((text_a, &in_a), (text_b, &in_b));
    for _ in 0..2 {
        let lengths = lengths([(&in_a, &of_a), (&in_b, &of_b)]);
        of_a = without_overlaps(&in_a, of_a, &lengths);
        of_b = without_overlaps(&in_b, of_b, &lengths);
        let (forms_a, forms_b) = (forms(&in_a, &of_a), forms(&in_b, &of_b));
        of_a.retain(|n| forms_b.contains(in_a[*n].form.as_str()));
        of_b.retain(|n| forms_a.contains(in_b[*n].form.as_str()));
    }
    let (changes_a, changes_b) = (changes(text_a, &in_a, &of_a), changes(text_b, &in_b, &of_b));
    apply(a, changes_a);
    apply(b, changes_b);
}

/// Words and some around them.
fn around(text: Text, words: Range<usize>) -> Range<usize> {
    words.start.saturating_sub(AROUND)..(words.end + AROUND).min(text.tokens.len())
}

/// Whether words have numbers in digits, Han or Roman numerals.
fn has_figures(text: Text, words: &Range<usize>) -> bool {
    words.clone().any(|i| match text.tokens.at(i).kind {
        TokenKind::Number => true,
        TokenKind::Character => figures::short_number(text.word(i)).is_some(),
        TokenKind::Word => figures::roman_number(text.word(i)).is_some_and(|number| number > 1),
        TokenKind::Symbol => false,
    })
}

/// The values in some words.
fn values(
    text: Text,
    words: Range<usize>,
    has_figures: bool,
    check_interrupts: &mut dyn FnMut(),
) -> Vec<Value> {
    let mut values = Values::default();
    for i in words {
        check_interrupts();
        if !may_begin(text, i) {
            continue;
        }
        let found = text.meanings(i);
        dates::names(text, i, &found, &mut values);
        if !has_figures {
            continue;
        }
        let numerals = numerals::numerals(text, i, &found);
        for numeral in &numerals {
            numerals::push(text, i, numeral, &mut values);
            quantities::amounts(text, i, numeral, &mut values);
        }
        dates::dates(text, i, (&numerals, &found), &mut values);
        times::times(text, i, &found, &mut values);
        quantities::signs(text, i, &found, &mut values);
        addresses::address(text, i, &mut values);
    }
    without_parts(values.0)
}

/// Whether a value may begin at a word: most words are not in the table.
fn may_begin(text: Text, i: usize) -> bool {
    let word = text.word(i);
    match text.tokens.at(i).kind {
        TokenKind::Number => true,
        TokenKind::Symbol => is_known(word),
        TokenKind::Character => is_known(word) || figures::short_number(word).is_some(),
        TokenKind::Word => {
            is_known(word) || quantities::is_sign(word) || figures::is_of_roman_letters(word)
        }
    }
}

/// Without values that are in others of the same form: the Japanese short name of a day begins the long one.
fn without_parts(mut values: Vec<Value>) -> Vec<Value> {
    let key = |value: &Value| (value.words.start, usize::MAX - value.words.end);
    values.sort_unstable_by(|a, b| a.form.cmp(&b.form).then(key(a).cmp(&key(b))));
    values.dedup_by(|part, kept| part.form == kept.form && part.words.end <= kept.words.end);
    values
}

fn forms<'v>(values: &'v [Value], chosen: &[usize]) -> HashSet<&'v str> {
    chosen.iter().map(|n| values[*n].form.as_str()).collect()
}

/// The values that both texts have, except for those that both write in the same words as often, and those
/// that are in both texts words alone, as the Danish numeral `to` and the English word.
fn written_differently(
    (a, in_a): (Text, &[Value]),
    (b, in_b): (Text, &[Value]),
) -> (Vec<usize>, Vec<usize>) {
    // Which text has a form, and whether in digits; how many times more the first one has words for it.
    let mut forms: HashMap<&str, [bool; 3]> = HashMap::new();
    // The first writing of each form, and whether there are others.
    let mut writings: HashMap<&str, (&str, bool)> = HashMap::new();
    let mut more: HashMap<(&str, &str, usize), i64> = HashMap::new();
    for (n, text, values) in [(0, a, in_a), (1, b, in_b)] {
        for value in values {
            let known = forms.entry(&value.form).or_default();
            known[n] = true;
            known[2] |= !value.is_word;
            let written = text.tokens.joined(&value.words);
            let (first, has_others) = writings.entry(&value.form).or_insert((written, false));
            *has_others |= *first != written;
            let written = (value.form.as_str(), written, value.words.len());
            *more.entry(written).or_default() += 1 - 2 * n as i64;
        }
    }
    let differently = |text: Text, values: &[Value]| -> Vec<usize> {
        let is_one = |n: &usize| {
            let form = values[*n].form.as_str();
            let written = text.tokens.joined(&values[*n].words);
            let written = (form, written, values[*n].words.len());
            let has_others = writings.get(form).is_some_and(|(_, others)| *others);
            has_others && forms.get(form) == Some(&[true; 3]) && more.get(&written) != Some(&0)
        };
        (0..values.len()).filter(is_one).collect()
    };
    (differently(a, in_a), differently(b, in_b))
}

/// How many words of both texts the longest ones of a form are.
fn lengths<'v>(chosen: [(&'v [Value], &[usize]); 2]) -> HashMap<&'v str, usize> {
    let mut lengths: HashMap<&str, [usize; 2]> = HashMap::new();
    for (of_text, (values, chosen)) in chosen.into_iter().enumerate() {
        for value in chosen.iter().map(|n| &values[*n]) {
            let longest = &mut lengths.entry(&value.form).or_default()[of_text];
            *longest = value.words.len().max(*longest);
        }
    }
    lengths
        .into_iter()
        .map(|(form, [a, b])| (form, a + b))
        .collect()
}

/// Those of some values that have no word in common; of two that have, the one of more words stays.
fn without_overlaps(
    values: &[Value],
    mut chosen: Vec<usize>,
    lengths: &HashMap<&str, usize>,
) -> Vec<usize> {
    let length = |form: &str| lengths.get(form).copied().unwrap_or_default();
    chosen.sort_by_key(|n| {
        let Value { words, form, .. } = &values[*n];
        (
            Reverse(length(form)),
            form,
            Reverse(words.len()),
            words.start,
        )
    });
    let mut taken = HashSet::new();
    chosen.retain(|n| {
        let words = &values[*n].words;
        let is_free = !words.clone().any(|i| taken.contains(&i));
        if is_free {
            taken.extend(words.clone());
        }
        is_free
    });
    chosen
}

/// Words that become one word of that text, in order.
type Changes = Vec<(Range<usize>, String)>;

/// What the chosen values change, and the units of the others, which become words: another one of one
/// character is not a slip.
fn changes(text: Text, values: &[Value], chosen: &[usize]) -> Changes {
    let one_word = |n: &usize| (values[*n].words.clone(), values[*n].form[1..].to_owned());
    let mut changes: Changes = chosen.iter().map(one_word).collect();
    let mut taken: HashSet<usize> = changes
        .iter()
        .flat_map(|(words, _)| words.clone())
        .collect();
    let mut units: Vec<&Range<usize>> = values.iter().map(|value| &value.unit).collect();
    units.retain(|unit| !unit.is_empty());
    units.sort_by_key(|unit| (usize::MAX - unit.len(), unit.start));
    for unit in units {
        if !unit.clone().any(|i| taken.contains(&i)) {
            taken.extend(unit.clone());
            changes.push((unit.clone(), text.tokens.joined(unit).to_owned()));
        }
    }
    changes.sort_by_key(|(words, _)| words.start);
    changes
}

fn apply(tokens: &mut Tokens, changes: Changes) {
    if changes.is_empty() {
        return;
    }
    let old = std::mem::take(tokens);
    let mut kept = 0;
    for (words, form) in changes {
        keep(&old, kept..words.start, tokens);
        let (first, last) = (old.at(words.start), old.at(words.end - 1));
        let token = Token {
            kind: TokenKind::Number,
            is_joined: first.is_joined,
            from: first.from,
            ..*last
        };
        tokens.push(&form, token);
        kept = words.end;
    }
    keep(&old, kept..old.len(), tokens);
    (tokens.marks, tokens.languages) = (old.marks, old.languages);
}

fn keep(old: &Tokens, words: Range<usize>, tokens: &mut Tokens) {
    for i in words {
        tokens.push(old.word(i), *old.at(i));
    }
}
