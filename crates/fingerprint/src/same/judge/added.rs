//! Words that only one text has. [`crate::same`] asks for each stretch. What they are decides: a
//! greeting, a heading and in a long text a sentence do not matter; a number does, and any word that
//! says what the text is about.

use super::Judge;
use super::finding::Kind;
use super::nature::{
    cover, describes_itself, facts, is_apart, is_bounded, is_condition, is_date, is_doubled,
    is_item, is_measure, is_sentence, repeats, slid, stands_for_neighbour,
};
use crate::same::align::Hunk;
use crate::same::align::characters::{is_hiragana, is_okurigana};
use crate::same::cut::tokens::{Token, TokenKind, Tokens};
use crate::same::limits::{
    ADDED_CLAUSE, BETWEEN_SWAPPED, BOUNDED_CLAUSE, CHARACTERS_OF_NOTICE, CLAUSE_SHARE,
    LEAST_UNDER_HEADING, LETTERS_OF_CALL, LONG, LONG_PART, MOST_OF_GREETING, MOST_OF_NOTE,
    SENTENCE, SENTENCE_BEHIND_A_NAME, VERY_LONG, WORDS_OF_AN_EXCHANGE, WORDS_OF_CALL,
    WORDS_OF_NOTICE,
};
use crate::same::lists::{Classes, lists};
use crate::text::scripts::is_han;
use std::ops::Range;

/// Characters that by themselves make another thing of the one behind them: deputy, former, false.
const MODIFIERS: &str = "副前元旧仮偽伪假代原";

/// What decides in whatever carries a text.
const DECIDES: Classes = Classes::MODIFIER.or(Classes::OUTCOME).or(Classes::CALENDAR);

/// Words that only one text has.
struct Addition<'t> {
    text: &'t Tokens,
    /// The text that lacks them, and where.
    other: &'t Tokens,
    gap: &'t Range<usize>,
    words: Range<usize>,
    /// Those that count.
    rest: &'t [usize],
    in_a: bool,
}

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
        if addition.is_light() || addition.is_apposition() {
            return (Kind::Light, false);
        }
        if describes_itself(text, words) || !self.has_fewer_fields && is_item(text, rest) {
            return (Kind::Added, true);
        }
        if let Some(kind) = self.harmless(addition, is_clause) {
            return (kind, false);
        }
        if let Some(kind) = self.fact(addition) {
            return (kind, true);
        }
        if is_doubled(text, words) {
            return (Kind::Doubled, false);
        }
        if let [only] = rest
            && text.at(*only).dot
            && text.word(*only).chars().count() == 1
            && stands_for_neighbour(text, words, *only)
        {
            return (Kind::Spelling, false);
        }
        (Kind::Added, self.makes_another(addition))
    }

    /// What does not matter, though it may have numbers: a greeting, a heading, in a long text a clause
    /// and an address, in a very long one a passage.
    fn harmless(&mut self, addition: &Addition, is_clause: bool) -> Option<Kind> {
        let Addition { text, rest, .. } = *addition;
        let words = &addition.words;
        let has_number = rest.iter().any(|i| self.is_number(text, *i));
        if !has_number
            && self.is_at_end(words, addition.gap, addition.in_a)
            && self.is_greeting(text, rest, text.joined(&cover(rest)))
        {
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
        let is_address = || self.shape.is_long && addition.has_all(|token| token.in_address);
        let is_clause = is_clause
            && (!has_number || is_whole())
            && !addition.has_facts()
            && !addition.names_another();
        let is_harmless = self.has_fewer_fields || is_clause || is_address();
        is_harmless.then_some(Kind::Added)
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
            || self.shape.words < LONG
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

impl Addition<'_> {
    fn has_all(&self, is: fn(&Token) -> bool) -> bool {
        self.rest.iter().all(|i| is(self.text.at(*i)))
    }

    fn has(&self, class: Classes) -> bool {
        self.rest.iter().any(|i| self.text.classes(*i).has(class))
    }

    /// Whether all words are of these classes.
    fn are_all(&self, classes: Classes) -> bool {
        self.rest.iter().all(|i| self.text.classes(*i).has(classes))
    }

    /// Whether the words say what came of something, deny or condition it.
    fn has_facts(&self) -> bool {
        !facts(self.text, &cover(self.rest)).is_empty() || is_condition(self.text, self.rest)
    }

    /// Whether a sentence more of a text without spaces has a name that the other text has not.
    fn names_another(&self) -> bool {
        let is_known = |word: &str| (0..self.other.len()).any(|i| self.other.word(i) == word);
        let is_name =
            |i: &usize| self.text.at(*i).kind == TokenKind::Word && !self.text.at(*i).in_address;
        let by_characters = || {
            let characters = |i: &&usize| self.text.at(**i).kind == TokenKind::Character;
            2 * self.rest.iter().filter(characters).count() > self.rest.len()
        };
        by_characters()
            && self
                .rest
                .iter()
                .any(|i| is_name(i) && !is_known(self.text.word(*i)))
    }

    /// Whether the words are a number that has a line for itself, as that of a page.
    fn is_page_number(&self) -> bool {
        self.gap.is_empty() && self.has_all(|token| token.is_alone)
    }

    /// Whether one kana more is the end of a word of Han that may be left out.
    fn is_okurigana(&self) -> bool {
        let first = |i: usize| self.text.word(i).chars().next();
        let ([only], true) = (self.rest, self.gap.is_empty()) else {
            return false;
        };
        let (Some(in_front), Some(kana)) = (only.checked_sub(1).and_then(first), first(*only))
        else {
            return false;
        };
        let behind = if only + 1 < self.text.len() {
            first(only + 1)
        } else {
            None
        };
        // 北京市 is 北京.
        let is_city = matches!(kana, '市' | '省') && is_han(in_front) && behind.is_some_and(is_han);
        is_city || is_hiragana(kana) && is_okurigana(in_front, kana, behind)
    }

    /// Whether articles, prepositions and the like are all there is.
    fn is_light(&self) -> bool {
        let light = Classes::LIGHT.or(Classes::FUNCTION);
        let counts = Classes::NEGATION
            .or(Classes::CONDITION)
            .or(Classes::MODIFIER);
        if self.is_article() {
            return true;
        }
        // The last letter of a name such as KOI8-R stands for no word.
        let in_name = self.rest.iter().any(|i| self.text.at(*i).is_joined);
        self.are_all(light) && !self.has(counts) && !in_name
    }

    /// Whether the words say in front of a name, with which a sentence begins, what kind of thing has it.
    fn is_apposition(&self) -> bool {
        let (begin, end) = (self.words.start, self.words.end);
        let begins = begin == 0 || self.text.at(begin - 1).ends_sentence;
        let of_kind = Classes::APPOSITION.or(Classes::FUNCTION).or(Classes::LIGHT);
        begins
            && self.gap.is_empty()
            && self.has(Classes::APPOSITION)
            && self.are_all(of_kind)
            && end + SENTENCE_BEHIND_A_NAME < self.text.len()
            && self.text.at(end).kind == TokenKind::Word
            && !self.text.at(end - 1).ends_clause
    }

    /// Whether the words are what Chinese has for an article: 一个, with no numeral in front.
    fn is_article(&self) -> bool {
        const ARTICLES: [&str; 12] = [
            "一个", "一种", "一款", "一套", "一组", "一条", "一份", "一项", "一名", "一位", "一件",
            "一张",
        ];
        let is_numeral = |i: usize| {
            self.text.at(i).kind == TokenKind::Number
                || matches!(self.text.word(i), "第" | "同" | "唯")
                || self.text.word(i).chars().all(|c| lists().is_numeral_han(c))
        };
        self.gap.is_empty()
            && ARTICLES.contains(&self.text.joined(&self.words))
            && !self.words.start.checked_sub(1).is_some_and(is_numeral)
    }

    /// Whether the words are around a text and not of it: the note of an editor, a source, a request to
    /// share, the title beside a name.
    fn is_notice(&self) -> bool {
        if self.has(DECIDES) && !self.has_notice() {
            return false;
        }
        let around = Classes::LIGHT.or(Classes::FUNCTION).or(Classes::GREETING);
        if self.are_all(Classes::TITLE.or(around)) && self.has(Classes::TITLE) {
            return true;
        }
        let is_apart = is_apart(self.text, &self.words);
        let is_reference = |token: &Token| {
            token.is_reference && (token.in_bracket || token.kind == TokenKind::Word)
        };
        if self.has_all(is_reference)
            || self.gap.is_empty() && self.has_all(|token| token.in_address)
        {
            return true;
        }
        let has_number = self
            .rest
            .iter()
            .any(|i| self.text.at(*i).kind == TokenKind::Number);
        if !is_apart || has_number {
            return false;
        }
        let is_character = self.text.at(self.words.start).kind == TokenKind::Character;
        let is_note = !is_character && self.rest.len() <= MOST_OF_NOTE && self.has(Classes::NOTE)
            || self.are_all(Classes::NOTE.or(around));
        let is_source =
            self.rest.len() <= MOST_OF_NOTE && (self.has(Classes::SOURCE) || self.is_behind_bar());
        let is_denied = self.has(Classes::NEGATION);
        let is_aside = self.words.start == 0
            && self.rest.len() <= MOST_OF_NOTE
            && self.has_all(|token| token.in_bracket);
        let is_heading = self.words.start == 0
            && self.rest.len() <= MOST_OF_NOTE
            && self.other.len() >= LEAST_UNDER_HEADING
            && self.text.at(self.words.end - 1).ends_line;
        is_note || is_source || (is_aside || is_heading) && !is_denied || self.has_notice()
    }

    /// Whether words that carry the text are few, and make another thing of it: DRAFT:
    fn makes_another_mark(&self) -> bool {
        self.rest.len() <= MOST_OF_NOTE && self.has(DECIDES)
    }

    /// Whether the words have a part of a notice: subscribe to our newsletter.
    fn has_notice(&self) -> bool {
        let joined = self.text.joined(&self.words);
        let parts = &lists().notice_parts;
        let first = self.words.start;
        // A short part may be in a sentence that says something: they enjoy hiking.
        let is_short = match self.text.at(first).kind {
            TokenKind::Character => self.words.len() <= CHARACTERS_OF_NOTICE,
            _ => self.words.len() <= WORDS_OF_NOTICE || self.text.at(first).colon,
        };
        let is_character = self.text.at(first).kind == TokenKind::Character;
        let at_begin = parts.at_begin(joined);
        let is_call = self.words.len() <= WORDS_OF_CALL
            && at_begin.is_some_and(|length| length >= LETTERS_OF_CALL);
        is_call
            || is_short && (at_begin.is_some() || is_character && parts.are_in(joined))
            || parts.all(joined).iter().any(|part| part.len() >= LONG_PART)
    }

    /// Whether the words are the last ones, behind a bar: the name of a site.
    fn is_behind_bar(&self) -> bool {
        let begin = self.words.start;
        self.words.end == self.text.len() && begin > 0 && self.text.at(begin - 1).bar
    }

    /// Whether the words are a clause more, or the end of one and the begin of the next; where the other
    /// text begins, one begins.
    fn is_bounded(&self) -> bool {
        let mut inner = self.words.start..self.words.end.saturating_sub(1);
        is_bounded(self.text, &self.words)
            || self.words.start == 0 && self.gap.end == 0
            || inner.any(|i| self.text.at(i).ends_clause)
    }

    /// Whether the words are whole clauses that the other text has too.
    fn is_quoted(&self) -> bool {
        let quoted = self.text.joined(&self.words);
        is_bounded(self.text, &self.words) && self.other.text.contains(quoted)
    }

    /// Whether the words are signs alone that measure nothing, and if so, whether they rate something
    /// that the other text rates too.
    fn rating(&self) -> Option<bool> {
        let word = |i: &usize| self.text.word(*i);
        let are_signs = self.has_all(|token| token.kind == TokenKind::Symbol)
            && !self.rest.iter().any(|i| is_measure(word(i)));
        let other_has = |symbol| (0..self.other.len()).any(|i| self.other.word(i) == symbol);
        let rates = |i: &usize| lists().is_rating(word(i)) && other_has(word(i));
        are_signs.then(|| self.rest.iter().any(rates))
    }
}
