//! Short texts that have nothing to do with each other, told apart before their words are aligned: most
//! candidates of a search are such. [`super`] asks for each pair; a sketch is made once for a text. Two texts
//! are far apart only if most words of each are in no form in the other.

use super::limits::{SKETCHED_LETTERS, SKETCHED_WORDS};
use super::tokens::{Token, TokenKind, Tokens};
use super::values::is_value_word;

/// What a word may be a form of.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// A bit for each of its letters.
    letters: u32,
    first: char,
    is_character: bool,
    /// It stands for itself: no list has it, and it is of the text.
    counts: bool,
}

impl Word {
    fn new(word: &str, token: &Token) -> Self {
        let is_character = token.kind == TokenKind::Character;
        let is_word = is_character || token.kind == TokenKind::Word;
        let is_around = token.in_query || token.in_frame || token.is_reference || token.dot;
        Self {
            letters: word
                .chars()
                .fold(0, |letters, c| letters | 1 << (c as u32 % u32::BITS)),
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
        (self.letters ^ other.letters).count_ones() <= SKETCHED_LETTERS
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
        let is_alone = |word: &&Word| word.counts && !other.0.iter().any(|one| word.may_be(one));
        2 * self.0.iter().filter(is_alone).count() > self.0.len()
    }
}
