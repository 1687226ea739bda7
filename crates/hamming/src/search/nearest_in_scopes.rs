//! The nearest first in several scopes at once: one search in all that are small, and one in each
//! that is large, merged ring by ring.

use super::nearest::NearestSearch;
use super::reader::IndexReader;
use super::scopes::Scopes;
use crate::tree::store::PageStore;
use simhash_base::tid::Tid;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows that may wait in memory for each large scope, however many there are.
const LEAST_LIMIT: usize = 64;

/// A search for the nearest in some scopes.
pub struct NearestInScopes {
    query: u64,
    farthest: u32,
    /// Rows that may wait in memory in one search, and in all others together.
    limit: usize,
    searches: Vec<NearestSearch>,
    /// The rows of each search's ring that is to be returned next.
    found: Vec<Vec<Tid>>,
    /// Their distances, with the numbers of the searches.
    rings: BinaryHeap<Reverse<(u32, usize)>>,
    /// Searches that have to step: all at first, then the one whose ring was returned.
    due: Vec<usize>,
}

impl NearestInScopes {
    /// `limit` is the number of rows that may wait in memory.
    pub fn new(scopes: Scopes, query: u64, farthest: u32, limit: usize) -> NearestInScopes {
        let limit = match scopes {
            Scopes::Listed(_) => limit / 2,
            Scopes::One(_) | Scopes::All => limit,
        };
        let mut nearest = NearestInScopes {
            query,
            farthest,
            limit,
            searches: Vec::new(),
            found: Vec::new(),
            rings: BinaryHeap::new(),
            due: Vec::new(),
        };
        nearest.add(scopes, limit);
        nearest
    }

    fn add(&mut self, scopes: Scopes, limit: usize) {
        self.due.push(self.searches.len());
        let search = NearestSearch::new(scopes, self.query, self.farthest, limit);
        self.searches.push(search);
        self.found.push(Vec::new());
    }

    /// Puts the next rows into `rows` and returns their distance; None at the end. Rows whose
    /// fingerprint `keep` refuses are left out.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        keep: impl Fn(u64) -> bool,
        rows: &mut Vec<Tid>,
    ) -> Option<u32> {
        while let Some(i) = self.due.pop() {
            let ring = self.searches[i].step(reader, &keep, &mut self.found[i]);
            self.rings.extend(ring.map(|ring| Reverse((ring, i))));
            let large = self.searches[i].take_left_out();
            let limit = (self.limit / large.len().max(1)).max(LEAST_LIMIT);
            for scope in large {
                self.add(Scopes::One(scope), limit);
            }
        }
        rows.clear();
        let Reverse((ring, i)) = self.rings.pop()?;
        std::mem::swap(rows, &mut self.found[i]);
        self.due.push(i);
        Some(ring)
    }
}
