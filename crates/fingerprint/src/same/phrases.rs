//! Phrases that are looked for in a text all at once: parts of words of scripts without spaces.
//! [`super::lists`] reads them; each place of the text costs one search in the sorted phrases.

use super::fold::fold;

/// Sorted phrases, in folded form.
pub struct Phrases {
    phrases: Vec<String>,
    /// A bit for each of their first characters, which says of most others that none begins with them.
    firsts: [u64; FIRSTS / u64::BITS as usize],
}

const FIRSTS: usize = 1024;

impl Phrases {
    pub fn new(list: &str) -> Self {
        let mut phrases: Vec<String> = list
            .split_whitespace()
            .map(|phrase| fold(phrase).replace('\'', ""))
            .collect();
        phrases.sort_unstable();
        let mut firsts = [0; _];
        for first in phrases.iter().filter_map(|phrase| phrase.chars().next()) {
            firsts[first as usize % FIRSTS / 64] |= 1 << (first as usize % 64);
        }
        Self { phrases, firsts }
    }

    /// The bytes of the longest phrase with which a text begins.
    pub fn at_begin(&self, text: &str) -> Option<usize> {
        let first = text.chars().next()?;
        if self.firsts[first as usize % FIRSTS / 64] >> (first as usize % 64) & 1 == 0 {
            return None;
        }
        let from = self
            .phrases
            .partition_point(|phrase| phrase.chars().next() < Some(first));
        let alike = self.phrases[from..]
            .iter()
            .take_while(|phrase| phrase.starts_with(first));
        let found = alike.filter(|phrase| text.starts_with(phrase.as_str()));
        found.map(String::len).max()
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
mod tests {
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
