//! Serbian in both its scripts: a text in Cyrillic letters is written in Latin ones, where the other
//! text is in these. [`super`] calls it for the forms of two texts.
//!
//! A text is only written in other letters where the other one has none of its script, so that
//! nothing changes between two texts in Cyrillic letters, in which a letter counts that Latin writes
//! as another one does (ч and ћ). Russian and its relatives have letters that Serbian lacks in nearly
//! every sentence; a text without them reads the same in Latin letters.

use crate::text::other_scripts::serbian_latin;

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// Writes the one of two folded texts that is in Cyrillic letters in Latin ones, if the other is.
pub fn in_one_script(a: &mut String, b: &mut String) {
    if a.is_ascii() && b.is_ascii() {
        return;
    }
    if is_latin(b) && is_serbian(a) {
        *a = in_latin(a);
    } else if is_latin(a) && is_serbian(b) {
        *b = in_latin(b);
    }
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

fn in_latin(text: &str) -> String {
    let mut latin = String::with_capacity(text.len());
    for c in text.chars() {
        match serbian_latin(c) {
            Some(letters) => latin.push_str(letters),
            None => latin.push(c),
        }
    }
    latin
}

#[cfg(test)]
mod tests {
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
