//! Chosen n-grams of a text, by which texts are found that contain a part of it: winnowing
//! (Schleimer, Wilkerson and Aiken 2003). `simhash_passages` returns their hashes. Two texts that
//! share `least` letters in a row, wherever, share a chosen n-gram.

use super::hash_list::{push, sort_distinct};
use super::letters::Letters;
use super::ngram_hashes::NgramHashes;
use super::window_minimum::WindowMinimum;
use crate::error::Error;
use crate::text::ngrams::GramLengths;

/// Sets `chosen` to the hashes of the chosen n-grams, sorted, each once. Of each `least - n + 1`
/// n-grams of n letters in a row that with the smallest hash is chosen: on
/// average one in half as many. A text with fewer has one. Where a script has shorter n-grams, each
/// counts for as many more. `least` is at least the length for other scripts.
pub fn passages(
    letters: &Letters,
    lengths: GramLengths,
    least: usize,
    chosen: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let window = (least - lengths.others + 1) * UNITS;
    let units = units_by_size(lengths, letters.count());
    let mut hashes = NgramHashes::new(letters, lengths);
    let mut minimum = WindowMinimum::new(window);
    let (mut count, mut last) = (0, None);
    chosen.clear();
    while let Some((block, sizes)) = hashes.next_sized(check_interrupts) {
        for (&hash, &size) in block.iter().zip(sizes) {
            count += units[usize::from(size)];
            // What lies in the window depends on its own letters alone, so two texts that share
            // them have the same one.
            let smallest = minimum.pass(count, hash);
            if count >= window && last != Some(smallest) {
                last = Some(smallest);
                push(chosen, smallest)?;
            }
        }
    }
    if let (None, Some(smallest)) = (last, minimum.get()) {
        push(chosen, smallest)?;
    }
    sort_distinct(chosen, check_interrupts);
    Ok(())
}

/// Units of an n-gram of the longest kind.
const UNITS: usize = 5;

/// What an n-gram counts, in units, by its number of letters: a shorter one more, so that a Han letter
/// counts as 2.4 letters of an alphabet. A text that is too short for an n-gram is one.
fn units_by_size(lengths: GramLengths, text: usize) -> [usize; 256] {
    let mut units = [UNITS; 256];
    for size in [lengths.han, lengths.syllables, lengths.others.min(text)] {
        units[size.min(u8::MAX.into())] = (UNITS * lengths.others / size.max(1)).max(UNITS);
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn passages_of(text: &str, n: usize, least: usize) -> Vec<u64> {
        let letters = Letters::new(text, &mut || {}).unwrap();
        let mut chosen = Vec::new();
        passages(
            &letters,
            GramLengths::all(n),
            least,
            &mut chosen,
            &mut || {},
        )
        .unwrap();
        chosen
    }

    /// The same by the definition.
    fn expected(text: &str, n: usize, least: usize) -> Vec<u64> {
        let letters = Letters::new(text, &mut || {}).unwrap();
        let (mut all, mut hashes) = (Vec::new(), NgramHashes::new(&letters, GramLengths::all(n)));
        while let Some(block) = hashes.next(&mut || {}) {
            all.extend_from_slice(block);
        }
        let window = (least - n + 1).min(all.len()).max(1);
        let minima: HashSet<u64> = all
            .windows(window)
            .filter_map(|w| w.iter().min().copied())
            .collect();
        let mut minima: Vec<u64> = minima.into_iter().collect();
        minima.sort_unstable();
        minima
    }

    /// The same by the definition where scripts have lengths of their own: for each n-gram that is a window
    /// behind the beginning, the smallest of those that end in the window.
    fn expected_by_script(text: &str, least: usize) -> Vec<u64> {
        let (letters, lengths) = (
            Letters::new(text, &mut || {}).unwrap(),
            GramLengths::PASSAGES,
        );
        let (mut all, mut end) = (Vec::new(), 0);
        let mut hashes = NgramHashes::new(&letters, lengths);
        while let Some((block, sizes)) = hashes.next_sized(&mut || {}) {
            for (hash, size) in block.iter().zip(sizes) {
                end += (UNITS * lengths.others / usize::from(*size)).max(UNITS);
                all.push((end, *hash));
            }
        }
        let window = ((least - lengths.others + 1) * UNITS).min(end);
        let minimum = |end: usize| {
            let in_window = all
                .iter()
                .filter(|(other, _)| *other <= end && other + window > end);
            in_window.map(|(_, hash)| *hash).min()
        };
        let ends = all.iter().filter(|(end, _)| *end >= window);
        let minima: HashSet<u64> = ends.filter_map(|(end, _)| minimum(*end)).collect();
        let mut minima: Vec<u64> = minima.into_iter().collect();
        minima.sort_unstable();
        minima
    }

    fn passages_by_script(text: &str, least: usize) -> Vec<u64> {
        let letters = Letters::new(text, &mut || {}).unwrap();
        let mut chosen = Vec::new();
        passages(
            &letters,
            GramLengths::PASSAGES,
            least,
            &mut chosen,
            &mut || {},
        )
        .unwrap();
        chosen
    }

    proptest! {
        #[test]
        fn minima_by_script_are_chosen(text in "[ab中文かな가é, ]{0,200}", least in 12usize..60) {
            prop_assert_eq!(passages_by_script(&text, least), expected_by_script(&text, least));
        }

        #[test]
        fn minima_of_all_windows_are_chosen(text in "[ab中, ]{0,120}", n in 1usize..9, more in 0usize..30) {
            prop_assert_eq!(passages_of(&text, n, n + more), expected(&text, n, n + more));
        }

        #[test]
        fn texts_that_share_a_passage_share_a_hash(
            a in "[a-z ]{0,80}", b in "[a-z ]{0,80}", c in "[a-z]{0,80}", d in "[a-z中]{0,80}",
            passage in "[a-d中]{40,60}", n in 1usize..20,
        ) {
            let (one, other) = (passages_of(&format!("{a}{passage}{b}"), n, 40), passages_of(&format!("{c} {passage} {d}"), n, 40));
            prop_assert!(one.iter().any(|hash| other.contains(hash)));
        }
    }

    proptest! {
        /// Han letters in a row, or as many more of other scripts, are enough.
        #[test]
        fn passages_by_script_meet(
            a in "[a-z中-文]{0,60}", b in "[a-z中-文]{0,60}", c in "[a-z中-文]{0,60}", d in "[a-z中-文]{0,60}",
            passage in prop_oneof!["[中-文]{17,30}", "[あ-ん]{25,40}", "[a-d]{40,60}", "[a-d]{12,20}[中-文]{22,30}"],
        ) {
            let chosen = |text: String| passages_by_script(&text, 40);
            let (one, other) = (chosen(format!("{a}{passage}{b}")), chosen(format!("{c}，{passage}{d}")));
            prop_assert!(one.iter().any(|hash| other.contains(hash)));
        }
    }

    #[test]
    fn one_of_half_a_window_is_chosen() {
        let mut x = 1u64;
        let letter = |_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + (x >> 33) as u8 % 26)
        };
        let text: String = (0..100_000).map(letter).collect();
        let count = passages_of(&text, 12, 40).len();
        assert!(
            (6_300..7_000).contains(&count),
            "{count} of 100,000, with windows of 29"
        );
    }

    #[test]
    fn a_repeated_text_has_few() {
        assert_eq!(passages_of(&"a".repeat(10_000), 12, 40).len(), 1);
        assert!(passages_of(" 　", 12, 40).is_empty());
        assert_eq!(passages_of("ab", 12, 40), passages_of("AB.", 12, 12));
    }
}
