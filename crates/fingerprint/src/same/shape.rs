//! What two texts are like, as far as it says what decides. [`super`] makes it once for two texts;
//! all that judge ask it.

use super::lists::{Classes, lists};
use super::tokens::{TokenKind, Tokens};

/// Words of a long text: in it more may differ.
pub const LONG: f64 = 60.0;

/// Words of a text of which passages may be in other words.
pub const VERY_LONG: f64 = 160.0;

/// Words of a field of a record, on average.
const WORDS_OF_A_FIELD: usize = 6;

/// What two texts are like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Most of it is in a script without spaces.
    pub by_characters: bool,
    /// Words of the shorter text; two characters count as one.
    pub words: f64,
    pub is_long: bool,
    /// The entry of a catalogue: however long it is, nothing more may differ in it.
    pub is_entry: bool,
    /// Fields of a record, of which one text may have fewer.
    pub is_record: bool,
    /// The name of an organisation.
    pub is_name: bool,
}

impl Shape {
    pub fn of(a: &Tokens, b: &Tokens) -> Self {
        let characters = |tokens: &Tokens| {
            tokens
                .all()
                .iter()
                .filter(|token| token.kind == TokenKind::Character)
                .count()
        };
        let by_characters = 2 * (characters(a) + characters(b)) > a.len() + b.len();
        let words = a.len().min(b.len()) as f64 / if by_characters { 2.0 } else { 1.0 };
        let is_entry = words >= LONG && !by_characters && (is_entry(a) || is_entry(b));
        Self {
            by_characters,
            words,
            is_long: words >= LONG && !is_entry,
            is_entry,
            is_record: is_record(a) || is_record(b),
            is_name: by_characters && (is_name(a) || is_name(b)),
        }
    }
}

impl Shape {
    /// Words as they count: two characters are one.
    pub fn weight(&self, words: usize) -> f64 {
        words as f64 / if self.by_characters { 2.0 } else { 1.0 }
    }
}

/// Whether a text says somewhere what thing it is about: this package, the library contains.
fn is_entry(text: &Tokens) -> bool {
    let mut last = Classes::default();
    (0..text.len()).any(|i| {
        let classes = lists().classes(text.word(i));
        let in_front = std::mem::replace(&mut last, classes);
        classes.has(Classes::ITEM) && in_front.has(Classes::THIS)
            || classes.has(Classes::HOLDS) && in_front.has(Classes::ITEM)
    })
}

/// Whether a text is a row of fields: many marks between them, and hardly a sentence.
fn is_record(text: &Tokens) -> bool {
    let marks = &text.marks;
    marks.semicolons >= 2
        || marks.colons >= 4
        || marks.commas >= 3
            && text.len() < 40.min(WORDS_OF_A_FIELD * (marks.commas + 1))
            && marks.sentences <= 1
}

fn is_name(text: &Tokens) -> bool {
    let all = text.joined(&(0..text.len()));
    text.len() < 25 && lists().organisations.are_in(all)
}
