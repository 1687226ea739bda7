//! Lists of words that a user gives: there may be hundreds of thousands. They are kept in a
//! few large allocations; when one of them fails, that is an error.

use std::ops::Range;

use super::normal::{Normalize, normal_form};
use crate::error::Error;

/// Position of a word, and what is known of it.
#[derive(Clone, Copy, Debug)]
struct WordSpan<T> {
    start: usize,
    length: u32,
    about: T,
}

fn word<'t, T>(text: &'t str, place: &WordSpan<T>) -> &'t str {
    &text[place.start..place.start + place.length as usize]
}

/// Words in normal form, in the order in which they come.
#[derive(Debug)]
pub struct GatheredWords<T> {
    text: String,
    places: Vec<WordSpan<T>>,
    /// The normal form of a word.
    normal: String,
}

impl<T> Default for GatheredWords<T> {
    fn default() -> Self {
        Self {
            text: String::new(),
            places: Vec::new(),
            normal: String::new(),
        }
    }
}

impl<T: Copy + Ord> GatheredWords<T> {
    /// Adds a word, in any form; one whose normal form is empty is left out. A text may be read with its
    /// accents too.
    pub fn add(&mut self, raw: &str, about: T) -> Result<(), Error> {
        normal_form(raw, Normalize::Fold, &mut self.normal, &mut || {})?;
        self.add_normal(about)?;
        if raw.is_ascii() {
            return Ok(());
        }
        let folded = std::mem::take(&mut self.normal);
        normal_form(raw, Normalize::KeepAccents, &mut self.normal, &mut || {})?;
        match self.normal == folded {
            true => Ok(()),
            false => self.add_normal(about),
        }
    }

    fn add_normal(&mut self, about: T) -> Result<(), Error> {
        if self.normal.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.normal.len()).map_err(|_| Error::OutOfMemory)?;
        let start = self.text.len();
        let full = |_| Error::OutOfMemory;
        self.text.try_reserve(self.normal.len()).map_err(full)?;
        self.places.try_reserve(1).map_err(full)?;
        self.text.push_str(&self.normal);
        self.places.push(WordSpan {
            start,
            length,
            about,
        });
        Ok(())
    }

    /// The list of them. If words are equal, the one with the least `about` counts. `check_interrupts` is
    /// called often.
    pub fn sorted(self, check_interrupts: &mut dyn FnMut()) -> WordList<T> {
        let Self {
            text, mut places, ..
        } = self;
        // In place: a stable sort would want memory that may not be there.
        places.sort_unstable_by(|a, b| {
            check_interrupts();
            (word(&text, a), a.about).cmp(&(word(&text, b), b.about))
        });
        places.dedup_by(|next, kept| word(&text, next) == word(&text, kept));
        WordList { text, places }
    }
}

/// Different words in normal form, in order.
#[derive(Debug)]
pub struct WordList<T> {
    text: String,
    places: Vec<WordSpan<T>>,
}

impl<T: Copy> WordList<T> {
    /// Returns whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The words in order, with what is known about each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, T)> {
        let entry = |place| (word(&self.text, place), place.about);
        self.places.iter().map(entry)
    }

    /// Returns whether a word, in normal form, is in the list.
    pub fn contains(&self, sought: &str) -> bool {
        let order = |place: &WordSpan<T>| word(&self.text, place).cmp(sought);
        self.places.binary_search_by(order).is_ok()
    }

    /// The words at `places` with which `text` starts, the shortest first. The words there must
    /// have their first `known` bytes in common with it.
    pub fn prefixes(
        &self,
        mut places: Range<usize>,
        known: usize,
        text: &str,
        found: &mut dyn FnMut(&str, T),
    ) {
        let mut length = known;
        let mut rest = text[known..].chars();
        loop {
            let Some(first) = self.places[places.clone()].first() else {
                return;
            };
            // A word comes before those that it begins.
            if first.length as usize == length {
                found(&text[..length], first.about);
                places.start += 1;
            }
            let Some(next) = rest.next() else {
                return;
            };
            let among = &self.places[places.clone()];
            let next_of = |place: &WordSpan<T>| word(&self.text, place)[length..].chars().next();
            let from = among.partition_point(|place| next_of(place) < Some(next));
            let count = among[from..].partition_point(|place| next_of(place) == Some(next));
            places = places.start + from..places.start + from + count;
            length += next.len_utf8();
        }
    }
}

impl<T: Copy + PartialEq> PartialEq for WordList<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(words: &[(String, u8)]) -> WordList<u8> {
        let mut gathered = GatheredWords::default();
        for (word, about) in words {
            gathered.add(word, *about).unwrap();
        }
        gathered.sorted(&mut || {})
    }

    #[test]
    fn normal_different_and_in_order() {
        let words = [
            ("b", 1),
            ("ＡＢ", 7),
            ("", 0),
            (" ", 0),
            ("ab", 3),
            ("a", 9),
        ];
        let list = list(&words.map(|(word, about)| (word.to_owned(), about)));
        assert_eq!(
            list.iter().collect::<Vec<_>>(),
            [("a", 9), ("ab", 3), ("b", 1)]
        );
        assert!(list.contains("ab") && !list.contains("AB") && !list.contains(""));
    }

    #[test]
    fn sorting_can_be_stopped() {
        let words: Vec<_> = (0..1000)
            .map(|i| (format!("w{}", i * 7 % 1000), 0))
            .collect();
        let mut gathered = GatheredWords::default();
        for (word, about) in &words {
            gathered.add(word, *about).unwrap();
        }
        let mut pauses = 0;
        gathered.sorted(&mut || pauses += 1);
        assert!(pauses > 1000, "{pauses}");
    }

    proptest! {
        #[test]
        fn prefixes_as_by_looking_at_every_word(
            words in prop::collection::vec(("[ab语]{1,5}", 0u8..3), 0..30), text in "[ab语]{0,8}"
        ) {
            let list = list(&words);
            let mut found = Vec::new();
            list.prefixes(0..list.places.len(), 0, &text, &mut |word, about| {
                found.push((word.to_owned(), about));
            });
            let starts = |(word, _): &(String, _)| text.starts_with(word.as_str());
            let mut expected: Vec<_> = words.into_iter().filter(starts).collect();
            expected.sort();
            expected.dedup_by(|next, kept| next.0 == kept.0);
            prop_assert_eq!(found, expected);
        }
    }
}
