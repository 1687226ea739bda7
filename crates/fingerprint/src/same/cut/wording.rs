//! Phrases: those that say the same in other words, in one form, as "how can I" and "how do I", `u` and
//! "you", 出来ます and できます; and those of the lists, which are looked for in a text all at once. [`crate::same`]
//! brings each text that is cut into one form. The phrases are data; each place of the text costs one look
//! at the entry of its word, or one search in the sorted phrases.

use super::form::fold;
use super::tokens::{TokenKind, Tokens};
use super::{is_character, is_elided, is_letter};
use crate::error::Error;
use crate::same::align::characters::is_kana;
use crate::same::lists::{Languages, lists};
use std::cell::LazyCell;
use std::ops::Range;
use std::sync::OnceLock;

/// Words between two pauses.
const CHECKED_EVERY: usize = 4096;

/// A word and its kind.
type Part = (String, TokenKind);

/// The other words of phrases and their lines, by the number that the lists have of the first word.
type ByFirst = Vec<Vec<(Vec<String>, usize)>>;

/// Phrases by their first words, with the line of each.
struct Wordings {
    by_first: ByFirst,
    /// The form of each line, which may be empty.
    forms: Vec<Vec<Part>>,
    /// Whether each form is kana, which stands for characters of Han in Japanese alone.
    are_kana: Vec<bool>,
    /// The languages that each line is of; none for all.
    languages: Vec<Languages>,
}

impl Wordings {
    /// Reads lines of phrases between bars; the first one of a line is the form of all.
    fn new(list: &str) -> Self {
        let mut by_first = ByFirst::default();
        let (mut forms, mut are_kana) = (Vec::new(), Vec::new());
        let mut languages = Vec::new();
        for (line, phrases) in list.lines().enumerate() {
            let (of_line, phrases) = Languages::of_line(phrases);
            languages.push(of_line);
            for (n, phrase) in phrases.split('|').enumerate() {
                let parts = parts(phrase);
                if n == 0 {
                    are_kana.push(phrase.trim().starts_with(is_kana));
                    forms.push(parts);
                } else if let Some(((first, _), rest)) = parts.split_first()
                    && let Some(number) = lists().entry(first).and_then(|entry| entry.phrases)
                {
                    let rest = rest.iter().map(|(word, _)| word.clone()).collect();
                    let number = usize::from(number);
                    by_first.resize_with(by_first.len().max(number + 1), Vec::new);
                    by_first[number].push((rest, line));
                }
            }
        }
        // The longest phrase first.
        for phrases in &mut by_first {
            phrases.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        Self {
            by_first,
            forms,
            are_kana,
            languages,
        }
    }

    /// The length of the phrase that begins at a word of a text, and its form.
    fn at(
        &self,
        text: &Tokens,
        i: usize,
        has_kana: &LazyCell<bool, impl FnOnce() -> bool>,
    ) -> Option<(usize, &[Part])> {
        let number = text.at(i).entry?.phrases?;
        let phrases = self.by_first.get(usize::from(number))?;
        let is_here = |rest: &Vec<String>| {
            i + rest.len() < text.len()
                && rest
                    .iter()
                    .enumerate()
                    .all(|(n, word)| text.word(i + 1 + n) == word && !text.at(i + n).ends_clause)
        };
        let may_be = |line: usize| {
            let of_line = self.languages[line];
            (!self.are_kana[line] || **has_kana)
                && (of_line == Languages::default()
                    || text.languages == Languages::default()
                    || of_line.meet(text.languages))
        };
        let (rest, line) = phrases
            .iter()
            .find(|(rest, line)| is_here(rest) && may_be(*line))?;
        // A part of a name, as the last letter of KOI8-R, stands for no word.
        let is_part = text.at(i).is_joined || i + 1 < text.len() && text.at(i + 1).is_joined;
        // One of initials, as the first letter of U.S., does neither.
        let is_initial = |i: usize| text.at(i).dot && text.word(i).len() == 1;
        let is_of_initials = is_initial(i) && i + 1 < text.len() && text.word(i + 1).len() == 1
            || i > 0 && is_initial(i - 1) && text.word(i).len() == 1;
        let is_word = text.at(i).kind == TokenKind::Word;
        // An abbreviation of a language that is not known stands for none either.
        let is_short = text.at(i).dot
            && text.languages == Languages::default()
            && self.languages[*line] != Languages::default();
        if rest.is_empty() && is_word && (is_part || is_of_initials || is_short) {
            return None;
        }
        Some((1 + rest.len(), &self.forms[*line]))
    }
}

const LIST: &str = include_str!("../../text/lists/same/wordings.txt");

/// The phrases, read at the first use.
fn wordings() -> &'static Wordings {
    static WORDINGS: OnceLock<Wordings> = OnceLock::new();
    WORDINGS.get_or_init(|| Wordings::new(LIST))
}

/// The words with which phrases begin, by their letters alone: the lists are made of them, so that they
/// cannot be asked.
pub fn firsts() -> impl Iterator<Item = String> {
    let phrases = LIST.lines().flat_map(|line| line.split('|').skip(1));
    phrases.filter_map(|phrase| {
        let folded = fold(phrase.trim());
        let first = folded.chars().next()?;
        let is_part = |c: char| is_letter(c) && !is_character(c) || c == '\'';
        Some(match first {
            _ if is_character(first) => first.to_string(),
            '0'..='9' => folded.chars().take_while(char::is_ascii_digit).collect(),
            _ => {
                let word: String = folded.chars().take_while(|c| is_part(*c)).collect();
                match word.split_once('\'') {
                    Some((elided, _)) if is_elided(elided) => elided.to_owned(),
                    _ => word.replace('\'', ""),
                }
            }
        })
    })
}

/// The words of a phrase, as the cutter makes them.
fn parts(phrase: &str) -> Vec<Part> {
    let folded = fold(phrase.trim());
    let cut = Tokens::cut(&folded, &mut || {})
        .ok()
        .flatten()
        .unwrap_or_default();
    (0..cut.len())
        .map(|i| (cut.word(i).to_owned(), cut.at(i).kind))
        .collect()
}

/// The text with one form for each of its phrases; None if it has none.
pub fn in_one_form(
    old: &Tokens,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Option<Tokens>, Error> {
    let found = phrases(old, check_interrupts)?;
    if found.is_empty() {
        return Ok(None);
    }
    let longer = |words: &Range<usize>, form: &[Part]| form.len().saturating_sub(words.len());
    let more = found.iter().map(|(words, form)| longer(words, form)).sum();
    let mut text = old.to_fill(more)?;
    let mut kept = 0;
    for (words, form) in found {
        text.push_all(old, kept..words.start);
        let (begin, end) = (*old.at(words.start), *old.at(words.end - 1));
        for (n, (word, kind)) in form.iter().enumerate() {
            let mut token = begin;
            token.kind = *kind;
            (token.dot, token.is_joined) = (false, n == 0 && begin.is_joined);
            (token.ends_sentence, token.ends_clause, token.ends_line) = (false, false, false);
            text.push_other(word, token);
        }
        if let Some(last) = text.tokens.last_mut() {
            last.ends_sentence |= end.ends_sentence;
            last.ends_clause |= end.ends_clause;
            last.ends_line |= end.ends_line;
        }
        kept = words.end;
    }
    text.push_all(old, kept..old.len());
    Ok(Some(text))
}

/// Words of a text that are a phrase, and its form.
type Phrase = (Range<usize>, &'static [Part]);

/// The phrases of a text that have another form, in order.
fn phrases(text: &Tokens, check_interrupts: &mut dyn FnMut()) -> Result<Vec<Phrase>, Error> {
    let (wordings, mut found) = (wordings(), Vec::new());
    let has_kana = LazyCell::new(|| text.text.contains(is_kana));
    let (mut i, mut next_pause) = (0, CHECKED_EVERY);
    while i < text.len() {
        if i >= next_pause {
            next_pause = i + CHECKED_EVERY;
            check_interrupts();
        }
        match wordings.at(text, i, &has_kana) {
            Some((length, form)) => {
                found.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                found.push((i..i + length, form));
                i += length;
            }
            None => i += 1,
        }
    }
    Ok(found)
}

/// Sorted phrases, in folded form.
pub struct Phrases {
    phrases: Vec<String>,
    /// The longest other phrase with which each one begins.
    parents: Vec<Option<u16>>,
    /// A bit for each of their begins, which says of most others that no phrase has them.
    begins: [u64; BEGINS / u64::BITS as usize],
}

const BEGINS: usize = 4096;

/// A number below `BEGINS` of the first three bytes of a text.
fn begin(text: &[u8]) -> usize {
    let byte = |at: usize| usize::from(text.get(at).copied().unwrap_or_default());
    (byte(0) * 961 + byte(1) * 31 + byte(2)) % BEGINS
}

impl Phrases {
    pub fn new(list: &str) -> Self {
        let mut phrases: Vec<String> = list
            .split_whitespace()
            .map(|phrase| fold(phrase).replace('\'', ""))
            .collect();
        phrases.sort_unstable();
        phrases.dedup();
        let mut begins = [0; _];
        let mut add = |begin: usize| begins[begin / 64] |= 1 << (begin % 64);
        for phrase in &phrases {
            match phrase.as_bytes() {
                [] => (),
                [first] => (0..=u16::MAX).for_each(|rest| {
                    let [second, third] = rest.to_le_bytes();
                    add(begin(&[*first, second, third]));
                }),
                [first, second] => {
                    (0..=u8::MAX).for_each(|third| add(begin(&[*first, *second, third])));
                }
                bytes => add(begin(bytes)),
            }
        }
        let mut parents: Vec<Option<u16>> = Vec::new();
        for (n, phrase) in phrases.iter().enumerate() {
            let mut parent = n.checked_sub(1).map(|last| last as u16);
            while let Some(n) = parent
                && !phrase.starts_with(&phrases[usize::from(n)])
            {
                parent = parents[usize::from(n)];
            }
            parents.push(parent);
        }
        Self {
            phrases,
            parents,
            begins,
        }
    }

    /// The bytes of the longest phrase with which a text begins. It stands in front of the text among the
    /// sorted phrases, and all between both begin with it.
    pub fn at_begin(&self, text: &str) -> Option<usize> {
        let begin = begin(text.as_bytes());
        if self.begins[begin / 64] >> (begin % 64) & 1 == 0 {
            return None;
        }
        let behind = self
            .phrases
            .partition_point(|phrase| phrase.as_str() <= text);
        let mut found = behind.checked_sub(1);
        while let Some(n) = found
            && !text.starts_with(&self.phrases[n])
        {
            found = self.parents[n].map(usize::from);
        }
        found.map(|n| self.phrases[n].len())
    }

    /// Whether a text has one of them.
    pub fn are_in(&self, text: &str) -> bool {
        text.char_indices()
            .any(|(at, _)| self.at_begin(&text[at..]).is_some())
    }

    /// All that are in a text, from its begin on.
    pub fn all<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let (mut all, mut rest) = (Vec::new(), text);
        while let Some(c) = rest.chars().next() {
            let length = self.at_begin(rest);
            all.extend(length.map(|length| &rest[..length]));
            rest = &rest[length.unwrap_or(c.len_utf8())..];
        }
        all
    }

    /// How many characters are left of a text without them; None when it has none.
    pub fn left(&self, text: &str) -> Option<usize> {
        let (mut left, mut has, mut rest) = (0, false, text);
        while let Some(c) = rest.chars().next() {
            let length = self.at_begin(rest);
            has |= length.is_some();
            left += usize::from(length.is_none());
            rest = &rest[length.unwrap_or(c.len_utf8())..];
        }
        has.then_some(left)
    }

    /// How many there are that are in no phrase of `but`.
    pub fn count(&self, text: &str, but: &Phrases) -> usize {
        let (mut count, mut rest) = (0, text);
        while let Some(c) = rest.chars().next() {
            let length = match but.at_begin(rest) {
                None => {
                    let found = self.at_begin(rest);
                    count += usize::from(found.is_some());
                    found
                }
                other => other,
            };
            rest = &rest[length.unwrap_or(c.len_utf8())..];
        }
        count
    }
}

#[cfg(test)]
mod phrases_tests {
    use super::*;

    #[test]
    fn phrases_at_all_places() {
        let (negations, others) = (Phrases::new("不 没 取消"), Phrases::new("不错 不过"));
        assert_eq!(negations.count("不错但是不行，取消", &others), 2);
        assert_eq!(negations.count("不过", &others), 0);
        assert!(negations.are_in("已取消") && !negations.are_in("已取"));
        let titles = Phrases::new("书记 市委书记");
        assert_eq!(titles.left("周市委书记"), Some(1));
        assert_eq!(titles.left("周"), None);
        assert_eq!(titles.at_begin("书记好"), Some("书记".len()));
    }
}
