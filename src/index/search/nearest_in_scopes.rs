//! The nearest first in several scopes at once: a search in each, merged ring by ring.

use super::nearest::Nearest;
use super::view::View;
use simhash_base::tid::Tid;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows that may wait in memory for each scope, however many there are.
const LEAST_LIMIT: usize = 64;

/// A search for the nearest in some scopes.
pub struct NearestInScopes {
    searches: Vec<Nearest>,
    /// The rows of each search's ring that is to be returned next.
    found: Vec<Vec<Tid>>,
    /// Their distances, with the numbers of the searches.
    rings: BinaryHeap<Reverse<(u32, usize)>>,
    /// Searches that have to step: all at first, then the one whose ring was returned.
    due: Vec<usize>,
}

impl NearestInScopes {
    /// `scopes`: those to search, or None for all in one; `limit`: rows that may wait in memory.
    pub fn new(scopes: &[Option<u32>], query: u64, farthest: u32, limit: usize) -> NearestInScopes {
        let limit = (limit / scopes.len().max(1)).max(LEAST_LIMIT);
        let search = |scope: &Option<u32>| Nearest::new(*scope, query, farthest, limit);
        NearestInScopes {
            searches: scopes.iter().map(search).collect(),
            found: vec![Vec::new(); scopes.len()],
            rings: BinaryHeap::new(),
            due: (0..scopes.len()).collect(),
        }
    }

    /// Puts the next rows into `rows` and returns their distance; None at the end. Rows whose
    /// fingerprint `keep` refuses are left out.
    pub fn step(
        &mut self,
        view: &View,
        keep: impl Fn(u64) -> bool,
        rows: &mut Vec<Tid>,
    ) -> Option<u32> {
        while let Some(i) = self.due.pop() {
            let ring = self.searches[i].step(view, &keep, &mut self.found[i]);
            self.rings.extend(ring.map(|ring| Reverse((ring, i))));
        }
        rows.clear();
        let Reverse((ring, i)) = self.rings.pop()?;
        std::mem::swap(rows, &mut self.found[i]);
        self.due.push(i);
        Some(ring)
    }
}
