//! The words, numbers and symbols of a folded text. What does not decide is in none of them:
//! punctuation, white space, the numbers of a list, parameters that follow a visitor.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Number,
    Word,
    /// A letter of a script that puts no spaces between words.
    Character,
    Symbol,
}

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub begin: u32,
    pub end: u32,
    /// Where it begins in the text that was cut; several numbers in one piece begin at one place.
    pub from: u32,
    pub kind: TokenKind,
    /// A point follows, as behind an abbreviation.
    pub dot: bool,
    /// It stands in the query of an address.
    pub in_query: bool,
    /// It stands in an address of the web.
    pub in_address: bool,
    /// A sentence ends behind it.
    pub ends_sentence: bool,
    /// A sentence or a part of one, between commas, ends behind it.
    pub ends_clause: bool,
    /// A line, a field between bars or a part between dashes ends behind it.
    pub ends_line: bool,
    /// It stands in brackets.
    pub in_bracket: bool,
    /// It stands in what carries a text: a salutation, a signature, the head of a quoted mail.
    pub in_frame: bool,
    /// A number behind #.
    pub is_reference: bool,
    /// A bar follows.
    pub bar: bool,
    /// A colon follows.
    pub colon: bool,
    /// A number that has a line for itself, as that of a page.
    pub is_alone: bool,
    /// A hyphen joins it to the word in front.
    pub is_joined: bool,
}

/// Marks that a text has.
#[derive(Clone, Copy, Default, Debug)]
pub struct Marks {
    pub semicolons: usize,
    pub colons: usize,
    pub commas: usize,
    pub sentences: usize,
}

/// The words of a text, each in the form in which it is compared.
#[derive(Default, Debug)]
pub struct Tokens {
    /// The words, one behind the other.
    pub text: String,
    pub tokens: Vec<Token>,
    pub marks: Marks,
}

impl Tokens {
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn at(&self, i: usize) -> &Token {
        &self.tokens[i]
    }

    pub fn all(&self) -> &[Token] {
        &self.tokens
    }

    pub fn word(&self, i: usize) -> &str {
        let token = &self.tokens[i];
        &self.text[token.begin as usize..token.end as usize]
    }

    /// Words in a row, without spaces.
    pub fn joined(&self, words: &Range<usize>) -> &str {
        match words.is_empty() {
            true => "",
            false => {
                &self.text[self.tokens[words.start].begin as usize
                    ..self.tokens[words.end - 1].end as usize]
            }
        }
    }

    /// Words in a row as a person would write them.
    pub fn shown(&self, words: &Range<usize>) -> String {
        let mut shown = String::new();
        for i in words.clone() {
            let follows = i > words.start;
            let one_piece = self.tokens[i].kind == TokenKind::Character
                && follows
                && self.tokens[i - 1].kind == TokenKind::Character;
            if follows && !one_piece {
                shown.push(' ');
            }
            shown.push_str(self.word(i));
        }
        shown
    }

    /// The same words in another order.
    pub fn picked(&self, words: impl Iterator<Item = usize>) -> Self {
        let mut picked = Self::default();
        for i in words {
            let token = self.tokens[i];
            picked.push(self.word(i), token);
        }
        picked
    }

    pub fn push(&mut self, word: &str, token: Token) {
        let begin = self.text.len() as u32;
        self.text.push_str(word);
        self.tokens.push(Token {
            begin,
            end: self.text.len() as u32,
            ..token
        });
    }
}
