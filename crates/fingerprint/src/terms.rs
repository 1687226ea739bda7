//! What a word weighs besides its frequency: how rare it is, how long, what part of speech, whether
//! it points to something or stands in the title. Presets `s2` and `s3` are made of these; each is
//! also an option by itself. The weights multiply.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, OnceLock};

use cityhasher::HashSet;

use super::error::Error;
use super::hash::{Hashed, city64};
use super::text::normal::{Normalize, normal_form};
use super::text::part_of_speech::PartOfSpeech;
use super::text::word_list::WordList;

/// Inverse document frequencies, frozen: ln((N + 1) / (df + 1)) + 1, for a word that occurs in df
/// of N documents. A word that the table lacks occurs in none.
#[derive(Clone, Debug, PartialEq)]
pub struct Idf {
    documents: u64,
    /// Keyed by CityHash64 of the word: a table may have a million.
    terms: HashMap<u64, f64, BuildHasherDefault<Hashed>>,
}

impl Idf {
    /// Creates a table over this many documents.
    pub fn new(documents: u64) -> Self {
        Self {
            documents,
            terms: HashMap::default(),
        }
    }

    /// Adds a word, in any form. If two have the same normal form, the more frequent one counts.
    pub fn add(&mut self, term: &str, df: u64) -> Result<(), Error> {
        if df > self.documents {
            return Err(Error::DocumentFrequency {
                term: term.to_owned(),
                df,
                documents: self.documents,
            });
        }
        let idf = self.formula(df);
        let mut normal = String::new();
        // A text may be read with its accents too.
        for normalize in [Normalize::Fold, Normalize::KeepAccents] {
            normal_form(term, normalize, &mut normal, &mut || {})?;
            self.terms.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
            let known = self.terms.entry(city64(normal.as_bytes()));
            let known = known.or_insert(idf);
            *known = known.min(idf);
            if term.is_ascii() {
                break;
            }
        }
        Ok(())
    }

    /// The weight of a word in normal form.
    pub fn weight(&self, word: &str) -> f64 {
        let known = self.terms.get(&city64(word.as_bytes()));
        known.copied().unwrap_or_else(|| self.formula(0))
    }

    fn formula(&self, df: u64) -> f64 {
        let (documents, df) = (self.documents as f64, df as f64);
        ((documents + 1.0) / (df + 1.0)).ln() + 1.0
    }
}

/// Weight of a word by its length in characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Words of all lengths weigh 1.
    None,
    /// S2: 1 + exp(-(x - 4.51)^2 / (2 * 2.207^2))
    Gauss,
    /// S3: 1 + (x - min) / (max - min), between 1 and 2
    Linear {
        /// The length from which on words weigh more than 1.
        min: f64,
        /// The length from which on they weigh 2.
        max: f64,
    },
}

impl Length {
    /// The lengths that S3's words span here: between fixed bounds a word's weight does not depend
    /// on the other words of its text.
    pub const S3: Length = Length::Linear { min: 1.0, max: 8.0 };

    /// The weight of a word in normal form.
    pub fn weight(self, word: &str) -> f64 {
        let length = || word.chars().count() as f64;
        match self {
            Length::None => 1.0,
            Length::Gauss => 1.0 + gauss(length()),
            Length::Linear { min, max } => 1.0 + ((length() - min) / (max - min)).clamp(0.0, 1.0),
        }
    }
}

fn gauss(x: f64) -> f64 {
    (-(x - 4.51).powi(2) / (2.0 * 2.207 * 2.207)).exp()
}

/// Weights of the parts of speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartOfSpeechWeights {
    /// The factor of nouns.
    pub noun: f64,
    /// That of verbs.
    pub verb: f64,
    /// That of all other words.
    pub other: f64,
}

impl PartOfSpeechWeights {
    /// The weights of preset `s3`.
    pub const S3: Self = Self {
        noun: 2.0,
        verb: 1.5,
        other: 1.0,
    };

    fn weight(&self, part_of_speech: PartOfSpeech) -> f64 {
        match part_of_speech {
            PartOfSpeech::Noun => self.noun,
            PartOfSpeech::Verb => self.verb,
            PartOfSpeech::Other => self.other,
        }
    }
}

/// Words that weigh more because they point to a conclusion, a contrast, an order.
#[derive(Clone, Debug, PartialEq)]
pub enum CueWords {
    /// No word is one.
    None,
    /// The Chinese list.
    BuiltIn,
    /// The user's own.
    List(Arc<WordList<()>>),
}

impl CueWords {
    /// Returns whether this word, in normal form, is a cue word.
    pub fn contains(&self, word: &str) -> bool {
        static LIST: OnceLock<HashSet<&str>> = OnceLock::new();
        let built_in = || {
            include_str!("text/lists/cue_words_zh.txt")
                .split_whitespace()
                .collect()
        };
        match self {
            CueWords::None => false,
            CueWords::BuiltIn => LIST.get_or_init(built_in).contains(word),
            CueWords::List(words) => words.contains(word),
        }
    }
}

/// Weight of a cue word or of a word of the title: 1 + 4.
const MARKED: f64 = 5.0;

/// All of these together.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Weights by how rare words are; None where that does not count.
    pub idf: Option<Arc<Idf>>,
    /// Weights by length.
    pub length: Length,
    /// Weights by part of speech; None where that does not count.
    pub part_of_speech: Option<PartOfSpeechWeights>,
    /// Words that weigh five times as much.
    pub cue_words: CueWords,
}

impl Terms {
    /// Words weigh 1.
    pub const EQUAL: Terms = Terms {
        idf: None,
        length: Length::None,
        part_of_speech: None,
        cue_words: CueWords::None,
    };

    /// Returns the weight of a word in normal form.
    pub fn weight(&self, word: &str, part_of_speech: PartOfSpeech, in_title: bool) -> f64 {
        let marked = |is: bool| if is { MARKED } else { 1.0 };
        self.idf.as_ref().map_or(1.0, |idf| idf.weight(word))
            * self.length.weight(word)
            * self
                .part_of_speech
                .map_or(1.0, |weights| weights.weight(part_of_speech))
            * marked(self.cue_words.contains(word))
            * marked(in_title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normal::normal_word;

    #[test]
    fn lengths_as_s2_has_them() {
        for (x, value) in [0.282, 0.524, 0.791, 0.974, 0.976, 0.796]
            .into_iter()
            .enumerate()
        {
            let word = "词".repeat(x + 1);
            assert!(
                (Length::Gauss.weight(&word) - 1.0 - value).abs() < 5e-4,
                "{word}"
            );
        }
        assert_eq!(Length::None.weight("词"), 1.0);
    }

    #[test]
    fn lengths_as_s3_has_them() {
        let linear = Length::Linear { min: 2.0, max: 6.0 };
        for (word, value) in [
            ("a", 1.0),
            ("ab", 1.0),
            ("abc", 1.25),
            ("abcdef", 2.0),
            ("abcdefgh", 2.0),
        ] {
            assert_eq!(linear.weight(word), value, "{word}");
        }
    }

    #[test]
    fn idf_by_hand() {
        let mut idf = Idf::new(99);
        idf.add("Lamp", 9).unwrap();
        idf.add("the", 99).unwrap();
        idf.add("ＴＨＥ", 4).unwrap();
        assert!((idf.weight("lamp") - (10f64.ln() + 1.0)).abs() < 1e-12);
        assert_eq!(idf.weight("the"), 1.0);
        assert!((idf.weight("unknown") - (100f64.ln() + 1.0)).abs() < 1e-12);
        assert!(idf.add("x", 100).is_err());
    }

    #[test]
    fn the_list_of_cue_words_is_in_normal_form() {
        for word in include_str!("text/lists/cue_words_zh.txt").split_whitespace() {
            assert_eq!(normal_word(word).as_deref(), Ok(word));
        }
        assert!(CueWords::BuiltIn.contains("综上所述") && !CueWords::BuiltIn.contains("路灯"));
    }

    #[test]
    fn weights_multiply() {
        let mut idf = Idf::new(1);
        idf.add("但是", 1).unwrap();
        let terms = Terms {
            idf: Some(Arc::new(idf)),
            length: Length::S3,
            part_of_speech: Some(PartOfSpeechWeights::S3),
            cue_words: CueWords::BuiltIn,
        };
        let length = 1.0 + 1.0 / 7.0;
        assert_eq!(
            terms.weight("但是", PartOfSpeech::Other, false),
            length * 5.0
        );
        assert_eq!(
            terms.weight("但是", PartOfSpeech::Verb, true),
            length * 1.5 * 5.0 * 5.0
        );
        assert_eq!(Terms::EQUAL.weight("但是", PartOfSpeech::Noun, false), 1.0);
    }
}
