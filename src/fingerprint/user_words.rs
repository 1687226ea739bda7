//! A user dictionary: words that stay whole, found before the text is cut.
//!
//! A lookup of a few words beside jieba's dictionary rather than inside of a copy of it, which would
//! cost 30 MB and 0.1 s in every call site. The time is linear in the text, with the length of the
//! longest word as a factor.

use cityhasher::HashMap;

use super::error::Error;
use super::normal::normal_word;
use super::terms::Speech;
use super::text::is_han;

/// The words, in normal form, by their first character; the longest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserWords(HashMap<char, Vec<(String, Speech)>>);

/// A word that was found, as a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub from: usize,
    pub to: usize,
    pub speech: Speech,
}

impl UserWords {
    /// Words without a part of speech are nouns.
    pub fn new(words: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        Self::tagged(words.into_iter().map(|word| (word, Speech::Noun)))
    }

    pub fn tagged(words: impl IntoIterator<Item = (String, Speech)>) -> Result<Self, Error> {
        let mut by_first: HashMap<char, Vec<(String, Speech)>> = HashMap::default();
        for (raw, speech) in words {
            let word = normal_word(&raw)?;
            if let Some(first) = word.chars().next() {
                by_first.entry(first).or_default().push((word, speech));
            }
        }
        for list in by_first.values_mut() {
            list.sort_by(|(a, s), (b, t)| {
                let by_length = b.len().cmp(&a.len());
                by_length.then_with(|| (a, s).cmp(&(b, t)))
            });
            list.dedup_by(|next, kept| next.0 == kept.0);
        }
        Ok(Self(by_first))
    }

    /// The first word of the dictionary in `text`, the longest of those that start there. A word may not begin or end inside of a word of letters and digits, unless that is
    /// Han.
    pub fn find(&self, text: &str) -> Option<Found> {
        let mut before = None;
        text.char_indices().find_map(|(at, first)| {
            let rest = &text[at..];
            let found = self.0.get(&first).and_then(|words| {
                words.iter().find(|(word, _)| {
                    rest.starts_with(word.as_str())
                        && !joined(before, Some(first))
                        && !joined(word.chars().last(), rest[word.len()..].chars().next())
                })
            });
            before = Some(first);
            found.map(|(word, speech)| Found {
                from: at,
                to: at + word.len(),
                speech: *speech,
            })
        })
    }
}

fn joined(a: Option<char>, b: Option<char>) -> bool {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    in_word(a) && in_word(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(words: &[&str], text: &'a str) -> Option<&'a str> {
        let words = UserWords::new(words.iter().map(|&w| w.to_owned())).unwrap();
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
    fn no_match_inside_of_a_latin_word() {
        assert_eq!(found(&["sql"], "postgresql"), None);
        assert_eq!(found(&["post"], "postgresql"), None);
        assert_eq!(found(&["SQL"], "the sql way"), Some("sql"));
        assert_eq!(found(&["c++"], "用c++写"), Some("c++"));
        assert_eq!(found(&["阿q"], "读阿q正传"), Some("阿q"));
    }
}
