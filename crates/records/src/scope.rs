//! Which records may be pairs at all, whatever they share: those that are equal in the columns of
//! `within` and that no column of `differ` tells apart. [`super::frequencies`] asks it for each
//! candidate, the extension for stored records.

use crate::together::mix;

/// What a column of `differ` says about every other row if there is no value: nothing.
const NOTHING: u64 = 0;

/// Returns what a value of a column of `differ` is, by its features: values with the same features do not differ.
pub fn value(features: &[u64]) -> u64 {
    match features.is_empty() {
        true => NOTHING,
        false => features.iter().fold(1, |hash, feature| mix(hash, *feature)) | 1,
    }
}

/// Returns whether two records have different values in a column of `differ`, of which these are theirs.
pub fn differ(a: &[u64], b: &[u64]) -> bool {
    let is_other = |(a, b): (&u64, &u64)| a != b && *a != NOTHING && *b != NOTHING;
    a.iter().zip(b).any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_differs_from_no_value() {
        let (x, y) = (value(&[7, 9]), value(&[9]));
        assert!(differ(&[x], &[y]) && differ(&[x, x], &[x, y]));
        assert!(!differ(&[x, value(&[])], &[x, y]) && !differ(&[], &[]));
    }
}
