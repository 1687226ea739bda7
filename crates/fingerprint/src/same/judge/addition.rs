//! What words are that only one text has: light words, a notice, a label, a numeral beside its digits.
//! [`super::added`] asks in the order in which they decide. Each answer depends on the two texts and the
//! lists alone.

use super::nature::{cover, facts, is_apart, is_bounded, is_condition, is_measure};
use crate::same::align::characters::{is_hiragana, is_okurigana};
use crate::same::cut::tokens::{Token, TokenKind, Tokens};
use crate::same::is_one_of;
use crate::same::limits::{
    CHARACTERS_OF_NOTICE, LETTERS_OF_CALL, LONG_PART, MOST_OF_NOTE, MOST_OF_SALUTATION,
    SENTENCE_BEHIND_A_NAME, WORDS_OF_CALL, WORDS_OF_NOTICE,
};
use crate::same::lists::{Classes, lists};
use crate::same::values::{is_month, is_numeral_for, is_weekday};
use crate::text::scripts::is_han;
use std::cell::LazyCell;
use std::ops::Range;

/// Characters that by themselves make another thing of the one behind them: deputy, former, false.
pub const MODIFIERS: &str = "副前元旧仮偽伪假代原";

/// What decides in whatever carries a text.
const DECIDES: Classes = Classes::MODIFIER.or(Classes::OUTCOME).or(Classes::CALENDAR);

/// Words that only one text has.
pub struct Addition<'t> {
    pub text: &'t Tokens,
    /// The text that lacks them, and where.
    pub other: &'t Tokens,
    pub gap: &'t Range<usize>,
    pub words: Range<usize>,
    /// Those that count.
    pub rest: &'t [usize],
    pub in_a: bool,
}

/// Letters that the names of a calling of both genders begin with, at least.
const LEAST_OF_CALLING: usize = 4;

/// Whether two words are one calling of both genders: Erzieher and Erzieherin, camarero and camarera.
fn are_genders(a: &str, b: &str) -> bool {
    // Of a man and of a woman.
    const ENDINGS: &str = "-in -innen e-innen o-a -a -e er-ere eur-euse eur-rice e-essa";
    let is_pair = |male: &str, female: &str| {
        ENDINGS.split(' ').any(|endings| {
            let (of_male, of_female) = endings.split_once('-').unwrap_or_default();
            let (stem, other) = (male.strip_suffix(of_male), female.strip_suffix(of_female));
            stem.is_some()
                && stem == other
                && stem.is_some_and(|stem| stem.chars().nth(LEAST_OF_CALLING - 1).is_some())
        })
    };
    let letters = a.chars().zip(b.chars()).take(LEAST_OF_CALLING);
    letters.filter(|(x, y)| x == y).count() == LEAST_OF_CALLING && (is_pair(a, b) || is_pair(b, a))
}

impl Addition<'_> {
    pub fn has_all(&self, is: fn(&Token) -> bool) -> bool {
        self.rest.iter().all(|i| is(self.text.at(*i)))
    }

    pub fn has_any(&self, is: fn(&Token) -> bool) -> bool {
        self.rest.iter().any(|i| is(self.text.at(*i)))
    }

    pub fn has(&self, class: Classes) -> bool {
        self.rest.iter().any(|i| self.text.classes(*i).has(class))
    }

    /// Whether all words are of these classes.
    pub fn are_all(&self, classes: Classes) -> bool {
        self.rest.iter().all(|i| self.text.classes(*i).has(classes))
    }

    /// Whether the words say what came of something, deny or condition it.
    pub fn has_facts(&self) -> bool {
        !facts(self.text, &cover(self.rest)).is_empty() || is_condition(self.text, self.rest)
    }

    /// Whether the other text has a word.
    fn is_known(&self, word: &str) -> bool {
        (0..self.other.len()).any(|i| self.other.word(i) == word)
    }

    /// Whether the words name an office, in front of a colon at the begin: 市政府：
    pub fn addresses(&self) -> bool {
        let joined = self.text.joined(&self.words);
        self.words.start == 0
            && self.gap.end == 0
            && self.rest.len() <= MOST_OF_SALUTATION
            && self.text.at(self.words.end - 1).colon
            && lists().addressee_parts.are_in(joined)
    }

    /// Whether the words are a salutation with which a line begins, such as the first below a title.
    pub fn greets_below_title(&self) -> bool {
        let (first, last) = (self.words.start, self.words.end - 1);
        first > 0
            && self.text.at(first - 1).ends_line
            && self.text.at(last).ends_clause
            && self.rest.len() <= MOST_OF_SALUTATION
            && self.text.classes(self.rest[0]).has(Classes::GREETING)
    }

    /// Whether the words are a number that has a line for itself, as that of a page.
    pub fn is_page_number(&self) -> bool {
        self.gap.is_empty() && self.has_all(|token| token.is_alone)
    }

    /// Whether one kana more is the end of a word of Han that may be left out.
    pub fn is_okurigana(&self) -> bool {
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
    pub fn is_light(&self) -> bool {
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
    pub fn is_apposition(&self) -> bool {
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

    /// Whether a word says what the number behind it numbers, or is the country of a postal code.
    pub fn is_label(&self) -> bool {
        let ([only], true) = (self.rest, self.gap.is_empty()) else {
            return false;
        };
        let behind = (only + 1 < self.text.len()).then(|| self.text.at(only + 1));
        let is_number = behind.is_some_and(|token| token.kind == TokenKind::Number);
        let is_country = || {
            let is_code = self.text.word(*only).len() <= 2 && self.words.start > 0;
            let digits = self
                .text
                .word(only + 1)
                .bytes()
                .filter(u8::is_ascii_digit)
                .count();
            is_code && (4..=5).contains(&digits) && behind.is_some_and(|token| token.is_joined)
        };
        // From 9 to 5.
        let is_range = || {
            let near = only + 2..(only + 4).min(self.text.len());
            self.has(Classes::ORDERS)
                && near
                    .into_iter()
                    .any(|i| self.text.at(i).kind == TokenKind::Number)
        };
        is_number && (self.has(Classes::LABEL) || is_country() || is_range())
    }

    /// Whether "and" stands between two words where the other text has a mark.
    pub fn joins_clauses(&self) -> bool {
        const OR: &str = "or oder ou o of eller или або lub veya nebo 或 または หรือ";
        let at = self.gap.start;
        let is_marked = at > 0 && at < self.other.len() && self.other.at(at - 1).ends_clause;
        let is_and = |i: &usize| {
            self.text.classes(*i).has(Classes::CONJUNCTION) && !is_one_of(OR, self.text.word(*i))
        };
        self.gap.is_empty() && is_marked && self.rest.iter().all(is_and)
    }

    /// Whether a word stands behind the number of a field, whose name says what it counts: Age: 30 years.
    pub fn is_unit_of_field(&self) -> bool {
        let ([only], true) = (self.rest, self.gap.is_empty()) else {
            return false;
        };
        let at = |back: usize| only.checked_sub(back).map(|i| self.text.at(i));
        let ends = self.text.at(*only).ends_clause || only + 1 == self.text.len();
        at(1).is_some_and(|number| number.kind == TokenKind::Number)
            && at(2).is_some_and(|name| name.colon)
            && ends
            && self.text.at(*only).kind != TokenKind::Number
    }

    /// Whether a numeral in words stands beside the same number in digits: thirty (30).
    pub fn is_numeral_beside(&self) -> bool {
        let ([only], true) = (self.rest, self.gap.is_empty()) else {
            return false;
        };
        let near = only.saturating_sub(1)..(only + 2).min(self.text.len());
        let mut pairs = near.map(|i| (self.text.word(*only), self.text.word(i)));
        pairs.any(|(x, y)| is_numeral_for(x, y) || is_numeral_for(y, x))
    }

    /// Whether the words are the day of the week of a date beside them.
    pub fn is_weekday_of_date(&self) -> bool {
        let text = self.text;
        let near = self.words.start.saturating_sub(2)..(self.words.end + 3).min(text.len());
        let is_date = |i: usize| {
            is_month(text.word(i))
                || text.at(i).kind == TokenKind::Number && text.word(i).contains('-')
        };
        is_weekday(text.joined(&cover(self.rest))) && near.into_iter().any(is_date)
    }

    /// Whether the words name the same calling of the other gender beside it: Erzieherin / Erzieher.
    pub fn is_other_gender(&self) -> bool {
        let counts = |i: &&usize| !self.text.classes(**i).has(Classes::CONJUNCTION);
        let mut words = self.rest.iter().filter(counts);
        let (Some(only), None) = (words.next(), words.next()) else {
            return false;
        };
        let near = only.saturating_sub(2)..(only + 3).min(self.text.len());
        near.into_iter()
            .any(|i| are_genders(self.text.word(*only), self.text.word(i)))
    }

    /// Whether the words are what Chinese has for an article, as 一个 with no numeral in front, or say soon.
    pub fn is_article(&self) -> bool {
        const ARTICLES: &str = "一个 一种 一款 一套 一组 一条 一份 一项 一名 一位 一件 一张 一下 尽快 尽早 赶快 赶紧 早日 先生 女士 小姐 我们 会 来";
        let is_numeral = |i: usize| {
            self.text.at(i).kind == TokenKind::Number
                || matches!(self.text.word(i), "第" | "同" | "唯")
                || self.text.word(i).chars().all(|c| lists().is_numeral_han(c))
        };
        self.gap.is_empty()
            && (is_one_of(ARTICLES, self.text.joined(&self.words)) || self.is_between_equal())
            && !self.words.start.checked_sub(1).is_some_and(is_numeral)
    }

    /// Whether 一 stands between two equal characters: 管一管 is 管管.
    pub fn is_between_equal(&self) -> bool {
        let (begin, end) = (self.words.start, self.words.end);
        self.text.joined(&self.words) == "一"
            && begin > 0
            && end < self.text.len()
            && self.text.word(begin - 1) == self.text.word(end)
    }

    /// Whether the words are around a text and not of it: the note of an editor, a source, a request to
    /// share, the title beside a name.
    pub fn is_notice(&self) -> bool {
        // (repost, the old thread is closed)
        let is_note = self.text.classes(self.rest[0]).has(Classes::NOTE);
        let is_aside = is_note && self.has_all(|token| token.in_bracket);
        let decide = if is_aside {
            Classes::OUTCOME.or(Classes::CALENDAR)
        } else {
            DECIDES
        };
        // What is free in free shipping decides nothing, what is cancelled behind an apology does.
        let parts = LazyCell::new(|| {
            let mut parts = lists().notice_parts.all(self.text.joined(&self.words));
            parts.sort_unstable();
            parts.dedup();
            parts
        });
        let has_notice = LazyCell::new(|| self.has_notice());
        let decides = |i: &usize| {
            let (classes, word) = (self.text.classes(*i), self.text.word(*i));
            classes.has(decide)
                && !classes.has(Classes::TOPIC)
                && (classes.has(Classes::OUTCOME) || !*has_notice)
                && !parts.iter().any(|part| part.contains(word))
        };
        if self.rest.iter().any(decides) {
            return false;
        }
        let around = Classes::LIGHT.or(Classes::FUNCTION).or(Classes::GREETING);
        if self.are_all(Classes::TITLE.or(around)) && self.has(Classes::TITLE) {
            return true;
        }
        let is_apart = is_apart(self.text, &self.words);
        let is_reference = |token: &Token| {
            token.is_reference && (token.in_bracket || token.colon || token.kind == TokenKind::Word)
        };
        let refers = |i: &usize| {
            self.text.at(*i).is_reference || self.text.classes(*i).has(Classes::REFERS.or(around))
        };
        if self.has_all(is_reference)
            || is_apart && self.rest.iter().all(refers) && self.has_any(|token| token.is_reference)
            || self.gap.is_empty() && self.is_address()
        {
            return true;
        }
        // The year of a copyright is one.
        let is_year =
            |word: &str| word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
        let is_number = |i: &usize| self.text.at(*i).kind == TokenKind::Number;
        let mut numbers = self.rest.iter().filter(|i| is_number(i));
        let all_rights = || self.has_part_of(LONG_PART);
        if !is_apart || numbers.any(|i| !(is_year(self.text.word(*i)) && all_rights())) {
            return false;
        }
        // (edited to add the budget)
        let of_note = Classes::NOTE.or(Classes::TOPIC).or(around);
        let is_of_note = |i: &usize| {
            self.text.classes(*i).has(of_note) || is_note && self.is_known(self.text.word(*i))
        };
        let is_note = self.has(Classes::NOTE) && self.rest.iter().all(is_of_note);
        let is_source =
            self.rest.len() <= MOST_OF_NOTE && (self.has(Classes::SOURCE) || self.is_behind_bar());
        let is_denied = self.has(Classes::NEGATION);
        let most_of_aside = MOST_OF_NOTE * if self.has(Classes::NOTE) { 2 } else { 1 };
        let is_aside = self.words.start == 0
            && self.rest.len() <= most_of_aside
            && self.has_all(|token| token.in_bracket);
        is_note || is_source || is_aside && !is_denied || *has_notice
    }

    /// Whether words that carry the text are few, and make another thing of it: DRAFT:
    pub fn makes_another_mark(&self) -> bool {
        let is_denied = || self.has(Classes::NEGATION) && !is_bounded(self.text, &self.words);
        self.rest.len() <= MOST_OF_NOTE
            && (self.has(DECIDES) && !self.has(Classes::SOURCE) || is_denied())
    }

    /// Whether the words are a whole address of the web: a part more makes another one.
    pub fn is_address(&self) -> bool {
        let (begin, end) = (self.words.start, self.words.end);
        let in_address = |i: usize| i < self.text.len() && self.text.at(i).in_address;
        let is_part = begin > 0 && in_address(begin - 1) || in_address(end);
        // The default page and port.
        let is_default = |i: &usize| is_one_of("index html htm php 80 443", self.text.word(*i));
        (!is_part && self.rest.len() > 1 || self.rest.iter().all(is_default))
            && self.has_all(|token| token.in_address)
    }

    /// Whether the words have a part of a notice: subscribe to our newsletter.
    pub fn has_notice(&self) -> bool {
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
            || self.has_part_of(if is_short { LETTERS_OF_CALL } else { LONG_PART })
    }

    /// Whether the words have a part of a notice that is at least as long.
    fn has_part_of(&self, bytes: usize) -> bool {
        let parts = lists().notice_parts.all(self.text.joined(&self.words));
        parts.iter().any(|part| part.len() >= bytes)
    }

    /// Whether the words are the last ones, behind a bar: the name of a site.
    pub fn is_behind_bar(&self) -> bool {
        let begin = self.words.start;
        self.words.end == self.text.len() && begin > 0 && self.text.at(begin - 1).bar
    }

    /// Whether the words are a clause more, or the end of one and the begin of the next; where the other
    /// text begins, one begins.
    pub fn is_bounded(&self) -> bool {
        let mut inner = self.words.start..self.words.end.saturating_sub(1);
        is_bounded(self.text, &self.words)
            || self.words.start == 0 && self.gap.end == 0
            || inner.any(|i| self.text.at(i).ends_clause)
    }

    /// Whether the words are whole clauses that the other text has too.
    pub fn is_quoted(&self) -> bool {
        let quoted = self.text.joined(&self.words);
        is_bounded(self.text, &self.words) && self.other.text.contains(quoted)
    }

    /// Whether the words are signs alone that measure nothing, and if so, whether they rate something
    /// that the other text rates too.
    pub fn rating(&self) -> Option<bool> {
        let word = |i: &usize| self.text.word(*i);
        let are_signs = self.has_all(|token| token.kind == TokenKind::Symbol)
            && !self.rest.iter().any(|i| is_measure(word(i)));
        let rates = |i: &usize| lists().is_rating(word(i)) && self.is_known(word(i));
        are_signs.then(|| self.rest.iter().any(rates))
    }
}
