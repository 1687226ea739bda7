//! Endings that forms of one word have: cases, numbers, genders of adjectives, particles of Korean, polite
//! forms. [`super::alike`] asks for two words that differ. An ending that makes another word of it, as
//! that of a woman's calling, is in no line of the list.

use crate::same::cut::form::fold;
use crate::same::lists::Languages;
use std::collections::HashMap;

/// Letters of a stem that may be letters of both endings.
const SHARED: usize = 3;

/// Lines, one bit each.
type Lines = u128;

pub struct Endings {
    lines: Vec<Line>,
    /// The lines that each ending stands in.
    by_ending: HashMap<String, Lines>,
    longest: usize,
}

/// Endings of which forms of one word have one each.
struct Line {
    /// The languages of which they are; none for a script of one language.
    languages: Languages,
    /// The letters that a stem in front of them has at least.
    least: usize,
}

impl Endings {
    /// Reads lines of endings behind a number; a hyphen stands for none.
    pub fn new(list: &str) -> Self {
        let (mut lines, mut by_ending) = (Vec::new(), HashMap::default());
        for (languages, line) in list.lines().map(Languages::of_line) {
            let (least, endings) = line.split_once(' ').unwrap_or_default();
            for ending in endings.split(' ') {
                let ending = fold(ending.trim_matches('-'));
                *by_ending.entry(ending).or_default() |= 1 << lines.len();
            }
            let least = least.parse().unwrap_or(usize::MAX);
            lines.push(Line { languages, least });
        }
        let longest = by_ending.keys().map(String::len).max().unwrap_or_default();
        Self {
            lines,
            by_ending,
            longest,
        }
    }

    /// Whether two words of texts in these languages have one stem and two endings of a line.
    pub fn are_of_one_word(&self, a: (&str, Languages), b: (&str, Languages)) -> bool {
        let ((a, of_a), (b, of_b)) = (a, b);
        let letters = a.chars().zip(b.chars());
        let equal = letters.take_while(|(x, y)| x == y);
        let (equal, mut stem) = equal.fold((0, 0), |(n, end), (x, _)| (n + 1, end + x.len_utf8()));
        let is_spoken = |line: &Line| {
            line.languages == Languages::default()
                || line.languages.meet(of_a)
                    && (of_b == Languages::default() || line.languages.meet(of_b))
                || of_a == Languages::default() && line.languages.meet(of_b)
        };
        for letters in (1..=equal).rev().take(SHARED + 1) {
            if a.len().max(b.len()) - stem > self.longest {
                return false;
            }
            let mut both = self.lines_of(&a[stem..]) & self.lines_of(&b[stem..]);
            while both != 0 {
                let line = &self.lines[both.trailing_zeros() as usize];
                if letters >= line.least && is_spoken(line) {
                    return true;
                }
                both &= both - 1;
            }
            stem = a.floor_char_boundary(stem - 1);
        }
        false
    }

    fn lines_of(&self, ending: &str) -> Lines {
        self.by_ending.get(ending).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::lists::lists;

    #[test]
    fn forms_of_one_word() {
        for (languages, a, b, are_forms) in [
            ("ru: ", "библиотеку", "библиотеки", true),
            ("ru: ", "разделяемую", "разделяемые", true),
            ("de: ", "Bibliotheken", "Bibliothek", true),
            ("it: ", "librerie", "libreria", true),
            ("it: ", "condivisa", "condivise", true),
            ("es: ", "utilizada", "utilizado", true),
            ("", "파일은", "파일이", true),
            ("", "제공한다", "제공합니다", true),
            ("it: ", "figlio", "figlia", false),
            ("es: ", "hijo", "hija", false),
            ("de: ", "Lehrer", "Lehrerin", false),
            ("en: ", "librerie", "libreria", false),
            ("", "파일의", "파일을", false),
        ] {
            let (languages, _) = Languages::of_line(languages);
            let (x, y) = (fold(a), fold(b));
            let endings = &lists().endings;
            let are = endings.are_of_one_word((&x, languages), (&y, languages));
            assert_eq!(are, are_forms, "{a} {b}");
        }
    }
}
