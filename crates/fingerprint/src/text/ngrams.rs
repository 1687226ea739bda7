//! The character n-grams of text in normal form: runs of letters and digits, whatever else stands
//! between them. The counter of features, the fingerprints of shingles and the similarity of texts
//! call it. A text gives the same n-grams however it is cut into chunks.

use super::scripts::{is_han, is_syllable};

/// Number of letters of an n-gram, by the script of the letter that it ends with: a Han character
/// says as much as two or three letters of an alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GramLengths {
    /// Han characters.
    pub han: usize,
    /// Hangul, Hiragana and Katakana.
    pub syllables: usize,
    /// Letters of all other scripts.
    pub others: usize,
}

impl GramLengths {
    /// Those by which texts are compared, and of which shingles are made.
    pub const SHINGLES: Self = Self {
        han: 2,
        syllables: 3,
        others: 5,
    };
    /// Those by which a part of a text is found in another.
    pub const PASSAGES: Self = Self {
        han: 5,
        syllables: 7,
        others: 12,
    };

    /// The same length for all scripts.
    pub const fn all(n: usize) -> Self {
        GramLengths {
            han: n,
            syllables: n,
            others: n,
        }
    }

    /// The length of an n-gram that ends with this letter.
    #[inline]
    pub fn for_letter(&self, letter: char) -> usize {
        match letter {
            '\0'..='\u{10ff}' => self.others,
            _ if is_han(letter) => self.han,
            _ if is_syllable(letter) => self.syllables,
            _ => self.others,
        }
    }

    /// As [`Self::for_letter`], for the number of a letter.
    #[inline]
    pub fn for_code(&self, letter: u32) -> usize {
        self.for_letter(char::from_u32(letter).unwrap_or_default())
    }

    /// Returns whether all scripts have the same length.
    pub fn is_one(&self) -> bool {
        self.han == self.others && self.syllables == self.others
    }

    fn longest(&self) -> usize {
        self.han.max(self.syllables).max(self.others)
    }
}

/// Returns whether a character is a letter or digit, as the standard library defines it. What stands for
/// a byte of an unknown encoding, at the end of the private use area, is one.
#[inline]
pub fn is_letter(c: char) -> bool {
    match c {
        '\0'..='\x7f' => c.is_ascii_alphanumeric(),
        '\u{4e00}'..='\u{9fff}' | '\u{10ff80}'..='\u{10ffff}' => true,
        _ => c.is_alphanumeric(),
    }
}

/// Returns whether a character counts in a text that has no letters.
pub fn is_symbol(c: char) -> bool {
    !c.is_whitespace() && !c.is_control()
}

/// Finds the n-grams of a text that comes in chunks. A text with fewer letters than its first
/// n-gram would have is one n-gram.
pub struct Ngrams {
    lengths: GramLengths,
    /// The last letters of the text so far.
    window: String,
    /// Where the last letters begin in the window: letter i at i modulo the length, a power of two.
    starts: Vec<usize>,
    letters: usize,
    found: bool,
}

/// Bytes of the window.
const KEPT: usize = 1 << 12;

impl Ngrams {
    /// Each length must be at least 1.
    pub fn new(lengths: GramLengths) -> Self {
        Self {
            lengths,
            window: String::with_capacity(KEPT),
            starts: vec![0; lengths.longest().next_power_of_two()],
            letters: 0,
            found: false,
        }
    }

    /// Calls `gram` for each n-gram that ends in this chunk.
    #[inline]
    pub fn chunk(&mut self, text: &str, gram: &mut impl FnMut(&str)) {
        self.chunk_of(is_letter, text, gram);
    }

    /// As [`Ngrams::chunk`], of characters that are called letters here.
    #[inline]
    pub fn chunk_of(
        &mut self,
        is_letter: impl Fn(char) -> bool,
        text: &str,
        gram: &mut impl FnMut(&str),
    ) {
        let mask = self.starts.len() - 1;
        for c in text.chars().filter(|&c| is_letter(c)) {
            if self.window.len() + c.len_utf8() > KEPT {
                self.forget();
            }
            self.starts[self.letters & mask] = self.window.len();
            self.window.push(c);
            self.letters += 1;
            if let Some(first) = self.letters.checked_sub(self.lengths.for_letter(c)) {
                self.found = true;
                gram(&self.window[self.starts[first & mask]..]);
            }
        }
    }

    /// Calls `gram` with the letters of a text that was too short.
    pub fn finish(self, gram: &mut impl FnMut(&str)) {
        if !self.found && self.letters > 0 {
            gram(&self.window);
        }
    }

    /// Drops letters that no further n-gram needs, but not at each letter.
    fn forget(&mut self) {
        let first = self.letters.saturating_sub(self.starts.len());
        let keep = self.starts[first & (self.starts.len() - 1)];
        self.window.drain(..keep);
        self.starts
            .iter_mut()
            .for_each(|at| *at = at.saturating_sub(keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grams(chunks: &[&str], lengths: GramLengths) -> Vec<String> {
        let mut found = Vec::new();
        let mut grams = Ngrams::new(lengths);
        let mut push = |gram: &str| found.push(gram.to_owned());
        for chunk in chunks {
            grams.chunk(chunk, &mut push);
        }
        grams.finish(&mut push);
        found
    }

    const MIXED: GramLengths = GramLengths {
        han: 2,
        syllables: 3,
        others: 5,
    };

    #[test]
    fn the_last_letter_decides_the_length() {
        assert_eq!(
            grams(&["ab-c 中文", "d。efgh カナか"], MIXED),
            [
                "c中",
                "中文",
                "bc中文d",
                "c中文de",
                "中文def",
                "文defg",
                "defgh",
                "ghカ",
                "hカナ",
                "カナか"
            ]
        );
    }

    #[test]
    fn short_texts_are_one_gram() {
        assert_eq!(grams(&["a-", "b"], GramLengths::all(3)), ["ab"]);
        assert_eq!(grams(&["。", "中"], MIXED), ["中"]);
        assert_eq!(grams(&["。", " "], MIXED), Vec::<String>::new());
    }

    #[test]
    fn letters_are_what_the_tables_say() {
        for c in '\0'..=char::MAX {
            let is_byte = u32::from(c) >= 0x10_FF80;
            assert_eq!(is_letter(c), is_byte || c.is_alphanumeric(), "{c:?}");
        }
    }

    proptest! {
        /// Against the letters of the whole text; long letters and many chunks, so that the window
        /// is emptied now and then.
        #[test]
        fn grams_are_runs_of_letters(
            chunks in prop::collection::vec("[ab中文か한𠀀，。 ]{0,400}", 0..30), n in 1usize..9,
        ) {
            let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
            let letters: Vec<char> = chunks.concat().chars().filter(|c| c.is_alphanumeric()).collect();
            for lengths in [GramLengths::all(n), MIXED] {
                let ends = (1..=letters.len()).filter_map(|end| {
                    let from = end.checked_sub(lengths.for_letter(letters[end - 1]))?;
                    Some(letters[from..end].iter().collect())
                });
                let mut expected: Vec<String> = ends.collect();
                if expected.is_empty() && !letters.is_empty() {
                    expected.push(letters.iter().collect());
                }
                prop_assert_eq!(grams(&chunks, lengths), expected);
            }
        }
    }
}
