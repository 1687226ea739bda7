//! Computes how similar the texts of the drawn pairs are, as simhash_jaccard does.
//!
//! The relation is read once more, and the n-grams of the texts that are needed are put into a
//! temporary file: two texts at a time are in memory.

use crate::clusters::texts::shingles;
use simhash_base::bytes::get_u64;
use simhash_base::store::Store;
use simhash_fingerprint::similarity::jaccard::of_sorted;
use simhash_hamming::report::compared::PairSimilarities;
use simhash_hamming::report::sample::Sample;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{filled, keep_reserve, push_within, reserve};
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::sql::value::Value;

/// Bytes of an n-gram.
const GRAM: usize = size_of::<u64>();
/// Number of n-grams that are written and read at a time.
const CHUNK: usize = 1024;

/// The texts of some rows.
pub struct SampleTexts<'s> {
    /// The keys of the rows, in order.
    keys: Vec<&'s [u8]>,
    /// Where each row's n-grams begin in the file, and how many there are; None for a text that is
    /// NULL or was not read.
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
        let shingles = shingles(text);
        let hashes = shingles.hashes();
        let place = (self.written, hashes.len());
        let is_first = self.places[row].replace(place).is_none();
        for some in hashes.chunks(CHUNK) {
            let mut bytes = [0; CHUNK * GRAM];
            for (gram, hash) in bytes.chunks_exact_mut(GRAM).zip(some) {
                gram.copy_from_slice(&hash.to_ne_bytes());
            }
            Store::write(&mut self.file, &bytes[..size_of_val(some)]);
        }
        self.written += size_of_val(hashes) as u64;
        is_first
    }

    /// Returns the n-grams of the row with a key.
    fn read(&mut self, key: &[u8]) -> Option<Vec<u64>> {
        let row = self.keys.binary_search(&key).ok()?;
        let (start, count) = self.places[row]?;
        let mut hashes = Vec::new();
        reserve(&mut hashes, count);
        let mut bytes = [0; CHUNK * GRAM];
        for at in (0..count).step_by(CHUNK) {
            let bytes = &mut bytes[..(count - at).min(CHUNK) * GRAM];
            Store::read(&mut self.file, start + (at * GRAM) as u64, bytes);
            hashes.extend(bytes.chunks_exact(GRAM).map(|gram| get_u64(gram, 0)));
        }
        Some(hashes)
    }

    /// Compares the texts of the pairs drawn at a distance.
    pub fn compare(
        &mut self,
        sample: &'s Sample,
        distance: usize,
        activity: &mut Activity,
    ) -> PairSimilarities<'s> {
        let mut found = Vec::new();
        for pair in sample.drawn(distance) {
            check_for_interrupts();
            activity.show(|| format!("comparing texts at distance {distance}"));
            let [a, b] = pair.map(|key| self.read(key));
            let similarity = a.zip(b).and_then(|(a, b)| of_sorted(&a, &b));
            if let Some(similarity) = similarity {
                push_within(&mut found, (similarity, pair), usize::MAX);
            }
        }
        PairSimilarities::new(found)
    }
}
