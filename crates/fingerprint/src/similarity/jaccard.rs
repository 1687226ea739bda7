//! Checks of candidates: the Jaccard similarity of two texts' character n-grams, and cosines.

use crate::error::Error;
use crate::hash::city64;
use crate::text::ngrams::{GramLengths, Ngrams};
use crate::text::normal;

/// Number of n-grams that take long to sort, some 10 ms: the caller may want to stop.
const LONG: usize = 1 << 19;

/// The set of a text's character n-grams (letters and digits of its normal form), as sorted hashes.
/// A text of fewer characters is one n-gram by itself; one without letters and digits has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Shingles(Vec<u64>);

impl Shingles {
    pub fn new(text: &str, n: usize, pause: &mut dyn FnMut()) -> Result<Self, Error> {
        let (mut hashes, mut grams) = (Vec::new(), Ngrams::new(GramLengths::all(n)));
        let mut failed = false;
        normal::for_each_chunk(text, &mut String::new(), pause, &mut |chunk| {
            // One n-gram a byte at most. The walk cannot stop half-way: it adds nothing more.
            if failed || hashes.try_reserve(chunk.len()).is_err() {
                failed = true;
                return;
            }
            grams.chunk(chunk, &mut |gram| hashes.push(city64(gram.as_bytes())));
        });
        if failed {
            return Err(Error::OutOfMemory);
        }
        grams.finish(&mut |gram| hashes.push(city64(gram.as_bytes())));
        match hashes.len() < LONG {
            true => hashes.sort_unstable(),
            false => hashes.sort_unstable_by(|a, b| {
                pause();
                a.cmp(b)
            }),
        }
        hashes.dedup();
        Ok(Self(hashes))
    }

    /// The hashes, sorted, each once.
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    /// |A and B| / |A or B|; None when both are empty.
    pub fn jaccard(&self, other: &Shingles) -> Option<f64> {
        of_sorted(&self.0, &other.0)
    }
}

/// The Jaccard similarity of two sorted sets; None when both are empty.
pub fn of_sorted(a: &[u64], b: &[u64]) -> Option<f64> {
    let (mut i, mut j, mut both) = (0, 0, 0usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        both += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    let either = a.len() + b.len() - both;
    (either > 0).then(|| both as f64 / either as f64)
}

/// The cosine of two vectors of equal length; None when either has length 0 or a component that is
/// not finite.
pub fn cosine(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let largest = |(a, b): (f64, f64), (x, y): (f64, f64)| (a.max(x.abs()), b.max(y.abs()));
    let (a_most, b_most) = pairs.clone().fold((0.0, 0.0), largest);
    let (a_scale, b_scale) = (to_about_one(a_most), to_about_one(b_most));
    let (mut dot, mut a2, mut b2) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        let (a, b) = (a * a_scale, b * b_scale);
        dot += a * b;
        a2 += a * a;
        b2 += b * b;
    }
    let lengths: f64 = f64::sqrt(a2) * f64::sqrt(b2);
    (lengths > 0.0 && lengths.is_finite()).then(|| (dot / lengths).clamp(-1.0, 1.0))
}

/// A power of two, so that nothing is rounded, that brings `number` near 1: the squares of very
/// large and very small components would be infinite or 0.
fn to_about_one(number: f64) -> f64 {
    2f64.powi(-number.log2().clamp(-1000.0, 1000.0) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn jaccard_of(a: &str, b: &str, n: usize) -> Option<f64> {
        let shingles = |text| Shingles::new(text, n, &mut || {}).unwrap();
        shingles(a).jaccard(&shingles(b))
    }

    #[test]
    fn jaccard_by_hand() {
        assert_eq!(jaccard_of("abc", "bcd", 2), Some(1.0 / 3.0));
        assert_eq!(jaccard_of("A-B c", "ａｂＣ", 2), Some(1.0));
        assert_eq!(jaccard_of("ab", "ab", 5), Some(1.0));
        assert_eq!(jaccard_of("ab", "ac", 5), Some(0.0));
        assert_eq!(jaccard_of("ab", "", 5), Some(0.0));
        assert_eq!(jaccard_of("。", "", 5), None);
    }

    #[test]
    fn jaccard_equals_that_of_sets() {
        let texts = [
            "关于道路破损的问题，请尽快处理",
            "关于道路的问题请处理一下",
            "the quick fox",
        ];
        for (a, b) in texts.iter().flat_map(|a| texts.map(|b| (*a, b))) {
            let set = |text: &str| {
                let kept: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
                kept.windows(3)
                    .map(<[char]>::to_vec)
                    .collect::<HashSet<_>>()
            };
            let (x, y) = (set(a), set(b));
            let true_value = x.intersection(&y).count() as f64 / x.union(&y).count() as f64;
            assert_eq!(jaccard_of(a, b, 3), Some(true_value));
        }
    }

    #[test]
    fn sorting_the_ngrams_of_a_long_text_pauses() {
        let text: String = (0..200_000).map(|n| format!("{n:x} ")).collect();
        let mut pauses = 0;
        Shingles::new(&text, 5, &mut || pauses += 1).unwrap();
        assert!(pauses > LONG, "{pauses} pauses");
    }

    #[test]
    fn the_worked_example_of_s4() {
        let (a, b) = ([30., 20., 20., 10., 0.], [40., 0., 30., 20., 10.]);
        let cosine_of = |a: &[f64], b: &[f64]| cosine(a.iter().copied().zip(b.iter().copied()));
        let value = cosine_of(&a, &b).unwrap_or(0.0);
        assert!((value - 0.8607).abs() < 5e-5, "{value}");
        assert_eq!(cosine_of(&[0.0], &[1.0]), None);
        assert_eq!(cosine_of(&[1.0, 0.0], &[0.0, 1.0]), Some(0.0));
        for size in [f64::MAX, 1e200, 1e-200, f64::MIN_POSITIVE] {
            let value = cosine_of(&[size, size], &[size, size]).unwrap_or(0.0);
            assert!((value - 1.0).abs() < 1e-15, "{size}: {value}");
        }
        assert_eq!(cosine_of(&[f64::INFINITY], &[1.0]), None);
        assert_eq!(cosine_of(&[f64::NAN], &[1.0]), None);
    }
}
