//! The form in which words are compared: the normal form ([`crate::text::normal`]), and beyond it what does
//! not matter to a reader, as the kind of a dash, letters of another script that look alike, Serbian in
//! its other script. [`crate::same`] and its lists use it, in this order and before a text is cut.

use super::bytes::has_any;
use crate::error::Error;
use crate::same::lists::lists;
use crate::same::with_room;
use crate::text::normal::{Normalize, for_each_chunk_as};
use crate::text::other_scripts::serbian_latin;
use crate::text::other_scripts::simplified;

/// Writes the folded form of a text behind what is in `folded`.
pub fn fold_into(text: &str, folded: &mut String) -> Result<(), Error> {
    let begin = folded.len();
    if text.is_ascii() {
        folded.push_str(text);
        folded[begin..].make_ascii_lowercase();
        return Ok(());
    }
    // The bytes with which those begin that are part of a number.
    let mut pairs = text.as_bytes().array_windows();
    let may_be_part = pairs.any(|pair| matches!(pair, [0xc2, _] | [0xe2, 0x81 | 0x85]));
    match may_be_part && text.contains(is_part_of_number) {
        true => normalize(&with_signs(text)?, folded)?,
        false => normalize(text, folded)?,
    }
    let first = folded[begin..].find(|c: char| !c.is_ascii() && letter(c) != Some(c));
    if let Some(first) = first {
        let first = begin + first;
        // A dash becomes shorter; no letter becomes longer.
        let mut plain = with_room(folded.len() - first)?;
        plain.extend(folded[first..].chars().filter_map(letter));
        folded.truncate(first);
        folded.push_str(&plain);
    }
    Ok(())
}

/// Writes the normal form of a text, which may be many times as long.
fn normalize(text: &str, folded: &mut String) -> Result<(), Error> {
    let mut is_full = false;
    let mut add = |chunk: &str| {
        is_full |= folded.try_reserve(chunk.len()).is_err();
        if !is_full {
            folded.push_str(chunk);
        }
    };
    let mut buffer = String::new();
    for_each_chunk_as(Normalize::Fold, text, &mut buffer, &mut || {}, &mut add);
    match is_full {
        true => Err(Error::OutOfMemory),
        false => Ok(()),
    }
}

/// The folded form of a text.
pub fn fold(text: &str) -> String {
    let mut folded = String::new();
    // It fails for want of memory alone, which no word is too long for.
    let full = fold_into(text, &mut folded);
    debug_assert!(full.is_ok());
    folded
}

fn is_part_of_number(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{bc}'..='\u{be}' | '\u{2070}'..='\u{207b}' | '\u{2150}'..='\u{215e}')
}

/// Writes what compatible forms of digits would lose behind a number: 10⁶ is not 106, 1½ not 11/2.
fn with_signs(text: &str) -> Result<String, Error> {
    let mut signed = with_room(text.len() + text.len() / 2)?;
    let mut in_front = ' ';
    let with_sign = text.chars().flat_map(|c| {
        let sign = match c {
            _ if !in_front.is_ascii_digit() || !is_part_of_number(c) => None,
            '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215e}' => Some(' '),
            _ => Some('^'),
        };
        in_front = c;
        sign.into_iter().chain([c])
    });
    signed.extend(with_sign);
    Ok(signed)
}

/// What the normal form keeps apart and a reader does not; None for a character that is dropped.
fn letter(c: char) -> Option<char> {
    Some(match c {
        '\u{3400}'..='\u{9fff}' => simplified(c),
        // Colours of skin, hamza by itself.
        '\u{1f3fb}'..='\u{1f3ff}' | '\u{621}' => return None,
        'ð' => 'd',
        '\u{66b}' => '.',
        '\u{66c}' => ',',
        '\u{2010}' | '\u{2011}' | '\u{2013}' | '\u{2212}' => '-',
        '×' => 'x',
        // A vowel of English words in Devanagari.
        '\u{911}' => '\u{906}',
        '\u{949}' => '\u{93e}',
        '\u{2044}' => '/',
        c => c,
    })
}

/// Letters beside the Latin ones that look like them.
#[rustfmt::skip]
const CYRILLIC: &[[char; 2]] = &[
    ['а', 'a'], ['е', 'e'], ['о', 'o'], ['р', 'p'], ['с', 'c'], ['у', 'y'], ['х', 'x'],
    ['к', 'k'], ['м', 'm'], ['т', 't'], ['в', 'b'], ['н', 'h'], ['і', 'i'], ['ѕ', 's'],
    ['ј', 'j'], ['ԁ', 'd'], ['ԛ', 'q'], ['ѡ', 'w'], ['ɡ', 'g'],
];
#[rustfmt::skip]
const GREEK: &[[char; 2]] = &[
    ['α', 'a'], ['β', 'b'], ['ε', 'e'], ['η', 'h'], ['ι', 'i'], ['κ', 'k'], ['ν', 'n'],
    ['ο', 'o'], ['ρ', 'p'], ['τ', 't'], ['χ', 'x'], ['υ', 'y'], ['ζ', 'z'],
];

/// Consonants and vowels of Korean that laugh and weep, by themselves.
const LAUGHS: [char; 6] = [
    '\u{110f}', '\u{1112}', '\u{1172}', '\u{116e}', '\u{314b}', '\u{314e}',
];

/// The text with one spelling for each of these.
pub fn one_spelling(folded: String) -> Result<String, Error> {
    if folded.is_ascii() {
        return Ok(folded);
    }
    let mut text = folded;
    for (short, long) in &lists().abbreviations {
        if text.contains(short) {
            text = text.replace(short, long);
        }
    }
    if LAUGHS.iter().any(|laugh| text.contains(*laugh)) {
        text.retain(|c| !LAUGHS.contains(&c));
    }
    let text = devanagari(text)?;
    // The bytes with which Greek and Cyrillic letters begin.
    match has_any(&text, 0xcd..=0xd4) {
        true => unmasked(text),
        false => Ok(text),
    }
}

/// Replaces letters that only look like those of the text's script: Cyrillic and Greek ones in Latin
/// text, if all of them do, and Latin ones within Cyrillic words.
fn unmasked(text: String) -> Result<String, Error> {
    let (mut latin, mut cyrillic, mut greek) = (0, 0, 0);
    for c in text.chars() {
        match c {
            'a'..='z' => latin += 1,
            '\u{370}'..='\u{3ff}' => greek += 1,
            '\u{400}'..='\u{52f}' => cyrillic += 1,
            _ => (),
        }
    }
    let all_alike = |table: &[[char; 2]], first: char, last: char| {
        let letters = text.chars().filter(|c| (first..=last).contains(c));
        letters.into_iter().all(|c| latin_of(table, c).is_some())
    };
    if cyrillic > 0 && latin > 0 && all_alike(CYRILLIC, '\u{400}', '\u{52f}') {
        let latin = text.chars().map(|c| latin_of(CYRILLIC, c).unwrap_or(c));
        return written(text.len(), latin);
    }
    if greek > 0 && latin > 2 * greek && all_alike(GREEK, '\u{370}', '\u{3ff}') {
        let latin = text.chars().map(|c| latin_of(GREEK, c).unwrap_or(c));
        return written(text.len(), latin);
    }
    match cyrillic > latin && latin > 0 {
        true => {
            let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
            // A Latin letter has one byte, a Cyrillic one two.
            let mut cyrillic = with_room(text.len() + latin)?;
            words.for_each(|word| cyrillic.push_str(&cyrillic_word(word)));
            Ok(cyrillic)
        }
        false => Ok(text),
    }
}

/// Characters of at most that many bytes as a text.
fn written(bytes: usize, characters: impl Iterator<Item = char>) -> Result<String, Error> {
    let mut written = with_room(bytes)?;
    written.extend(characters);
    Ok(written)
}

fn latin_of(table: &[[char; 2]], c: char) -> Option<char> {
    let mut pairs = table.iter();
    pairs.find(|pair| pair[0] == c).map(|pair| pair[1])
}

/// A word with Cyrillic letters, all in Cyrillic.
fn cyrillic_word(word: &str) -> String {
    let of_latin = |c: char| {
        let mut pairs = CYRILLIC.iter();
        pairs.find(|pair| pair[1] == c).map(|pair| pair[0])
    };
    let is_cyrillic = |c: char| ('\u{400}'..='\u{52f}').contains(&c);
    let is_one = word.chars().filter(|c| c.is_alphabetic()).count() == 1;
    let is_mixed = (is_one || word.chars().any(is_cyrillic))
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
fn devanagari(text: String) -> Result<String, Error> {
    if !text.contains('\u{94d}') {
        return Ok(text);
    }
    let mut plain = with_room(text.len())?;
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
    Ok(plain)
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// A folded text in Cyrillic letters in Latin ones, if the other one is.
pub fn in_script_of(text: &str, other: &str) -> Result<Option<String>, Error> {
    match is_latin(other) && is_serbian(text) {
        true => Ok(Some(in_latin(text)?)),
        false => Ok(None),
    }
}

/// Whether a text has a byte with which Cyrillic letters begin.
pub fn may_be_cyrillic(text: &str) -> bool {
    has_any(text, 0xd0..=0xd4)
}

/// Whether a text has Latin letters and no Cyrillic ones.
fn is_latin(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_alphabetic()) && !text.contains(is_cyrillic)
}

/// Whether a text has Cyrillic letters, all of which Serbian has.
fn is_serbian(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| is_cyrillic(*c)).peekable();
    letters.peek().is_some() && letters.all(|c| serbian_latin(c).is_some())
}

fn in_latin(text: &str) -> Result<String, Error> {
    let mut latin = with_room(text.len())?;
    for c in text.chars() {
        match serbian_latin(c) {
            Some(letters) => latin.push_str(letters),
            None => latin.push(c),
        }
    }
    Ok(latin)
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn what_does_not_count() {
        for (text, folded) in [
            ("GROẞE Straße", "grosse strasse"),
            ("ΤΟΙΧΟΥΣ τοίχους", "τοιχουσ τοιχουσ"),
            ("IŞIKLI ışıklı İL", "isikli isikli il"),
            ("Żółta ĐỒNG", "zolta dong"),
            ("كتابٌ کتابی ١٢٫٥", "كتاب كتابي 12.5"),
            ("שְׁעַת", "שעת"),
            ("ﾌﾟﾘﾝﾀｰ Ａ４", "プリンター a4"),
            ("co\u{ad}op\u{200b}", "coop"),
            ("10⁶ 1½ m²", "10^6 1 1/2 m2"),
            ("๓๕ २०", "35 20"),
            ("한국어", "한국어"),
            ("臺灣的頭髮", "台湾的头发"),
        ] {
            assert_eq!(fold(text), folded);
        }
    }
}

#[cfg(test)]
mod serbian_tests {
    use crate::same::same;

    #[test]
    fn one_text_in_two_scripts() {
        let is_same = |a, b| same(a, b, &mut || {}).unwrap();
        assert!(is_same(
            "Ђак чека аутобус испред школе.",
            "Đak čeka autobus ispred škole."
        ));
        assert!(is_same(
            "Љубичаста џемпер кошуља",
            "Ljubičasta džemper košulja"
        ));
        assert!(!is_same(
            "Ђак чека аутобус испред школе.",
            "Đak čeka voz ispred škole."
        ));
        assert!(!is_same("Юля ждёт автобус", "Julja ždet avtobus"));
    }
}
