//! Natural logarithms in integer arithmetic: the same bits on every platform, which those of a C
//! library need not have.

/// Logarithms are multiples of 2^-58: that of `u64::MAX`, 44.4, fits into a word.
pub const FRACTION_BITS: u32 = 58;

/// The table has a step for each value of this many bits after the first.
const STEP_BITS: u32 = 10;

/// ln(1 + i / 1024).
static STEPS: [u64; (1 << STEP_BITS) + 1] = steps();

const LN_2: u64 = steps()[1 << STEP_BITS];

const fn steps() -> [u64; (1 << STEP_BITS) + 1] {
    let mut steps = [0; (1 << STEP_BITS) + 1];
    let mut i = 0;
    while i < steps.len() {
        let numerator = (i as u128) << 64;
        steps[i] = twice_atanh(numerator / ((2 << STEP_BITS) + i as u128));
        i += 1;
    }
    steps
}

/// 2 atanh(z) = ln((1 + z) / (1 - z)) by its power series, for z up to 1/3 in units of 2^-64.
const fn twice_atanh(z: u128) -> u64 {
    let square = (z * z) >> 64;
    let (mut power, mut sum, mut n) = (z, z, 3);
    while power > 0 {
        power = (power * square) >> 64;
        sum += power / n;
        n += 2;
    }
    // Rounded from twice 2^-64.
    ((sum + (1 << 4)) >> (64 - 1 - FRACTION_BITS)) as u64
}

/// ln `n`; of 0 it is 0.
pub fn ln(n: u64) -> f64 {
    fixed_ln(n) as f64 / (1u64 << FRACTION_BITS) as f64
}

/// ln `n`, off by less than 2^-56.
fn fixed_ln(n: u64) -> u64 {
    let Some(exponent) = n.checked_ilog2() else {
        return 0;
    };
    // n = 2^exponent (1 + f), and 1 + f is step and rest.
    let f = n << (63 - exponent) << 1;
    let step = f >> (64 - STEP_BITS);
    let rest = u128::from(f << STEP_BITS >> STEP_BITS);
    let sum = (2u128 << 64) + (u128::from(step) << (65 - STEP_BITS)) + rest;
    let rest = twice_atanh((rest << 64) / sum);
    u64::from(exponent) * LN_2 + STEPS[step as usize] + rest
}

/// -ln(u) for u = (`x` | 1) / 2^64: of a uniformly distributed `x` an exponentially distributed
/// number. Between two steps of the table it is a straight line, whose slope is off by at most 1
/// part in 4,000. Features of one weight share that error, so none of them is favoured; the shares
/// of others are off by as little.
#[inline]
pub fn exponential(x: u64) -> u64 {
    let x = x | 1;
    let zeros = x.leading_zeros();
    let f = x << zeros << 1;
    let step = (f >> (64 - STEP_BITS)) as usize;
    let rest = f << STEP_BITS >> 32;
    let (from, to) = (STEPS[step], STEPS[step + 1]);
    // Two steps differ by less than 2^48, so the product fits.
    let ln = from + ((((to - from) >> 16) * rest) >> 16);
    u64::from(zeros + 1) * LN_2 - ln
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT: f64 = (1u64 << FRACTION_BITS) as f64;

    proptest! {
        #[test]
        fn logarithms_are_those_of_the_library(n in 1u64..) {
            prop_assert!((ln(n) - (n as f64).ln()).abs() < 1e-14);
        }

        #[test]
        fn exponentials_are_close(x: u64) {
            let exact = -(((x | 1) as f64) / 2f64.powi(64)).ln();
            prop_assert!((exponential(x) as f64 / UNIT - exact).abs() <= exact / 4000.0 + 1e-13);
        }
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!((fixed_ln(0), fixed_ln(1), fixed_ln(2)), (0, 0, LN_2));
        assert_eq!(exponential(0), 64 * LN_2);
        assert!(exponential(u64::MAX) < 1 << 20);
    }

    /// SimHash rounds 1 + ln tf to multiples of 2^-32. The library's logarithm gives the same.
    #[test]
    fn rounded_logarithms_are_those_of_the_library() {
        let rounded = |ln: f64| ((1.0 + ln) * 4_294_967_296.0).round();
        for n in 1..1_000_000u64 {
            assert_eq!(rounded(ln(n)), rounded((n as f64).ln()), "ln {n}");
        }
    }
}
