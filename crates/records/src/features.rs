//! The features of a column's value: its words, and its n-grams of letters across words, so that
//! "PS-LX350H" and "PSLX350H" have much in common. The extension calls it with each column of a row.
//! Values with the same words and letters have the same features, whichever way a code or an umlaut is written.

use crate::plain::{Code, without_umlauts};
use simhash_fingerprint::error::Error;
use simhash_fingerprint::hash::city64;
use simhash_fingerprint::similarity::hash_list::{push, sort_distinct};
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_hashes::NgramHashes;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_fingerprint::text::normal::for_each_chunk;
use simhash_fingerprint::text::words::for_each_word;

/// Features at which repeated ones are removed first.
const FEW: usize = 1 << 16;

/// Sets `features` to the hashes of a text's words and n-grams of letters, sorted, each once.
pub fn features(
    text: &str,
    ngram: usize,
    features: &mut Vec<u64>,
    pause: &mut dyn FnMut(),
) -> Result<(), Error> {
    features.clear();
    let text = &*without_umlauts(text)?;
    let mut code = Code::default();
    let mut result = Ok(());
    for_each_chunk(text, &mut String::new(), pause, &mut |chunk| {
        for_each_word(chunk, None, false, &mut |word, _| {
            code.add(word);
            // The walk cannot stop half-way: it adds nothing more.
            if result.is_ok() {
                result = push(features, city64(word.as_bytes()));
            }
        });
    });
    result?;
    if let Some(word) = code.word(text) {
        features.clear();
        push(features, city64(word))?;
    }
    let letters = Letters::new(text, pause)?;
    let mut ngrams = NgramHashes::new(&letters, GramLengths::all(ngram));
    let mut limit = FEW;
    while let Some(hashes) = ngrams.next(pause) {
        for hash in hashes {
            push(features, *hash)?;
        }
        // A long text repeats its n-grams.
        if features.len() > limit {
            sort_distinct(features, pause);
            limit = FEW.max(2 * features.len());
        }
    }
    sort_distinct(features, pause);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features_of(text: &str) -> Vec<u64> {
        let mut found = Vec::new();
        features(text, 3, &mut found, &mut || {}).unwrap();
        found
    }

    #[test]
    fn words_and_ngrams_count_once() {
        // Words ab, cab; n-grams abc, bca, cab.
        assert_eq!(features_of("Ab cab").len(), 5);
        assert_eq!(features_of("ab cab, AB"), features_of("ab, cab ab"));
        assert!(features_of("abc").contains(&city64(b"abc")));
        // Fewer letters than an n-gram has are one.
        assert_eq!(features_of("a").len(), 2);
        // Symbols count where there is nothing else.
        assert_eq!(features_of(" -,").len(), 1);
        assert!(features_of(" \u{200b}").is_empty());
    }

    #[test]
    fn ngrams_cross_words() {
        let (joined, apart) = (features_of("kx-1034"), features_of("kx1034"));
        let shared = joined.iter().filter(|f| apart.contains(f)).count();
        assert_eq!(shared, 4, "kx1, x10, 103, 034");
    }

    #[test]
    fn a_code_is_one_word_however_it_is_written() {
        let same = |a, b| assert_eq!(features_of(a), features_of(b), "{a} {b}");
        same("TN23 1AB", "tn231ab");
        same("555 0142", "555-01/42");
        same("1961-03-14", "19610314");
        let shares_word = |a, b, word: &str| {
            let word = city64(word.as_bytes());
            features_of(a).contains(&word) && features_of(b).contains(&word)
        };
        // Nine digits are left of a telephone number with and without its country.
        assert!(shares_word(
            "+44 1494 550324",
            "(01494) 550-324",
            "494550324"
        ));
        assert!(!shares_word(
            "2024-01-01 00:00:00",
            "2025-03-01 00:00:00",
            "101000000"
        ));
        // One word without a digit, and it is none.
        assert!(features_of("12 Mill Lane").contains(&city64(b"12")));
    }

    #[test]
    fn umlauts_are_written_in_two_ways() {
        for (a, b) in [
            ("M\u{fc}ller", "Mueller"),
            ("J\u{d6}RG", "joerg"),
            ("K\u{e4}the", "KAETHE"),
        ] {
            assert_eq!(features_of(a), features_of(b), "{a} {b}");
        }
    }

    #[test]
    fn han_characters_are_words_and_ngrams() {
        let (a, b) = (
            features_of("关于解决办证问题的建议"),
            features_of("关于尽快解决办证问题的建议"),
        );
        let shared = a.iter().filter(|f| b.contains(f)).count();
        assert!(shared >= 10, "{shared} of {} and {}", a.len(), b.len());
    }
}
