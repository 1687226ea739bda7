//! A difference between two texts: what it is, where, and whether it decides; and what all of them decide
//! together: errors, words that were added, negations. The judge and its helpers make findings and
//! count them in the tally, which it asks last. Places are those of words.

use super::Shape;
use super::nature::is_apart;
use crate::same::align::Hunk;
use crate::same::align::alike::Likeness;
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{
    ADDED_SHARE, ADDED_SHARE_OF_LONG, ADDED_SHARE_OF_SHORT, ADDED_WORDS, ADDED_WORDS_OF_CHARACTERS,
    CHARACTERS_OF_AN_ERROR, ERROR_SHARE, REWRITTEN_SHARE, REWRITTEN_SHARE_OF_VERY_LONG, VERY_LONG,
    WORDS_OF_A_SENTENCE, WORDS_OF_AN_EXCHANGE,
};
use crate::same::lists::{Classes, lists};
use std::ops::Range;

/// What a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another number.
    Number,
    /// Another sign or emoji.
    Symbol,
    /// Another day or month, or numeral in words.
    Date,
    /// A negation that only one text has.
    Negation,
    /// A word and its opposite.
    Opposite,
    /// Another word.
    Word,
    /// One character of a text without spaces.
    Character,
    /// A typing error.
    Typing,
    /// Another spelling, an abbreviation, a number written in another way.
    Spelling,
    /// Words that only one text has.
    Added,
    /// A sentence, a line or what is in brackets that only one text has.
    Sentence,
    /// Articles, prepositions and the like that only one text has.
    Light,
    /// A note, a source, a request to share that only one text has.
    Notice,
    /// The end of a text that is cut off in the other.
    CutOff,
    /// A greeting or a closing that only one text has.
    Greeting,
    /// A word that one text has twice.
    Doubled,
    /// Another order of sentences, of a name or of words.
    Order,
}

impl Kind {
    /// The name by which `simhash_why` shows it.
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
            Kind::Added => "word added",
            Kind::Sentence => "sentence added",
            Kind::Light => "light",
            Kind::Notice => "notice",
            Kind::CutOff => "cut off",
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
    /// The kind to show: what is added is a word or a sentence.
    pub fn kind_shown(&self, a: &Tokens, b: &Tokens) -> Kind {
        let is_sentence = |text: &Tokens, words: &Range<usize>| {
            words.len() >= WORDS_OF_A_SENTENCE && is_apart(text, words)
        };
        match self.kind {
            Kind::Added if is_sentence(a, &self.a) || is_sentence(b, &self.b) => Kind::Sentence,
            kind => kind,
        }
    }

    pub fn swap(&mut self) {
        std::mem::swap(&mut self.a, &mut self.b);
    }
}

pub fn finding(kind: Kind, a: Range<usize>, b: Range<usize>, decides: bool) -> Finding {
    Finding {
        kind,
        a,
        b,
        decides,
    }
}

/// What is made by mistake, and what a long text may have in other words.
const ERRORS: [Kind; 4] = [Kind::Typing, Kind::Character, Kind::Added, Kind::Spelling];
const REWRITTEN: [Kind; 4] = [Kind::Word, Kind::Number, Kind::Date, Kind::Symbol];

#[derive(Default)]
pub struct Tally<'t> {
    /// Typing errors and wrong characters.
    pub errors: f64,
    /// Symbols that only the second, and only the first text has.
    pub symbols: [bool; 2],
    /// Words of clauses that both texts have in other words.
    pub rewritten: f64,
    /// Words that were exchanged one by one.
    pub exchanged: f64,
    added: f64,
    /// Words were left out that could be.
    pub has_fillers: bool,
    /// How much more often the first text has a word.
    moved: Vec<(&'t str, i32)>,
    /// Single characters that were added: which, to the first text, and where.
    single: Vec<(&'t str, bool, usize)>,
    /// How many negations more the first text has, and where they are.
    negations: i32,
    negated: Vec<Hunk>,
}

impl<'t> Tally<'t> {
    pub fn likeness(&mut self, likeness: Likeness) {
        self.errors += match likeness {
            Likeness::Typing => 1.0,
            Likeness::Scan => 0.25,
            Likeness::Ending => 0.5,
            _ => 0.0,
        };
    }

    /// Counts words that only one text has.
    pub fn added(
        &mut self,
        shape: &Shape,
        words: impl Iterator<Item = &'t str>,
        to_a: bool,
        at: usize,
        is_clause: bool,
    ) {
        let words: Vec<&str> = words.collect();
        if let ([word], true) = (&words[..], shape.by_characters) {
            let is_swap = |other: &(&str, bool, usize)| {
                other.0 == *word && other.1 != to_a && other.2.abs_diff(at) < 3
            };
            match self.single.iter().rev().take(4).position(is_swap) {
                Some(_) => (),
                None => {
                    self.errors += 1.0;
                    self.single.push((word, to_a, at));
                }
            }
            return;
        }
        self.added += shape.weight(words.len());
        if !is_clause {
            let more = if to_a { 1 } else { -1 };
            self.moved
                .extend(words.into_iter().map(|word| (word, more)));
        }
    }

    /// Counts the negations in and around words that differ.
    pub fn negations(&mut self, a: &Tokens, b: &Tokens, hunk: &Hunk, around: [usize; 2]) {
        let more = more_negations(a, b, hunk, around);
        if more != 0 {
            self.negations += more;
            self.negated.push(hunk.clone());
        }
    }

    /// Kinds of findings of which there are more than may be. More findings change nothing of that.
    pub fn exceeded(&self, shape: &Shape) -> impl Iterator<Item = &'static [Kind]> {
        let most_errors = match shape.by_characters {
            true => shape.words / CHARACTERS_OF_AN_ERROR,
            false => shape.words * ERROR_SHARE,
        };
        let most_rewritten = match shape.words >= VERY_LONG {
            true => REWRITTEN_SHARE_OF_VERY_LONG,
            false => REWRITTEN_SHARE,
        };
        let is_rewritten = self.rewritten > shape.words * most_rewritten
            || self.exchanged > (shape.words / WORDS_OF_AN_EXCHANGE).floor();
        let kinds: [(bool, &[Kind]); 3] = [
            (self.errors > most_errors.max(1.0), &ERRORS),
            (self.added > most_added(shape), &[Kind::Added]),
            (is_rewritten, &REWRITTEN),
        ];
        let exceeded = kinds.into_iter().filter(|(is_exceeded, _)| *is_exceeded);
        exceeded.map(|(_, kinds)| kinds)
    }

    /// Says which findings decide when all are known.
    pub fn settle(self, a: &Tokens, b: &Tokens, shape: &Shape, findings: &mut Vec<Finding>) {
        let is_moved = self.is_moved(shape.is_long);
        decide_replaced(a, b, findings);
        if self.symbols == [true, true] {
            decide(findings, &[Kind::Symbol]);
        }
        for kinds in self.exceeded(shape) {
            decide(findings, kinds);
        }
        if self.negations != 0 {
            let negated = |finding: &Finding| {
                self.negated
                    .iter()
                    .any(|hunk| hunk.a == finding.a && hunk.b == finding.b)
            };
            findings.retain(|finding| finding.kind != Kind::Added || !negated(finding));
            findings.extend(
                self.negated
                    .into_iter()
                    .map(|hunk| finding(Kind::Negation, hunk.a, hunk.b, true)),
            );
        }
        if is_moved {
            findings.push(finding(Kind::Order, 0..a.len(), 0..b.len(), true));
        }
    }
}

impl Tally<'_> {
    /// Whether each word that one text has beside the other's stands elsewhere in that one. One word may, in
    /// a long text.
    fn is_moved(&self, is_long: bool) -> bool {
        let mut words = self.moved.clone();
        words.sort_unstable();
        let mut all = words.chunk_by(|a, b| a.0 == b.0);
        let is_balanced = |more: &[(&str, i32)]| more.iter().map(|word| word.1).sum::<i32>() == 0;
        let is_word = (self.has_fillers || is_long) && all.clone().count() < 2;
        !words.is_empty() && !is_word && all.all(is_balanced)
    }
}

/// Words that may be added.
fn most_added(shape: &Shape) -> f64 {
    if shape.is_long {
        return shape.words * ADDED_SHARE_OF_LONG;
    }
    let most = match shape.by_characters {
        true => ADDED_WORDS_OF_CHARACTERS,
        false => ADDED_WORDS,
    };
    let of_short = most.min(shape.words * ADDED_SHARE_OF_SHORT);
    of_short.max(shape.words * ADDED_SHARE)
}

/// An error happens once: a word that is nearly another one twice is another one.
fn decide_replaced(a: &Tokens, b: &Tokens, findings: &mut [Finding]) {
    let words = |finding: &Finding| {
        let is_typing = finding.kind == Kind::Typing;
        is_typing.then(|| (a.word(finding.a.start), b.word(finding.b.start)))
    };
    let mut all: Vec<_> = findings.iter().filter_map(words).collect();
    all.sort_unstable();
    for finding in findings {
        if let Some(pair) = words(finding) {
            let first = all.partition_point(|other| *other < pair);
            finding.decides |= all.get(first + 1) == Some(&pair);
        }
    }
}

fn decide(findings: &mut [Finding], kinds: &[Kind]) {
    findings
        .iter_mut()
        .filter(|finding| kinds.contains(&finding.kind))
        .for_each(|finding| finding.decides = true);
}

/// How many negations more the first text has in and around words that differ.
pub fn more_negations(a: &Tokens, b: &Tokens, hunk: &Hunk, around: [usize; 2]) -> i32 {
    negations(a, &hunk.a, around) - negations(b, &hunk.b, around)
}

/// How many negations are in words, or made of characters around them.
fn negations(text: &Tokens, words: &Range<usize>, [in_front, behind]: [usize; 2]) -> i32 {
    let is_negation = |i: &usize| text.classes(*i).has(Classes::NEGATION);
    let alone = words.clone().filter(is_negation).count();
    let around = words.start - in_front..words.end + behind;
    let has_parts = |i: usize| {
        text.at(i).kind == TokenKind::Character
            || text.word(i).starts_with(|c| ('가'..='힣').contains(&c))
    };
    if !around.clone().any(has_parts) {
        return alone as i32;
    }
    let near = text.joined(&around);
    (alone + lists().negation_parts.count(near, &lists().negation_not)) as i32
}
