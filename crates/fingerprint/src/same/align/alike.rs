//! Whether two different words are forms of one, or one with a typing error. `judge`, `pairing` and
//! `tally` ask. Neither order nor place counts.

use crate::same::cut::tokens::{Token, TokenKind, Tokens};
use crate::same::limits::{
    COUNTING_LETTERS, LEFT_OUT_LETTERS, MOST_LETTERS, REPLACED_LETTERS, SWAPPED_LETTERS,
    TWICE_WRONG_LETTERS,
};
use crate::same::lists::{Classes, Entry, Languages, is_confused_pair, lists};
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// What two words are to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Likeness {
    /// Another spelling, an abbreviation.
    Spelling,
    /// An abbreviation without a point.
    Short,
    /// What a scan makes of a word.
    Scan,
    /// Another ending of the same word: a case, a number, a particle.
    Ending,
    /// Another word that says the same.
    Synonym,
    Typing,
    Unlike,
}

const VOWELS: &[char] = &[
    'a', 'e', 'i', 'o', 'u', 'y', 'а', 'е', 'и', 'о', 'у', 'ы', 'э', 'ю', 'я', 'α', 'ε', 'η', 'ι',
    'ο', 'υ', 'ω',
];

/// A word, with what is looked up once for all others that it is compared with.
pub struct Word<'t> {
    text: &'t str,
    token: &'t Token,
    entry: Option<&'static Entry>,
    /// The languages that its text may be in.
    languages: Languages,
    /// It ends the text.
    is_last: bool,
    /// No part of it is a digit or a sign.
    is_plain: bool,
    spelling: Cow<'t, str>,
    /// A bit for each letter that forms of the word begin with: those that are alike share one.
    begins: u64,
}

impl<'t> Word<'t> {
    pub fn new(tokens: &'t Tokens, i: usize) -> Self {
        let (text, token) = (tokens.word(i), tokens.at(i));
        let is_sign = |c: char| c.is_ascii_digit() || c == '+' || c == '#';
        let is_plain = token.kind == TokenKind::Word && !text.contains(is_sign);
        let spelling = match is_plain {
            true => spelling(text),
            false => Cow::Borrowed(""),
        };
        // The first two letters may change places.
        let letters = text.chars().take(2).chain(spelling.chars().take(2));
        let begins = match text.starts_with(is_syllable) {
            true => u64::MAX,
            false => letters
                .chain(strokes(text).take(1))
                .fold(0, |bits, c| bits | 1 << (c as u32 % u64::BITS)),
        };
        Self {
            text,
            token,
            entry: token.entry,
            languages: tokens.languages,
            is_last: i + 1 == tokens.len(),
            is_plain,
            spelling,
            begins,
        }
    }

    /// Whether a point says that it is short for another word: it ends no sentence.
    fn has_point(&self, long: &Self) -> bool {
        // The point behind the text's last word: 2nd ed.
        let is_begin = || {
            let rest = long.text.strip_prefix(self.text);
            rest.is_some_and(|rest| rest.starts_with(VOWELS))
        };
        self.token.dot && !long.token.dot && (!self.is_last || is_begin())
    }

    /// Another form of it would be another thing.
    fn counts(&self) -> bool {
        self.entry.is_some_and(|entry| {
            entry.classes.has(Classes::NEGATION) || entry.classes.has(Classes::CALENDAR)
        })
    }
}

/// Compares two different words.
pub fn likeness(a: &Word, b: &Word) -> Likeness {
    let entries = (a.entry, b.entry);
    if a.text == b.text || matches!(entries, (Some(x), Some(y)) if x.is_equal(y)) {
        return Likeness::Spelling;
    }
    if matches!(entries, (Some(x), Some(y)) if x.is_synonym(y))
        && !a.token.is_joined
        && !b.token.is_joined
    {
        return Likeness::Synonym;
    }
    let kinds = [a.token.kind, b.token.kind];
    if a.begins & b.begins == 0
        || kinds.contains(&TokenKind::Symbol)
        || kinds.contains(&TokenKind::Character)
    {
        return Likeness::Unlike;
    }
    if kinds == [TokenKind::Number; 2] && is_padded(a.text, b.text) {
        return Likeness::Spelling;
    }
    if is_scan(a.text, b.text) && !is_confused_pair(a.text, b.text) {
        return Likeness::Scan;
    }
    if !a.is_plain || !b.is_plain || is_size(a.text) && is_size(b.text) {
        return Likeness::Unlike;
    }
    let are_two = || lists().are_two_words(a.text, b.text) || is_code_name(a.text, b.text);
    if a.spelling == b.spelling {
        return if are_two() {
            Likeness::Unlike
        } else {
            Likeness::Spelling
        };
    }
    // A part of a name behind a hyphen is another one by any letter.
    if a.token.is_joined && b.token.is_joined {
        return Likeness::Unlike;
    }
    let are_forms = || {
        let endings = &lists().endings;
        endings.are_of_one_word((a.text, a.languages), (b.text, b.languages))
    };
    let (short, long) = match a.text.len() <= b.text.len() {
        true => (a, b),
        false => (b, a),
    };
    let likeness = if are_forms() {
        // Particles and polite forms of Korean cost nothing.
        match a.text.starts_with(is_syllable) {
            true => Likeness::Synonym,
            false => Likeness::Ending,
        }
    } else if is_abbreviation(short, long) {
        match short.has_point(long) {
            true => Likeness::Spelling,
            false => Likeness::Short,
        }
    } else if is_typing_error(a.text, b.text) {
        Likeness::Typing
    } else {
        return Likeness::Unlike;
    };
    // An error in a month or in a word that denies, if no list has what it makes.
    let letters = a.text.len().min(b.text.len());
    let is_misspelt = likeness == Likeness::Typing
        && letters >= COUNTING_LETTERS
        && (a.entry.is_none() || b.entry.is_none());
    let counts = (a.counts() || b.counts()) && !is_misspelt;
    let are_opposite = matches!(entries, (Some(x), Some(y)) if x.is_opposite(y));
    match counts || are_opposite || is_negated(a.text, b.text) || are_two() {
        true => Likeness::Unlike,
        false => likeness,
    }
}

/// Whether two numbers differ in a zero in front: hours, days, episodes.
fn is_padded(a: &str, b: &str) -> bool {
    let digit = |word| <[u8; 1]>::try_from(str::as_bytes(word)).ok();
    a.len().max(b.len()) == 2
        && digit(a.trim_start_matches('0')) == digit(b.trim_start_matches('0'))
        && digit(a.trim_start_matches('0')).is_some()
}

/// A Roman number or a size of clothes, of which another one is another thing.
fn is_size(word: &str) -> bool {
    let is_roman = word.bytes().all(|byte| b"ivxlcdm".contains(&byte));
    let is_clothes = word.trim_start_matches('x').len() == 1 && word.ends_with(['s', 'm', 'l']);
    is_roman || is_clothes
}

/// Whether a scanner may take one word for the other: m for rn, l for 1.
pub fn is_scan(a: &str, b: &str) -> bool {
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    let is_long = a.len() > 2
        || [a, b]
            .iter()
            .any(|word| word.starts_with(char::is_alphabetic));
    match (has_digit(a), has_digit(b)) {
        (true, true) => is_long && alike_digits(a).eq(alike_digits(b)),
        (false, false) => {
            let (a_first, b_first) = (a.chars().next(), b.chars().next());
            // Clean and dean are two words.
            let is_other_d = a.len().min(b.len()) == 4 && a.contains("cl") != b.contains("cl");
            let comparable = a.len().min(b.len()) > 3 && !is_other_d
                || a_first == b_first && a.len() + b.len() > 5;
            comparable && strokes(a).eq(strokes(b))
        }
        _ => {
            is_long
                && (strokes(a).eq(strokes(b))
                    || strokes(&a.replace('8', "ss")).eq(strokes(&b.replace('8', "ss"))))
        }
    }
}

fn alike_digits(word: &str) -> impl Iterator<Item = u8> {
    word.bytes().map(|byte| match byte {
        b'o' => b'0',
        b'l' | b'i' => b'1',
        other => other,
    })
}

/// The strokes of a word, as far as a scanner confuses them.
fn strokes(word: &str) -> impl Iterator<Item = char> {
    word.chars().flat_map(|c| {
        let strokes = strokes_of(c);
        strokes.chars().chain(strokes.is_empty().then_some(c))
    })
}

/// The strokes of a letter; none if no other one has them.
pub const fn strokes_of(c: char) -> &'static str {
    match c {
        'm' => "iii",
        'n' | 'u' => "ii",
        'r' | 'l' | 'j' | '1' => "i",
        'd' => "ci",
        'w' => "vv",
        'e' => "c",
        'b' | '6' | '8' => "h",
        't' => "f",
        'q' | '9' => "g",
        '0' => "o",
        '5' => "s",
        _ => "",
    }
}

/// A word in one of the spellings of its language: colour and color, organise and organize, ae for
/// an umlaut, a letter doubled.
fn spelling(word: &str) -> Cow<'_, str> {
    let ends = word.ends_with("re") || word.ends_with("res");
    let may_differ = |(x, y): (char, char)| {
        x == y
            || x == 'z'
            || matches!(
                (x, y),
                ('a' | 'o' | 'u', 'e') | ('o', 'u' | 'g') | ('p', 'h') | ('c', 'e' | 'i')
            )
    };
    let mut pairs = word.chars().zip(word.chars().skip(1));
    if !ends && !word.ends_with('z') && !pairs.any(may_differ) {
        return Cow::Borrowed(word);
    }
    let mut letters = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let (length, written) = match rest.as_bytes() {
            [b'o', b'g', b'u', b'e', ..] => (4, "og"),
            [b'o', b'u', b'r', ..] => (3, "or"),
            [b'm', b'm', b'e', ..] => (3, "m"),
            [b'a', b'e', ..] => (2, "a"),
            [b'o', b'e', ..] => (2, "o"),
            [b'u', b'e', ..] => (2, "u"),
            [b'p', b'h', ..] => (2, "f"),
            [b'c', b'e' | b'i', ..] | [b'z', ..] => (1, "s"),
            _ => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        let mut written = written.chars();
        // A letter doubled is one.
        if letters.ends_with(|last| written.clone().next() == Some(last)) {
            written.next();
        }
        letters.extend(written);
        rest = &rest[length..];
    }
    for (french, english) in [("re", "er"), ("res", "ers")] {
        if let Some(stem) = letters.strip_suffix(french)
            && stem.ends_with(|c: char| !"aeiou".contains(c))
        {
            return Cow::Owned([stem, english].concat());
        }
    }
    Cow::Owned(letters)
}

/// Whether one word is the other with a syllable that negates it.
fn is_negated(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let by_prefix = long
        .strip_suffix(short)
        .is_some_and(|prefix| lists().negating_prefixes.iter().any(|p| p == prefix));
    // Turkish negates within the word: gelecek, gelmeyecek.
    let by_infix = || {
        long.match_indices('m').any(|(at, _)| {
            at >= 3
                && long[at + 1..].starts_with(['a', 'e', 'i', 'u'])
                && long.len() == short.len() + 2
                && long.is_char_boundary(at + 2)
                && short.starts_with(&long[..at])
                && short.ends_with(&long[at + 2..])
        })
    };
    // Before -iyor the vowel of the negation is lost: geliyorum, gelmiyorum.
    let in_present = || {
        long.match_indices('m').any(|(at, _)| {
            long.len() == short.len() + 1
                && long[at + 1..].contains("yor")
                && short.starts_with(&long[..at])
                && short.ends_with(&long[at + 1..])
        })
    };
    by_prefix || by_infix() || in_present()
}

/// Whether a word is short for another: its letters are in it in order, and a point or its length
/// says that it is.
fn is_abbreviation(of_short: &Word, of_long: &Word) -> bool {
    let (short, long) = (of_short.text, of_long.text);
    if short.chars().next() != long.chars().next() {
        return false;
    }
    let letters = short.chars().count();
    let all = long.chars().count();
    let has_ends = (2..=4).contains(&letters)
        && all >= 2 * letters
        && short.chars().next_back() == long.chars().next_back();
    let may_be =
        of_short.has_point(of_long) && (letters <= 6 || long.starts_with(short)) || has_ends;
    if !may_be || all <= letters {
        return false;
    }
    let mut rest = long.chars();
    short.chars().all(|c| rest.any(|other| other == c))
}

/// Whether a character is a syllable of Korean.
pub fn is_syllable(c: char) -> bool {
    ('가'..='힣').contains(&c)
}

/// Whether a word is another one with a slip of the hand or the ear. Without a dictionary the evidence is
/// the slip itself: neighbours that change places, a letter left out, doubled or hit beside, a vowel for
/// another one within a longer word. Any other letter makes another word.
fn is_typing_error(a: &str, b: &str) -> bool {
    let is_hangul = a.starts_with(is_syllable) && b.starts_with(is_syllable);
    if is_hangul && may_be_person(a) && may_be_person(b) {
        return false;
    }
    let first = |word: &str| word.chars().next();
    if !is_hangul && first(a) != first(b) && first(a) != b.chars().nth(1) {
        return false;
    }
    let count = |word: &str| word.chars().take(MOST_LETTERS + 1).count();
    let (in_a, in_b) = (count(a), count(b));
    if in_a.max(in_b) > MOST_LETTERS || in_a.abs_diff(in_b) > 2 {
        return false;
    }
    // Jamo of a syllable take part one by one.
    if is_hangul && in_a.min(in_b) >= 3 {
        let (a, b): (Vec<char>, Vec<char>) = (a.nfd().collect(), b.nfd().collect());
        return is_within(&a, &b, if a.len().min(b.len()) >= 8 { 2 } else { 1 });
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    is_slip(&a, &b) || is_double_slip(&a, &b)
}

/// Whether a word of Korean may be the name of a person: a surname and two syllables.
fn may_be_person(word: &str) -> bool {
    const SURNAMES: &str =
        "김이박최정강조윤장임한오서신권황안송류전홍유고문양손배백허남심노하곽성차주우구민";
    word.starts_with(|c| SURNAMES.contains(c)) && word.chars().count() == 3
}

/// Whether one slip makes one word of the other.
fn is_slip(a: &[char], b: &[char]) -> bool {
    let length = a.len().min(b.len());
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tails = a[front..].iter().rev().zip(b[front..].iter().rev());
    let back = tails.take_while(|(x, y)| x == y).count();
    match (&a[front..a.len() - back], &b[front..b.len() - back]) {
        ([x, y], [v, w]) => x == w && y == v && length >= SWAPPED_LETTERS,
        ([x], [y]) => {
            let is_inside = front > 0 && back > 0;
            let is_vowel = |c: &char| VOWELS.contains(c);
            length >= REPLACED_LETTERS
                && is_inside
                && (are_neighbours(*x, *y)
                    || is_vowel(x)
                        && is_vowel(y)
                        && (length >= TWICE_WRONG_LETTERS || are_unstressed(*x, *y)))
        }
        ([x], []) | ([], [x]) => {
            let (longer, at) = match a.len() > b.len() {
                true => (a, front),
                false => (b, front),
            };
            let is_doubled = at > 0 && longer[at - 1] == *x || longer.get(at + 1) == Some(x);
            let is_plural = *x == 's' && back == 0 && length >= SWAPPED_LETTERS;
            let is_nasal = matches!(x, '\u{901}' | '\u{902}');
            // Robert and Roberta are two people.
            let is_feminine = back == 0 && matches!(x, 'a' | 'а');
            is_plural
                || is_nasal
                || front > 0
                    && !is_feminine
                    && (length >= LEFT_OUT_LETTERS || is_doubled && length >= SWAPPED_LETTERS)
        }
        _ => false,
    }
}

/// Whether two vowels of Cyrillic sound alike without stress.
fn are_unstressed(a: char, b: char) -> bool {
    matches!(
        (a, b),
        ('а', 'о') | ('о', 'а') | ('е', 'и') | ('и', 'е') | ('е', 'я') | ('я', 'е')
    )
}

/// Whether two slips make one long word of the other: its consonants are the same, in order.
fn is_double_slip(a: &[char], b: &[char]) -> bool {
    let consonants = |word: &[char]| {
        let mut consonants: Vec<char> = word.to_vec();
        consonants.dedup();
        consonants.retain(|c| !VOWELS.contains(c));
        consonants
    };
    a.len().min(b.len()) >= TWICE_WRONG_LETTERS
        && a[..2] == b[..2]
        && a.last() == b.last()
        && is_within(a, b, 2)
        && consonants(a) == consonants(b)
}

/// Whether two letters are beside each other on the keys of most Latin scripts.
fn are_neighbours(a: char, b: char) -> bool {
    const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let place = |c: char| {
        let found = ROWS
            .iter()
            .enumerate()
            .map(|(row, keys)| (row, keys.find(c)));
        found
            .into_iter()
            .find_map(|(row, at)| at.map(|at| (row, at)))
    };
    match (place(a), place(b)) {
        (Some((row, at)), Some((other_row, other_at))) if row == other_row => {
            at.abs_diff(other_at) == 1
        }
        (Some((0, above)), Some((1, below))) | (Some((1, below)), Some((0, above))) => {
            above == below || above == below + 1
        }
        (Some((1, above)), Some((2, below))) | (Some((2, below)), Some((1, above))) => {
            above == below || above == below + 1
        }
        _ => false,
    }
}

/// Whether one is short and of one letter alone, or without a vowel: a size, a code.
fn is_code_name(a: &str, b: &str) -> bool {
    let is_code = |word: &str| word.len() <= 4 && word.is_ascii() && !word.contains(VOWELS);
    let is_one_letter = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next();
        word.len() <= 4 && chars.all(|c| Some(c) == first)
    };
    a.len() != b.len()
        && a.len().max(b.len()) <= 4
        && (is_code(a) && is_code(b) || is_one_letter(a) && is_one_letter(b))
}

/// Whether at most that many edits (insert, delete, replace, swap of neighbours) make one word of the other.
fn is_within(a: &[char], b: &[char], most: usize) -> bool {
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (&a[..a.len() - back], &b[..b.len() - back]);
    if a.len().abs_diff(b.len()) > most || a.len().max(b.len()) > MOST_LETTERS {
        return false;
    }
    let mut rows = [[0; MOST_LETTERS + 1]; 3];
    rows[0] = std::array::from_fn(|j| j);
    for (i, x) in a.iter().enumerate() {
        // The row of the letters so far, the one before, and the one before that.
        let (now, last, older) = ((i + 1) % 3, i % 3, (i + 2) % 3);
        rows[now][0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = rows[last][j] + usize::from(x != y);
            let mut edits = replaced.min(rows[last][j + 1] + 1).min(rows[now][j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                edits = edits.min(rows[older][j - 1] + 1);
            }
            rows[now][j + 1] = edits;
        }
        if rows[now][..=b.len()].iter().all(|edits| *edits > most) {
            return false;
        }
    }
    rows[a.len() % 3][b.len()] <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: &str = "([a-e]{1,3}|[mnrluidwvcebh1680q95ost]{1,4}|phone|fone|zest|sest|[가-갸]{1,4}|[א-ה]{2,4}|0?[1-9]) ([a-e]{1,3}|[mnrluidwvcebh1680q95ost]{1,4}|fhone|[가-갸]{1,4}|[א-ה]{2,4}|0?[1-9])";

    proptest! {
        #[test]
        fn words_that_are_alike_begin_alike(words in WORDS) {
            let tokens = Tokens::cut(&words, &mut || {}).unwrap().unwrap();
            prop_assume!(tokens.len() == 2);
            let word = |i: usize| Word::new(&tokens, i);
            let of_any_begin = |i: usize| Word { begins: u64::MAX, ..word(i) };
            prop_assert_eq!(likeness(&word(0), &word(1)), likeness(&of_any_begin(0), &of_any_begin(1)));
        }
    }
}
