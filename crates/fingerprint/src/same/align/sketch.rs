//! Short texts that have nothing to do with each other, told apart before their words are aligned: most
//! candidates of a search are such. [`crate::same`] asks for each pair; a sketch is made once for a text. Two texts
//! are far apart only if most words of each are in no form in the other, or most of those that no list has;
//! short ones are others too if a word that no list has stands for another such word.

use super::Hunk;
use super::alike::{is_syllable, strokes_of};
use crate::same::cut::tokens::{Token, TokenKind, Tokens};
use crate::same::limits::{
    SKETCHED_ALONE, SKETCHED_LETTERS, SKETCHED_LETTERS_OF_SHORT, SKETCHED_REPLACED, SKETCHED_SHORT,
    SKETCHED_STEM, SKETCHED_WORDS,
};
use crate::same::lists::Entry;
use crate::same::values::is_value_word;

/// A bit for each of the letters that spellings of one word may have in place of each other.
const SPELLED: u32 = letters_of(b"uephfczs");

const fn letters_of(word: &[u8]) -> u32 {
    let (mut letters, mut at) = (0, 0);
    while at < word.len() {
        letters |= 1 << (word[at] as u32 % u32::BITS);
        at += 1;
    }
    letters
}

/// A bit for each of the strokes of a character of ASCII.
static STROKES: [u32; 128] = {
    let (mut strokes, mut c) = ([0; 128], 0);
    while c < strokes.len() {
        strokes[c] = match strokes_of(c as u8 as char).as_bytes() {
            [] => letters_of(&[c as u8]),
            of_c => letters_of(of_c),
        };
        c += 1;
    }
    strokes
};

/// What a word may be a form of.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// A bit for each of its letters, and for each of their strokes.
    letters: u32,
    strokes: u32,
    first: char,
    /// A number that its first letters make, which are the least stem of most endings.
    stem: u32,
    count: u32,
    is_character: bool,
    /// It is short, and of ASCII letters.
    is_short: bool,
    /// Other words may be forms of it that begin with another letter and have others.
    is_open: bool,
    /// It stands for itself: no list has it, and it is of the text.
    counts: bool,
}

impl Word {
    pub fn new(word: &str, token: &Token) -> Self {
        let is_character = token.kind == TokenKind::Character;
        let is_word = is_character || token.kind == TokenKind::Word;
        let is_initial = token.dot && word.chars().nth(1).is_none();
        let is_around = token.in_query || token.in_frame || token.is_reference || is_initial;
        let (mut letters, mut strokes, mut count) = (0u32, 0, 0);
        let stem = word.chars().take(SKETCHED_STEM);
        let stem = stem.fold(0u32, |all, c| all.wrapping_mul(0x9e37_79b1) ^ c as u32);
        for c in word.chars() {
            let bit = 1 << (c as u32 % u32::BITS);
            letters |= bit;
            strokes |= STROKES.get(c as usize).copied().unwrap_or(bit);
            count += 1;
        }
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        Self {
            letters,
            strokes,
            is_short: word.is_ascii() && letters.count_ones() <= SKETCHED_SHORT,
            first: word.chars().next().unwrap_or_default(),
            stem,
            count,
            is_character,
            is_open: !is_word || has_digit || word.starts_with(is_syllable),
            counts: is_word
                && !is_around
                && token.entry.is_none_or(Entry::is_label)
                && !is_value_word(word),
        }
    }

    /// Whether two words may be forms of one: few letters are others, both begin alike, or one is short for
    /// the other. Words that begin with different letters are spellings of one, or look alike to a scanner.
    pub fn may_be(&self, other: &Self) -> bool {
        if self.is_character || other.is_character {
            return self.first == other.first;
        }
        let others = self.letters ^ other.letters;
        if self.first != other.first && !self.is_open && !other.is_open {
            return others & !SPELLED == 0 || self.strokes == other.strokes;
        }
        let common = self.letters & other.letters;
        let most = match self.is_short && other.is_short {
            true => SKETCHED_LETTERS_OF_SHORT,
            false => SKETCHED_LETTERS,
        };
        others.count_ones() <= most
            || self.stem == other.stem
            || self.first == other.first && (common == self.letters || common == other.letters)
    }
}

/// The words of a short text.
#[derive(Clone, Debug)]
pub struct Sketch(Vec<Word>);

impl Sketch {
    /// None of a long text.
    pub fn new(text: &Tokens) -> Option<Self> {
        let words = (0..text.len()).map(|i| Word::new(text.word(i), text.at(i)));
        (text.len() <= SKETCHED_WORDS).then(|| Self(words.collect()))
    }

    /// Bytes of its words.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Word>()
    }

    /// Whether most words of each text are in no form in the other.
    pub fn is_far_from(&self, other: &Self) -> bool {
        self.is_mostly_without(other) && other.is_mostly_without(self)
    }

    /// Whether a word of the first text stands for one of the second, and each is in no form in the other.
    pub fn has_replaced(&self, other: &Self, [a, b]: [&Tokens; 2], hunks: &[Hunk]) -> bool {
        if self.0.len().min(other.0.len()) > SKETCHED_REPLACED {
            return false;
        }
        // Fewer letters than there are words in the other text may be the first ones of these.
        let are_alone = |words: &[Word], others: &[Word], least: usize| {
            let is_alone = |word: &&Word| {
                word.counts && !word.is_character && !others.iter().any(|one| word.may_be(one))
            };
            let alone = words.iter().filter(is_alone);
            alone.map(|word| word.count as usize).sum::<usize>() > least
        };
        hunks.iter().any(|hunk| {
            let (in_a, in_b) = (&self.0[hunk.a.clone()], &other.0[hunk.b.clone()]);
            are_alone(in_a, &other.0, in_b.len())
                && are_alone(in_b, &self.0, in_a.len())
                && a.joined(&hunk.a) != b.joined(&hunk.b)
        })
    }

    fn is_mostly_without(&self, other: &Self) -> bool {
        let counted = || self.0.iter().filter(|word| word.counts);
        let is_alone = |word: &&Word| !other.0.iter().any(|one| word.may_be(one));
        let alone = counted().filter(is_alone).count();
        2 * alone > self.0.len() || alone >= SKETCHED_ALONE && 2 * alone > counted().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::align::alike::{self, Likeness, likeness};
    use proptest::prelude::*;

    const WORDS: &str = "([a-e]{2,5}|[mnrluidwvcebhost]{2,6}|phone|fone|zest|sest|clamp|damp) ([a-e]{2,5}|[mnrluidwvcebhost]{2,6}|fhone|zest)";

    proptest! {
        /// Whatever begins with another letter and is a form is seen as one.
        #[test]
        fn no_form_with_another_first_letter_is_alone(words in WORDS) {
            let tokens = Tokens::cut(&words, &mut || {}).unwrap().unwrap();
            prop_assume!(tokens.len() == 2 && (0..2).all(|i| tokens.at(i).entry.is_none()));
            let sketch = Sketch::new(&tokens).unwrap();
            let (x, y) = (sketch.0[0], sketch.0[1]);
            prop_assume!(x.first != y.first);
            let word = |i: usize| alike::Word::new(&tokens, i);
            let are_alike = likeness(&word(0), &word(1)) != Likeness::Unlike;
            prop_assert!(!are_alike || x.may_be(&y));
        }
    }
}
