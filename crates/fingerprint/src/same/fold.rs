//! The form in which words are compared: compatible characters, case, accents, vowel marks, forms of
//! Arabic letters, digits of all scripts and invisible characters do not count.

use unicode_normalization::UnicodeNormalization;

/// Writes the folded form of a text behind what is in `folded`. Most characters have a simple form,
/// and are not looked up in the tables.
pub fn fold_into(text: &str, folded: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest
            .bytes()
            .position(|byte| !byte.is_ascii())
            .unwrap_or(rest.len());
        let begin = folded.len();
        folded.push_str(&rest[..ascii]);
        folded[begin..].make_ascii_lowercase();
        let mut last = rest[..ascii].chars().next_back();
        let mut at = ascii;
        let mut odd = None;
        for c in rest[ascii..].chars() {
            match simple_form(c) {
                _ if c.is_ascii() => break,
                Some(simple) => folded.push(simple),
                None => {
                    odd = Some(c);
                    break;
                }
            }
            last = Some(c);
            at += c.len_utf8();
        }
        if odd.is_none() {
            rest = &rest[at..];
            continue;
        }
        // The simple character in front may compose with what follows.
        let from = at - last.map_or(0, char::len_utf8);
        if last.is_some() {
            folded.pop();
        }
        let end = rest[at..]
            .find(|c| simple_form(c).is_some())
            .map_or(rest.len(), |n| at + n);
        fold_by_tables(&rest[from..end], folded);
        rest = &rest[end..];
    }
}

/// The folded form of a character that is not changed by what is in front of it.
fn simple_form(c: char) -> Option<char> {
    match c {
        '\0'..='\x7f' => Some(c.to_ascii_lowercase()),
        '\u{4000}'..='\u{9fff}'
        | 'а'..='и'
        | 'к'..='я'
        | 'α'..='ω'
        | 'א'..='ת'
        | '\u{628}'..='\u{63a}'
        | '\u{641}'..='\u{64a}'
        | '\u{627}'
        | '가'..='힣'
        | 'ぁ'..='ゖ'
        | 'ァ'..='ー'
        | '\u{e01}'..='\u{e30}'
        | '\u{905}'..='\u{928}'
        | '\u{93e}'..='\u{94c}'
        | '、'
        | '。'
        | '「'..='】'
        | '\u{2018}'
        | '\u{2019}'
        | '\u{201c}'
        | '\u{201d}' => Some(letter(c)),
        'А'..='И' | 'К'..='Я' => char::from_u32(u32::from(c) + 0x20),
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' => Some('a'),
        'é' | 'è' | 'ê' | 'ë' => Some('e'),
        'í' | 'ì' | 'î' | 'ï' => Some('i'),
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' => Some('o'),
        'ú' | 'ù' | 'û' | 'ü' => Some('u'),
        'ñ' => Some('n'),
        'ç' => Some('c'),
        '\u{3000}' => Some(' '),
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).map(|c| c.to_ascii_lowercase())
        }
        _ => None,
    }
}

fn fold_by_tables(text: &str, folded: &mut String) {
    let visible = text.chars().filter(|c| !is_ignorable(*c));
    let mut in_front = ' ';
    let compatible = visible.flat_map(|c| {
        let sign = mark_of_number(c, in_front);
        in_front = c;
        sign.into_iter().chain([c])
    });
    let lower = compatible.nfkc().flat_map(char::to_lowercase);
    let plain = lower.nfd().filter(|c| !is_mark(*c));
    for c in plain.nfc() {
        match expansion(c) {
            Some(letters) => folded.push_str(letters),
            None if is_ignorable(c) => (),
            None => folded.push(digit(c).unwrap_or_else(|| letter(c))),
        }
    }
}

/// The folded form of a text.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

/// Characters that are not displayed, or change the colour of the one in front alone.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel marks, the nukta.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}'
        | '\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6ed}' | '\u{93c}' | '\u{621}')
}

/// What compatible forms of digits would lose behind a number: 10⁶ is not 106, 1½ not 11/2.
fn mark_of_number(c: char, in_front: char) -> Option<char> {
    match c {
        _ if !in_front.is_ascii_digit() => None,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{207b}' => Some('^'),
        '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215e}' => Some(' '),
        _ => None,
    }
}

/// The ASCII form of a decimal digit of another script.
fn digit(c: char) -> Option<char> {
    const ZEROS: [u32; 22] = [
        0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
        0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0,
    ];
    if c < '\u{660}' {
        return None;
    }
    let at = ZEROS
        .partition_point(|zero| *zero <= u32::from(c))
        .checked_sub(1)?;
    char::from_digit(u32::from(c) - ZEROS[at], 10)
}

/// Letters that are written as two where a keyboard lacks them.
fn expansion(c: char) -> Option<&'static str> {
    match c {
        'ß' => Some("ss"),
        'æ' => Some("ae"),
        'œ' => Some("oe"),
        'þ' => Some("th"),
        _ => None,
    }
}

/// Letters that no decomposition makes plain, and forms of one letter.
fn letter(c: char) -> char {
    match c {
        'ı' => 'i',
        'ł' => 'l',
        'đ' | 'ð' => 'd',
        'ø' => 'o',
        'ς' => 'σ',
        '\u{649}' | '\u{6cc}' => 'ي',
        '\u{6a9}' => 'ك',
        '\u{629}' | '\u{6d5}' => 'ه',
        '\u{671}' => 'ا',
        '\u{66b}' => '.',
        '\u{66c}' => ',',
        '\u{901}' => '\u{902}',
        '\u{2010}' | '\u{2011}' | '\u{2013}' | '\u{2212}' => '-',
        '×' => 'x',
        '\u{2044}' => '/',
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '裡' => '里',
        '著' => '着',
        '妳' => '你',
        '臺' => '台',
        c => c,
    }
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
        ] {
            assert_eq!(fold(text), folded);
        }
    }

    #[test]
    fn simple_forms_are_what_the_tables_say() {
        let neighbours = ["", "e", "中", "か", "क", "가", "é", "1", "\u{628}"];
        for c in '\0'..='\u{ffff}' {
            for before in neighbours {
                for after in [
                    "", "a", "\u{301}", "\u{3099}", "\u{93c}", "\u{11a8}", "\u{654}",
                ] {
                    let text = format!("{before}{c}{after}");
                    let mut by_tables = String::new();
                    super::fold_by_tables(&text, &mut by_tables);
                    assert_eq!(fold(&text), by_tables, "{text:?}");
                }
            }
        }
    }
}
