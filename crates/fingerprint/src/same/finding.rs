//! A difference between two texts: what it is, where, and whether it decides. The judge and its helpers
//! make them; `simhash_same` and `simhash_differences` read them. Places are those of words.

use std::ops::Range;

/// What a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Symbol,
    Date,
    Negation,
    Opposite,
    Word,
    Character,
    Typing,
    Spelling,
    Added,
    Greeting,
    Doubled,
    Order,
}

impl Kind {
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
            Kind::Added => "added",
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
