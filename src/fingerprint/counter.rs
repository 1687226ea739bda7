//! From a text to its features: which words it has, and which of them are left out.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use super::error::Error;
use super::hash::{Hashed, city64};
use super::options::plan::ColumnPlan;
use super::options::presets::{Input, Rules};
use super::text::normal;
use super::text::words;

/// Calls `term` with each distinct word of a text that the plan's rules do not leave out.
pub fn for_each_term(
    plan: &ColumnPlan,
    text: &str,
    pause: &mut dyn FnMut(),
    term: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let Input::Words(rules) = &plan.input else {
        return Ok(());
    };
    let mut seen: HashSet<u64, BuildHasherDefault<Hashed>> = HashSet::default();
    let (mut buffer, mut done) = (String::new(), Ok(()));
    normal::for_each_chunk(text, &mut buffer, pause, &mut |chunk| {
        words::for_each_word(chunk, rules.dictionary.as_deref(), false, &mut |word, _| {
            if seen.try_reserve(1).is_err() {
                done = Err(Error::OutOfMemory);
            } else if !rules.skips(word) && seen.insert(city64(word.as_bytes())) {
                term(word);
            }
        });
    });
    done
}

impl Rules {
    /// Is this word left out?
    pub fn skips(&self, word: &str) -> bool {
        (self.drop_runs && is_run(word))
            // Many cue words are stop words too.
            || (self.stop_words.contains(word) && !self.terms.cue_words.contains(word))
    }
}

/// Three or more characters, all the same.
pub fn is_run(feature: &str) -> bool {
    let one = feature.chars().next().map_or(1, char::len_utf8);
    let bytes = feature.as_bytes();
    // Most features are out with the second character.
    bytes.len() >= 3 * one && bytes[one] == bytes[0] && bytes[one..] == bytes[..bytes.len() - one]
}
