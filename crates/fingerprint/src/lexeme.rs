//! The lexemes of a tsvector, which come with their weights. The extension reads them from the
//! server's value; [`crate::builder`] adds them as features of a column, and [`of_lexemes`] makes a
//! fingerprint of them alone. Their text is hashed as it is.

use std::borrow::Cow;

use super::hash::city64;
use super::simhash::simhash;

/// A feature that comes with its weight.
pub struct Given<'a> {
    /// The feature's text.
    pub token: &'a str,
    /// Number of occurrences, or the weight that stands for it.
    pub tf: f64,
    /// The weight as the text gives it.
    pub weight: f64,
}

/// A lexeme of a tsvector.
#[derive(Clone, Debug, PartialEq)]
pub struct Lexeme<'a> {
    /// The word, as the text search configuration made it.
    pub text: Cow<'a, str>,
    /// Number of its positions with the label D, C, B, A.
    pub labels: [u32; 4],
}

impl Lexeme<'_> {
    /// Weights of the labels in tenths, those of ts_rank. Whole numbers keep sums exact.
    const LABELS: [u32; 4] = [1, 2, 4, 10];
    /// The unit of [`Lexeme::weight`].
    pub const UNIT: f64 = 0.1;

    /// The sum of the weights of its positions, in tenths.
    pub fn weight(&self) -> f64 {
        let weights = self.labels.iter().zip(Self::LABELS);
        weights.map(|(&n, w)| f64::from(n) * f64::from(w)).sum()
    }

    /// The lexeme as a feature with its weight.
    pub fn given(&self) -> Given<'_> {
        Given {
            token: &self.text,
            tf: self.labels.iter().map(|&n| f64::from(n)).sum(),
            weight: self.weight(),
        }
    }
}

/// The SimHash of the lexemes of a tsvector; None without any.
pub fn of_lexemes(lexemes: &[Lexeme<'_>]) -> Option<u64> {
    let hash = |lexeme: &Lexeme<'_>| ([city64(lexeme.text.as_bytes())], lexeme.weight());
    simhash(lexemes.iter().map(hash)).map(|[bits]| bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_sums_the_labels_of_all_positions() {
        let labels = [1, 2, 0, 3];
        let text = Cow::Borrowed("word");
        let lexeme = Lexeme { text, labels };
        assert_eq!(lexeme.weight(), 35.0);
        let given = lexeme.given();
        assert_eq!((given.token, given.tf, given.weight), ("word", 6.0, 35.0));
    }

    #[test]
    fn heavier_lexemes_decide() {
        let lexeme = |text, labels| Lexeme {
            text: Cow::Borrowed(text),
            labels,
        };
        let heavy = lexeme("heavy", [0, 0, 0, 9]);
        let alone = of_lexemes(std::slice::from_ref(&heavy));
        assert_eq!(alone, Some(city64(b"heavy")));
        assert_eq!(of_lexemes(&[lexeme("light", [1, 0, 0, 0]), heavy]), alone);
        assert_eq!(of_lexemes(&[]), None);
    }
}
