//! Parts of speech, as far as weights tell them apart. [`super::words`] finds that of a word by the
//! dictionary's tag, [`super::user_words`] reads it from a user's list; `terms` weighs them. Every
//! word has one.

/// A part of speech, as far as weights tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOfSpeech {
    /// A noun, or a short form of one.
    Noun,
    /// A verb.
    Verb,
    /// All else.
    Other,
}

impl PartOfSpeech {
    /// Returns the part of speech for a tag of jieba: n... (noun, name) and j (short form) are
    /// nouns, v... verbs.
    pub fn of_tag(tag: &str) -> Self {
        match tag.as_bytes().first() {
            Some(b'n' | b'j') => PartOfSpeech::Noun,
            Some(b'v') => PartOfSpeech::Verb,
            _ if tag == "eng" => PartOfSpeech::Noun,
            _ => PartOfSpeech::Other,
        }
    }

    /// Returns the part of speech of a word that is not Han: numbers are not nouns.
    pub fn of_foreign(word: &str) -> Self {
        match word.chars().any(char::is_alphabetic) {
            true => PartOfSpeech::Noun,
            false => PartOfSpeech::Other,
        }
    }
}
