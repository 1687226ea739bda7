//! Quantiles of the gamma distribution, for the intervals of [`super::estimate`]. A small shape is
//! summed, a large one approximated by the normal distribution; the two join where one takes over
//! from the other.

#![forbid(unsafe_code)]

/// Beyond this shape an approximation is as good as the sum: its error is below 1 in 10,000.
const LARGE: f64 = 200.0;

/// The value that a variable of this mean and variance stays below with `probability`, which is
/// between 0 and 1; mean and variance are above 0.
pub fn quantile(probability: f64, mean: f64, variance: f64) -> f64 {
    let (shape, scale) = (mean * mean / variance, variance / mean);
    scale * of_shape(probability, shape)
}

/// The quantile for a scale of 1.
fn of_shape(probability: f64, shape: f64) -> f64 {
    if shape > LARGE {
        return wilson_hilferty(probability, shape);
    }
    // The quantile is bracketed, then halved down to it.
    let (mut low, mut high) = (0.0, shape + 1.0);
    while below(high, shape) < probability {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match below(middle, shape) < probability {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// The probability of a value below `x`: the series of the lower incomplete gamma function, whose
/// terms are all positive.
fn below(x: f64, shape: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let (mut term, mut sum, mut divisor) = (1.0, 1.0, shape);
    while term > sum * f64::EPSILON {
        divisor += 1.0;
        term *= x / divisor;
        sum += term;
    }
    (shape * x.ln() - x - ln_gamma(shape + 1.0) + sum.ln()).exp()
}

/// The logarithm of the gamma function: Stirling's series, which is exact enough from 10 on.
fn ln_gamma(x: f64) -> f64 {
    const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let square = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + HALF_LN_2_PI + series
}

/// Wilson and Hilferty 1931: the cube root of a gamma variable is nearly normal.
fn wilson_hilferty(probability: f64, shape: f64) -> f64 {
    let spread = 1.0 / (9.0 * shape);
    let root = 1.0 - spread + normal(probability) * spread.sqrt();
    shape * root.powi(3)
}

/// The quantile of the normal distribution: that of a gamma of a large shape, by its own series.
/// (Abramowitz and Stegun 26.2.23; the error is below 0.00045.)
fn normal(probability: f64) -> f64 {
    let tail = probability.min(1.0 - probability);
    let t = (-2.0 * tail.ln()).sqrt();
    let over = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let under = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let distance = t - over / under;
    if probability < 0.5 {
        -distance
    } else {
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, error: f64) {
        assert!((found - expected).abs() < error, "{found}, not {expected}");
    }

    #[test]
    fn the_logarithm_of_factorials() {
        let mut factorial = 1.0f64;
        for n in 1..30 {
            near(ln_gamma(f64::from(n)), factorial.ln(), 1e-9);
            factorial *= f64::from(n);
        }
        near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-9);
    }

    /// The exact bounds of a Poisson count are gamma quantiles; published to three digits (Garwood
    /// 1936).
    #[test]
    fn the_bounds_of_poisson_counts() {
        for (count, low, high) in [
            (1.0, 0.0253, 5.572),
            (10.0, 4.795, 18.390),
            (50.0, 37.111, 65.919),
        ] {
            near(quantile(0.025, count, count), low, 1e-3);
            near(quantile(0.975, count + 1.0, count + 1.0), high, 1e-3);
        }
        near(quantile(0.975, 1.0, 1.0), -0.025f64.ln(), 1e-9);
        near(quantile(0.975, 7.0, 49.0), 7.0 * -0.025f64.ln(), 1e-9);
    }

    #[test]
    fn the_approximation_joins_the_sum() {
        for probability in [0.025, 0.3, 0.5, 0.975] {
            let (sum, near_by) = (
                of_shape(probability, LARGE),
                wilson_hilferty(probability, LARGE),
            );
            near(near_by / sum, 1.0, 1e-4);
        }
    }
}
