//! Lists of hashes of which each counts once. Passages, sets of n-grams and records collect hashes in
//! them. A list may be as long as a text, so sorting it pauses, and lack of memory is an error.

use crate::error::Error;

/// Comparisons between two pauses, some ms.
const CHECKED_EVERY: usize = 1 << 16;

/// Adds a hash.
pub fn push(hashes: &mut Vec<u64>, hash: u64) -> Result<(), Error> {
    hashes.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
    hashes.push(hash);
    Ok(())
}

/// Sorts the hashes, and leaves each once.
pub fn sort_distinct(hashes: &mut Vec<u64>, check_interrupts: &mut dyn FnMut()) {
    let mut comparisons = 0usize;
    hashes.sort_unstable_by(|a, b| {
        comparisons += 1;
        if comparisons.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        a.cmp(b)
    });
    hashes.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_pause() {
        let mut hashes: Vec<u64> = (0..200_000u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9) % 99_991)
            .collect();
        let mut pauses = 0;
        sort_distinct(&mut hashes, &mut || pauses += 1);
        assert!(hashes.is_sorted_by(|a, b| a < b) && hashes.len() > 90_000);
        assert!(pauses > 10, "{pauses}");
    }
}
