//! The built-in presets: everything that options may change, under a name.
//!
//! Fingerprints mean something only together with their preset and options. A preset never changes
//! within a release; a better one gets a new name.

use std::sync::Arc;

use serde::Deserialize;

use crate::error::Error;
use crate::hash::FeatureHash;
use crate::simhash::UNIT;
use crate::terms::{CueWords, Length, PartOfSpeechWeights, Terms};
use crate::text::markup::Markup;
use crate::text::ngrams::GramLengths;
use crate::text::normal::Normalize;
use crate::text::stop_words::StopWords;
use crate::text::user_words::UserWords;

/// Weights of the kinds of features of a text, relative to each other; 0 leaves a kind out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// Single words.
    pub words: f64,
    /// Two neighbouring words, written with one space between them.
    pub pairs: f64,
    /// Runs of `ngram` letters and digits, whatever stands between them; a shorter text is one.
    pub ngrams: f64,
    /// The whole normal form.
    pub whole: f64,
}

impl Features {
    /// No kind of features.
    pub const NONE: Features = Features {
        words: 0.0,
        pairs: 0.0,
        ngrams: 0.0,
        whole: 0.0,
    };
}

/// Weight of a feature that occurs `tf` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tf {
    /// tf
    Raw,
    /// 1 + ln tf
    Log,
    /// The square root of tf
    Sqrt,
    /// 1
    Set,
}

/// Rules by which natural text becomes features.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The kinds of features, and what each weighs.
    pub features: Features,
    /// How the number of its occurrences counts for a feature.
    pub tf: Tf,
    /// Characters of a character n-gram.
    pub ngram: GramLengths,
    /// Whether the bits of a text below 400 letters are drawn from its pairs of letters too
    /// ([`crate::letter_pairs`]). Only where all features are n-grams of one weight.
    pub adapts_to_length: bool,
    /// Words that are left out.
    pub stop_words: StopWords,
    /// Leave out features of three or more equal characters: masked numbers and names (0000, xxxx).
    pub drop_runs: bool,
    /// Words that are never cut, found before any other.
    pub dictionary: Option<Arc<UserWords>>,
    /// Markup that is taken out of a text before anything else.
    pub markup: Markup,
    /// Whether accents count.
    pub normalize: Normalize,
    /// Weights of words besides their frequency.
    pub terms: Terms,
}

/// The way in which a text is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Natural text: normal form, words, then features counted by tf.
    Words(Rules),
    /// `token^weight` separated by spaces, taken literally.
    WeightedTokens,
}

impl Input {
    /// Returns whether all features weigh the same, however often they occur.
    pub fn weighs_all_alike(&self) -> bool {
        let Input::Words(rules) = self else {
            return false;
        };
        let Features {
            words,
            pairs,
            ngrams,
            whole,
        } = rules.features;
        let most = [words, pairs, ngrams, whole]
            .into_iter()
            .fold(0.0, f64::max);
        let alike = |weight: f64| weight == most || weight == 0.0;
        rules.tf == Tf::Set
            && rules.terms == Terms::EQUAL
            && [words, pairs, ngrams, whole].into_iter().all(alike)
            // Below, it does not count as a weight.
            && most * UNIT >= 1.0
    }
}

/// The method by which weighted features become a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The signs of a sum for each bit ([`super::super::simhash`]).
    SimHash,
    /// A bit each of features drawn at random ([`super::super::minwise`]).
    Minwise,
}

/// A named choice of everything that options may change.
#[derive(Debug, PartialEq)]
pub struct Preset {
    /// The name by which users ask for it.
    pub name: &'static str,
    /// How features become bits.
    pub method: Method,
    /// How texts are read.
    pub input: Input,
    /// The hash function of features.
    pub hash: FeatureHash,
    /// Scale each column's features to unit length, times the root of the column's share. Without
    /// it every feature's weight is multiplied by the column's weight.
    pub balance: bool,
    /// Weight of the value of a column that is not cut into words, relative to the column's weight.
    pub value_weight: f64,
    /// Columns of other types than text are cut into features too, in their canonical form.
    pub value_as_text: bool,
    /// Hash the column's name in front of the feature, so that equal words in different columns
    /// differ.
    pub name_columns: bool,
    /// The columns of text of a row without weights are one text; other columns do not count.
    pub row_is_text: bool,
}

/// Words by tf, nothing left out.
const PLAIN: Rules = Rules {
    features: Features {
        words: 1.0,
        ..Features::NONE
    },
    tf: Tf::Raw,
    ngram: GramLengths::all(3),
    adapts_to_length: false,
    stop_words: StopWords::None,
    drop_runs: false,
    dictionary: None,
    markup: Markup::None,
    normalize: Normalize::Fold,
    terms: Terms::EQUAL,
};

/// The best SimHash that was measured (docs/quality.md). Function words stay: they hold the
/// fingerprints of near-duplicates together, and 1 + ln tf keeps them from drowning the rest.
const WORDS: Rules = Rules {
    tf: Tf::Log,
    drop_runs: true,
    ..PLAIN
};

const NGRAMS: Features = Features {
    ngrams: 1.0,
    ..Features::NONE
};

/// N-grams of about a word. Longer ones find less; long texts that have nothing to do with each
/// other share too many shorter ones (docs/quality.md).
const SHINGLES: Rules = Rules {
    features: NGRAMS,
    ngram: GramLengths::SHINGLES,
    tf: Tf::Set,
    ..WORDS
};

/// A preset whose bits are drawn from the features.
const fn drawn(name: &'static str, hash: FeatureHash, value_as_text: bool, rules: Rules) -> Preset {
    Preset {
        name,
        method: Method::Minwise,
        input: Input::Words(rules),
        hash,
        balance: true,
        value_weight: 1.0,
        value_as_text,
        name_columns: true,
        row_is_text: false,
    }
}

static PRESETS: [Preset; 10] = [
    // Texts of any length within one radius.
    Preset {
        name: "adaptive",
        method: Method::Minwise,
        input: Input::Words(Rules {
            adapts_to_length: true,
            ..SHINGLES
        }),
        hash: FeatureHash::Bkdr,
        balance: true,
        value_weight: 1.0,
        value_as_text: false,
        name_columns: true,
        row_is_text: true,
    },
    drawn("shingles", FeatureHash::Bkdr, false, SHINGLES),
    // Only what near-duplicates share: how often a word occurs says little.
    drawn(
        "minwise",
        FeatureHash::City,
        false,
        Rules {
            tf: Tf::Set,
            ..WORDS
        },
    ),
    // Short columns with typing errors. Masked runs stay: they are numbers here.
    drawn(
        "record",
        FeatureHash::Bkdr,
        true,
        Rules {
            features: NGRAMS,
            ngram: GramLengths::all(2),
            tf: Tf::Set,
            ..PLAIN
        },
    ),
    Preset {
        name: "words",
        method: Method::SimHash,
        input: Input::Words(WORDS),
        hash: FeatureHash::City,
        balance: true,
        value_weight: 1.0,
        value_as_text: false,
        name_columns: true,
        row_is_text: false,
    },
    Preset {
        name: "plain",
        method: Method::SimHash,
        input: Input::Words(PLAIN),
        hash: FeatureHash::City,
        balance: true,
        value_weight: 1.0,
        value_as_text: false,
        name_columns: true,
        row_is_text: false,
    },
    // A row as S0 reads it: short columns are values of weight 2, text is words by tf.
    Preset {
        name: "s0",
        method: Method::SimHash,
        input: Input::Words(Rules {
            stop_words: StopWords::BuiltIn,
            ..PLAIN
        }),
        hash: FeatureHash::City,
        balance: false,
        value_weight: 2.0,
        value_as_text: false,
        name_columns: true,
        row_is_text: false,
    },
    Preset {
        name: "s1",
        method: Method::SimHash,
        input: Input::WeightedTokens,
        hash: FeatureHash::Murmur,
        balance: false,
        value_weight: 1.0,
        value_as_text: false,
        name_columns: false,
        row_is_text: false,
    },
    // tf * idf * (1 + len). Without a table of document frequencies idf is 1.
    Preset {
        name: "s2",
        method: Method::SimHash,
        input: Input::Words(Rules {
            stop_words: StopWords::BuiltIn,
            terms: Terms {
                length: Length::Gauss,
                ..Terms::EQUAL
            },
            ..PLAIN
        }),
        hash: FeatureHash::City,
        balance: true,
        value_weight: 1.0,
        value_as_text: false,
        name_columns: true,
        row_is_text: false,
    },
    // tf * idf * part of speech * length * cue word * title. How S3 combines them is lost; the
    // product is our reconstruction. The title is a column that option `title` names.
    Preset {
        name: "s3",
        method: Method::SimHash,
        input: Input::Words(Rules {
            stop_words: StopWords::BuiltIn,
            terms: Terms {
                idf: None,
                length: Length::S3,
                part_of_speech: Some(PartOfSpeechWeights::S3),
                cue_words: CueWords::BuiltIn,
            },
            ..PLAIN
        }),
        hash: FeatureHash::City,
        balance: true,
        value_weight: 1.0,
        value_as_text: false,
        name_columns: true,
        row_is_text: false,
    },
];

/// The preset of a call that names none.
pub const BARE: &str = "adaptive";

/// The preset of that name; [`BARE`] without a name.
pub fn find(name: Option<&str>) -> Result<&'static Preset, Error> {
    let name = name.unwrap_or(BARE);
    PRESETS
        .iter()
        .find(|p| p.name == name)
        .ok_or_else(|| Error::UnknownPreset {
            name: name.to_owned(),
            known: names_where(|_| true),
        })
}

/// The names of the presets that `is` holds of.
pub fn names_where(is: impl Fn(&Preset) -> bool) -> String {
    let names: Vec<&str> = PRESETS.iter().filter(|p| is(p)).map(|p| p.name).collect();
    names.join(", ")
}
