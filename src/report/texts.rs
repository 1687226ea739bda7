//! Computes how similar the texts of the drawn pairs are, as simhash_jaccard does.
//!
//! The relation is read once more, and the texts that are needed are put into a temporary file: two
//! at a time are in memory.

use crate::row::jaccard::{Comparer, letters};
use simhash_base::store::Store;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::Similarity;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_hamming::report::compared::PairSimilarities;
use simhash_hamming::report::sample::Sample;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{filled, keep_reserve, push_within};
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::sql::value::Value;

/// The texts of some rows.
pub struct SampleTexts<'s> {
    /// The keys of the rows, in order.
    keys: Vec<&'s [u8]>,
    /// Where each row's text begins in the file, and its bytes; None for a text that is NULL or was
    /// not read.
    places: Vec<Option<(u64, usize)>>,
    file: TempFile<'static>,
    /// Bytes in the file.
    written: u64,
}

impl<'s> SampleTexts<'s> {
    /// Makes room for the texts of the pairs that were drawn.
    pub fn of_pairs(sample: &'s Sample) -> Self {
        let mut keys = Vec::new();
        for distance in 0..=sample.max_distance() {
            let drawn = sample.drawn(distance).flatten();
            drawn.for_each(|key| push_within(&mut keys, key, usize::MAX));
        }
        keys.sort_unstable();
        keys.dedup();
        SampleTexts {
            places: filled(keys.len(), None),
            keys,
            file: TempFile::new(),
            written: 0,
        }
    }

    /// Takes a row of the relation; returns false when another one has the same key.
    pub fn add(&mut self, key: &[u8], text: Option<Value<'_>>) -> bool {
        let Ok(row) = self.keys.binary_search(&key) else {
            return true;
        };
        let Some(text) = text else {
            return true;
        };
        keep_reserve();
        text.show_bytes(|bytes| {
            let place = (self.written, bytes.len());
            let is_first = self.places[row].replace(place).is_none();
            Store::write(&mut self.file, bytes);
            self.written += bytes.len() as u64;
            is_first
        })
    }

    /// Returns the letters of the row with a key.
    fn read(&mut self, key: &[u8]) -> Option<Letters> {
        let row = self.keys.binary_search(&key).ok()?;
        let (start, length) = self.places[row]?;
        let mut text = filled(length, 0);
        Store::read(&mut self.file, start, &mut text);
        Some(letters(&text))
    }

    /// Compares the texts of the pairs drawn at a distance.
    pub fn compare(
        &mut self,
        sample: &'s Sample,
        distance: usize,
        activity: &mut Activity,
    ) -> PairSimilarities<'s> {
        let mut found = Vec::new();
        let mut comparer = Comparer::default();
        for pair in sample.drawn(distance) {
            check_for_interrupts();
            activity.show(|| format!("comparing texts at distance {distance}"));
            let [a, b] = pair.map(|key| self.read(key));
            let Some((a, b)) = a.zip(b) else {
                continue;
            };
            comparer.set_first(&a, GramLengths::SHINGLES);
            if let Similarity::Exactly(similarity) = comparer.compare(&b, 0.0) {
                push_within(&mut found, (similarity, pair), usize::MAX);
            }
        }
        PairSimilarities::new(found)
    }
}
