//! Two walks over a key space: the differences of two sources that say which rows an index has, and which
//! pages of a level a walk to the right reads ahead. Verification calls it. Both sources ascend, and one walk
//! over them finds every difference.
//!
//! A built level lies in the file in order, and splits put pages from the end of the file between.
//! What is still in order is not read ahead: the operating system sees it, and reads ahead in longer
//! pieces than single pages.

#![forbid(unsafe_code)]

use crate::key::Position;
use crate::page::NO_BLOCK;
use std::collections::VecDeque;
use std::iter::Peekable;

/// Compares two streams of keys, both ascending: one is pulled, the other one pushed. Calls
/// `differ` with each key that only one of them has, or that one of them has more than once.
pub struct KeyComparison<L: Iterator<Item = Position>, F: FnMut(Position)> {
    left: Peekable<L>,
    last: Option<Position>,
    differ: F,
}

impl<L: Iterator<Item = Position>, F: FnMut(Position)> KeyComparison<L, F> {
    /// Begins a comparison with `left`, which ascends; `differ` gets each difference.
    pub fn new(left: L, differ: F) -> Self {
        KeyComparison {
            left: left.peekable(),
            last: None,
            differ,
        }
    }

    /// The next key of the pushed stream.
    pub fn push(&mut self, key: Position) {
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

/// A page is in order if it lies right behind one of this many pages before it.
const RECENT: usize = 8;

/// Downlinks to pages of one level, from left to right: those that the walk has not come to.
pub struct LevelAhead {
    links: VecDeque<(Position, u32)>,
    /// Number of them that need not be read ahead any more.
    asked: usize,
    /// The last blocks of those.
    recent: [u32; RECENT],
}

impl Default for LevelAhead {
    fn default() -> LevelAhead {
        LevelAhead {
            links: VecDeque::new(),
            asked: 0,
            recent: [NO_BLOCK; RECENT],
        }
    }
}

impl LevelAhead {
    /// Adds the downlink to the next page to the right.
    pub fn push(&mut self, low: Position, block: u32) {
        self.links.push_back((low, block));
    }

    /// The downlink to the page that the walk comes to next.
    pub fn first(&self) -> Option<(Position, u32)> {
        self.links.front().copied()
    }

    /// Returns how many pages are known to be still to come.
    pub fn known(&self) -> usize {
        self.links.len()
    }

    /// Notes that the walk has come to the first page.
    pub fn pop(&mut self) {
        self.links.pop_front();
        self.asked = self.asked.saturating_sub(1);
    }

    /// The first page is about to be read: calls `ask` with the blocks of the `window` pages after
    /// it that it has not been called with.
    pub fn read_ahead(&mut self, window: usize, mut ask: impl FnMut(u32)) {
        let reached = self.links.len().min(window + 1);
        for i in self.asked..reached {
            let block = self.links[i].1;
            let in_order = self.recent.contains(&block.wrapping_sub(1));
            self.recent.rotate_right(1);
            self.recent[0] = block;
            if i > 0 && !in_order {
                ask(block);
            }
        }
        self.asked = self.asked.max(reached);
    }

    /// The downlinks to which the walk has not come.
    pub fn into_rest(self) -> impl Iterator<Item = (Position, u32)> {
        self.links.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn differences(left: &[u64], right: &[u64]) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let left = left
            .iter()
            .map(|bits| Position::at(*bits as u32 / 20, *bits));
        let mut comparison = KeyComparison::new(left, |key| {
            found.insert(key.rotated);
        });
        right
            .iter()
            .for_each(|bits| comparison.push(Position::at(*bits as u32 / 20, *bits)));
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

#[cfg(test)]
mod level_ahead_tests {
    use super::*;

    fn ahead(blocks: &[u32]) -> LevelAhead {
        let mut ahead = LevelAhead::default();
        for (i, block) in blocks.iter().enumerate() {
            ahead.push(Position::at(0, i as u64), *block);
        }
        ahead
    }

    fn asked(ahead: &mut LevelAhead, window: usize) -> Vec<u32> {
        let mut blocks = Vec::new();
        ahead.read_ahead(window, |block| blocks.push(block));
        blocks
    }

    #[test]
    fn each_page_is_read_ahead_once_and_in_time() {
        let mut ahead = ahead(&[9, 3, 7, 1, 5]);
        assert!(asked(&mut ahead, 0).is_empty());
        assert_eq!(asked(&mut ahead, 2), [3, 7]);
        assert!(asked(&mut ahead, 2).is_empty());
        ahead.pop();
        assert_eq!(asked(&mut ahead, 2), [1]);
        assert_eq!(asked(&mut ahead, 100), [5]);
        assert_eq!((ahead.first().unwrap().1, ahead.known()), (3, 4));
    }

    #[test]
    fn pages_in_the_order_of_the_file_are_not_read_ahead() {
        let mut ahead = ahead(&[3, 4, 90, 5, 95, 6, 92, 7, 8]);
        assert!(asked(&mut ahead, 1).is_empty());
        assert_eq!(asked(&mut ahead, 8), [90, 95, 92]);
    }

    #[test]
    fn a_walk_that_overtakes_what_was_read_ahead_goes_on() {
        let mut ahead = ahead(&[9, 3, 7, 1]);
        ahead.pop();
        ahead.pop();
        assert_eq!(asked(&mut ahead, 5), [1]);
        assert_eq!(ahead.into_rest().count(), 2);
    }
}
