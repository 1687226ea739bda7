//! Weighted SimHash: one signed sum per bit, and the signs of the sums.

/// The sums: 64 for each of `W` words, the low word first. A feature adds its weight to the sum of each
/// bit that its hash has set, and subtracts it from the others. Fingerprints of 32 bits use hashes whose
/// high half is zero, so their high sums never rise above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums<const W: usize = 1>([[f64; 64]; W]);

impl<const W: usize> Sums<W> {
    pub const ZERO: Self = Sums([[0.0; 64]; W]);

    pub fn add(&mut self, hash: [u64; W], weight: f64) {
        for (sums, word) in self.0.iter_mut().zip(hash) {
            let eights = sums.as_chunks_mut::<8>().0.iter_mut();
            for (sums, byte) in eights.zip(word.to_le_bytes()) {
                for (sum, sign) in sums.iter_mut().zip(&SIGNS[usize::from(byte)]) {
                    // Exact, as it only sets the sign.
                    *sum += weight * sign;
                }
            }
        }
    }

    /// Adds `factor` times the sums of `other`.
    pub fn add_scaled(&mut self, other: &Self, factor: f64) {
        for (sum, other) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *sum += other * factor;
        }
    }

    /// The sums of the low word.
    pub fn low(&self) -> &[f64; 64] {
        &self.0[0]
    }

    /// Bit i is 1 when sum i is above 0; a tie gives 0.
    pub fn fingerprint(&self) -> [u64; W] {
        self.0.map(|sums| {
            sums.iter()
                .rev()
                .fold(0, |bits, &sum| bits << 1 | u64::from(sum > 0.0))
        })
    }
}

/// For each byte, the sign that each of its bits gives: a table, so that the sums are added eight at
/// a time without a shift for each.
static SIGNS: [[f64; 8]; 256] = signs();

const fn signs() -> [[f64; 8]; 256] {
    let mut signs = [[-1.0; 8]; 256];
    let mut i = 0;
    while i < 256 * 8 {
        if (i / 8) >> (i % 8) & 1 == 1 {
            signs[i / 8][i % 8] = 1.0;
        }
        i += 1;
    }
    signs
}

/// The SimHash of hashes with weights, summed in the given order; None without any weight above 0.
pub fn simhash<const W: usize>(
    features: impl IntoIterator<Item = ([u64; W], f64)>,
) -> Option<[u64; W]> {
    let mut sums = Sums::ZERO;
    let mut any = false;
    for (hash, weight) in features {
        sums.add(hash, weight);
        any |= weight > 0.0;
    }
    any.then(|| sums.fingerprint())
}
