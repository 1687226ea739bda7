//! What single characters are where a folded text is cut: letters of words, characters that are
//! words, signs. [`super::cutting`] asks; each answer depends on the character and its neighbours
//! alone.

use unicode_normalization::char::is_combining_mark;

/// The bytes of the letters and digits that begin a text. Digits end a word of another script than Latin.
pub fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ascii = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let begins_with_letter = bytes.first().is_some_and(u8::is_ascii_alphabetic);
    if begins_with_letter && bytes.get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    let of_latin = text.starts_with(|c: char| c < '\u{300}');
    let is_part = |c: char| match c {
        '0'..='9' => of_latin,
        _ => c.is_ascii_alphabetic() || !c.is_ascii() && is_letter(c) && !is_character(c),
    };
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// The bytes of an apostrophe within a word and of the letters behind it. Hebrew has others.
pub fn behind_apostrophe(text: &str, word: &str) -> Option<usize> {
    let is_hebrew = |word: &str| word.ends_with(|c: char| ('\u{590}'..='\u{5ff}').contains(&c));
    let mark = text.chars().next()?;
    let joins = match mark {
        '\'' | '`' => word.ends_with(char::is_alphabetic),
        '"' | '\u{5f3}' | '\u{5f4}' => is_hebrew(word),
        _ => false,
    };
    let letters = &text[mark.len_utf8()..];
    let is_inside = joins && letters.starts_with(|c: char| c.is_alphabetic() && !is_character(c));
    is_inside.then(|| mark.len_utf8() + word_length(letters))
}

/// What a minus stands behind; behind a letter or a digit the same character is a hyphen.
pub fn is_before_sign(c: char) -> bool {
    c.is_whitespace() || "([:=/<>~中".contains(c)
}

pub fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() && is_combining_mark(c)
}

/// Letters of scripts that put no spaces between words.
pub fn is_character(c: char) -> bool {
    c >= '\u{e00}'
        && matches!(c,
            '\u{e00}'..='\u{edf}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '々' | '〇'
            | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Signs that mean something by themselves: currencies, per cent, degrees, emoji.
pub fn is_symbol(c: char) -> bool {
    matches!(c,
        '%' | '$' | '‰' | '°' | '¢'..='¥' | '\u{e3f}' | '\u{20a0}'..='\u{20cf}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}
