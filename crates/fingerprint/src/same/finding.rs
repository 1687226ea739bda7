//! A difference between two texts: what it is, where, and whether it decides. The judge and its
//! helpers make them; `simhash_same` and `simhash_differences` read them. Places are those of
//! words.

use super::nature::is_apart;
use super::tokens::Tokens;
use std::ops::Range;

/// Words of a sentence, at least.
const WORDS_OF_A_SENTENCE: usize = 3;

/// What a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another number.
    Number,
    /// Another sign or emoji.
    Symbol,
    /// Another day or month, or numeral in words.
    Date,
    /// A negation that only one text has.
    Negation,
    /// A word and its opposite.
    Opposite,
    /// Another word.
    Word,
    /// One character of a text without spaces.
    Character,
    /// A typing error.
    Typing,
    /// Another spelling, an abbreviation, a number written in another way.
    Spelling,
    /// Words that only one text has.
    Added,
    /// A sentence, a line or what is in brackets that only one text has.
    Sentence,
    /// Articles, prepositions and the like that only one text has.
    Light,
    /// A note, a source, a request to share that only one text has.
    Notice,
    /// The end of a text that is cut off in the other.
    CutOff,
    /// A greeting or a closing that only one text has.
    Greeting,
    /// A word that one text has twice.
    Doubled,
    /// Another order of sentences, of a name or of words.
    Order,
}

impl Kind {
    /// The name by which `simhash_differences` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Symbol => "symbol",
            Kind::Date => "date",
            Kind::Negation => "negation",
            Kind::Opposite => "opposite",
            Kind::Word => "word",
            Kind::Character => "character",
            Kind::Typing => "typing",
            Kind::Spelling => "spelling",
            Kind::Added => "word added",
            Kind::Sentence => "sentence added",
            Kind::Light => "light",
            Kind::Notice => "notice",
            Kind::CutOff => "cut off",
            Kind::Greeting => "greeting",
            Kind::Doubled => "doubled",
            Kind::Order => "order",
        }
    }
}

/// A difference, by the places of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub kind: Kind,
    pub a: Range<usize>,
    pub b: Range<usize>,
    pub decides: bool,
}

impl Finding {
    /// The kind to show: what is added is a word or a sentence.
    pub fn kind_shown(&self, a: &Tokens, b: &Tokens) -> Kind {
        let is_sentence = |text: &Tokens, words: &Range<usize>| {
            words.len() >= WORDS_OF_A_SENTENCE && is_apart(text, words)
        };
        match self.kind {
            Kind::Added if is_sentence(a, &self.a) || is_sentence(b, &self.b) => Kind::Sentence,
            kind => kind,
        }
    }

    pub fn swap(&mut self) {
        std::mem::swap(&mut self.a, &mut self.b);
    }
}

pub fn finding(kind: Kind, a: Range<usize>, b: Range<usize>, decides: bool) -> Finding {
    Finding {
        kind,
        a,
        b,
        decides,
    }
}
