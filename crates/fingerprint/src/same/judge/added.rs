//! Words that only one text has. [`crate::same`] asks for each stretch. What they are decides: a
//! greeting, a heading and in a long text a sentence do not matter; a number does, and any word that
//! says what the text is about.

use super::Judge;
use super::addition::{Addition, MODIFIERS};
use super::finding::Kind;
use super::nature::{
    cover, describes_itself, is_bounded, is_date, is_doubled, is_item, is_sentence, repeats, slid,
};
use crate::same::align::Hunk;
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{
    ADDED_CLAUSE, BETWEEN_SWAPPED, BOUNDED_CLAUSE, CLAUSE_SHARE, MOST_OF_GREETING, SENTENCE,
    VERY_LONG, WORDS_OF_AN_EXCHANGE,
};
use crate::same::lists::{Classes, lists};

impl<'t> Judge<'t> {
    /// Judges words that only one text has.
    pub fn added(&mut self, hunk: &Hunk, rest: &[usize], in_a: bool) {
        let (text, other, words, gap) = match in_a {
            true => (self.a, self.b, &hunk.a, &hunk.b),
            false => (self.b, self.a, &hunk.b, &hunk.a),
        };
        let words = match gap.is_empty() {
            true => slid(text, words),
            false => words.clone(),
        };
        let addition = Addition {
            text,
            other,
            gap,
            words,
            rest,
            in_a,
        };
        let is_clause = self.is_clause(&addition);
        let (kind, mut decides) = self.kind_of_added(&addition, is_clause);
        let is_around = matches!(
            kind,
            Kind::Greeting | Kind::Notice | Kind::Light | Kind::Spelling
        );
        if !is_around {
            if !is_clause {
                self.count_negations(hunk);
            }
            let counts = !self.has_fewer_fields && !addition.has_all(|token| token.in_query);
            let word = text.joined(&cover(rest));
            decides |= kind == Kind::Added && counts && self.is_other_word(hunk, word, in_a);
            if kind == Kind::Added && !decides && counts {
                let word = rest.iter().map(|i| text.word(*i));
                self.tally
                    .added(self.shape, word, in_a, hunk.a.start, is_clause);
            }
        }
        let place = cover(rest);
        match in_a {
            true => self.found(kind, place, gap.clone(), decides),
            false => self.found(kind, gap.clone(), place, decides),
        }
    }

    /// Whether each text has a word that the other lacks, with hardly an equal one between them: importing
    /// spreadsheet data, importing data from logs.
    fn is_other_word(&mut self, hunk: &Hunk, word: &'t str, in_a: bool) -> bool {
        let last = self.last_added.replace((hunk.clone(), in_a, word));
        !self.shape.by_characters
            && last.is_some_and(|(last, was_in_a, other)| {
                let mut between = last.a.end..hunk.a.start;
                was_in_a != in_a
                    && word != other
                    && between.len() <= BETWEEN_SWAPPED
                    && !between.any(|i| self.a.at(i).ends_clause)
            })
    }

    /// A clause more in a long text.
    fn is_clause(&self, addition: &Addition) -> bool {
        let weight = self.weight(addition.rest.len());
        let is_passage = self.shape.by_characters && weight >= ADDED_CLAUSE
            || self.shape.words >= VERY_LONG && weight >= BOUNDED_CLAUSE;
        self.shape.is_long
            && weight <= CLAUSE_SHARE * self.shape.words
            && (is_passage || addition.is_bounded() && weight >= BOUNDED_CLAUSE)
    }

    fn kind_of_added(&mut self, addition: &Addition, is_clause: bool) -> (Kind, bool) {
        let Addition { text, rest, .. } = *addition;
        let words = &addition.words;
        if addition.has_all(|token| token.in_query) {
            return (Kind::Added, false);
        }
        if addition.has_all(|token| token.in_frame) && !addition.makes_another_mark() {
            return (Kind::Greeting, false);
        }
        if addition.is_page_number() {
            return (Kind::Number, false);
        }
        if addition.is_okurigana() {
            return (Kind::Spelling, false);
        }
        if addition.is_notice() {
            return (Kind::Notice, false);
        }
        if let Some(rates) = addition.rating() {
            self.tally.symbols[usize::from(addition.in_a)] = true;
            return (Kind::Symbol, rates && !self.has_fewer_fields);
        }
        if self.is_only && self.weight(rest.len()) >= SENTENCE && addition.is_quoted() {
            return (Kind::Doubled, false);
        }
        if addition.is_light()
            || addition.is_apposition()
            || addition.is_label()
            || addition.joins_clauses()
        {
            return (Kind::Light, false);
        }
        if describes_itself(text, words) || !self.has_fewer_fields && is_item(text, rest) {
            return (Kind::Added, true);
        }
        if let Some(kind) = self.harmless(addition, is_clause) {
            return (kind, false);
        }
        if addition.is_unit_of_field() {
            return (Kind::Light, false);
        }
        if addition.is_numeral_beside() || addition.is_weekday_of_date() {
            return (Kind::Doubled, false);
        }
        if let Some(kind) = self.fact(addition) {
            return (kind, true);
        }
        if is_doubled(text, words) || addition.is_other_gender() {
            return (Kind::Doubled, false);
        }
        (Kind::Added, self.makes_another(addition))
    }

    /// What does not matter, though it may have numbers: a greeting, a heading, in a long text a clause
    /// and an address, in a very long one a passage.
    fn harmless(&mut self, addition: &Addition, is_clause: bool) -> Option<Kind> {
        let Addition { text, rest, .. } = *addition;
        let words = &addition.words;
        let has_number = rest.iter().any(|i| self.is_number(text, *i));
        if !has_number && addition.addresses() {
            return Some(Kind::Greeting);
        }
        let greets = || {
            self.is_at_end(words, addition.gap, addition.in_a)
                && self.is_greeting(text, rest, text.joined(&cover(rest)))
                || addition.greets_below_title()
        };
        if !has_number && !addition.has_facts() && greets() {
            return Some(Kind::Greeting);
        }
        if self.weight(rest.len()) >= SENTENCE
            && words.start == 0
            && (self.shape.is_long || self.is_only || is_bounded(text, words))
            && repeats(text, rest, addition.other)
        {
            return Some(Kind::Doubled);
        }
        if self.shape.by_characters
            && self.shape.words >= WORDS_OF_AN_EXCHANGE
            && let [only] = rest
            && matches!(text.at(*only).kind, TokenKind::Symbol | TokenKind::Number)
        {
            self.tally.exchanged += 1.0;
            return Some(if has_number {
                Kind::Number
            } else {
                Kind::Symbol
            });
        }
        let is_whole = || self.shape.words >= VERY_LONG || addition.is_bounded();
        let is_address = || self.shape.is_long && addition.is_address();
        let is_clause = is_clause && (!has_number || is_whole()) && !addition.has_facts();
        let is_harmless = self.lacks_fields(addition) || is_clause || is_address();
        is_harmless.then_some(Kind::Added)
    }

    /// Whether the words are whole fields that one of two records lacks.
    fn lacks_fields(&self, addition: &Addition) -> bool {
        self.has_fewer_fields && is_bounded(addition.text, &addition.words)
    }

    /// What decides wherever it stands: a number, a sign, a date.
    fn fact(&self, addition: &Addition) -> Option<Kind> {
        let Addition { text, rest, .. } = *addition;
        if rest.iter().any(|i| self.is_number(text, *i)) {
            Some(Kind::Number)
        } else if rest.iter().any(|i| text.at(*i).kind == TokenKind::Symbol) {
            Some(Kind::Symbol)
        } else {
            let of_long = self.shape.is_long && self.shape.by_characters;
            is_date(text, rest, of_long).then_some(Kind::Date)
        }
    }

    /// Whether a word more makes another thing of the one beside it, or of a short text.
    fn makes_another(&self, addition: &Addition) -> bool {
        let Addition { text, rest, .. } = *addition;
        let words = &addition.words;
        let behind_number = words.start > 0 && text.at(words.start - 1).kind == TokenKind::Number;
        let is_unit = rest.len() == 1 && behind_number && text.at(rest[0]).kind == TokenKind::Word;
        let is_part = text.at(words.start).is_joined
            || words.end < text.len() && text.at(words.end).is_joined;
        let joins = |i: usize| text.classes(i).has(Classes::CONJUNCTION);
        let is_item =
            rest.len() > 1 && !self.shape.is_long && (joins(words.start) || joins(words.end - 1));
        let is_whole = is_sentence(text, words) || self.shape.is_entry && is_bounded(text, words);
        let is_statement = !self.shape.is_long && self.weight(rest.len()) >= SENTENCE && is_whole;
        // What a short text is about is in each of its words.
        let is_modified = addition.has(Classes::MODIFIER)
            || lists().modifier_parts.are_in(text.joined(&cover(rest)))
            || rest.len() == 1 && MODIFIERS.contains(text.word(rest[0]));
        let is_fact = self.shape.is_long && addition.has_facts();
        is_fact
            || is_unit
            || is_part
            || is_item
            || is_statement
            || is_modified
            || !self.shape.is_long && !self.shape.is_entry
    }

    /// Whether a word is a number. In a long text one with letters counts as a word: it names something.
    fn is_number(&self, text: &Tokens, i: usize) -> bool {
        let has_letter = || text.word(i).bytes().any(|byte| byte.is_ascii_alphabetic());
        text.at(i).kind == TokenKind::Number && !(self.shape.is_long && has_letter())
    }

    /// Whether words greet or thank somebody: they begin with a greeting, or more than half of them are.
    pub fn is_greeting(&self, text: &Tokens, rest: &[usize], joined: &str) -> bool {
        let most = MOST_OF_GREETING * if self.shape.by_characters { 3 } else { 1 };
        if rest.len() > most || lists().greeting_parts.are_in(joined) {
            return rest.len() <= most;
        }
        let light = Classes::LIGHT.or(Classes::FUNCTION);
        let classes = || rest.iter().map(|i| text.classes(*i));
        let greets = |classes: &Classes| classes.has(Classes::GREETING);
        let counting = || classes().filter(|classes| !classes.has(light));
        // Good and best greet only beside another such word.
        let is_strong = |classes: &Classes| greets(classes) && !classes.has(Classes::WEAK);
        counting().next().is_some_and(|first| is_strong(&first))
            || 2 * classes().filter(greets).count() > counting().count()
    }
}
