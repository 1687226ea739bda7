//! Words of one text that stand where the other has different ones. [`crate::same`] asks for each
//! stretch, and [`super::finding`] settles what is tolerated here one by one. In a long text another
//! addressee, the date below it and a clause in other words do not decide.

use super::Judge;
use super::finding::Kind;
use super::finding::more_negations;
use super::nature::{
    cover, describes_itself, facts, is_bounded, is_closing_date, is_initials, is_item,
};
use crate::same::align::Hunk;
use crate::same::align::characters::{is_kana, look_alike, may_be_slip};
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{HEAD, MOST_OF_NAME, REPLACED_CLAUSE, VERY_LONG};
use crate::same::lists::{Classes, lists};
use std::ops::Range;

impl Judge<'_> {
    /// Judges words that stand for each other.
    pub fn replaced(&mut self, hunk: &Hunk, rest_a: &[usize], rest_b: &[usize]) {
        let (a, b) = (cover(rest_a), cover(rest_b));
        if let ([i], [j]) = (rest_a, rest_b)
            && self.is_wrong_character(*i, *j, hunk)
        {
            let (x, y) = (first(self.a, *i), first(self.b, *j));
            let is_scan = look_alike(x, y) || is_kana(x);
            self.tally.errors += if is_scan { 0.25 } else { 1.0 };
            return self.found(Kind::Character, a, b, false);
        }
        if is_initials(self.a, rest_a, self.b, rest_b)
            || is_initials(self.b, rest_b, self.a, rest_a)
        {
            return self.found(Kind::Spelling, a, b, false);
        }
        if self.is_other_frame(rest_a, rest_b) {
            return self.found(Kind::Greeting, a, b, false);
        }
        let kind = self.kind_of_replaced(rest_a, rest_b);
        let tolerated = match self.shape.is_long {
            true => self.tolerated(kind, hunk, rest_a, rest_b),
            false => None,
        };
        self.found(tolerated.unwrap_or(kind), a, b, tolerated.is_none());
    }

    /// Judges a passage that is too long for its words to be paired.
    pub fn rewritten(&mut self, hunk: &Hunk) {
        let is_tolerated = self.shape.is_long
            && self.shape.words >= VERY_LONG
            && !describes_itself(self.a, &hunk.a)
            && !describes_itself(self.b, &hunk.b)
            && self.have_equal_facts(&hunk.a, &hunk.b);
        if is_tolerated {
            self.tally.rewritten += self.weight(hunk.a.len().max(hunk.b.len()));
        }
        self.found(Kind::Word, hunk.a.clone(), hunk.b.clone(), !is_tolerated);
    }

    /// What a long text may have in other words.
    fn tolerated(
        &mut self,
        kind: Kind,
        hunk: &Hunk,
        rest_a: &[usize],
        rest_b: &[usize],
    ) -> Option<Kind> {
        if kind == Kind::Word && self.is_other_address(hunk) {
            return Some(Kind::Greeting);
        }
        if is_closing_date(self.a, &hunk.a) && is_closing_date(self.b, &hunk.b) {
            return Some(Kind::Date);
        }
        let weight = self.weight(rest_a.len().max(rest_b.len()));
        let least = self.weight(rest_a.len().min(rest_b.len()));
        let says_what_it_is = describes_itself(self.a, &hunk.a)
            || describes_itself(self.b, &hunk.b)
            || is_item(self.a, rest_a)
            || is_item(self.b, rest_b);
        // Numerals are parts of many longer words of Chinese.
        let is_plain = kind == Kind::Word || kind == Kind::Date && self.shape.by_characters;
        let is_other_passage = self.shape.words >= VERY_LONG && weight >= REPLACED_CLAUSE
            || is_plain && least >= REPLACED_CLAUSE && self.is_clause_of_both(hunk);
        if !says_what_it_is && is_other_passage && self.have_equal_facts(&hunk.a, &hunk.b) {
            self.tally.rewritten += weight;
            return Some(Kind::Word);
        }
        None
    }

    /// Whether words carry both texts, and do not name two people: a salutation, a signature.
    fn is_other_frame(&self, rest_a: &[usize], rest_b: &[usize]) -> bool {
        let are_in_frame =
            |text: &Tokens, words: &[usize]| words.iter().all(|i| text.at(*i).in_frame);
        let has_name = |text: &Tokens, words: &[usize]| {
            let of_form = Classes::GREETING
                .or(Classes::ADDRESSEE)
                .or(Classes::TITLE)
                .or(Classes::GENERIC)
                .or(Classes::LIGHT)
                .or(Classes::CLOSING)
                .or(Classes::FUNCTION)
                .or(Classes::CONJUNCTION);
            let is_name = |i: &usize| {
                !text.classes(*i).has(of_form) && text.at(*i).kind != TokenKind::Character
            };
            words.iter().any(is_name)
        };
        // A thanks may hold any word of Han: only its own words are others of the same meaning.
        let is_of_form = |text: &Tokens, words: &[usize]| {
            let clause = clause(text, &cover(words));
            text.at(words[0]).kind != TokenKind::Character
                || lists().is_courtesy(text.joined(&clause))
        };
        are_in_frame(self.a, rest_a)
            && are_in_frame(self.b, rest_b)
            && (is_of_form(self.a, rest_a) && is_of_form(self.b, rest_b))
            && !(has_name(self.a, rest_a) && has_name(self.b, rest_b))
    }

    /// Whether passages have the same numbers and outcomes, and as many negations.
    pub fn have_equal_facts(&self, a: &Range<usize>, b: &Range<usize>) -> bool {
        facts(self.a, a) == facts(self.b, b)
    }

    fn is_clause_of_both(&self, hunk: &Hunk) -> bool {
        is_bounded(self.a, &hunk.a) && is_bounded(self.b, &hunk.b)
    }

    fn kind_of_replaced(&self, rest_a: &[usize], rest_b: &[usize]) -> Kind {
        let words = || {
            let in_a = rest_a.iter().map(|i| (self.a.word(*i), self.a.at(*i).kind));
            let in_b = rest_b.iter().map(|i| (self.b.word(*i), self.b.at(*i).kind));
            in_a.chain(in_b)
        };
        let is_numeral = |word: &str| word.chars().all(|c| lists().is_numeral_han(c));
        let has = |class| {
            rest_a.iter().any(|i| self.a.classes(*i).has(class))
                || rest_b.iter().any(|i| self.b.classes(*i).has(class))
        };
        if words().any(|(_, kind)| kind == TokenKind::Number) {
            Kind::Number
        } else if words().any(|(_, kind)| kind == TokenKind::Symbol) {
            Kind::Symbol
        } else if has(Classes::CALENDAR) || words().any(|(word, _)| is_numeral(word)) {
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
    fn is_wrong_character(&self, i: usize, j: usize, hunk: &Hunk) -> bool {
        if self.shape.is_name
            || self.a.at(i).kind != TokenKind::Character
            || self.b.at(j).kind != TokenKind::Character
        {
            return false;
        }
        let is_negated = || {
            more_negations(self.a, self.b, hunk, self.around) != 0
                && !lists().is_negation_error(self.a.word(i), self.b.word(j))
        };
        may_be_slip(first(self.a, i), first(self.b, j))
            && !is_in_name(self.a, i)
            && !is_in_name(self.b, j)
            && !self.is_opposite_character(&[i], &[j])
            && !is_negated()
    }

    /// Whether one character stands for another that makes another thing.
    fn is_opposite_character(&self, rest_a: &[usize], rest_b: &[usize]) -> bool {
        matches!((rest_a, rest_b), ([i], [j])
            if lists().characters_decide(first(self.a, *i), first(self.b, *j)))
    }

    /// Whether both texts address somebody here: two offices, or in the salutation and where it comes
    /// again two names in front of one.
    fn is_other_address(&mut self, hunk: &Hunk) -> bool {
        let in_head = hunk.a.start.max(hunk.b.start) < HEAD;
        let (Some(a), Some(b)) = (address(self.a, &hunk.a), address(self.b, &hunk.b)) else {
            return false;
        };
        let names = (self.a.joined(&hunk.a), self.b.joined(&hunk.b));
        let again = self
            .addressed
            .contains(&(names.0.to_owned(), names.1.to_owned()));
        let is_address = in_head || again || a.min(b) == 0 && a.max(b) <= MOST_OF_NAME;
        if in_head && !again {
            self.addressed
                .push((names.0.to_owned(), names.1.to_owned()));
        }
        is_address
    }
}

/// The clauses that words are in.
fn clause(text: &Tokens, words: &Range<usize>) -> Range<usize> {
    let begin = (0..words.start).rev().find(|i| text.at(*i).ends_clause);
    let end = (words.end - 1..text.len()).find(|i| text.at(*i).ends_clause);
    begin.map_or(0, |last| last + 1)..end.map_or(text.len(), |last| last + 1)
}

fn first(text: &Tokens, i: usize) -> char {
    text.word(i).chars().next().unwrap_or_default()
}

/// Whether a character is in the name of a person: one or two behind a surname, with which a clause begins
/// and which ends with them.
fn is_in_name(text: &Tokens, i: usize) -> bool {
    let begins = |at: usize| at == 0 || text.at(at - 1).ends_clause;
    let ends = |at: usize| at + 1 == text.len() || text.at(at).ends_clause;
    (1..=2).any(|by| i >= by && begins(i - by) && lists().is_surname(first(text, i - by)))
        && (ends(i) || i + 1 < text.len() && ends(i + 1))
}

/// How many words or characters stand beside a form of address, which is among them or follows them;
/// None without one.
fn address(text: &Tokens, words: &Range<usize>) -> Option<usize> {
    let is_form = |i: &usize| text.classes(*i).has(Classes::ADDRESSEE);
    let found = words.clone().filter(is_form).count();
    if found > 0 {
        return Some(words.len() - found);
    }
    let joined = text.joined(words);
    let behind = text.joined(&(words.end..(words.end + 4).min(text.len())));
    let forms = &lists().addressee_parts;
    let name = || forms.at_begin(behind).map(|_| joined.chars().count());
    forms.left(joined).or_else(name)
}
