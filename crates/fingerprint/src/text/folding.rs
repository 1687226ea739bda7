//! What single characters become in the normal form, after they were decomposed: case, invisible
//! characters, digits, radicals, vowel marks and accents. [`super::normal`] calls it for those that
//! are not ASCII; `lists/` has what are long lists of characters.

use std::sync::OnceLock;

use serde::Deserialize;

/// Whether accents of Latin, Greek and Cyrillic letters count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalize {
    /// They do not.
    #[default]
    Fold,
    /// They do.
    KeepAccents,
}

/// The letter of which Unicode makes heh with hamza.
pub const ARABIC_AE: char = '\u{6d5}';
pub const HAMZA_ABOVE: char = '\u{654}';
pub const HEH: char = '\u{647}';

/// Returns whether a character is dropped: nobody sees it (the property Default_Ignorable_Code_Point of
/// Unicode 17), or it stretches Arabic words.
pub fn is_dropped(c: char) -> bool {
    matches!(c,
        '\u{640}' |
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Calls `to` with what a character becomes; marks that do not count are left out before.
pub fn fold(c: char, normalize: Normalize, to: &mut dyn FnMut(char)) {
    let one = match c {
        // Quotation marks that are typed as apostrophes, and the letter that looks like one.
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => Some('\''),
        '\u{2e80}'..='\u{2ef3}' => of_pair(include_str!("lists/cjk_radicals.txt"), c),
        '\u{621}'..='\u{6d5}' => arabic(c),
        // Chandrabindu, written as anusvara.
        '\u{901}' => Some('\u{902}'),
        // It has a capital, I, which is that of another letter.
        'ı' if normalize == Normalize::KeepAccents => Some(c),
        _ => None,
    };
    if let Some(one) = one.or_else(|| digit(c)) {
        return to(one);
    }
    if normalize == Normalize::Fold && is_latin(c) {
        let lower = c.to_lowercase().next().unwrap_or(c);
        let letters = include_str!("lists/latin_letters.txt").lines();
        let letters = letters.filter_map(|line| line.strip_prefix(lower)).next();
        if let Some(letters) = letters {
            return letters.trim_start().chars().for_each(to);
        }
    }
    // Full case folding: some letters have a small form only by way of their capitals (ẞ, SS, ss).
    let capitals = c.to_lowercase().flat_map(char::to_uppercase);
    capitals.flat_map(char::to_lowercase).for_each(to);
}

/// Returns the second character of the line of a list that begins with `c`.
fn of_pair(list: &str, c: char) -> Option<char> {
    let line = list.lines().find(|line| line.starts_with(c))?;
    line.chars().next_back()
}

/// The ASCII digit that a decimal digit of another script is.
fn digit(c: char) -> Option<char> {
    static ZEROS: OnceLock<Vec<char>> = OnceLock::new();
    if c < '\u{660}' || !c.is_numeric() {
        return None;
    }
    let zeros = ZEROS.get_or_init(|| {
        let lines = include_str!("lists/zeros.txt").lines();
        lines.filter_map(|line| line.chars().next()).collect()
    });
    let zero = zeros[..zeros.partition_point(|zero| *zero <= c)].last()?;
    char::from_digit(u32::from(c) - u32::from(*zero), 10)
}

/// The letters that writers of Arabic and Persian use for each other.
fn arabic(c: char) -> Option<char> {
    match c {
        // Alef with wasla.
        '\u{671}' => Some('\u{627}'),
        // Teh marbuta, heh goal.
        '\u{629}' | '\u{6c1}' => Some('\u{647}'),
        // Alef maksura, Persian yeh, yeh barree.
        '\u{649}' | '\u{6cc}' | '\u{6d2}' => Some('\u{64a}'),
        // Keheh.
        '\u{6a9}' => Some('\u{643}'),
        _ => None,
    }
}

/// Returns whether a mark behind a character, which is folded, counts.
pub fn mark_counts(base: char, mark: char, normalize: Normalize) -> bool {
    match mark {
        // Points and accents of Hebrew.
        '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'
        | '\u{5c2}'
        | '\u{5c4}'
        | '\u{5c5}'
        | '\u{5c7}'
        | '\u{fb1e}' => false,
        // Nukta, which is mostly not written.
        '\u{93c}' => false,
        // Madda and hamza make other letters of waw and yeh.
        '\u{653}'..='\u{655}' => matches!(base, '\u{648}' | '\u{64a}'),
        // The other marks of Arabic.
        '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}'
        | '\u{6e8}'
        | '\u{6ea}'..='\u{6ed}'
        | '\u{897}'..='\u{89f}'
        | '\u{8ca}'..='\u{8e1}'
        | '\u{8e3}'..='\u{8ff}' => false,
        '\u{300}'..='\u{36f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{fe20}'..='\u{fe2f}'
            if normalize == Normalize::Fold =>
        {
            accent_counts(base, mark)
        }
        _ => true,
    }
}

/// Returns whether an accent makes another letter of a character, as far as readers are concerned.
fn accent_counts(base: char, mark: char) -> bool {
    match base {
        // Where words are stressed, and the two points of ё, which are mostly not written. Those
        // of й, ї and ў always are.
        '\u{400}'..='\u{52f}' => match mark {
            '\u{300}' => false,
            '\u{301}' => matches!(base, 'г' | 'к'),
            '\u{308}' => base != 'е',
            _ => true,
        },
        // An iota below a Greek letter is one beside it in capitals.
        '\u{370}'..='\u{3ff}' => mark == '\u{345}',
        _ => !is_latin(base),
    }
}

fn is_latin(c: char) -> bool {
    matches!(c,
        'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2af}' | '\u{1d00}'..='\u{1d7f}'
        | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}' | '\u{a722}'..='\u{a7ff}' | '\u{ab30}'..='\u{ab64}')
}
