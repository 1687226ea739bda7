//! What a folded text may be written in besides: letters of another script that look alike, short
//! forms of scripts without upper case. [`super`] calls it for each text.

use super::lists::lists;

const CYRILLIC: [(char, char); 19] = [
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('к', 'k'),
    ('м', 'm'),
    ('т', 't'),
    ('в', 'b'),
    ('н', 'h'),
    ('і', 'i'),
    ('ѕ', 's'),
    ('ј', 'j'),
    ('ԁ', 'd'),
    ('ԛ', 'q'),
    ('ѡ', 'w'),
    ('ɡ', 'g'),
];
const GREEK: [(char, char); 14] = [
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('η', 'h'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('μ', 'm'),
    ('ν', 'n'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('χ', 'x'),
    ('υ', 'y'),
    ('ζ', 'z'),
];

/// Consonants and vowels of Korean that laugh and weep, by themselves.
const LAUGHS: [char; 6] = [
    '\u{110f}', '\u{1112}', '\u{1172}', '\u{116e}', '\u{314b}', '\u{314e}',
];

/// The text with one spelling for each of these.
pub fn one_spelling(folded: String) -> String {
    if folded.is_ascii() {
        return folded;
    }
    let mut text = folded;
    for (short, long) in &lists().abbreviations {
        if text.contains(short) {
            text = text.replace(short, long);
        }
    }
    if text.contains(LAUGHS) {
        text.retain(|c| !LAUGHS.contains(&c));
    }
    unmasked(devanagari(text))
}

/// Replaces letters that only look like those of the text's script: Cyrillic and Greek ones in Latin
/// text, if all of them do, and Latin ones within Cyrillic words.
fn unmasked(text: String) -> String {
    let (mut latin, mut cyrillic, mut greek) = (0, 0, 0);
    for c in text.chars() {
        match c {
            'a'..='z' => latin += 1,
            '\u{370}'..='\u{3ff}' => greek += 1,
            '\u{400}'..='\u{52f}' => cyrillic += 1,
            _ => (),
        }
    }
    let all_alike = |table: &[(char, char)], first: char, last: char| {
        let letters = text.chars().filter(|c| (first..=last).contains(c));
        letters.into_iter().all(|c| latin_of(table, c).is_some())
    };
    if cyrillic > 0 && latin > 0 && all_alike(&CYRILLIC, '\u{400}', '\u{52f}') {
        return text
            .chars()
            .map(|c| latin_of(&CYRILLIC, c).unwrap_or(c))
            .collect();
    }
    if greek > 0 && latin > 2 * greek && all_alike(&GREEK, '\u{370}', '\u{3ff}') {
        return text
            .chars()
            .map(|c| latin_of(&GREEK, c).unwrap_or(c))
            .collect();
    }
    match cyrillic > latin && latin > 0 {
        true => text
            .split_inclusive(|c: char| !c.is_alphanumeric())
            .map(cyrillic_word)
            .collect(),
        false => text,
    }
}

fn latin_of(table: &[(char, char)], c: char) -> Option<char> {
    table
        .iter()
        .find(|(other, _)| *other == c)
        .map(|(_, latin)| *latin)
}

/// A word with Cyrillic letters, all in Cyrillic.
fn cyrillic_word(word: &str) -> String {
    let of_latin = |c: char| {
        CYRILLIC
            .iter()
            .find(|(_, latin)| *latin == c)
            .map(|(cyrillic, _)| *cyrillic)
    };
    let is_cyrillic = |c: char| ('\u{400}'..='\u{52f}').contains(&c);
    let is_mixed = word.chars().any(is_cyrillic)
        && word
            .chars()
            .filter(|c| c.is_alphabetic())
            .all(|c| is_cyrillic(c) || of_latin(c).is_some());
    match is_mixed {
        true => word.chars().map(|c| of_latin(c).unwrap_or(c)).collect(),
        false => word.to_owned(),
    }
}

/// Nasal consonants of Devanagari before another consonant, written as the dot above.
fn devanagari(text: String) -> String {
    if !text.contains('\u{94d}') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_nasal = matches!(c, 'ङ' | 'ञ' | 'ण' | 'न' | 'म');
        let mut ahead = chars.clone();
        let before_consonant = ahead.next() == Some('\u{94d}')
            && ahead.next().is_some_and(|c| ('क'..='म').contains(&c));
        match is_nasal && before_consonant {
            true => {
                chars.next();
                plain.push('\u{902}');
            }
            false => plain.push(c),
        }
    }
    plain
}
