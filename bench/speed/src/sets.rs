//! The sets of fingerprints and the queries, the same in every run: A uniform, B skewed, each with
//! 5 % of near-copies.

/// SplitMix64 (Steele, Lea, Flood 2014): enough for test data, and the same everywhere.
pub struct SplitMix(u64);

impl SplitMix {
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// From 0 to `end` - 1; `end` is far below 2^64, so the bias does not matter.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From 0 inclusive to 1 exclusive.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `value` with `flips` different bits turned over.
    pub fn flipped(&mut self, value: u64, flips: usize) -> u64 {
        let mut mask = 0u64;
        while (mask.count_ones() as usize) < flips {
            mask |= 1 << self.below(64);
        }
        value ^ mask
    }
}

/// Draws 16-bit values with given weights, by their running sums.
struct Weighted(Vec<f64>);

impl Weighted {
    fn new(weight: impl Fn(usize) -> f64) -> Weighted {
        let mut sum = 0.0;
        Weighted(
            (0..1 << 16)
                .map(|value| {
                    sum += weight(value);
                    sum
                })
                .collect(),
        )
    }

    /// Zipf's law: the value of rank r weighs 1 / r^exponent.
    fn zipf(exponent: f64) -> Weighted {
        Weighted::new(|rank| ((rank + 1) as f64).powf(-exponent))
    }

    /// Every bit is set with this probability.
    fn bits(probability: f64) -> Weighted {
        Weighted::new(|value| {
            let set = value.count_ones() as i32;
            probability.powi(set) * (1.0 - probability).powi(16 - set)
        })
    }

    fn draw(&self, random: &mut SplitMix) -> u64 {
        let at = random.unit() * self.0[self.0.len() - 1];
        self.0.partition_point(|sum| *sum <= at) as u64
    }
}

/// Puts Zipf's ranks all over the 16 bits, one to one.
fn scatter(rank: u64) -> u64 {
    (rank * 40_503 + 12_345) & 0xFFFF
}

/// `count` fingerprints, every twentieth a copy of an earlier one with 1 to 3 bits turned over.
fn with_copies(
    count: usize,
    random: &mut SplitMix,
    fresh: impl Fn(&mut SplitMix) -> u64,
) -> Vec<u64> {
    let mut rows: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count {
        let row = if i % 20 == 19 {
            let original = rows[random.below(i)];
            let flips = 1 + random.below(3);
            random.flipped(original, flips)
        } else {
            fresh(random)
        };
        rows.push(row);
    }
    rows
}

pub fn uniform(count: usize) -> Vec<u64> {
    with_copies(count, &mut SplitMix::new(1), SplitMix::next)
}

/// Block 0: 20 % of the rows on one value, the rest Zipf 0.8; block 1: Zipf 1.0; blocks 2 and 3:
/// bits set with probability 0.2 and 0.35.
pub fn skewed(count: usize) -> Vec<u64> {
    let (first, second) = (Weighted::zipf(0.8), Weighted::zipf(1.0));
    let (third, fourth) = (Weighted::bits(0.2), Weighted::bits(0.35));
    with_copies(count, &mut SplitMix::new(2), |random| {
        let block_0 = match random.below(5) {
            0 => 0x5A5A,
            _ => scatter(first.draw(random)),
        };
        let block_1 = scatter(second.draw(random));
        block_0 << 48 | block_1 << 32 | third.draw(random) << 16 | fourth.draw(random)
    })
}

/// Queries: every second one a row, the others a row with 1 to 8 bits turned over.
pub fn centres(rows: &[u64], count: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix::new(seed);
    (0..count)
        .map(|i| {
            let row = rows[random.below(rows.len())];
            let flips = (i % 2) * (1 + random.below(8));
            random.flipped(row, flips)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(rows: &[u64], is: impl Fn(u64) -> bool) -> f64 {
        rows.iter().filter(|row| is(**row)).count() as f64 / rows.len() as f64
    }

    /// The shares that the set's description gives, within what copies change.
    #[test]
    fn the_skewed_set_is_as_described() {
        let rows = skewed(100_000);
        let hot = share(&rows, |row| row >> 48 == 0x5A5A);
        assert!((0.18..0.22).contains(&hot), "{hot}");
        // Zipf's first value: 1 / (1 + 1/2 + ... + 1/65536).
        let first = share(&rows, |row| row >> 32 & 0xFFFF == scatter(0));
        assert!((0.078..0.092).contains(&first), "{first}");
        for (bits, expected) in [(16..32, 0.2), (0..16, 0.35)] {
            for bit in bits {
                let set = share(&rows, |row| row >> bit & 1 == 1);
                assert!(
                    (expected - 0.02..expected + 0.02).contains(&set),
                    "{bit}: {set}"
                );
            }
        }
    }

    #[test]
    fn every_twentieth_row_is_near_an_earlier_one() {
        let rows = uniform(2_000);
        for (i, row) in rows.iter().enumerate() {
            let nearest = rows[..i]
                .iter()
                .map(|other| (row ^ other).count_ones())
                .min();
            let copy = nearest.is_some_and(|distance| distance <= 3);
            assert_eq!(copy, i % 20 == 19, "row {i}");
        }
    }
}
