//! The set of a text's n-grams, made so that other texts are compared with it quickly.
//!
//! An n-gram is known by a 64-bit hash. Hashes go into a table of which each slot takes one; those
//! whose slot another one has go into a second table, by other bits, and those that do not fit
//! there either are sorted. No step follows a chain, so no text makes it slow, and none branches on
//! what the text has. A comparison does the same with the other text, in the same tables, and the
//! next one takes that back first.

use super::hash_list::sort_distinct;
use super::letters::Letters;
use super::ngram_hashes::{BLOCK, NgramHashes};
use crate::error::Error;
use crate::text::ngrams::GramLengths;

/// Number of hashes that take long to process, some ms: the caller may want to stop.
const LONG: usize = 1 << 16;
/// Least and greatest number of slots of a table.
const SLOTS: (usize, usize) = (64, 1 << 20);

/// In which of two texts a hash occurs: the two low bits of its slot.
const FIRST: u64 = 1;
const SECOND: u64 = 2;

/// The set of n-grams of a text.
pub struct NgramSet {
    /// Letters of an n-gram.
    lengths: GramLengths,
    /// Number of n-grams.
    count: usize,
    tables: [Table; 2],
    /// Hashes that are in neither table, sorted, each once.
    rest: Vec<u64>,
}

/// Memory that comparisons use.
#[derive(Default)]
pub struct Scratch {
    /// Hashes of a text that the first table has not taken, and the second has not.
    left: [Vec<u64>; 2],
}

/// A table of hashes.
#[derive(Default)]
struct Table {
    slots: Vec<u64>,
    /// The slots that the second text has changed.
    changed: Vec<u32>,
}

/// Hashes of the text that is being added.
#[derive(Clone, Copy, Default)]
struct HashCounts {
    different: usize,
    /// Those of them that the first text has.
    common: usize,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Similarity {
    /// Neither text has a letter.
    Undefined,
    /// Less than was asked for.
    TooLow,
    /// |A and B| / |A or B|
    Exactly(f64),
}

impl Default for NgramSet {
    fn default() -> Self {
        Self {
            lengths: GramLengths::SHINGLES,
            count: 0,
            tables: Default::default(),
            rest: Vec::new(),
        }
    }
}

impl NgramSet {
    /// Makes this the set of the n-grams of a text. A text of fewer letters is one n-gram by itself;
    /// one without letters has none. Lengths are at least 1.
    pub fn fill(
        &mut self,
        letters: &Letters,
        lengths: GramLengths,
        scratch: &mut Scratch,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let [first, second] = &mut self.tables;
        let [left, rest] = &mut scratch.left;
        let mut counts = HashCounts::default();
        first.clear(letters.count())?;
        let mut hashes = NgramHashes::new(letters, lengths);
        left.clear();
        while let Some(block) = hashes.next(check_interrupts) {
            add::<FIRST>(first, block, left, &mut counts)?;
        }
        second.clear(left.len())?;
        rest.clear();
        add_rotated::<FIRST>(first, second, left, rest, &mut counts, check_interrupts)?;
        std::mem::swap(&mut self.rest, rest);
        self.lengths = lengths;
        self.count = counts.different + self.rest.len();
        Ok(())
    }

    /// Compares another text with the set. Where the similarity is less than `least`, the comparison
    /// may end early.
    pub fn compare(
        &mut self,
        other: &Letters,
        least: f64,
        scratch: &mut Scratch,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Similarity, Error> {
        let count = self.count;
        let is_too_low = |counts: HashCounts, open: usize| {
            let (common, either) = (
                counts.common + open,
                count + counts.different - counts.common,
            );
            // The quotient of the largest possible result is rounded as the result is.
            (common.min(count) as f64 / either as f64) < least
        };
        let Some(counts) = self.count(other, is_too_low, scratch, check_interrupts)? else {
            return Ok(Similarity::TooLow);
        };
        let either = self.count + counts.different - counts.common;
        Ok(match either {
            0 => Similarity::Undefined,
            _ => match counts.common as f64 / either as f64 {
                low if low < least => Similarity::TooLow,
                similarity => Similarity::Exactly(similarity),
            },
        })
    }

    /// Returns which share of the smaller set the larger one has; None if one of them is empty.
    pub fn containment(
        &mut self,
        other: &Letters,
        scratch: &mut Scratch,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Option<f64>, Error> {
        let counts = self.count(other, |_, _| false, scratch, check_interrupts)?;
        let counts = counts.unwrap_or_default();
        let smaller = self.count.min(counts.different);
        Ok((smaller > 0).then(|| counts.common as f64 / smaller as f64))
    }

    /// Counts the hashes of another text. Ends with None when `stop` says so of what is counted so
    /// far and how many are still to come.
    fn count(
        &mut self,
        other: &Letters,
        stop: impl Fn(HashCounts, usize) -> bool,
        scratch: &mut Scratch,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Option<HashCounts>, Error> {
        let mut hashes = NgramHashes::new(other, self.lengths);
        if self.count > 0 && stop(HashCounts::default(), hashes.remaining()) {
            return Ok(None);
        }
        self.tables.iter_mut().for_each(Table::forget_second);
        let [first, second] = &mut self.tables;
        let [left, rest] = &mut scratch.left;
        let mut counts = HashCounts::default();
        left.clear();
        while let Some(block) = hashes.next(check_interrupts) {
            add::<SECOND>(first, block, left, &mut counts)?;
            if stop(counts, left.len() + hashes.remaining()) {
                return Ok(None);
            }
        }
        rest.clear();
        add_rotated::<SECOND>(first, second, left, rest, &mut counts, check_interrupts)?;
        counts.different += rest.len();
        counts.common += common(&self.rest, rest);
        Ok(Some(counts))
    }
}

/// Returns |A and B| / |A or B| of two texts' sets of n-grams; None if neither has a letter. To
/// compare a text with many, keep its [`NgramSet`].
pub fn jaccard(a: &Letters, b: &Letters, lengths: GramLengths) -> Result<Option<f64>, Error> {
    let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
    set.fill(a, lengths, &mut scratch, &mut || {})?;
    Ok(match set.compare(b, 0.0, &mut scratch, &mut || {})? {
        Similarity::Exactly(similarity) => Some(similarity),
        _ => None,
    })
}

/// Adds to the second table what the first one has not taken, and sorts what that does not take.
fn add_rotated<const TEXT: u64>(
    first: &Table,
    second: &mut Table,
    left: &mut [u64],
    rest: &mut Vec<u64>,
    counts: &mut HashCounts,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let bits = first.slots.len().trailing_zeros();
    for hashes in left.chunks_mut(LONG) {
        check_interrupts();
        for block in hashes.chunks_mut(BLOCK) {
            block
                .iter_mut()
                .for_each(|hash| *hash = hash.rotate_left(bits));
            add::<TEXT>(second, block, rest, counts)?;
        }
    }
    sort_distinct(rest, check_interrupts);
    Ok(())
}

impl Table {
    /// Empties a table that is to take some hashes.
    fn clear(&mut self, hashes: usize) -> Result<(), Error> {
        let slots = (4 * hashes).next_power_of_two().clamp(SLOTS.0, SLOTS.1);
        self.changed.clear();
        self.slots.clear();
        reserve(&mut self.slots, slots)?;
        self.slots.resize(slots, 0);
        Ok(())
    }

    /// Takes back what the second text has changed.
    fn forget_second(&mut self) {
        for number in self.changed.drain(..) {
            let slot = &mut self.slots[number as usize];
            *slot = if *slot & FIRST == 0 {
                0
            } else {
                *slot & !SECOND
            };
        }
    }
}

fn reserve<T>(items: &mut Vec<T>, count: usize) -> Result<(), Error> {
    items.try_reserve(count).map_err(|_| Error::OutOfMemory)
}

/// Adds a block of hashes of a text, and appends to `left` those whose slot another hash has. A
/// hash's slot is given by its highest bits; the slot keeps the other bits, above the two that tell
/// the texts. A slot of 0 is free.
fn add<const TEXT: u64>(
    table: &mut Table,
    block: &[u64],
    left: &mut Vec<u64>,
    counts: &mut HashCounts,
) -> Result<(), Error> {
    let Table { slots, changed } = table;
    let shift = u64::BITS - slots.len().trailing_zeros();
    let (mut others, mut numbers) = ([0; BLOCK], [0; BLOCK]);
    if TEXT == SECOND {
        reserve(changed, block.len())?;
    }
    let (mut left_over, mut free, mut common) = (0, 0, 0);
    for hash in block {
        let number = hash >> shift;
        let slot = &mut slots[number as usize];
        let old = *slot;
        let difference = old ^ (hash << 2);
        let is_free = old == 0;
        // The first text alone has it so far.
        let is_common = TEXT == SECOND && difference == FIRST;
        let new = if is_free { hash << 2 | TEXT } else { old };
        *slot = new | if is_common { SECOND } else { 0 };
        numbers[(free + common) % BLOCK] = number as u32;
        free += usize::from(is_free);
        common += usize::from(is_common);
        others[left_over % BLOCK] = *hash;
        left_over += usize::from(!is_free & (difference >= 4));
    }
    if TEXT == SECOND {
        changed.extend_from_slice(&numbers[..free + common]);
    }
    counts.different += free + common;
    counts.common += common;
    reserve(left, left_over)?;
    left.extend_from_slice(&others[..left_over]);
    Ok(())
}

/// Number of items that two sorted lists have in common.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn compare(a: &str, b: &str, n: usize, least: f64) -> Similarity {
        let letters = |text| Letters::new(text, &mut || {}).unwrap();
        let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
        // What the sets of other texts leave behind has no influence.
        let other = letters("the quick brown fox");
        for letters in [&other, &letters(a)] {
            set.fill(letters, GramLengths::all(n), &mut scratch, &mut || {})
                .unwrap();
        }
        set.compare(&other, 0.0, &mut scratch, &mut || {}).unwrap();
        set.compare(&letters(b), least, &mut scratch, &mut || {})
            .unwrap()
    }

    fn jaccard(a: &str, b: &str, n: usize) -> Option<f64> {
        let similarity = compare(a, b, n, 0.0);
        assert_ne!(similarity, Similarity::TooLow, "{a:?}, {b:?}");
        let letters = |text| Letters::new(text, &mut || {}).unwrap();
        let found = super::jaccard(&letters(a), &letters(b), GramLengths::all(n)).unwrap();
        assert_eq!(
            found.map_or(Similarity::Undefined, Similarity::Exactly),
            similarity
        );
        found
    }

    fn containment(a: &str, b: &str, n: usize) -> Option<f64> {
        let letters = |text| Letters::new(text, &mut || {}).unwrap();
        let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
        set.fill(&letters(a), GramLengths::all(n), &mut scratch, &mut || {})
            .unwrap();
        set.containment(&letters(b), &mut scratch, &mut || {})
            .unwrap()
    }

    /// The set of n-grams, of text without characters that change in normal form.
    fn ngrams(text: &str, n: usize) -> HashSet<Vec<char>> {
        let mut letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
        if letters.is_empty() {
            // The one symbol that the tests have.
            letters.extend(text.chars().filter(|&c| c == '，'));
        }
        match letters.len() {
            0 => HashSet::new(),
            count => letters
                .windows(n.min(count))
                .map(<[char]>::to_vec)
                .collect(),
        }
    }

    fn expected(a: &str, b: &str, n: usize) -> Option<f64> {
        let (a, b) = (ngrams(a, n), ngrams(b, n));
        let either = a.union(&b).count();
        (either > 0).then(|| a.intersection(&b).count() as f64 / either as f64)
    }

    #[test]
    fn by_hand() {
        assert_eq!(jaccard("abc", "bcd", 2), Some(1.0 / 3.0));
        assert_eq!(jaccard("A-B c", "ａｂＣ", 2), Some(1.0));
        assert_eq!(jaccard("ab", "ab", 5), Some(1.0));
        assert_eq!(jaccard("ab", "ac", 5), Some(0.0));
        assert_eq!(jaccard("ab", "", 5), Some(0.0));
        assert_eq!(jaccard("", "ab", 5), Some(0.0));
        assert_eq!(jaccard("　", "", 5), None);
        assert_eq!(jaccard("。★", "★", 5), Some(0.0));
        assert_eq!(jaccard("。★", "。 ★", 5), Some(1.0));
        assert_eq!(compare("", "", 5, 0.5), Similarity::Undefined);
        assert_eq!(compare("", "ab", 5, 0.5), Similarity::TooLow);
    }

    /// More n-grams than the tables have slots, so that some are sorted.
    #[test]
    fn long_texts_and_pauses() {
        let text = |from: u64| -> String {
            (from..from + 500_000)
                .map(|n| format!("{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40))
                .collect()
        };
        let (a, b) = (text(0), text(100_000));
        let (mut set, mut scratch, mut pauses) = (NgramSet::default(), Scratch::default(), 0);
        let mut check_interrupts = || pauses += 1;
        let letters = [&a, &b].map(|text| Letters::new(text, &mut || {}).unwrap());
        set.fill(
            &letters[0],
            GramLengths::all(9),
            &mut scratch,
            &mut check_interrupts,
        )
        .unwrap();
        let found = set
            .compare(&letters[1], 0.0, &mut scratch, &mut check_interrupts)
            .unwrap();
        assert!(!set.rest.is_empty() && !scratch.left[1].is_empty());
        assert_eq!(found, Similarity::Exactly(expected(&a, &b, 9).unwrap()));
        assert!(pauses > 100, "{pauses} pauses");
    }

    /// As features have them: by the script of the letter that an n-gram ends with.
    #[test]
    fn lengths_by_script() {
        let by_script = |a, b| {
            let letters = |text| Letters::new(text, &mut || {}).unwrap();
            super::jaccard(&letters(a), &letters(b), GramLengths::SHINGLES).unwrap()
        };
        // 路灯 灯坏 坏了, 路灯 灯没 没了.
        assert_eq!(by_script("路灯坏了", "路灯没了"), Some(1.0 / 5.0));
        assert_eq!(by_script("abcdef", "abcdeg"), Some(1.0 / 3.0));
        // b灯, 灯坏: ab has no n-gram of its own.
        assert_eq!(by_script("ab灯坏", "b灯坏"), Some(1.0));
        assert_eq!(by_script("あいうえ", "あいう"), Some(1.0 / 2.0));
        assert_eq!(by_script("é", "é"), Some(1.0));
        assert_eq!(by_script("é", "éa"), Some(0.0));
        // Texts with and without wide letters meet.
        assert_eq!(by_script("abcde灯", "abcde"), Some(1.0 / 2.0));
    }

    proptest! {
        #[test]
        fn lengths_by_script_are_those_of_features(
            a in "[abあい中文か𠀀， ]{0,150}", b in "[abあい中文か𠀀， ]{0,150}",
        ) {
            // A text without letters is compared by its symbols, of which no features are made here.
            let has_only_symbols = |text: &str| text.contains('，') && !text.chars().any(char::is_alphanumeric);
            prop_assume!(!has_only_symbols(&a) && !has_only_symbols(&b));
            let grams = |text: &str| {
                let (mut all, mut ngrams) = (HashSet::new(), crate::text::ngrams::Ngrams::new(GramLengths::SHINGLES));
                ngrams.chunk(text, &mut |gram| { all.insert(gram.to_owned()); });
                ngrams.finish(&mut |gram| { all.insert(gram.to_owned()); });
                all
            };
            let sets = [grams(&a), grams(&b)];
            let either = sets[0].union(&sets[1]).count();
            let expected = (either > 0)
                .then(|| sets[0].intersection(&sets[1]).count() as f64 / either as f64);
            let letters = |text| Letters::new(text, &mut || {}).unwrap();
            prop_assert_eq!(super::jaccard(&letters(&a), &letters(&b), GramLengths::SHINGLES).unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn similarities_are_those_of_sets(
            a in "[ab中文か𠀀， ]{0,300}", middle in "[a-f0-9]{0,300}", b in "[ab中文か𠀀， ]{0,40}",
            n in 1usize..14,
        ) {
            let (a, b) = (format!("{a}{middle}"), format!("{b}{middle}"));
            for (a, b) in [(&a, &b), (&b, &a), (&a, &middle), (&middle, &b)] {
                let expected = expected(a, b, n);
                prop_assert_eq!(jaccard(a, b, n), expected);
                let Some(similarity) = expected else {
                    continue;
                };
                // On both sides of the similarity, and at it.
                let (sets, found) = ((ngrams(a, n), ngrams(b, n)), containment(a, b, n));
                let smaller = sets.0.len().min(sets.1.len());
                let common = sets.0.intersection(&sets.1).count();
                prop_assert_eq!(found, (smaller > 0).then(|| common as f64 / smaller as f64));
                for least in [0.0, similarity.next_down(), similarity, similarity.next_up(), 0.5, 1.0] {
                    let result = match similarity >= least {
                        true => Similarity::Exactly(similarity),
                        false => Similarity::TooLow,
                    };
                    prop_assert_eq!(compare(a, b, n, least), result, "least {}", least);
                }
            }
        }

        /// What a comparison leaves in the tables is no matter of the next one, also where it ended
        /// early.
        #[test]
        fn a_set_is_compared_again_and_again(
            first in "[01a-f]{0,300}", others in prop::collection::vec("[01a-f]{0,300}", 1..6), least in 0.0..1.0,
        ) {
            let letters = |text: &str| Letters::new(text, &mut || {}).unwrap();
            let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
            set.fill(&letters(&first), GramLengths::all(3), &mut scratch, &mut || {}).unwrap();
            for (i, other) in others.iter().chain(&others).enumerate() {
                let least = if i % 2 == 0 { least } else { 0.0 };
                let found = set.compare(&letters(other), least, &mut scratch, &mut || {}).unwrap();
                prop_assert_eq!(found, compare(&first, other, 3, least));
            }
        }

        /// Texts of digits repeat their n-grams.
        #[test]
        fn repeated_ngrams_count_once(a in "[01]{0,2000}", b in "[01]{0,2000}", n in 1usize..12) {
            prop_assert_eq!(jaccard(&a, &b, n), expected(&a, &b, n));
        }
    }
}
