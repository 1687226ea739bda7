//! The cosine of two vectors, such as the weights of two texts' features.

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
