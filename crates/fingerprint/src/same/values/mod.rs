//! Values: numbers, dates, times, amounts and money, which two texts may write in different forms.
//! [`super`] calls [`meet`] for two texts that are cut, before they are aligned.
//!
//! A stretch of words that stands for a value which the other text writes in other words becomes one
//! word in both, the value. Words that stand for no value of the other text stay as they are, so
//! that a numeral, which is often an ordinary word of another language, matters only where it meets
//! the same value; another value decides as any other word does.
//!
//! `table` has the words. `numerals` with `figures`, `dates`, `times` and `quantities` read what begins at a
//! word; `form` is how a value is kept. The answer depends on the two texts
//! alone and not on their order.

mod dates;
mod figures;
mod form;
mod numerals;
mod quantities;
mod table;
#[cfg(test)]
mod tests;
mod times;

pub use figures::is_of_roman_letters;

use crate::error::Error;
use crate::same::align::Hunk;
use crate::same::cut::is_character;
use crate::same::cut::tokens::{Token, TokenKind, Tokens};
use form::Form;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use table::{Line, Meaning, line, meanings};

/// Whether a word may be part of a value.
pub fn is_value_word(word: &str) -> bool {
    line(word) != Line::default()
        || quantities::is_sign(word)
        || figures::is_of_roman_letters(word)
        || figures::short_number(word).is_some()
}

/// Whether a word is a numeral for this number in digits: three (3), first (1st).
pub fn is_numeral_for(word: &str, digits: &str) -> bool {
    let number = digits.trim_end_matches(char::is_alphabetic).parse::<u64>();
    number.is_ok_and(|number| {
        let mut all = meanings(word);
        all.any(
            |meaning| matches!(meaning, Meaning::Number(n) | Meaning::Ordinal(n) if n == number),
        )
    })
}

/// Whether a word is the name of a day of the week, or of a month.
pub fn is_weekday(word: &str) -> bool {
    meanings(word).any(|meaning| matches!(meaning, Meaning::Day(_)))
}

/// Whether a word is a unit, as kg.
pub fn is_unit(word: &str) -> bool {
    meanings(word).any(|meaning| matches!(meaning, Meaning::Unit(..)))
}

pub fn is_month(word: &str) -> bool {
    meanings(word).any(|meaning| matches!(meaning, Meaning::Month(_)))
}

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

    /// Whether a number goes on in front of a word: a letter, one of these marks, the colon of a clock.
    fn goes_on_in_front(self, i: usize, marks: &str) -> bool {
        let begin = self.tokens.at(i).from as usize;
        let mut in_front = self.source[..begin].chars().rev();
        match in_front.next() {
            Some(':') => in_front.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => c.is_alphanumeric() && !is_character(c) || marks.contains(c),
            None => false,
        }
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

    /// What the table has of a word: of none that begins with a digit.
    fn line(self, i: usize) -> Line {
        match self.is(i, TokenKind::Number) {
            true => Line::default(),
            false => line(self.word(i)),
        }
    }

    /// What the words from a place on may mean, with where they end.
    fn meanings(self, i: usize) -> Vec<(usize, Meaning)> {
        self.meanings_of(i, self.line(i))
    }

    fn meanings_of(self, i: usize, first: Line) -> Vec<(usize, Meaning)> {
        let mut found = Vec::new();
        if first == Line::default() {
            return found;
        }
        found.extend(first.meanings().map(|meaning| (i + 1, meaning)));
        for end in i + 2..=(i + first.longest_phrase()).min(self.tokens.len()) {
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
        // No phrase ends with digits.
        if i == 0 || self.is(i - 1, TokenKind::Number) {
            return None;
        }
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
    /// What it is, in whatever words.
    form: Form,
    /// The words of its unit, if a script without spaces has it.
    unit: Range<usize>,
    /// It is a numeral in words, which may be another word of another language.
    is_word: bool,
}

/// The values of a text that were found so far.
#[derive(Default)]
struct Values(Vec<Value>);

impl Values {
    fn push(&mut self, words: Range<usize>, form: Form) {
        self.0.push(Value {
            words,
            form,
            unit: 0..0,
            is_word: false,
        });
    }
}

/// Gives the values that both texts have one form, where they write them in different ones: those that begin
/// near words that differ. The source is the text that was cut. Returns the words of each text that has others now.
pub fn meet(
    (a, source_of_a): (&Tokens, &str),
    (b, source_of_b): (&Tokens, &str),
    hunks: &[Hunk],
    check_interrupts: &mut dyn FnMut(),
) -> Result<[Option<Tokens>; 2], Error> {
    let differ: usize = hunks.iter().map(|hunk| hunk.a.len() + hunk.b.len()).sum();
    if differ > MOST_WORDS {
        return Ok([None, None]);
    }
    let text_a = Text {
        tokens: a,
        source: source_of_a,
    };
    let text_b = Text {
        tokens: b,
        source: source_of_b,
    };
    let around_a = around(text_a, hunks.iter().map(|hunk| &hunk.a));
    let around_b = around(text_b, hunks.iter().map(|hunk| &hunk.b));
    // Without any figure only the names of days and months may differ in their form.
    let has_figures = has_figures(text_a, &around_a) || has_figures(text_b, &around_b);
    let in_a = values(text_a, &around_a, has_figures, check_interrupts);
    if in_a.is_empty() {
        return Ok([None, None]);
    }
    let in_b = values(text_b, &around_b, has_figures, check_interrupts);
    let mut chosen = written_differently((text_a, &in_a), (text_b, &in_b));
    for _ in 0..2 {
        let lengths = chosen.lengths(&in_a, &in_b);
        without_overlaps(&in_a, &mut chosen.a, &lengths);
        without_overlaps(&in_b, &mut chosen.b, &lengths);
        chosen.retain_common();
    }
    let changes_a = changes(text_a, &in_a, &chosen.a);
    let changes_b = changes(text_b, &in_b, &chosen.b);
    Ok([changed(a, changes_a)?, changed(b, changes_b)?])
}

/// Words and some around them.
fn around<'h>(text: Text, differ: impl Iterator<Item = &'h Range<usize>>) -> Vec<Range<usize>> {
    let mut around: Vec<Range<usize>> = Vec::new();
    for words in differ {
        let words = words.start.saturating_sub(AROUND)..(words.end + AROUND).min(text.tokens.len());
        match around.last_mut() {
            Some(last) if last.end >= words.start => last.end = words.end,
            _ => around.push(words),
        }
    }
    around
}

/// Whether words have numbers in digits, Han or Roman numerals.
fn has_figures(text: Text, words: &[Range<usize>]) -> bool {
    words
        .iter()
        .cloned()
        .flatten()
        .any(|i| match text.tokens.at(i).kind {
            TokenKind::Number => true,
            TokenKind::Character => figures::short_number(text.word(i)).is_some(),
            TokenKind::Word => {
                figures::is_of_roman_letters(text.word(i))
                    && figures::roman_number(text.word(i)).is_some_and(|number| number > 1)
            }
            TokenKind::Symbol => false,
        })
}

/// The values in some words.
fn values(
    text: Text,
    words: &[Range<usize>],
    has_figures: bool,
    check_interrupts: &mut dyn FnMut(),
) -> Vec<Value> {
    let mut values = Values::default();
    for i in words.iter().cloned().flatten() {
        check_interrupts();
        let line = text.line(i);
        if line == Line::default() && !(has_figures && may_begin(text, i)) {
            continue;
        }
        let found = text.meanings_of(i, line);
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
        quantities::address(text, i, &mut values);
    }
    without_parts(values.0)
}

/// Whether a value may begin at a word that is not in the table.
fn may_begin(text: Text, i: usize) -> bool {
    let word = text.word(i);
    match text.tokens.at(i).kind {
        TokenKind::Number => true,
        TokenKind::Symbol => false,
        TokenKind::Character => figures::short_number(word).is_some(),
        TokenKind::Word => quantities::is_sign(word) || figures::is_of_roman_letters(word),
    }
}

/// Values by their form, without those that are in others of the same form: the Japanese short name of a
/// day begins the long one.
fn without_parts(mut values: Vec<Value>) -> Vec<Value> {
    let key = |value: &Value| (value.words.start, usize::MAX - value.words.end);
    values.sort_unstable_by(|a, b| a.form.cmp(&b.form).then(key(a).cmp(&key(b))));
    values.dedup_by(|part, kept| part.form == kept.form && part.words.end <= kept.words.end);
    values
}

/// Which values of each text are chosen, each with the number of its form.
#[derive(Default)]
struct Chosen {
    a: Vec<(usize, usize)>,
    b: Vec<(usize, usize)>,
    forms: usize,
}

impl Chosen {
    /// How many words of both texts the longest ones of each form are.
    fn lengths(&self, in_a: &[Value], in_b: &[Value]) -> Vec<usize> {
        let mut lengths = vec![[0; 2]; self.forms];
        for (of_text, values, chosen) in [(0, in_a, &self.a), (1, in_b, &self.b)] {
            for (n, form) in chosen {
                let longest: &mut usize = &mut lengths[*form][of_text];
                *longest = values[*n].words.len().max(*longest);
            }
        }
        lengths.into_iter().map(|[a, b]| a + b).collect()
    }

    /// Keeps those of which both texts have one.
    fn retain_common(&mut self) {
        let mut known = vec![[false; 2]; self.forms];
        self.a.iter().for_each(|(_, form)| known[*form][0] = true);
        self.b.iter().for_each(|(_, form)| known[*form][1] = true);
        let is_common = |chosen: &(usize, usize)| known[chosen.1] == [true; 2];
        self.a.retain(is_common);
        self.b.retain(is_common);
    }
}

/// The values that both texts have, except for those that both write in the same words as often, and those
/// that are in both texts words alone, as the Danish numeral `to` and the English word. Both are in the
/// order of their forms.
fn written_differently((a, in_a): (Text, &[Value]), (b, in_b): (Text, &[Value])) -> Chosen {
    let mut chosen = Chosen::default();
    let (mut i, mut j) = (0, 0);
    while i < in_a.len() && j < in_b.len() {
        let (x, y) = (&in_a[i].form, &in_b[j].form);
        let of_form = |values: &[Value], from: usize, form: &Form| {
            let others = values[from..]
                .iter()
                .take_while(|value| value.form == *form);
            from..from + others.count()
        };
        let (of_a, of_b) = (of_form(in_a, i, x), of_form(in_b, j, y));
        match x.cmp(y) {
            std::cmp::Ordering::Less => i = of_a.end,
            std::cmp::Ordering::Greater => j = of_b.end,
            std::cmp::Ordering::Equal => {
                (i, j) = (of_a.end, of_b.end);
                push_written_differently((a, in_a, of_a), (b, in_b, of_b), &mut chosen);
            }
        }
    }
    chosen
}

/// The words of a value, and how many they are.
fn as_written<'t>(text: Text<'t>, value: &Value) -> (&'t str, usize) {
    (text.tokens.joined(&value.words), value.words.len())
}

/// Adds those of one form.
fn push_written_differently(
    (a, in_a, of_a): (Text, &[Value], Range<usize>),
    (b, in_b, of_b): (Text, &[Value], Range<usize>),
    chosen: &mut Chosen,
) {
    let (values_a, values_b) = (&in_a[of_a.clone()], &in_b[of_b.clone()]);
    let mut both = values_a.iter().chain(values_b);
    if both.all(|value| value.is_word) {
        return;
    }
    // How many times more the first text has the words.
    let mut written: Vec<((&str, usize), i64)> = Vec::new();
    written.extend(values_a.iter().map(|value| (as_written(a, value), 1)));
    written.extend(values_b.iter().map(|value| (as_written(b, value), -1)));
    written.sort_unstable();
    written.dedup_by(|next, kept| {
        let is_equal = next.0 == kept.0;
        kept.1 += if is_equal { next.1 } else { 0 };
        is_equal
    });
    if written.first().map(|words| words.0.0) == written.last().map(|words| words.0.0) {
        return;
    }
    let is_one = |text: Text, value: &Value| {
        let words = as_written(text, value);
        let found = written.binary_search_by_key(&words, |(words, _)| *words);
        found.is_ok_and(|at| written[at].1 != 0)
    };
    let form = chosen.forms;
    let in_a = of_a.filter(|n| is_one(a, &in_a[*n]));
    chosen.a.extend(in_a.map(|n| (n, form)));
    let in_b = of_b.filter(|n| is_one(b, &in_b[*n]));
    chosen.b.extend(in_b.map(|n| (n, form)));
    chosen.forms += 1;
}

/// Keeps those that have no word in common; of two that have, the one of more words stays.
fn without_overlaps(values: &[Value], chosen: &mut Vec<(usize, usize)>, lengths: &[usize]) {
    chosen.sort_unstable_by_key(|(n, form)| {
        let words = &values[*n].words;
        let (length, of_words) = (Reverse(lengths[*form]), Reverse(words.len()));
        (length, *form, of_words, words.start)
    });
    let mut taken = Taken::default();
    chosen.retain(|(n, _)| taken.take(&values[*n].words));
}

/// Stretches of words that have none in common, by their begins.
#[derive(Default)]
struct Taken(BTreeMap<usize, usize>);

impl Taken {
    /// Takes words, unless one of them is taken.
    fn take(&mut self, words: &Range<usize>) -> bool {
        let last = self.0.range(..words.end).next_back();
        let is_free = last.is_none_or(|(_, end)| *end <= words.start);
        if is_free {
            self.0.insert(words.start, words.end);
        }
        is_free
    }
}

/// Words that become one word of that text, in order.
type Changes = Vec<(Range<usize>, String)>;

/// What the chosen values change, and the units of the others, which become words: another one of one
/// character is not a slip.
fn changes(text: Text, values: &[Value], chosen: &[(usize, usize)]) -> Changes {
    let mut taken = Taken::default();
    let mut changes = Changes::new();
    for (n, _) in chosen {
        taken.take(&values[*n].words);
        changes.push((values[*n].words.clone(), values[*n].form.to_string()));
    }
    let mut units: Vec<&Range<usize>> = values.iter().map(|value| &value.unit).collect();
    units.retain(|unit| !unit.is_empty());
    units.sort_by_key(|unit| (usize::MAX - unit.len(), unit.start));
    for unit in units {
        if taken.take(unit) {
            changes.push((unit.clone(), text.tokens.joined(unit).to_owned()));
        }
    }
    changes.sort_by_key(|(words, _)| words.start);
    changes
}

/// The words with changes; None without any.
fn changed(old: &Tokens, changes: Changes) -> Result<Option<Tokens>, Error> {
    if changes.is_empty() {
        return Ok(None);
    }
    let mut tokens = old.to_fill(changes.len())?;
    let mut kept = 0;
    for (words, form) in changes {
        tokens.push_all(old, kept..words.start);
        let (first, last) = (old.at(words.start), old.at(words.end - 1));
        let token = Token {
            kind: TokenKind::Number,
            is_joined: first.is_joined,
            from: first.from,
            ..*last
        };
        tokens.push_other(&form, token);
        kept = words.end;
    }
    tokens.push_all(old, kept..old.len());
    Ok(Some(tokens))
}
