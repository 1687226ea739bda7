//! Two sets of weighted features side by side, and their probability Jaccard similarity. Functions
//! that compare by the features of a builder call it. Features of one hash are one feature.

use super::cosine::cosine;
use crate::builder::Feature;
use crate::error::Error;
use std::cmp::Ordering;

/// Sorts features by hash, and adds up the weights of those of one hash.
pub fn by_hash(features: &mut Vec<Feature>, check_interrupts: &mut dyn FnMut()) {
    features.sort_unstable_by(|a, b| {
        check_interrupts();
        a.hash.cmp(&b.hash)
    });
    features.dedup_by(|next, kept| {
        let same = next.hash == kept.hash;
        kept.weight += if same { next.weight } else { 0.0 };
        same
    });
}

/// The features of two sets, each once, by hash; both sets are sorted by it.
pub fn side_by_side<'a>(
    a: &'a [Feature],
    b: &'a [Feature],
) -> impl Iterator<Item = [Option<&'a Feature>; 2]> + Clone {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.hash.cmp(&b.hash),
        };
        Some([
            if order.is_le() { a.next() } else { None },
            if order.is_ge() { b.next() } else { None },
        ])
    })
}

/// The weights of the features of two sets.
fn weights<'a>(
    a: &'a [Feature],
    b: &'a [Feature],
) -> impl Iterator<Item = (f64, f64)> + Clone + 'a {
    side_by_side(a, b).map(|[a, b]| (a.map_or(0.0, |f| f.weight), b.map_or(0.0, |f| f.weight)))
}

/// The cosine of two sets that are sorted by hash.
pub fn cosine_of(a: &[Feature], b: &[Feature]) -> Option<f64> {
    cosine(weights(a, b))
}

/// The probability Jaccard similarity of two sets that are sorted by hash (`minwise` has its
/// formula), which for features of one weight is the Jaccard similarity. None without any weight.
pub fn probability_jaccard(
    a: &[Feature],
    b: &[Feature],
    check_interrupts: &mut dyn FnMut(),
) -> Result<Option<f64>, Error> {
    // With r = x_i / y_i the sum over k of max(x_k / x_i, y_k / y_i) is that of x_k where x_k / y_k
    // is above r, and of r y_k elsewhere, divided by x_i: sums that grow in the order of r.
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for pair in weights(a, b).filter(|&pair| pair != (0.0, 0.0)) {
        pairs.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        pairs.push(pair);
    }
    if pairs.is_empty() {
        return Ok(None);
    }
    pairs.sort_unstable_by(|a, b| {
        check_interrupts();
        (a.0 / a.1).total_cmp(&(b.0 / b.1))
    });
    let mut above: f64 = pairs.iter().map(|(x, _)| x).sum();
    let (mut below, mut similarity) = (0.0, 0.0);
    for (x, y) in pairs {
        if x > 0.0 && y > 0.0 {
            similarity += x / (above + x / y * below);
        }
        (above, below) = (above - x, below + y);
    }
    Ok(Some(similarity.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn features(weights: &[f64]) -> Vec<Feature> {
        let weights = weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight > 0.0);
        let feature = |(i, &weight): (usize, &f64)| Feature {
            column: String::new(),
            feature: i.to_string(),
            tf: 1.0,
            weight,
            hash: i as u64,
        };
        weights.map(feature).collect()
    }

    proptest! {
        #[test]
        fn it_is_the_sum_of_the_formula(weights in prop::collection::vec((0u8..5, 0u8..5), 0..20)) {
            let x: Vec<f64> = weights.iter().map(|w| f64::from(w.0)).collect();
            let y: Vec<f64> = weights.iter().map(|w| f64::from(w.1)).collect();
            let both = |&i: &usize| x[i] > 0.0 && y[i] > 0.0;
            let term = |i: usize| {
                let most = |k: usize| (x[k] / x[i]).max(y[k] / y[i]);
                1.0 / (0..x.len()).map(most).sum::<f64>()
            };
            let expected: f64 = (0..x.len()).filter(both).map(term).sum();
            let found = probability_jaccard(&features(&x), &features(&y), &mut || {}).unwrap();
            let any = x.iter().chain(&y).any(|&weight| weight > 0.0);
            prop_assert_eq!(found.is_some(), any);
            prop_assert!((found.unwrap_or(0.0) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn of_equal_weights_it_is_that_of_sets() {
        let (a, b) = (features(&[0.5, 0.5, 0.0]), features(&[0.25, 0.25, 0.25]));
        let found = probability_jaccard(&a, &b, &mut || {}).unwrap();
        assert!((found.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    }
}
