//! Endings that forms of one word have: cases, numbers, genders of adjectives, particles of Korean, polite
//! forms. [`super::alike`] asks for two words that differ. An ending that makes another word of it, as
//! that of a woman's calling, is in no line of the list.

use super::form::fold;
use super::lists::Languages;

/// Letters of a stem that may be letters of both endings.
const SHARED: usize = 3;

pub struct Endings(Vec<Line>);

/// Endings of which forms of one word have one each.
struct Line {
    /// The languages of which they are; none for a script of one language.
    languages: Languages,
    /// The letters that a stem in front of them has at least.
    least: usize,
    endings: Vec<String>,
}

impl Endings {
    /// Reads lines of endings behind a number; a hyphen stands for none.
    pub fn new(list: &str) -> Self {
        let line = |line: &str| {
            let (languages, line) = Languages::of_line(line);
            let (least, endings) = line.split_once(' ')?;
            let endings = endings.split(' ');
            Some(Line {
                languages,
                least: least.parse().ok()?,
                endings: endings
                    .map(|ending| fold(ending.trim_matches('-')))
                    .collect(),
            })
        };
        Self(list.lines().filter_map(line).collect())
    }

    /// Whether two words of texts in these languages have one stem and two endings of a line.
    pub fn are_of_one_word(&self, a: (&str, Languages), b: (&str, Languages)) -> bool {
        let ((a, of_a), (b, of_b)) = (a, b);
        let letters = a.char_indices().zip(b.chars());
        let equal = letters.take_while(|((_, x), y)| x == y);
        let ends: Vec<usize> = equal.map(|((at, x), _)| at + x.len_utf8()).collect();
        let is_spoken = |line: &&Line| {
            line.languages == Languages::default()
                || line.languages.meet(of_a)
                    && (of_b == Languages::default() || line.languages.meet(of_b))
                || of_a == Languages::default() && line.languages.meet(of_b)
        };
        let lengths = (1..=ends.len()).rev().take(SHARED + 1);
        self.0.iter().filter(is_spoken).any(|line| {
            let has = |ending: &str| line.endings.iter().any(|known| known == ending);
            lengths
                .clone()
                .filter(|length| *length >= line.least)
                .any(|length| has(&a[ends[length - 1]..]) && has(&b[ends[length - 1]..]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::lists::lists;

    #[test]
    fn forms_of_one_word() {
        let are = |languages: &str, a, b| {
            let (languages, _) = Languages::of_line(languages);
            let (a, b) = (fold(a), fold(b));
            lists()
                .endings
                .are_of_one_word((&a, languages), (&b, languages))
        };
        for (languages, a, b) in [
            ("ru: ", "библиотеку", "библиотеки"),
            ("ru: ", "разделяемую", "разделяемые"),
            ("de: ", "Bibliotheken", "Bibliothek"),
            ("it: ", "librerie", "libreria"),
            ("it: ", "condivisa", "condivise"),
            ("es: ", "utilizada", "utilizado"),
            ("", "파일은", "파일이"),
            ("", "제공한다", "제공합니다"),
        ] {
            assert!(are(languages, a, b), "{a} {b}");
        }
        for (languages, a, b) in [
            ("it: ", "figlio", "figlia"),
            ("es: ", "hijo", "hija"),
            ("de: ", "Lehrer", "Lehrerin"),
            ("en: ", "librerie", "libreria"),
            ("", "파일의", "파일을"),
        ] {
            assert!(!are(languages, a, b), "{a} {b}");
        }
    }
}
