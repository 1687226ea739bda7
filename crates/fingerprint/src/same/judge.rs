//! What decides: each stretch of words that differs, then all of them together.

use super::alike::Likeness;
use super::hunks::{Hunk, hunks};
use super::lists::{Classes, lists};
use super::nature::{
    cover, is_date, is_doubled, is_initials, is_measure, is_sentence, stands_for_neighbour,
};
use super::pairing::{Pairing, pair};
use super::shape::Shape;
use super::tally::Tally;
use super::tokens::{Kind as Sort, Tokens};
use crate::error::Error;
use std::ops::Range;

/// What a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Symbol,
    Date,
    Negation,
    Opposite,
    Word,
    Character,
    Typing,
    Spelling,
    Added,
    Greeting,
    Doubled,
    Order,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Symbol => "symbol",
            Kind::Date => "date",
            Kind::Negation => "negation",
            Kind::Opposite => "opposite",
            Kind::Word => "word",
            Kind::Character => "character",
            Kind::Typing => "typing",
            Kind::Spelling => "spelling",
            Kind::Added => "added",
            Kind::Greeting => "greeting",
            Kind::Doubled => "doubled",
            Kind::Order => "order",
        }
    }
}

/// A difference, by the places of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub kind: Kind,
    pub a: Range<usize>,
    pub b: Range<usize>,
    pub decides: bool,
}

impl Finding {
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.a, &mut self.b);
    }
}

/// Words of each text that are paired one by one.
const MOST_PAIRED: usize = 60;

/// Which share of the words of a long text one addition may have.
const CLAUSE_SHARE: f64 = 0.2;

/// Words of a greeting or a closing.
const MOST_OF_GREETING: usize = 14;

/// Judges all words that differ.
pub fn judge(
    a: &Tokens,
    b: &Tokens,
    shape: &Shape,
    pause: &mut dyn FnMut(),
) -> Result<Vec<Finding>, Error> {
    let hunks = hunks(a, b, pause)?;
    if !shape.by_characters && super::order::is_rotated(a, b) {
        let order = |hunk: &Hunk| finding(Kind::Order, hunk.a.clone(), hunk.b.clone(), false);
        return Ok(hunks.iter().map(order).collect());
    }
    let only_in_a = hunks.iter().all(|hunk| hunk.b.is_empty());
    let only_in_b = hunks.iter().all(|hunk| hunk.a.is_empty());
    let mut judge = Judge {
        a,
        b,
        shape,
        has_fewer_fields: shape.is_record && (only_in_a || only_in_b),
        findings: Vec::new(),
        tally: Tally::default(),
    };
    for hunk in &hunks {
        pause();
        judge
            .findings
            .try_reserve(4)
            .map_err(|_| Error::OutOfMemory)?;
        judge.hunk(hunk);
    }
    judge.tally.settle(a, b, shape, &mut judge.findings);
    Ok(judge.findings)
}

pub fn finding(kind: Kind, a: Range<usize>, b: Range<usize>, decides: bool) -> Finding {
    Finding {
        kind,
        a,
        b,
        decides,
    }
}

/// Words in a row, or those of a row that are left.
type Rest = Vec<usize>;

struct Judge<'t> {
    a: &'t Tokens,
    b: &'t Tokens,
    shape: &'t Shape,
    /// Fields are missing in one of two records, and nothing else differs.
    has_fewer_fields: bool,
    findings: Vec<Finding>,
    tally: Tally,
}

impl Judge<'_> {
    fn hunk(&mut self, hunk: &Hunk) {
        let (in_a, in_b) = (self.a.joined(&hunk.a), self.b.joined(&hunk.b));
        let both = !hunk.a.is_empty() && !hunk.b.is_empty();
        let one_number = |text: &Tokens, words: &Range<usize>| {
            let numbers = text.all()[words.clone()]
                .iter()
                .filter(|token| token.kind == Sort::Number);
            numbers.count() <= 1
        };
        let in_one_piece =
            in_a == in_b && one_number(self.a, &hunk.a) && one_number(self.b, &hunk.b);
        if both && (in_one_piece || lists().are_equal(in_a, in_b) || self.is_same_code(hunk)) {
            return self.found(Kind::Spelling, hunk.a.clone(), hunk.b.clone(), false);
        }
        if both && hunk.a.len().max(hunk.b.len()) > MOST_PAIRED {
            return self.found(Kind::Word, hunk.a.clone(), hunk.b.clone(), true);
        }
        let (rest_a, rest_b) = match both {
            true => self.paired(hunk),
            false => (hunk.a.clone().collect(), hunk.b.clone().collect()),
        };
        let rest_a = self.counting(self.a, rest_a);
        let rest_b = self.counting(self.b, rest_b);
        match (rest_a.is_empty(), rest_b.is_empty()) {
            (false, false) => self.replaced(hunk, &rest_a, &rest_b),
            (false, true) => self.added(hunk, &rest_a, true),
            (true, false) => self.added(hunk, &rest_b, false),
            (true, true) => self.tally.negations(self.a, self.b, hunk),
        }
    }

    fn found(&mut self, kind: Kind, a: Range<usize>, b: Range<usize>, decides: bool) {
        self.findings.push(finding(kind, a, b, decides));
    }

    /// Pairs the words of both sides that are forms of one, and returns the others.
    fn paired(&mut self, hunk: &Hunk) -> (Rest, Rest) {
        let Pairing {
            pairs,
            rest_a,
            rest_b,
        } = pair(self.a, self.b, hunk);
        for (i, j, likeness) in pairs {
            let kind = match likeness {
                Likeness::Typing => Kind::Typing,
                _ => Kind::Spelling,
            };
            self.tally.likeness(likeness);
            self.found(kind, i..i + 1, j..j + 1, false);
        }
        (rest_a, rest_b)
    }

    /// Without articles and the like.
    fn counting(&self, text: &Tokens, words: Rest) -> Rest {
        let counts = |i: &usize| !lists().classes(text.word(*i)).has(Classes::FUNCTION);
        words.into_iter().filter(counts).collect()
    }

    /// Whether numbers have the same digits, cut in other places: a telephone number.
    fn is_same_code(&self, hunk: &Hunk) -> bool {
        let all_numbers = |text: &Tokens, words: &Range<usize>| {
            text.all()[words.clone()]
                .iter()
                .all(|token| token.kind == Sort::Number)
        };
        if !all_numbers(self.a, &hunk.a) || !all_numbers(self.b, &hunk.b) {
            return false;
        }
        let (in_a, in_b) = (self.a.joined(&hunk.a), self.b.joined(&hunk.b));
        let digits = |text: &str| {
            text.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let groups = |text: &Tokens, words: &Range<usize>| -> Vec<String> {
            let words = words.clone().map(|i| text.word(i).to_owned());
            words
                .flat_map(|word| word.split('.').map(str::to_owned).collect::<Vec<_>>())
                .collect()
        };
        let (in_groups_a, in_groups_b) = (groups(self.a, &hunk.a), groups(self.b, &hunk.b));
        let one_is_whole = !(in_a.contains('.') && in_b.contains('.'));
        in_groups_a.len() > 3 && in_groups_a == in_groups_b
            || one_is_whole && digits(in_a).len() >= 7 && digits(in_a) == digits(in_b)
    }

    fn replaced(&mut self, hunk: &Hunk, rest_a: &[usize], rest_b: &[usize]) {
        let (a, b) = (cover(rest_a), cover(rest_b));
        if let ([i], [j]) = (rest_a, rest_b)
            && self.is_wrong_character(*i, *j)
        {
            self.tally.errors += 1.0;
            return self.found(Kind::Character, a, b, false);
        }
        if is_initials(self.a, rest_a, self.b, rest_b)
            || is_initials(self.b, rest_b, self.a, rest_a)
        {
            return self.found(Kind::Spelling, a, b, false);
        }
        let kind = self.kind_of_replaced(rest_a, rest_b);
        if self.shape.is_long && kind == Kind::Word && self.is_other_greeting(hunk, rest_a, rest_b)
        {
            return self.found(Kind::Greeting, a, b, false);
        }
        self.found(kind, a, b, true);
    }

    fn kind_of_replaced(&self, rest_a: &[usize], rest_b: &[usize]) -> Kind {
        let words = || {
            let of = |text: &'_ Tokens, i: usize| (text.word(i).to_owned(), text.at(i).kind);
            rest_a
                .iter()
                .map(move |i| of(self.a, *i))
                .chain(rest_b.iter().map(move |i| of(self.b, *i)))
        };
        let is_numeral = |word: &str| word.chars().all(|c| lists().is_numeral_han(c));
        let has = |class| words().any(|(word, _)| lists().classes(&word).has(class));
        if words().any(|(_, kind)| kind == Sort::Number) {
            Kind::Number
        } else if words().any(|(_, kind)| kind == Sort::Symbol) {
            Kind::Symbol
        } else if has(Classes::CALENDAR) || words().any(|(word, _)| is_numeral(&word)) {
            Kind::Date
        } else if has(Classes::NEGATION) {
            Kind::Negation
        } else if let ([i], [j]) = (rest_a, rest_b)
            && lists().is_opposite(self.a.word(*i), self.b.word(*j))
        {
            Kind::Opposite
        } else {
            Kind::Word
        }
    }

    /// Whether one character stands for another by mistake.
    fn is_wrong_character(&self, i: usize, j: usize) -> bool {
        if self.shape.is_name
            || self.a.at(i).kind != Sort::Character
            || self.b.at(j).kind != Sort::Character
        {
            return false;
        }
        let in_place = |text: &Tokens, i: usize| {
            (i..(i + 3).min(text.len())).any(|i| lists().is_place_ending(text.word(i)))
        };
        let first = |word: &str| word.chars().next().unwrap_or_default();
        !in_place(self.a, i)
            && !in_place(self.b, j)
            && !lists().characters_decide(first(self.a.word(i)), first(self.b.word(j)))
    }

    /// Judges words that only one text has.
    fn added(&mut self, hunk: &Hunk, rest: &[usize], in_a: bool) {
        let (text, words, other) = match in_a {
            true => (self.a, &hunk.a, &hunk.b),
            false => (self.b, &hunk.b, &hunk.a),
        };
        let (kind, decides) = self.kind_of_added(text, words, other, rest, in_a);
        if kind != Kind::Greeting {
            let is_clause = self.is_clause(rest);
            if !is_clause {
                self.tally.negations(self.a, self.b, hunk);
            }
            let counts = !self.has_fewer_fields && !rest.iter().all(|i| text.at(*i).in_query);
            if kind == Kind::Added && !decides && counts {
                let word = rest.iter().map(|i| text.word(*i));
                self.tally
                    .added(self.shape, word, in_a, words.start, is_clause);
            }
        }
        let place = cover(rest);
        match in_a {
            true => self.found(kind, place, hunk.b.clone(), decides),
            false => self.found(kind, hunk.a.clone(), place, decides),
        }
    }

    /// A clause more in a long text.
    fn is_clause(&self, rest: &[usize]) -> bool {
        let weight = rest.len() as f64 / if self.shape.by_characters { 2.0 } else { 1.0 };
        self.shape.is_long && weight >= 4.0 && weight <= CLAUSE_SHARE * self.shape.words
    }

    fn kind_of_added(
        &mut self,
        text: &Tokens,
        words: &Range<usize>,
        other: &Range<usize>,
        rest: &[usize],
        in_a: bool,
    ) -> (Kind, bool) {
        let word = |i: &usize| text.word(*i);
        let kind_of = |i: &usize| text.at(*i).kind;
        let has_number = rest.iter().any(|i| kind_of(i) == Sort::Number);
        if self.has_fewer_fields || rest.iter().all(|i| text.at(*i).in_query) {
            return (Kind::Added, false);
        }
        if rest.iter().all(|i| kind_of(i) == Sort::Symbol)
            && !rest.iter().any(|i| is_measure(word(i)))
        {
            let rates = rest
                .iter()
                .any(|i| lists().is_rating(word(i)) && self.other_has(in_a, word(i)));
            self.tally.symbols[usize::from(in_a)] = true;
            return (Kind::Symbol, rates);
        }
        let joined = text.joined(&cover(rest));
        if self.is_at_end(words, other, in_a) && !has_number && self.is_greeting(text, rest, joined)
        {
            return (Kind::Greeting, false);
        }
        if self.is_clause(rest) && (!has_number || is_sentence(text, words)) {
            return (Kind::Added, false);
        }
        if has_number || rest.iter().any(|i| kind_of(i) == Sort::Symbol) {
            let kind = if has_number {
                Kind::Number
            } else {
                Kind::Symbol
            };
            return (kind, true);
        }
        if is_date(text, rest, joined) {
            return (Kind::Date, true);
        }
        if rest.len() == words.len() && is_doubled(text, words) {
            return (Kind::Doubled, false);
        }
        let behind_number = words.start > 0 && text.at(words.start - 1).kind == Sort::Number;
        let is_initial =
            rest.len() == 1 && text.at(rest[0]).dot && word(&rest[0]).chars().count() == 1;
        if is_initial && stands_for_neighbour(text, words, rest[0]) {
            return (Kind::Spelling, false);
        }
        (
            Kind::Added,
            rest.len() == 1 && behind_number && kind_of(&rest[0]) == Sort::Word,
        )
    }

    fn other_has(&self, in_a: bool, symbol: &str) -> bool {
        let other = if in_a { self.b } else { self.a };
        (0..other.len()).any(|i| other.word(i) == symbol)
    }

    /// Whether words stand at the begin or the end of both texts.
    fn is_at_end(&self, words: &Range<usize>, other: &Range<usize>, in_a: bool) -> bool {
        let (length, other_length) = match in_a {
            true => (self.a.len(), self.b.len()),
            false => (self.b.len(), self.a.len()),
        };
        words.start == 0 && other.start == 0 || words.end == length && other.end == other_length
    }

    /// Whether both texts greet somebody here, each in its own words.
    fn is_other_greeting(&self, hunk: &Hunk, rest_a: &[usize], rest_b: &[usize]) -> bool {
        self.is_at_end(&hunk.a, &hunk.b, true)
            && self.is_greeting(self.a, rest_a, self.a.joined(&cover(rest_a)))
            && self.is_greeting(self.b, rest_b, self.b.joined(&cover(rest_b)))
    }

    fn is_greeting(&self, text: &Tokens, rest: &[usize], joined: &str) -> bool {
        let most = MOST_OF_GREETING * if self.shape.by_characters { 3 } else { 1 };
        let is_word = |i: &usize| lists().classes(text.word(*i)).has(Classes::GREETING);
        rest.len() <= most
            && (rest.iter().any(is_word)
                || lists()
                    .greeting_parts
                    .iter()
                    .any(|part| joined.contains(part.as_str())))
    }
}
