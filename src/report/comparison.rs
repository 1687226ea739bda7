//! Compares the rows of drawn pairs: how similar their texts are, as simhash_jaccard does, and how
//! many pairs pass a function that the user names. [`super::radius_report`] asks for one distance
//! after the other. Two values at a time are in memory.

use super::drawn_values::DrawnValues;
use crate::checked_pairs::judge::FunctionJudge;
use crate::pairs::value_store::ValueBuffer;
use crate::row::jaccard::{Comparer, letters};
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::Similarity;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_hamming::report::compared::PairSimilarities;
use simhash_hamming::report::sample::Sample;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::push_within;
use simhash_pg::sql::key_type::KeyType;

/// Compares the texts of the pairs drawn at a distance.
pub fn similarities<'s>(
    texts: &mut DrawnValues<'s>,
    sample: &'s Sample,
    distance: usize,
) -> PairSimilarities<'s> {
    let mut found = Vec::new();
    let mut comparer = Comparer::default();
    let mut buffer = ValueBuffer::new();
    for pair in sample.drawn(distance) {
        check_for_interrupts();
        let mut read = |key| -> Option<Letters> {
            let text = texts.get(key, &mut buffer)?;
            Some(text.show_bytes(letters))
        };
        let Some((a, b)) = read(pair[0]).zip(read(pair[1])) else {
            continue;
        };
        comparer.set_first(&a, GramLengths::SHINGLES);
        if let Similarity::Exactly(similarity) = comparer.compare(&b, 0.0) {
            push_within(&mut found, (similarity, pair), usize::MAX);
        }
    }
    PairSimilarities::new(found)
}

/// The check that the user names, and what it needs of the rows.
pub struct CheckedRows<'s> {
    pub judge: FunctionJudge,
    pub values: DrawnValues<'s>,
    pub keys: DrawnValues<'s>,
    pub order: KeyType,
}

impl<'s> CheckedRows<'s> {
    /// Returns which share of the pairs drawn at a distance passes; None where none was drawn.
    pub fn passing(&mut self, sample: &'s Sample, distance: usize) -> Option<f64> {
        let (mut passing, mut count) = (0, 0);
        for pair in sample.drawn(distance) {
            check_for_interrupts();
            count += 1;
            if self.passes(pair) {
                passing += 1;
            }
        }
        (count > 0).then(|| f64::from(passing) / f64::from(count))
    }

    fn passes(&mut self, [a, b]: [&[u8]; 2]) -> bool {
        let (mut left, mut right) = (ValueBuffer::new(), ValueBuffer::new());
        let keys = self
            .keys
            .get(a, &mut left)
            .zip(self.keys.get(b, &mut right));
        let in_order = match keys.map(|(a, b)| self.order.compare(a, b)) {
            Some(order) if order.is_gt() => [b, a],
            _ => [a, b],
        };
        let [a, b] = in_order;
        let values = (self.values.get(a, &mut left)).zip(self.values.get(b, &mut right));
        values.is_some_and(|(a, b)| self.judge.holds([a, b]))
    }
}
