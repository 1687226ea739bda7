//! The form in which words are compared: the normal form ([`crate::text::normal`]), and beyond it
//! what does not matter to a reader, as the kind of a dash and traditional Han. [`super`] and its lists use it.

use crate::text::normal::{Normalize, normalize_into};
use crate::text::other_scripts::simplified;

/// Writes the folded form of a text behind what is in `folded`.
pub fn fold_into(text: &str, folded: &mut String) {
    let begin = folded.len();
    if text.is_ascii() {
        folded.push_str(text);
        folded[begin..].make_ascii_lowercase();
        return;
    }
    match text.contains(is_part_of_number) {
        true => normalize_into(&with_signs(text), Normalize::Fold, folded),
        false => normalize_into(text, Normalize::Fold, folded),
    }
    if folded[begin..].contains(|c: char| !c.is_ascii() && letter(c) != Some(c)) {
        let plain: String = folded[begin..].chars().filter_map(letter).collect();
        folded.truncate(begin);
        folded.push_str(&plain);
    }
}

/// The folded form of a text.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

fn is_part_of_number(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{bc}'..='\u{be}' | '\u{2070}'..='\u{207b}' | '\u{2150}'..='\u{215e}')
}

/// Writes what compatible forms of digits would lose behind a number: 10⁶ is not 106, 1½ not 11/2.
fn with_signs(text: &str) -> String {
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
    with_sign.collect()
}

/// What the normal form keeps apart and a reader does not; None for a character that is dropped.
fn letter(c: char) -> Option<char> {
    Some(match c {
        // Colours of skin, hamza by itself.
        '\u{1f3fb}'..='\u{1f3ff}' | '\u{621}' => return None,
        'ð' => 'd',
        '\u{66b}' => '.',
        '\u{66c}' => ',',
        '\u{2010}' | '\u{2011}' | '\u{2013}' | '\u{2212}' => '-',
        '×' => 'x',
        '\u{2044}' => '/',
        c => simplified(c),
    })
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
