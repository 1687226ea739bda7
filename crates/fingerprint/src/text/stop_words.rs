//! Words that carry no content and are left out: built-in lists of Chinese and English function
//! words and forms of address, and lists of the user.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, OnceLock};

use super::word_list::{GatheredWords, WordList};
use crate::error::Error;
use crate::hash::{Hashed, city64};

/// The words that are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum StopWords {
    /// No word is left out.
    None,
    /// All built-in lists.
    BuiltIn,
    /// These words and these built-in lists.
    List {
        /// Lists of words in normal form.
        words: Vec<Arc<WordList<()>>>,
        /// Built-in lists beside them.
        lists: Vec<BuiltIn>,
    },
}

/// A built-in list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// `@en`
    English,
    /// `@zh`
    Chinese,
}

impl BuiltIn {
    /// The names by which users give them in a list of words.
    pub const NAMES: [&str; 2] = ["@en", "@zh"];

    /// The list of that name.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "@en" => Some(BuiltIn::English),
            "@zh" => Some(BuiltIn::Chinese),
            _ => None,
        }
    }

    fn contains(self, word: &str) -> bool {
        static ENGLISH: OnceLock<WordSet> = OnceLock::new();
        static CHINESE: OnceLock<WordSet> = OnceLock::new();
        let (list, text) = match self {
            BuiltIn::English => (&ENGLISH, include_str!("lists/stop_words_en.txt")),
            BuiltIn::Chinese => (&CHINESE, include_str!("lists/stop_words_zh.txt")),
        };
        let list = list.get_or_init(|| word_set(text));
        list.get(&city64(word.as_bytes()))
            .is_some_and(|w| w == word)
    }
}

/// Words by CityHash64, of which no two in a list are equal.
type WordSet = HashMap<u64, String, BuildHasherDefault<Hashed>>;

fn word_set(text: &str) -> WordSet {
    text.split_whitespace()
        .map(|word| (city64(word.as_bytes()), word.to_owned()))
        .collect()
}

impl StopWords {
    /// Words and names of built-in lists; an unknown `@name` counts as a word. `check_interrupts` is
    /// called often.
    pub fn list(entries: &[String], check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        let lists = entries.iter().filter_map(|e| BuiltIn::find(e)).collect();
        let mut own = GatheredWords::default();
        for word in entries.iter().filter(|e| BuiltIn::find(e).is_none()) {
            check_interrupts();
            own.add(word, ())?;
        }
        Ok(StopWords::List {
            words: vec![Arc::new(own.sorted(check_interrupts))],
            lists,
        })
    }

    /// Returns whether this word, in normal form, is left out.
    #[inline]
    pub fn contains(&self, word: &str) -> bool {
        match self {
            StopWords::None => false,
            StopWords::BuiltIn => {
                // Each list is of one script.
                let list = match word.starts_with(|c: char| c.is_ascii()) {
                    true => BuiltIn::English,
                    false => BuiltIn::Chinese,
                };
                list.contains(word)
            }
            StopWords::List { words, lists } => {
                words.iter().any(|list| list.contains(word))
                    || lists.iter().any(|list| list.contains(word))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::normal::normal_word;
    use super::*;

    #[test]
    fn built_in_lists() {
        for word in ["the", "don't", "的", "您好"] {
            assert!(StopWords::BuiltIn.contains(word), "{word}");
            assert!(!StopWords::None.contains(word), "{word}");
        }
        for word in ["duplicate", "市长", "", "企业"] {
            assert!(!StopWords::BuiltIn.contains(word), "{word}");
        }
    }

    #[test]
    fn the_lists_are_in_normal_form_and_of_one_script() {
        for (text, ascii) in [
            (include_str!("lists/stop_words_en.txt"), true),
            (include_str!("lists/stop_words_zh.txt"), false),
        ] {
            for word in text.split_whitespace() {
                assert_eq!(normal_word(word).as_deref(), Ok(word));
                assert_eq!(word.is_ascii(), ascii, "{word}");
                assert!(word.starts_with(char::is_alphanumeric), "{word}");
                let list = [BuiltIn::Chinese, BuiltIn::English][usize::from(ascii)];
                assert!(list.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn a_list_of_ones_own() {
        let own = StopWords::list(&["ＦＯＯ".into(), "@zh".into()], &mut || {}).unwrap();
        assert!(own.contains("foo") && own.contains("的"));
        assert!(!own.contains("the") && !own.contains("@zh"));
    }
}
