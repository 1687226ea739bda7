//! Disjoint sets (Tarjan 1975; path halving). Components of pairs, and searches that keep the sets
//! of rows, unite them. The smallest number of a set leads it, whatever the order of the unions.

#![forbid(unsafe_code)]

/// Sets of the numbers from 0 on, each alone at first.
#[derive(Default)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// No elements.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for this many more numbers.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<(), std::collections::TryReserveError> {
        self.parent.try_reserve_exact(more)
    }

    /// Adds the next number, in a set of its own.
    #[inline]
    pub fn add(&mut self) -> Result<u32, std::collections::TryReserveError> {
        if self.parent.len() == self.parent.capacity() {
            self.parent.try_reserve(1024)?;
        }
        let next = self.parent.len() as u32;
        self.parent.push(next);
        Ok(next)
    }

    /// The smallest number of the set.
    #[inline]
    pub fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            let above = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = above;
            x = above;
        }
        x
    }

    /// Makes two sets one; returns false when they were one already.
    #[inline]
    pub fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
        a != b
    }

    /// Returns how many numbers there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.parent.len()
    }
}
