//! Low-margin bits: those whose sum was close to zero, so that a small change of the text flips
//! them.
//!
//! About half of the bits in which near-duplicates differ are among the eight of least margin of
//! each. A search that also tries the fingerprints with some of them flipped finds more; so does a
//! distance that leaves them out.

use crate::error::Error;

/// Maximum number of fingerprints that [`probes`] may give.
pub const MOST_PROBES: u64 = 1_000_000;

/// Number of bits outside of `mask` in which two fingerprints differ.
pub fn hamming_masked(a: i64, b: i64, mask: i64) -> u32 {
    ((a ^ b) & !mask).count_ones()
}

/// Calls `found` with `fingerprint` and with all that differ from it in up to `flips` bits of
/// `mask`, each once, those with fewer flips first.
pub fn probes(
    fingerprint: i64,
    mask: i64,
    flips: u32,
    found: &mut dyn FnMut(i64),
) -> Result<(), Error> {
    let bits: Vec<i64> = (0..64).map(|i| 1 << i).filter(|b| mask & b != 0).collect();
    let count = count(bits.len() as u64, u64::from(flips));
    if count > MOST_PROBES {
        return Err(Error::TooManyProbes {
            bits: bits.len(),
            flips,
        });
    }
    let most = bits.len().min(flips as usize);
    (0..=most).for_each(|exactly| flip(fingerprint, &bits, exactly, found));
    Ok(())
}

/// Calls `found` with each fingerprint in which exactly `exactly` of `bits` are flipped.
fn flip(fingerprint: i64, bits: &[i64], exactly: usize, found: &mut dyn FnMut(i64)) {
    if exactly == 0 {
        return found(fingerprint);
    }
    for (i, bit) in bits.iter().enumerate() {
        if bits.len() - i >= exactly {
            flip(fingerprint ^ bit, &bits[i + 1..], exactly - 1, found);
        }
    }
}

/// Subsets of at most `k` of `n` things, or more than [`MOST_PROBES`].
fn count(n: u64, k: u64) -> u64 {
    let (mut subsets, mut sum) = (1u64, 1u64);
    for i in 0..k.min(n) {
        subsets = subsets.saturating_mul(n - i) / (i + 1);
        sum = sum.saturating_add(subsets);
        if sum > MOST_PROBES {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all(fingerprint: i64, mask: i64, flips: u32) -> Vec<i64> {
        let mut found = Vec::new();
        probes(fingerprint, mask, flips, &mut |p| found.push(p)).unwrap();
        found
    }

    #[test]
    fn probes_are_all_subsets() {
        let (fingerprint, mask) = (0x1234_5678_9abc_def0, 0b1001_0110_0001);
        for flips in 0..7 {
            let found = all(fingerprint, mask, flips);
            let expected: BTreeSet<i64> = (0..1 << 12)
                .filter(|x: &i64| x & !mask == 0 && x.count_ones() <= flips)
                .map(|x| fingerprint ^ x)
                .collect();
            assert_eq!(found.len(), expected.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        }
        assert_eq!(all(5, i64::MIN, 9), [5, 5 | i64::MIN]);
        assert_eq!(all(5, -1, 2).len(), 1 + 64 + 64 * 63 / 2);
        assert_eq!(all(5, 0x7ffff, 64).len(), 1 << 19);
    }

    #[test]
    fn too_many_probes() {
        for (mask, flips) in [(-1, 5), (-1, 64), (0xf_ffff, 64)] {
            assert!(probes(0, mask, flips, &mut |_| ()).is_err());
        }
    }

    #[test]
    fn masked_bits_do_not_count() {
        assert_eq!(hamming_masked(-1, 0, 0), 64);
        assert_eq!(hamming_masked(-1, 0, i64::MIN | 1), 62);
        assert_eq!(hamming_masked(0b1010, 0b0110, 0b0100), 1);
    }
}
