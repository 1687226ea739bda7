//! Numbers that stand for several values: the scope of a row, which is what it has in the columns of
//! `within=`, and the place in which rows in progress are compared. The triggers call it. Equal
//! values always give equal numbers.

use simhash_fingerprint::hash::mix;

/// 2^64 divided by the golden ratio.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the scope of rows that are equal in the columns of `within=`, given the hashes of their
/// values; 0 without such columns.
pub fn scope(hashes: impl IntoIterator<Item = u32>) -> u64 {
    combined(hashes.into_iter().map(u64::from))
}

/// Returns a number for these numbers in this order; 0 for none.
pub fn combined(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let add = |all: u64, number: u64| mix((all ^ number).wrapping_add(GOLDEN_RATIO));
    numbers.into_iter().fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_a_scope_counts() {
        assert_eq!(scope([]), 0);
        let scopes = [
            scope([1]),
            scope([2]),
            scope([1, 2]),
            scope([2, 1]),
            scope([1, 1]),
            scope([0]),
            scope([0, 0]),
        ];
        for (i, one) in scopes.iter().enumerate() {
            assert!(!scopes[..i].contains(one) && *one != 0, "{scopes:x?}");
        }
    }
}
