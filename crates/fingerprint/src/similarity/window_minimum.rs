//! The smallest hash of a window that moves over a text. [`super::passages`] chooses n-grams by it.
//! The window is a queue of two stacks, each of which knows its minimum, so that no step asks which
//! of two hashes is smaller: a processor could not foresee that.

/// The n-grams that lie in a window.
pub struct WindowMinimum {
    /// How far the window reaches back from where the last n-gram ends.
    window: usize,
    /// The older ones. Each has the smallest hash of it and of those behind it.
    older: Vec<Placed>,
    /// How many of them have left the window.
    gone: usize,
    newer: Vec<Placed>,
    /// The smallest hash of the newer ones.
    newer_minimum: u64,
}

struct Placed {
    /// Where the n-gram ends.
    end: usize,
    hash: u64,
}

impl WindowMinimum {
    /// `window` is at least 1.
    pub fn new(window: usize) -> Self {
        Self {
            window,
            older: Vec::new(),
            gone: 0,
            newer: Vec::new(),
            newer_minimum: u64::MAX,
        }
    }

    /// Moves the window on to an n-gram that ends at `end`, not in front of the one before, and returns the
    /// smallest hash of those that end less than a window in front of that.
    #[inline]
    pub fn pass(&mut self, end: usize, hash: u64) -> u64 {
        self.newer.push(Placed { end, hash });
        self.newer_minimum = self.newer_minimum.min(hash);
        // The new one itself is in the window.
        while self.first().end + self.window <= end {
            self.gone += 1;
        }
        self.first().hash.min(self.newer_minimum)
    }

    /// Returns the smallest hash in the window, None before the first n-gram.
    pub fn get(&self) -> Option<u64> {
        let first = self.older.get(self.gone)?;
        Some(first.hash.min(self.newer_minimum))
    }

    /// The first n-gram that has not left the window; there is one.
    #[inline]
    fn first(&mut self) -> &Placed {
        if self.gone == self.older.len() {
            self.age();
        }
        &self.older[self.gone]
    }

    /// Makes the newer ones the older ones, all of which have left the window.
    fn age(&mut self) {
        std::mem::swap(&mut self.older, &mut self.newer);
        self.newer.clear();
        self.newer_minimum = u64::MAX;
        self.gone = 0;
        let mut minimum = u64::MAX;
        for placed in self.older.iter_mut().rev() {
            minimum = minimum.min(placed.hash);
            placed.hash = minimum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_that_of_all_in_the_window(
            steps in prop::collection::vec((0usize..20, 0u64..50), 1..200), window in 1usize..100,
        ) {
            let mut minimum = WindowMinimum::new(window);
            prop_assert_eq!(minimum.get(), None);
            let (mut end, mut all) = (0, Vec::new());
            for (step, hash) in steps {
                end += step;
                all.push((end, hash));
                let in_window = all.iter().filter(|(other, _)| other + window > end);
                let expected = in_window.map(|(_, hash)| *hash).min();
                prop_assert_eq!(Some(minimum.pass(end, hash)), expected);
                prop_assert_eq!(minimum.get(), expected);
            }
        }
    }
}
