//! The features of a column's value: its words, and its n-grams of letters across words, so that
//! "PS-LX350H" and "PSLX350H" have much in common. The extension calls it with each column of a
//! row. Values with the same words and letters have the same features, whichever way a code, an
//! umlaut or a usual abbreviation is written.

use crate::abbreviations::abbreviated;
use crate::plain::{Code, Mail, mail, without_umlauts};
use simhash_fingerprint::error::Error;
use simhash_fingerprint::hash::city64;
use simhash_fingerprint::similarity::hash_list::{push, sort_distinct};
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_hashes::NgramHashes;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_fingerprint::text::normal::for_each_chunk;
use simhash_fingerprint::text::words::for_each_word;

/// Features at which repeated ones are removed first.
const FIRST_DISTINCT: usize = 1 << 16;

/// Sets `features` to the hashes of a text's words and n-grams of letters, sorted, each once.
pub fn features(
    text: &str,
    ngram: usize,
    features: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    features.clear();
    match mail(text) {
        Some(Mail { name, domain }) => {
            // Its letters say little: many people have one domain.
            add(&name, ngram, features, check_interrupts)?;
            push(features, city64(domain.as_bytes()))?;
        }
        None => add(&abbreviated(text)?, ngram, features, check_interrupts)?,
    }
    sort_distinct(features, check_interrupts);
    Ok(())
}

/// Adds the features of a value, or of the name in an address.
fn add(
    text: &str,
    ngram: usize,
    features: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let text = &*without_umlauts(text)?;
    let mut code = Code::default();
    let mut result = Ok(());
    for_each_chunk(text, &mut String::new(), check_interrupts, &mut |chunk| {
        for_each_word(chunk, None, false, &mut |word, _| {
            code.add(word);
            // The walk cannot stop half-way: it adds nothing more.
            if result.is_ok() {
                result = push(features, city64(word.as_bytes()));
            }
        });
    });
    result?;
    let letters = match code.word(text) {
        Some((word, letters)) => {
            features.clear();
            push(features, city64(word))?;
            Letters::new(
                std::str::from_utf8(letters).unwrap_or(text),
                check_interrupts,
            )?
        }
        None => Letters::new(text, check_interrupts)?,
    };
    let mut ngrams = NgramHashes::new(&letters, GramLengths::all(ngram));
    let mut limit = FIRST_DISTINCT;
    while let Some(hashes) = ngrams.next(check_interrupts) {
        for hash in hashes {
            push(features, *hash)?;
        }
        // A long text repeats its n-grams.
        if features.len() > limit {
            sort_distinct(features, check_interrupts);
            limit = FIRST_DISTINCT.max(2 * features.len());
        }
    }
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
        let (joined, apart) = (features_of("kx-103"), features_of("kx103"));
        let shared = joined.iter().filter(|f| apart.contains(f)).count();
        assert_eq!(shared, 3, "kx1, x10, 103");
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
    fn values_of_a_kind_have_one_form() {
        for same in [
            // Telephone numbers: countries of one, two and three digits, none, and a zero that is not dialled.
            ["+1 212-555-0142", "(001) 212 555 0142"],
            ["+49 (0)551 4711", "0551/4711"],
            ["0049 551 4711", "0551 4711"],
            ["+352 2612 3456", "2612 34 56"],
            // Postcodes.
            ["1017 AB", "1017ab"],
            ["D-12345", "d 12345"],
            // Addresses, names of companies and streets.
            ["j.smith@web.de", "JSmith+shop@WEB.de "],
            ["Harrow Timber Limited", "HARROW TIMBER LTD."],
            ["Lange Stra\u{df}e 7", "LANGE STRASSE 7"],
        ] {
            assert_eq!(features_of(same[0]), features_of(same[1]), "{same:?}");
        }
        for differ in [
            ["0.55147110", "55147110"],
            ["00346", "346"],
            ["No 7", "no7"],
            ["00:12:34.5678", "12345678"],
            ["smith@web.de", "smith"],
            ["smith@work", "smith"],
        ] {
            assert_ne!(features_of(differ[0]), features_of(differ[1]), "{differ:?}");
        }
        // What follows is not of one person's name alone.
        assert_eq!(features_of("ab@web.de").len(), 3);
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
