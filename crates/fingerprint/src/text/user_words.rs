//! A user dictionary: words that stay whole, found before the text is cut.
//!
//! They are looked up beside jieba's dictionary rather than in a copy of it, which would cost about
//! 30 MB and 0.2 s in every call site. The time is linear in the text, with the length
//! of the longest word and the logarithm of their number as factors at most.

use std::ops::Range;

use cityhasher::HashMap;

use super::part_of_speech::PartOfSpeech;
use super::scripts::is_han;
use super::word_list::{GatheredWords, WordList};
use crate::error::Error;

/// The words, and where those with the same first character are.
#[derive(Debug, PartialEq)]
pub struct UserWords {
    list: WordList<PartOfSpeech>,
    by_first: HashMap<char, Range<usize>>,
}

/// A word that was found, as a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundWord {
    /// Where it begins, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// As the list says; a noun where it says nothing.
    pub part_of_speech: PartOfSpeech,
}

impl UserWords {
    /// Makes a dictionary of words and their parts of speech. `check_interrupts` is called often.
    pub fn new<'w>(
        words: impl IntoIterator<Item = (&'w str, PartOfSpeech)>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let mut gathered = GatheredWords::default();
        for (word, part_of_speech) in words {
            check_interrupts();
            if is_line_of_file(word) {
                return Err(Error::LineOfDictionary {
                    line: word.to_owned(),
                });
            }
            gathered.add(word, part_of_speech)?;
        }
        let list = gathered.sorted(check_interrupts);
        let mut by_first: HashMap<char, Range<usize>> = HashMap::default();
        for (place, (word, _)) in list.iter().enumerate() {
            check_interrupts();
            if let Some(first) = word.chars().next() {
                by_first.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                by_first.entry(first).or_insert(place..place).end = place + 1;
            }
        }
        Ok(Self { list, by_first })
    }

    /// The first word of the dictionary in `text`, the longest of those that start there. A word
    /// may not begin or end inside of a word of letters and digits, unless that is Han.
    pub fn find(&self, text: &str) -> Option<FoundWord> {
        let mut before = None;
        text.char_indices().find_map(|(at, first)| {
            let words = self.by_first.get(&first);
            let found = match joined(before, Some(first)) {
                true => None,
                false => words.and_then(|words| self.longest(words, first, &text[at..])),
            };
            before = Some(first);
            found.map(|(length, part_of_speech)| FoundWord {
                from: at,
                to: at + length,
                part_of_speech,
            })
        })
    }

    /// The longest of some words, all with the first character of `text`, with which it starts.
    fn longest(
        &self,
        words: &Range<usize>,
        first: char,
        text: &str,
    ) -> Option<(usize, PartOfSpeech)> {
        let mut longest = None;
        let mut found = |word: &str, part_of_speech| {
            if !joined(word.chars().last(), text[word.len()..].chars().next()) {
                longest = Some((word.len(), part_of_speech));
            }
        };
        (self.list).prefixes(words.clone(), first.len_utf8(), text, &mut found);
        longest
    }
}

/// Whether a word is a line of a dictionary file instead, which would never be found in a text: a
/// comment, a line with a tab, or a word with its frequency and part of speech as jieba has them.
pub fn is_line_of_file(word: &str) -> bool {
    let has_tab = word.contains('\t');
    let word = word.trim_start_matches('\u{feff}').trim();
    let parts: Vec<&str> = word.split_whitespace().take(4).collect();
    let is_frequency = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_tag = |part: &str| part.len() < 4 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let by_jieba = match parts[..] {
        // Names of other scripts have numbers too: Boeing 737 max.
        [word, frequency, tag] => {
            is_frequency(frequency) && (tag == "eng" || word.contains(is_han) && is_tag(tag))
        }
        [word, more] => {
            let is_more =
                is_frequency(more) || matches!(more, "n" | "nr" | "ns" | "nt" | "nz" | "v");
            word.contains(is_han) && is_more
        }
        _ => false,
    };
    has_tab || word.starts_with("# ") || by_jieba
}

fn joined(a: Option<char>, b: Option<char>) -> bool {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    in_word(a) && in_word(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(words: &[&str], text: &'a str) -> Option<&'a str> {
        let words = words.iter().map(|&word| (word, PartOfSpeech::Noun));
        let words = UserWords::new(words, &mut || {}).unwrap();
        words.find(text).map(|found| &text[found.from..found.to])
    }

    #[test]
    fn the_longest_word_that_starts_first() {
        assert_eq!(
            found(&["小微", "小微企业"], "支持小微企业"),
            Some("小微企业")
        );
        assert_eq!(found(&["企业", "支持小"], "支持小微企业"), Some("支持小"));
        assert_eq!(found(&["市长"], "书记"), None);
        assert_eq!(found(&[""], "书记"), None);
    }

    #[test]
    fn lines_of_a_file_are_no_words() {
        for line in [
            "幸福路 5 n",
            "\u{feff}幸福路 5 n",
            "好用 300",
            "凱特琳 nz",
            "easy_install 3 eng",
            "幸福路\t5",
            "幸福路\t",
            "# streets",
            "\u{feff}# 路",
        ] {
            assert!(is_line_of_file(line), "{line:?}");
            let error = UserWords::new([(line, PartOfSpeech::Noun)], &mut || {}).unwrap_err();
            assert_eq!(
                error,
                Error::LineOfDictionary {
                    line: line.to_owned()
                }
            );
        }
        for word in [
            "幸福路",
            "\u{feff}幸福路",
            "Windows 10",
            "Boeing 737 max",
            "street lamp",
            "Ann Smith",
            "卡拉 ok",
            "#metoo",
            "C#",
            "5",
            "",
        ] {
            assert!(!is_line_of_file(word), "{word:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_word() {
        assert_eq!(found(&["\u{feff}小微"], "支持小微企业"), Some("小微"));
    }

    #[test]
    fn no_match_inside_of_a_latin_word() {
        assert_eq!(found(&["sql"], "postgresql"), None);
        assert_eq!(found(&["post"], "postgresql"), None);
        assert_eq!(found(&["SQL"], "the sql way"), Some("sql"));
        assert_eq!(found(&["c++"], "用c++写"), Some("c++"));
        assert_eq!(found(&["阿q"], "读阿q正传"), Some("阿q"));
    }
}
