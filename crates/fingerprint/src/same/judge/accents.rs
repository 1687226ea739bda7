//! Words that an accent alone makes others: papá and papa, pêcheur and pécheur. [`crate::same`] asks where
//! nothing else decides between two texts. A text without accents says the same, so one that is missing
//! decides only in a text that has others.

use crate::same::cut::bytes::has_any;
use crate::same::cut::form::fold;
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
pub fn decide(a: &str, b: &str) -> bool {
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
