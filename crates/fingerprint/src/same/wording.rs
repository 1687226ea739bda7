//! Phrases that say the same in other words, in one form: "how can I" and "how do I", `u` and "you",
//! 出来ます and できます, polite particles of Thai. [`super`] calls it for each text behind the cutter.
//! The phrases are data; each place of the text costs one look at the entry of its word.

use super::characters::is_kana;
use super::fold::fold;
use super::letters::{is_character, is_letter};
use super::lists::{Classes, lists};
use super::tokens::{TokenKind, Tokens};
use std::collections::HashMap;
use std::sync::OnceLock;

/// A word and its kind.
type Part = (String, TokenKind);

/// Phrases by their first words, with the line of each.
struct Wordings {
    by_first: HashMap<String, Vec<(Vec<String>, usize)>>,
    /// The form of each line, which may be empty.
    forms: Vec<Vec<Part>>,
    /// Whether each form is kana, which stands for characters of Han in Japanese alone.
    are_kana: Vec<bool>,
}

impl Wordings {
    /// Reads lines of phrases between bars; the first one of a line is the form of all.
    fn new(list: &str) -> Self {
        let mut by_first: HashMap<String, Vec<(Vec<String>, usize)>> = HashMap::new();
        let (mut forms, mut are_kana) = (Vec::new(), Vec::new());
        for (line, phrases) in list.lines().enumerate() {
            for (n, phrase) in phrases.split('|').enumerate() {
                let parts = parts(phrase);
                if n == 0 {
                    are_kana.push(phrase.trim().starts_with(is_kana));
                    forms.push(parts);
                } else if let Some(((first, _), rest)) = parts.split_first() {
                    let rest = rest.iter().map(|(word, _)| word.clone()).collect();
                    by_first
                        .entry(first.clone())
                        .or_default()
                        .push((rest, line));
                }
            }
        }
        // The longest phrase first.
        for phrases in by_first.values_mut() {
            phrases.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        Self {
            by_first,
            forms,
            are_kana,
        }
    }

    /// The length of the phrase that begins at a word of a text, and its form.
    fn at(&self, text: &Tokens, i: usize, has_kana: bool) -> Option<(usize, &[Part])> {
        let phrases = self.by_first.get(text.word(i))?;
        let is_here = |rest: &Vec<String>| {
            i + rest.len() < text.len()
                && rest
                    .iter()
                    .enumerate()
                    .all(|(n, word)| text.word(i + 1 + n) == word && !text.at(i + n).ends_clause)
        };
        let (rest, line) = phrases
            .iter()
            .find(|(rest, line)| (has_kana || !self.are_kana[*line]) && is_here(rest))?;
        Some((1 + rest.len(), &self.forms[*line]))
    }
}

const LIST: &str = include_str!("../text/lists/same/wordings.txt");

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
        Some(match is_character(first) {
            true => first.to_string(),
            false => folded
                .chars()
                .take_while(|c| is_part(*c))
                .filter(|c| *c != '\'')
                .collect(),
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

/// The text with one form for each of the phrases.
pub fn in_one_form(text: Tokens) -> Tokens {
    let begins = |i: usize| lists().classes(text.word(i)).has(Classes::BEGINS_PHRASE);
    let Some(first) = (0..text.len()).find(|i| begins(*i)) else {
        return text;
    };
    let wordings = wordings();
    let has_kana = text.text.contains(is_kana);
    let mut changed = Tokens {
        marks: text.marks,
        ..Tokens::default()
    };
    let mut i = 0;
    while i < text.len() {
        let found = if i >= first && begins(i) {
            wordings.at(&text, i, has_kana)
        } else {
            None
        };
        let Some((length, form)) = found else {
            changed.push(text.word(i), *text.at(i));
            i += 1;
            continue;
        };
        let (begin, end) = (*text.at(i), *text.at(i + length - 1));
        for (n, (word, kind)) in form.iter().enumerate() {
            let mut token = begin;
            token.kind = *kind;
            (token.dot, token.is_joined) = (false, n == 0 && begin.is_joined);
            (token.ends_sentence, token.ends_clause, token.ends_line) = (false, false, false);
            changed.push(word, token);
        }
        if let Some(last) = changed.tokens.last_mut() {
            last.ends_sentence |= end.ends_sentence;
            last.ends_clause |= end.ends_clause;
            last.ends_line |= end.ends_line;
        }
        i += length;
    }
    changed
}
