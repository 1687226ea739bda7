//! What words are by themselves and by those beside them: a date, a heading, a whole clause. `judge`,
//! `added` and `replaced` ask; each answer depends on the texts and the lists alone.

use crate::same::align::alike::is_syllable;
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{
    HEADING_SHARE, LEAD, MOST_REPEATED, MOST_SLID, NAME, NAMED_HEADING_SHARE,
};
use crate::same::lists::{Classes, lists};
use std::collections::HashSet;
use std::ops::Range;

/// What numerals of Chinese count, as far as it decides.
const UNITS: [char; 12] = [
    '年', '月', '日', '号', '时', '点', '分', '元', '万', '亿', '周', '岁',
];

/// From the first to the last of some words.
pub fn cover(words: &[usize]) -> Range<usize> {
    match words {
        [] => 0..0,
        [first, .., last] => *first..last + 1,
        [only] => *only..only + 1,
    }
}

/// Signs that say what a number counts.
pub fn is_measure(symbol: &str) -> bool {
    lists().is_currency(symbol)
        || matches!(symbol, "%" | "‰" | "°" | "^" | "<" | ">" | "≤" | "≥" | "±")
}

/// Whether one word consists of the first letters of others.
pub fn is_initials(short: &Tokens, of_short: &[usize], long: &Tokens, of_long: &[usize]) -> bool {
    let is_word =
        |text: &Tokens, words: &[usize]| words.iter().all(|i| text.at(*i).kind == TokenKind::Word);
    if of_long.len() < 2 || !is_word(short, of_short) || !is_word(long, of_long) {
        return false;
    }
    let letters = of_short.iter().flat_map(|i| short.word(*i).chars());
    letters.eq(of_long.iter().filter_map(|i| long.word(*i).chars().next()))
}

/// Whether two parts with a hyphen or a point between them are the begin and the end of a word: пр-т is
/// проспект, P.zza is Piazza.
pub fn is_contraction(
    (short, of_short): (&Tokens, &Range<usize>),
    (long, of_long): (&Tokens, &Range<usize>),
) -> bool {
    if of_short.len() != 2 || of_long.len() != 1 {
        return false;
    }
    let (begin, end, whole) = (of_short.start, of_short.end - 1, long.word(of_long.start));
    let inner = whole.strip_prefix(short.word(begin));
    (short.at(end).is_joined || short.at(begin).dot)
        && inner.is_some_and(|inner| {
            inner.len() > short.word(end).len() && inner.ends_with(short.word(end))
        })
}

/// Whether words of Korean, without spaces, are equal but for particles and polite endings.
pub fn are_without_particles(a: &str, b: &str) -> bool {
    const ENDINGS: [&str; 3] = ["습니다", "어요", "아요"];
    if !a.starts_with(is_syllable) || !b.starts_with(is_syllable) {
        return false;
    }
    let plain = |text: &str| {
        ENDINGS
            .iter()
            .fold(text.to_owned(), |text, end| text.replace(end, ""))
    };
    let (a, b) = (plain(a), plain(b));
    let lacks_particles = |long: &str, short: &str| {
        let mut rest = short.chars().peekable();
        let is_known = |c: char| rest.next_if_eq(&c).is_some() || "을를은는이가".contains(c);
        long.chars().all(is_known) && rest.next().is_none()
    };
    a.chars().nth(2).is_some() && (lacks_particles(&a, &b) || lacks_particles(&b, &a))
}

/// Whether words say when or how many. In a long text of Chinese a numeral needs a unit to be one.
pub fn is_date(text: &Tokens, rest: &[usize], needs_unit: bool) -> bool {
    let is_calendar = |i: &usize| text.classes(*i).has(Classes::CALENDAR);
    let has_numeral = || {
        rest.iter()
            .any(|i| text.word(*i).chars().all(|c| lists().is_numeral_han(c)))
    };
    let joined = text.joined(&cover(rest));
    rest.iter().any(is_calendar)
        || rest.len() < 7
            && has_numeral()
            && (!needs_unit || joined.contains(UNITS))
            && !lists().numerals_han_not.iter().any(|word| word == joined)
}

/// Whether words are those in front of them, or behind them, once or several times more.
pub fn is_doubled(text: &Tokens, words: &Range<usize>) -> bool {
    let repeats_in_front = |by: usize| {
        words
            .clone()
            .all(|i| i >= by && text.word(i - by) == text.word(i))
    };
    let repeats_behind = |by: usize| {
        let is_equal = |i: usize| i + by < text.len() && text.word(i + by) == text.word(i);
        words.clone().all(is_equal)
    };
    let lengths = || (1..words.len().min(MOST_SLID)).chain([words.len()]);
    lengths().any(repeats_in_front) || lengths().any(repeats_behind)
}

/// Whether words are whole sentences.
pub fn is_sentence(text: &Tokens, words: &Range<usize>) -> bool {
    let begins = words.start == 0 || text.at(words.start - 1).ends_sentence;
    begins && (words.end == text.len() || text.at(words.end - 1).ends_sentence)
}

/// Whether words are whole clauses.
pub fn is_bounded(text: &Tokens, words: &Range<usize>) -> bool {
    let begins = words.start == 0 || text.at(words.start - 1).ends_clause;
    begins && (words.end == text.len() || text.at(words.end - 1).ends_clause)
}

/// Whether words are a line, a sentence, what is in brackets, or a part between dashes, for themselves.
pub fn is_apart(text: &Tokens, words: &Range<usize>) -> bool {
    let ends = |i: usize| text.at(i).ends_sentence || text.at(i).ends_line || text.at(i).colon;
    let bracket = |i: usize| text.at(i).in_bracket;
    let Some(last) = words.end.checked_sub(1) else {
        return false;
    };
    let begins = words.start == 0 || ends(words.start - 1);
    let is_whole = begins && (words.end == text.len() || ends(last));
    let in_brackets = words.clone().all(bracket)
        && (words.start == 0 || !bracket(words.start - 1) || text.at(words.start - 1).ends_clause)
        && (words.end == text.len() || !bracket(words.end) || text.at(last).ends_clause);
    let is_edge = words.start == 0 && text.at(last).ends_clause && words.end < text.len()
        || words.end == text.len() && words.start > 0 && text.at(words.start - 1).ends_clause;
    is_whole || in_brackets || is_edge
}

/// The words that one text has beside the other's, moved to where they are whole clauses: of two equal
/// stretches in a row either may be the second one.
pub fn slid(text: &Tokens, words: &Range<usize>) -> Range<usize> {
    let mut back = words.clone();
    for _ in 0..=MOST_SLID {
        if is_bounded(text, &back) {
            return back;
        }
        if back.start == 0 || text.word(back.start - 1) != text.word(back.end - 1) {
            break;
        }
        back = back.start - 1..back.end - 1;
    }
    if back.start == 0 {
        return back;
    }
    let mut on = words.clone();
    for _ in 0..MOST_SLID {
        if on.end == text.len() || text.word(on.start) != text.word(on.end) {
            break;
        }
        on = on.start + 1..on.end + 1;
        if is_bounded(text, &on) {
            return on;
        }
    }
    words.clone()
}

/// Whether another text has most of these words, and all of the numbers: a heading.
pub fn repeats(text: &Tokens, words: &[usize], other: &Tokens) -> bool {
    if words.len() > MOST_SLID {
        return false;
    }
    let most = other.len().min(MOST_REPEATED);
    let others: HashSet<&str> = (0..most).map(|j| other.word(j)).collect();
    let is_repeated = |i: &usize| others.contains(text.word(*i));
    let (repeated, new): (Vec<usize>, Vec<usize>) = words.iter().partition(|i| is_repeated(i));
    let begin = lists().heading_parts.at_begin(text.joined(&cover(words)));
    let share = match begin {
        Some(_) => NAMED_HEADING_SHARE,
        None => HEADING_SHARE,
    };
    repeated.len() as f64 >= share * words.len() as f64
        && new.iter().all(|i| text.at(*i).kind != TokenKind::Number)
}

/// Whether words are in the date, with day, month and year, that ends a text.
pub fn is_closing_date(text: &Tokens, words: &Range<usize>) -> bool {
    let is_date = |i: &usize| {
        let word = text.word(*i);
        text.at(*i).kind == TokenKind::Number
            || matches!(word, "年" | "月" | "日" | "号")
            || lists().classes(word).has(Classes::CALENDAR)
    };
    let length = (0..text.len()).rev().take(6).take_while(is_date).count();
    let begin = text.len() - length;
    let parts = (begin..text.len()).filter(|i| text.at(*i).kind != TokenKind::Character);
    words.start >= begin && parts.count() == 3 && !text.at(text.len() - 1).ends_sentence
}

/// Whether words stand in a sentence that says what the text is about: this package contains ... Any
/// word more makes another thing there, as in the entries of a catalogue.
pub fn describes_itself(text: &Tokens, words: &Range<usize>) -> bool {
    let ends = |i: &usize| text.at(*i - 1).ends_sentence;
    let begin = (words.start.saturating_sub(MOST_SLID).max(1)..=words.start)
        .rev()
        .find(ends)
        .unwrap_or(words.start.saturating_sub(MOST_SLID));
    let is_itself = |begin: usize| {
        let lead = begin..(begin + LEAD).min(text.len());
        let length = lead
            .clone()
            .position(|i| text.at(i).ends_sentence)
            .map_or(lead.len(), |last| last + 1);
        let lead = begin..begin + length;
        if lead
            .clone()
            .any(|i| text.at(i).kind == TokenKind::Character)
        {
            return lists().item_parts.are_in(text.joined(&lead));
        }
        let has = |class| lead.clone().any(|i| text.classes(i).has(class));
        !lead.is_empty() && text.classes(begin).has(Classes::HOLDS)
            || has(Classes::ITEM) && (has(Classes::THIS) || has(Classes::HOLDS))
    };
    let has = |i: usize, class| i < text.len() && text.classes(i).has(class);
    let near = |i: usize| {
        has(i, Classes::ITEM) && (has(i + 1, Classes::HOLDS) || i > 0 && has(i - 1, Classes::THIS))
    };
    let in_front = words.start.saturating_sub(LEAD).max(begin)..words.start;
    let names_item =
        || (words.start..words.end.min(words.start + LEAD)).any(|i| has(i, Classes::ITEM));
    let is_whole = || is_sentence(text, words) || words.end == text.len() && words.len() >= NAME;
    let is_subject = || {
        // The name of the thing, with which the text begins.
        words.start > 0 && text.word(words.start) == text.word(0) && text.word(0).len() >= NAME
    };
    is_itself(begin)
        || is_itself(words.start)
        || in_front.into_iter().any(near)
        || is_whole() && (names_item() || is_subject())
}

/// Whether words name what a text is about: documentation for ...
pub fn is_item(text: &Tokens, words: &[usize]) -> bool {
    let has = |i: &usize| text.classes(*i).has(Classes::ITEM);
    words.iter().take(2).any(has) || words.last().is_some_and(has)
}

/// The numbers, outcomes, dates and conditions of a passage in alphabetical order, and its negations.
pub fn facts<'t>(text: &'t Tokens, words: &Range<usize>) -> Vec<&'t str> {
    const FACTS: Classes = Classes::OUTCOME.or(Classes::CALENDAR).or(Classes::MODIFIER);
    let is_fact = |i: &usize| {
        let classes = text.classes(*i);
        // A numeral of Han is part of many words; a unit says that it counts.
        let counts = || *i + 1 < text.len() && text.word(*i + 1).contains(UNITS);
        let is_character = text.at(*i).kind == TokenKind::Character;
        text.at(*i).kind == TokenKind::Number
            || classes.has(FACTS) && !(is_character && classes.has(Classes::NUMERAL) && !counts())
    };
    let negates = |i: &usize| text.classes(*i).has(Classes::NEGATION);
    let mut facts: Vec<&str> = words
        .clone()
        .filter(is_fact)
        .map(|i| text.word(i))
        .collect();
    facts.extend(words.clone().filter(negates).map(|_| "not"));
    let joined = text.joined(words);
    if words
        .clone()
        .any(|i| text.at(i).kind == TokenKind::Character)
    {
        facts.extend(lists().decisions.all(joined));
        facts.extend(lists().modifier_parts.all(joined));
        let negations = lists().negation_parts.count(joined, &lists().negation_not);
        facts.extend((0..negations).map(|_| "not"));
    }
    facts.sort_unstable();
    facts
}

/// Whether words set a condition.
pub fn is_condition(text: &Tokens, words: &[usize]) -> bool {
    words
        .iter()
        .any(|i| text.classes(*i).has(Classes::CONDITION))
}
