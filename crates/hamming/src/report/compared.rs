//! Summary of the similarities of some pairs: mean, percentiles and examples. The report makes it
//! of the pairs whose texts it has read. Pairs are sorted by similarity and then by keys, so that
//! the summary does not depend on the order in which they come.

#![forbid(unsafe_code)]

/// The keys of a pair.
pub type Keys<'k> = [&'k [u8]; 2];

/// Pairs and their similarities.
pub struct PairSimilarities<'k>(Vec<(f64, Keys<'k>)>);

impl<'k> PairSimilarities<'k> {
    /// Sorts the pairs.
    pub fn new(mut pairs: Vec<(f64, Keys<'k>)>) -> Self {
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        PairSimilarities(pairs)
    }

    /// Returns how many pairs there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The mean similarity; NaN when there are no pairs.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|pair| pair.0).sum();
        sum / self.count() as f64
    }

    /// The place of the least similar pair for which at least `percent` per cent of the pairs are
    /// not more similar, as percentile_disc.
    fn place(&self, percent: usize) -> usize {
        (self.count() * percent).div_ceil(100).saturating_sub(1)
    }

    /// The similarity of that pair; NaN when there are no pairs.
    pub fn percentile(&self, percent: usize) -> f64 {
        let pair = self.0.get(self.place(percent));
        pair.map_or(f64::NAN, |pair| pair.0)
    }

    /// The pairs of the 5th and of the 50th percentile. If these are one pair, the next one is the
    /// second example.
    pub fn examples(&self) -> [Option<Keys<'k>>; 2] {
        let low = self.place(5);
        let last = self.count().saturating_sub(1);
        let median = self.place(50).max(low + 1).min(last);
        [low, median].map(|place| self.0.get(place).map(|pair| pair.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_pairs() {
        let keys: Vec<Vec<u8>> = (0..=200u8).map(|i| vec![i]).collect();
        let summary = |count: usize| {
            // Not in order.
            let pairs = (0..count).map(|i| (i * 7) % count.max(1));
            let pairs = pairs.map(|i| (i as f64, [&keys[i][..], &keys[i][..]]));
            let compared = PairSimilarities::new(pairs.collect());
            let examples = compared.examples().map(|pair| pair.map(|[key, _]| key[0]));
            (
                compared.percentile(5),
                compared.percentile(50),
                compared.mean(),
                examples,
            )
        };
        assert_eq!(summary(200), (9.0, 99.0, 99.5, [Some(9), Some(99)]));
        assert_eq!(summary(20), (0.0, 9.0, 9.5, [Some(0), Some(9)]));
        assert_eq!(summary(2), (0.0, 0.0, 0.5, [Some(0), Some(1)]));
        assert_eq!(summary(1), (0.0, 0.0, 0.0, [Some(0), Some(0)]));
        assert_eq!(summary(0).3, [None, None]);
    }
}
