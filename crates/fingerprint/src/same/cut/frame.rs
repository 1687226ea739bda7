//! What carries a text and is not of it: the salutation, the closing with the signature behind it, the end
//! that a preview cuts off. [`crate::same`] marks the words of each text before it compares them; what differs
//! in marked words decides only where it names two people.

use super::tokens::{TokenKind, Tokens};
use crate::same::judge::finding::{Finding, Kind, finding};
use crate::same::limits::{
    LEAST_CUT, MOST_OF_CLOSING, MOST_OF_SALUTATION, MOST_OF_THANKS, WORDS_OF_SIGNATURE,
    WORDS_OF_WEAK_CLOSING,
};
use crate::same::lists::{Classes, lists};
use std::ops::Range;

/// The words between the salutation and the signature, of a text that has one of both.
pub fn inner(text: &Tokens) -> Option<Range<usize>> {
    let has = |i: usize, class| text.classes(i).has(class);
    let end = courtesies(text, salutation(text, &has));
    let begin = signature(text, &has, end);
    let length = text.len();
    // A text that is nothing else is what it says.
    let is_all = end + (length - begin) >= length;
    (!is_all && (end > 0 || begin < length)).then_some(end..begin)
}

/// Marks the words around the inner ones.
pub fn mark(text: &mut Tokens, inner: Range<usize>) {
    let (front, behind) = text.tokens.split_at_mut(inner.start);
    let behind = &mut behind[inner.len()..];
    let around = front.iter_mut().chain(behind);
    around.for_each(|token| token.in_frame = true);
}

/// Where the salutation ends.
fn salutation(text: &Tokens, has: &dyn Fn(usize, Classes) -> bool) -> usize {
    let most = text.len().min(MOST_OF_SALUTATION);
    let greets = |i: usize| {
        has(i, Classes::GREETING) && !has(i, Classes::CLOSING)
            || text.at(i).kind == TokenKind::Character
                && lists()
                    .greeting_parts
                    .at_begin(text.joined(&(i..text.len().min(i + 4))))
                    .is_some()
    };
    let ends = |i: usize| text.at(i).ends_clause || text.at(i).ends_line;
    let by_characters = |i: usize| text.at(i).kind == TokenKind::Character;
    let Some(last) = (0..most).find(|i| ends(*i)) else {
        return 0;
    };
    if !(0..=last.min(if by_characters(0) { last } else { 1 })).any(greets) {
        return 0;
    }
    // Good morning is a greeting, good quality is none.
    let is_wish = |i: usize| lists().classes(text.word(i)).has(Classes::DAY_PART);
    if has(0, Classes::WISH) && last > 0 && !is_wish(1) && !greets(1) {
        return 0;
    }
    // The name on the next line, or in front of a colon: Hola, Marta:
    let name = (last + 1..(last + 4).min(text.len())).find(|i| ends(*i));
    match name {
        Some(name)
            if !by_characters(name)
                && (text.at(name).colon || text.at(name).ends_line && name == last + 1)
                && !text.at(last).colon
                && !text.at(last).ends_line =>
        {
            name + 1
        }
        _ => {
            // Madame, Monsieur,
            let greets = |i: &usize| {
                has(*i, Classes::GREETING.or(Classes::GENERIC)) && !has(*i, Classes::CLOSING)
            };
            let end = (last + 1..most)
                .take_while(|i| greets(i) && ends(*i))
                .count();
            last + 1 + end
        }
    }
}

/// Where clauses end that are forms of courtesy alone, behind a place of a text without spaces.
fn courtesies(text: &Tokens, from: usize) -> usize {
    // With the name of whom it addresses: 王局长.
    let is_courtesy = |clause: &str| {
        let behind_name = clause
            .chars()
            .next()
            .filter(|first| lists().is_surname(*first));
        lists().is_courtesy(clause)
            || behind_name.is_some_and(|name| lists().is_courtesy(&clause[name.len_utf8()..]))
    };
    let mut end = from;
    while end < text.len() && text.at(end).kind == TokenKind::Character {
        let clause = (end..text.len())
            .take(MOST_OF_THANKS)
            .find(|i| text.at(*i).ends_clause);
        match clause {
            Some(last) if is_courtesy(text.joined(&(end..last + 1))) => end = last + 1,
            _ => break,
        }
    }
    end
}

/// Where clauses of thanks and greetings begin that end a text without spaces.
fn thanks(text: &Tokens, from: usize) -> usize {
    let mut begin = text.len();
    while begin > from && text.at(begin - 1).kind == TokenKind::Character {
        let front = (from..begin - 1)
            .rev()
            .take(MOST_OF_THANKS)
            .find(|i| text.at(*i).ends_clause);
        match front {
            Some(last)
                if lists()
                    .greeting_parts
                    .are_in(text.joined(&(last + 1..begin))) =>
            {
                begin = last + 1
            }
            _ => break,
        }
    }
    begin
}

/// Where the closing begins, or the text ends.
fn signature(text: &Tokens, has: &dyn Fn(usize, Classes) -> bool, from: usize) -> usize {
    let first = text.len().saturating_sub(WORDS_OF_SIGNATURE).max(from);
    let begins = |i: usize| i > 0 && (text.at(i - 1).ends_clause || text.at(i - 1).ends_line);
    let ends = |i: usize| i + 1 == text.len() || text.at(i).ends_clause || text.at(i).ends_line;
    let is_closing = |i: &usize| {
        let line = (*i..text.len()).take(MOST_OF_CLOSING).position(ends);
        let Some(line) = line.map(|last| *i..*i + last + 1) else {
            return false;
        };
        let is_weak = |i: usize| has(i, Classes::CLOSING) && has(i, Classes::WEAK);
        let closes = line
            .clone()
            .any(|i| has(i, Classes::CLOSING) && !is_weak(i))
            || is_weak(line.start) && line.len() <= WORDS_OF_WEAK_CLOSING;
        let around = Classes::CLOSING
            .or(Classes::GREETING)
            .or(Classes::LIGHT)
            .or(Classes::FUNCTION)
            .or(Classes::CONJUNCTION);
        // In whatever language.
        let is_around = |i: usize| {
            text.at(i)
                .entry
                .is_some_and(|entry| entry.classes.has(around))
        };
        closes
            && line
                .clone()
                .all(|i| is_around(i) || text.at(i).kind == TokenKind::Word && i > line.start)
            && is_around(line.start)
            && !has(line.start, Classes::NEGATION)
    };
    let closing = (first..text.len()).filter(|i| begins(*i)).find(is_closing);
    closing.unwrap_or_else(|| thanks(text, from))
}

/// Whether one of two texts is the begin of the other, cut off where it says so: the difference that it makes.
pub fn cut_off(written: [&str; 2], words: [&Tokens; 2]) -> Option<Finding> {
    let [in_a, in_b] = written.map(says_that_it_is_cut);
    let ends = |words: &Tokens| words.len()..words.len();
    let (a, b) = match (in_a, in_b) {
        (Some(more), None) => {
            let rest = rest_behind(words[0], words[1], more)?;
            (ends(words[0]), rest..words[1].len())
        }
        (None, Some(more)) => {
            let rest = rest_behind(words[1], words[0], more)?;
            (rest..words[0].len(), ends(words[1]))
        }
        _ => return None,
    };
    Some(finding(Kind::CutOff, a, b, false))
}

/// Whether one of two texts says that its end is cut off.
pub fn is_cut_off(written: [&str; 2]) -> bool {
    written
        .into_iter()
        .any(|text| says_that_it_is_cut(text).is_some())
}

/// Bytes of the longest of them, with what stands in front.
const MOST_OF_MORE: usize = 48;

/// The bytes of "read more" at the end of a text that is cut off.
fn says_that_it_is_cut(text: &str) -> Option<usize> {
    let text = text.trim_end();
    const MORE: &str = "read more|more|continue reading|show more|see more|mehr|weiterlesen|mehr lesen|\
        lire la suite|leer más|seguir leyendo|leia mais|ler mais|leggi tutto|continua|lees meer|читать далее|\
        ещё|czytaj więcej|devamını oku|阅读全文|続きを読む";
    if let Some(inner) = text.strip_suffix([']', ')', '】', '）']) {
        let begin = inner.rfind(['[', '(', '【', '（'])?;
        let open = inner[begin..].chars().next()?;
        let inside = inner[begin + open.len_utf8()..]
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        let is_more = inside.is_empty() && inner.ends_with(['.', '…'])
            || MORE.split('|').any(|more| more == inside);
        return is_more.then(|| inside.split_whitespace().count());
    }
    let is_cut = |text: &str| text.ends_with('…') || text.ends_with("...");
    let last = &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_OF_MORE))..];
    if is_cut(text) || !(last.contains('…') || last.contains("...")) {
        return is_cut(text).then_some(0);
    }
    let last = last.to_lowercase();
    let more = MORE.split('|').filter(|more| {
        let front = last.strip_suffix(*more);
        front.is_some_and(|front| is_cut(front.trim_end()))
    });
    more.map(|more| more.split_whitespace().count()).max()
}

/// Where the second text goes on, of which the first is the begin. `more` words say that it is cut.
fn rest_behind(cut: &Tokens, whole: &Tokens, more: usize) -> Option<usize> {
    let by_characters = cut.len() > 0 && cut.at(0).kind == TokenKind::Character;
    let more = if by_characters && more > 0 { 4 } else { more };
    let length = cut.len().checked_sub(more)?;
    let last = length.checked_sub(1)?;
    let is_begin = length >= LEAST_CUT
        && whole.len() >= length
        && (0..last).all(|i| cut.word(i) == whole.word(i))
        && whole.word(last).starts_with(cut.word(last));
    is_begin.then_some(last)
}
