//! The differences of two sources that say which rows an index has. Verification compares the key
//! spaces of an index by it. Both sources ascend, and one walk over them finds every difference.

use crate::key::Key;
use std::iter::Peekable;

/// Compares two streams of keys, both ascending: one is pulled, the other one pushed. Calls
/// `differ` with each key that only one of them has, or that one of them has more than once.
pub struct KeyComparison<L: Iterator<Item = Key>, F: FnMut(Key)> {
    left: Peekable<L>,
    last: Option<Key>,
    differ: F,
}

impl<L: Iterator<Item = Key>, F: FnMut(Key)> KeyComparison<L, F> {
    /// Begins a comparison with `left`, which ascends; `differ` gets each difference.
    pub fn new(left: L, differ: F) -> Self {
        KeyComparison {
            left: left.peekable(),
            last: None,
            differ,
        }
    }

    /// The next key of the pushed stream.
    pub fn push(&mut self, key: Key) {
        while let Some(left) = self.left.next_if(|left| *left < key) {
            (self.differ)(left);
        }
        if self.left.next_if_eq(&key).is_none() || self.last == Some(key) {
            (self.differ)(key);
        }
        self.last = Some(key);
    }

    /// Must be called when the pushed stream has ended.
    pub fn finish(self) {
        self.left.for_each(self.differ);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn differences(left: &[u64], right: &[u64]) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let left = left.iter().map(|bits| Key::at(*bits as u32 / 20, *bits));
        let mut comparison = KeyComparison::new(left, |key| {
            found.insert(key.rotated);
        });
        right
            .iter()
            .for_each(|bits| comparison.push(Key::at(*bits as u32 / 20, *bits)));
        comparison.finish();
        found
    }

    proptest! {
        #[test]
        fn what_is_not_once_in_each_is_shown(
            mut left in prop::collection::vec(0u64..60, 0..50),
            mut right in prop::collection::vec(0u64..60, 0..50), same: bool,
        ) {
            if same {
                right.clone_from(&left);
            }
            left.sort();
            right.sort();
            let count = |all: &[u64], bits| all.iter().filter(|b| **b == bits).count();
            let counts = |bits| (count(&left, bits), count(&right, bits));
            let expected: BTreeSet<u64> = (0..60)
                .filter(|bits| !matches!(counts(*bits), (0, 0) | (1, 1)))
                .collect();
            prop_assert_eq!(differences(&left, &right), expected);
        }
    }
}
