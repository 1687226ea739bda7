//! Short texts that have nothing to do with each other, told apart before their words are aligned: most
//! candidates of a search are such. [`super`] asks for each pair; a sketch is made once for a text. Two texts
//! are far apart only if most words of each are in no form in the other, or most of those that no list has.

use super::limits::{
    SKETCHED_ALONE, SKETCHED_LETTERS, SKETCHED_LETTERS_OF_SHORT, SKETCHED_SHORT, SKETCHED_WORDS,
};
use super::tokens::{Token, TokenKind, Tokens};
use super::values::is_value_word;

/// What a word may be a form of.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// A bit for each of its letters.
    letters: u32,
    first: char,
    is_character: bool,
    /// It is short, and of ASCII letters.
    is_short: bool,
    /// It stands for itself: no list has it, and it is of the text.
    counts: bool,
}

impl Word {
    fn new(word: &str, token: &Token) -> Self {
        let is_character = token.kind == TokenKind::Character;
        let is_word = is_character || token.kind == TokenKind::Word;
        let is_around = token.in_query || token.in_frame || token.is_reference || token.dot;
        let letters = (word.chars()).fold(0u32, |all, c| all | 1 << (c as u32 % u32::BITS));
        Self {
            letters,
            is_short: word.is_ascii() && letters.count_ones() <= SKETCHED_SHORT,
            first: word.chars().next().unwrap_or_default(),
            is_character,
            counts: is_word && !is_around && token.entry.is_none() && !is_value_word(word),
        }
    }

    /// Whether two words may be forms of one: few letters are others, or one is short for the other.
    fn may_be(&self, other: &Self) -> bool {
        if self.is_character || other.is_character {
            return self.first == other.first;
        }
        let common = self.letters & other.letters;
        let most = match self.is_short && other.is_short {
            true => SKETCHED_LETTERS_OF_SHORT,
            false => SKETCHED_LETTERS,
        };
        (self.letters ^ other.letters).count_ones() <= most
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

    /// Whether most words of each text are in no form in the other.
    pub fn is_far_from(&self, other: &Self) -> bool {
        self.is_mostly_without(other) && other.is_mostly_without(self)
    }

    fn is_mostly_without(&self, other: &Self) -> bool {
        let counted = || self.0.iter().filter(|word| word.counts);
        let is_alone = |word: &&Word| !other.0.iter().any(|one| word.may_be(one));
        let alone = counted().filter(is_alone).count();
        2 * alone > self.0.len() || alone >= SKETCHED_ALONE && 2 * alone > counted().count()
    }
}
