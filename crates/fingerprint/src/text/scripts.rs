//! Scripts of characters, as far as cutting a text depends on them: [`super::words`] cuts Han by the
//! dictionary, [`super::ngrams`] makes n-grams of other lengths for Han and syllables.

/// Returns whether a character is Han.
pub fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether a letter is of Hangul, Hiragana or Katakana; in normal form there are no
/// half-width ones.
pub fn is_syllable(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3041}'..='\u{30ff}' | '\u{3131}'..='\u{318e}' | '\u{31f0}'..='\u{31ff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{1b000}'..='\u{1b16f}')
}
