//! The built-in presets: everything that options may change, under a name.
//!
//! Fingerprints mean something only together with their preset and options. A preset that is not
//! marked unstable never changes; a better one gets a new name.

use super::error::Error;
use super::hash::FeatureHash;

/// What becomes a feature of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    pub words: bool,
    /// Two neighbouring words, written with one space between them.
    pub pairs: bool,
}

/// What a feature that occurs `tf` times weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tf {
    /// tf
    Raw,
    /// 1 + ln tf
    Log,
    /// 1
    Set,
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Natural text: normal form, words, then features counted by tf.
    Words { features: Features, tf: Tf },
    /// `token^weight` separated by spaces, taken literally.
    WeightedTokens,
}

#[derive(Debug, PartialEq)]
pub struct Preset {
    pub name: &'static str,
    pub input: Input,
    pub hash: FeatureHash,
    /// Scale each column's features to unit length, times the root of the column's share. Without
    /// it every feature's weight is multiplied by the column's weight.
    pub balance: bool,
    /// Hash the column's name in front of the feature, so that equal words in different columns
    /// differ.
    pub name_columns: bool,
}

const WORDS: Features = Features {
    words: true,
    pairs: false,
};
const WORDS_AND_PAIRS: Features = Features {
    words: true,
    pairs: true,
};

const PRESETS: [Preset; 3] = [
    // Unstable until the quality of the candidates has been measured (docs/weights.md).
    Preset {
        name: "default",
        input: Input::Words {
            features: WORDS_AND_PAIRS,
            tf: Tf::Log,
        },
        hash: FeatureHash::City,
        balance: true,
        name_columns: true,
    },
    Preset {
        name: "plain",
        input: Input::Words {
            features: WORDS,
            tf: Tf::Raw,
        },
        hash: FeatureHash::City,
        balance: true,
        name_columns: true,
    },
    Preset {
        name: "s1",
        input: Input::WeightedTokens,
        hash: FeatureHash::Murmur,
        balance: false,
        name_columns: false,
    },
];

/// The preset of that name; the default preset without a name.
pub fn find(name: Option<&str>) -> Result<&'static Preset, Error> {
    let name = name.unwrap_or("default");
    PRESETS
        .iter()
        .find(|p| p.name == name)
        .ok_or_else(|| Error::UnknownPreset {
            name: name.to_owned(),
            known: PRESETS.map(|p| p.name).join(", "),
        })
}
