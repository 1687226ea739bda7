//! What decides between equal words by how they are written: accents, as of papá and papa, pêcheur and pécheur,
//! and the sign of a question. [`crate::same`] asks where nothing else decides between two texts. A text
//! without accents or signs says the same, so that only one that has them is another one.

use crate::same::align::Hunk;
use crate::same::cut::bytes::has_any;
use crate::same::cut::form::fold;
use crate::same::cut::tokens::{Asks, Tokens};
use crate::same::lists::{Classes, lists};
use std::collections::HashMap;
use std::sync::OnceLock;
use unicode_normalization::UnicodeNormalization;

/// The line of the list for each of its words.
fn lines() -> &'static HashMap<&'static str, usize> {
    const LIST: &str = include_str!("../../text/lists/same/accents.txt");
    static LINES: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = LIST.lines().enumerate();
        lines
            .flat_map(|(n, line)| line.split(' ').map(move |word| (word, n)))
            .collect()
    })
}

/// Whether a text may have letters of Latin scripts with accents.
fn has_accents(text: &str) -> bool {
    has_any(text, 0xc3..=0xcc)
}

/// Whether two texts have words that are others by their accents.
pub fn accents_decide(a: &str, b: &str) -> bool {
    if !has_accents(a) && !has_accents(b) {
        return false;
    }
    let listed = |text: &str| -> Vec<(usize, String)> {
        let text: String = text.to_lowercase().nfc().collect();
        let words = text.split(|c: char| !c.is_alphabetic());
        words
            .filter_map(|word| Some((*lines().get(word)?, word.to_owned())))
            .collect()
    };
    let (of_a, of_b) = (listed(a), listed(b));
    let others = || of_a.iter().zip(&of_b).filter(|(x, y)| x.1 != y.1);
    // A word without its accent in a text that has no accent at all is the same word. Nobody leaves out the
    // points of ä, ö and ü.
    let is_written = |word: &str, text: &str| !word.is_ascii() || has_accents(text);
    let has_points = |word: &str| word.contains(['ä', 'ö', 'ü']);
    of_a.iter()
        .map(|word| word.0)
        .eq(of_b.iter().map(|word| word.0))
        && others().any(|(x, y)| {
            is_written(&x.1, a) && is_written(&y.1, b) || has_points(&x.1) || has_points(&y.1)
        })
        && others().all(|(x, y)| fold(&x.1) == fold(&y.1))
}

/// The word with which one text asks what the other says: both end a sentence with it, one with a question mark,
/// the other with another sign and without a word that asks.
pub fn asks_alone(a: &Tokens, b: &Tokens, hunks: &[Hunk]) -> Option<[usize; 2]> {
    if a.marks.questions + b.marks.questions == 0 {
        return None;
    }
    let asks = |&(i, j): &(usize, usize)| match (a.at(i).asks, b.at(j).asks) {
        (Asks::Yes, Asks::No) => says(b, j),
        (Asks::No, Asks::Yes) => says(a, i),
        _ => false,
    };
    // In another order of words the last one may be another.
    let last = (a.len() - 1, b.len() - 1);
    if a.marks.sentences == b.marks.sentences && asks(&last) {
        return Some([last.0, last.1]);
    }
    let ends = [Hunk::new(a.len()..a.len(), b.len()..b.len())];
    let (mut i, mut j) = (0, 0);
    for hunk in hunks.iter().chain(&ends) {
        let mut equal = (i..hunk.a.start).zip(j..hunk.b.start);
        if let Some((i, j)) = equal.find(asks) {
            return Some([i, j]);
        }
        (i, j) = (hunk.a.end, hunk.b.end);
    }
    None
}

/// Whether the sentence that ends with a word says something: it has a sign at its end, and no word that asks. A
/// light word asks only where it begins the sentence: is it open.
fn says(text: &Tokens, last: usize) -> bool {
    if !text.at(last).ends_sentence {
        return false;
    }
    let begin = (0..last).rev().find(|i| text.at(*i).ends_sentence);
    let sentence = begin.map_or(0, |end| end + 1)..last + 1;
    let asks = |i: usize| {
        let classes = text.classes(i);
        classes.has(Classes::ASKS) && (i == sentence.start || !classes.has(Classes::LIGHT))
    };
    !sentence.clone().any(asks) && !lists().asking_parts.are_in(text.joined(&sentence))
}
