//! The different texts of rows, by the class of their fingerprint and their own. Classes of equal
//! texts make them, comparisons of similar ones read them; they stay in order.

use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::Classes;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::collected;
use std::ops::Range;

/// The different texts, each as the class of its rows behind that of the rows with its fingerprint;
/// in order, so that the texts of one fingerprint are side by side.
pub struct DistinctTexts(Vec<(u32, u32)>);

impl DistinctTexts {
    pub fn new(mut texts: Vec<(u32, u32)>) -> Self {
        texts.sort_unstable_by_key(|text| {
            check_for_interrupts();
            *text
        });
        Self(texts)
    }

    /// Keeps those of some fingerprints.
    pub fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.0.retain(|(coarse, _)| {
            check_for_interrupts();
            is_kept(*coarse)
        });
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the places of the texts of one fingerprint.
    pub fn range(&self, coarse: u32) -> Range<usize> {
        let start = self.0.partition_point(|text| text.0 < coarse);
        let texts = &self.0[start..];
        start..start + texts.partition_point(|text| text.0 == coarse)
    }

    /// Returns the place of a text.
    pub fn place(&self, coarse: u32, fine: u32) -> usize {
        self.0.partition_point(|text| *text < (coarse, fine))
    }

    /// Returns the pair of the texts at two places.
    pub fn edge(&self, a: usize, b: usize, distance: u32) -> Edge {
        Edge {
            a: self.0[a].1,
            b: self.0[b].1,
            distance,
        }
    }

    /// Returns a row for each text, in order.
    pub fn first_rows(&self, fine: &Classes) -> Vec<u32> {
        let mut rows = collected(self.0.iter().map(|text| fine.first(text.1)));
        rows.sort_unstable_by_key(|row| {
            check_for_interrupts();
            *row
        });
        rows
    }
}
