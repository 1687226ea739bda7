//! The searches for everything within a radius, and for the rows without a fingerprint.

use super::leaf_walk::LeafWalk;
use super::probe::{Radii, WHOLE_KEY_SPACE};
use super::reader::IndexReader;
use super::scopes::Scopes;
use crate::key::{QUARTERS, Space};
use crate::page::filter::Filter;
use crate::tree::locked::Locked;
use crate::tree::store::PageStore;
use simhash_base::tid::Tid;

/// The farthest that two fingerprints can be apart.
pub const FARTHEST: u32 = 64;

/// A row that a search found.
#[derive(Clone, Copy)]
pub struct Match {
    /// The row's address.
    pub tid: Tid,
    /// The row's fingerprint.
    pub fingerprint: u64,
    /// Bits in which it differs from the query.
    pub distance: u32,
}

/// Returns the filter of quarter `b`'s key space for fingerprints within `radius` of the query whose
/// quarter `b` is more than `beyond` and at most `within` bits away.
pub fn filter(
    (scopes, query): (&Scopes, u64),
    b: usize,
    radius: u32,
    beyond: i32,
    within: i32,
) -> Filter {
    let scopes = scopes.range();
    Filter {
        first_scope: *scopes.start(),
        last_scope: *scopes.end(),
        query: Space::of_quarter(b).rotate(query),
        radius,
        beyond,
        within,
    }
}

/// Returns the distance between the quarters `b` of two fingerprints that differ in these bits.
pub fn quarter_distance(differing: u64, b: usize) -> i32 {
    (differing << (16 * b) >> 48).count_ones() as i32
}

/// Returns whether quarter `b` is the first one whose radius the differing bits keep to. So each
/// match is reported once, from one key space, without remembering what was reported.
fn found_first(differing: u64, radii: &Radii, b: usize) -> bool {
    (0..b).all(|j| quarter_distance(differing, j) > radii[j])
}

/// A search for everything within a radius. The radii of the quarters are fixed for the whole search:
/// the rule that reports a match once depends on them.
pub struct WithinSearch {
    scopes: Scopes,
    query: u64,
    radius: u32,
    /// Chosen at the first step.
    radii: Option<Radii>,
    /// The walks that are left for each quarter, first quarter last; made at the first step.
    walks: Vec<(usize, LeafWalk)>,
    /// Number of leaves visited.
    visited: usize,
}

impl WithinSearch {
    /// Starts a search for fingerprints within `radius` bits of `query`; nothing is read yet.
    pub fn new(scopes: Scopes, query: u64, radius: u32) -> WithinSearch {
        WithinSearch {
            scopes,
            query,
            radius: radius.min(FARTHEST),
            radii: None,
            walks: Vec::new(),
            visited: 0,
        }
    }

    /// As [`WithinSearch::new`], reading one whole key space.
    pub fn walk(scopes: Scopes, query: u64, radius: u32) -> WithinSearch {
        let mut within = WithinSearch::new(scopes, query, radius);
        within.set_radii(WHOLE_KEY_SPACE);
        within
    }

    fn set_radii(&mut self, radii: Radii) {
        self.radii = Some(radii);
        let read = (0..QUARTERS).rev().filter(|b| radii[*b] >= 0);
        let walk = |b| {
            let filter = filter((&self.scopes, self.query), b, self.radius, -1, radii[b]);
            LeafWalk::new(self.scopes, filter)
        };
        self.walks = read.map(|b| (b, walk(b))).collect();
    }

    fn start<S: PageStore>(&mut self, reader: &IndexReader<'_, S>) -> Radii {
        let radii = reader.chosen_radii(&self.scopes, self.query, self.radius);
        self.set_radii(radii);
        // What all quarters read first is fetched at the same time.
        let above = reader.window(0).min(1);
        for (b, walk) in self.walks.iter_mut().rev() {
            walk.read_parents_ahead(reader, Space::of_quarter(*b), above);
            walk.warm_parent(reader, Space::of_quarter(*b));
        }
        for (b, walk) in self.walks.iter_mut().rev() {
            walk.look_ahead(reader, Space::of_quarter(*b), false, 0);
        }
        radii
    }

    /// Looks ahead in the present walk, and in those after it if leaves have to be read.
    fn look_ahead<S: PageStore>(&mut self, reader: &IndexReader<'_, S>) {
        let mut room = reader.window(self.visited);
        for (i, (b, walk)) in self.walks.iter_mut().rev().enumerate() {
            room = walk.look_ahead(reader, Space::of_quarter(*b), i == 0, room);
            if room == 0 {
                return;
            }
        }
    }

    /// Calls `found` with the matches of the next leaf and returns that leaf; None at the end.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        mut found: impl FnMut(Match),
    ) -> Option<Locked<S::Shared>> {
        let radii = self.radii.unwrap_or_else(|| self.start(reader));
        self.look_ahead(reader);
        while let Some((b, walk)) = self.walks.last_mut() {
            let (b, query, space) = (*b, self.query, Space::of_quarter(*b));
            let leaf = walk.step(reader, space, |key, distance| {
                let fingerprint = space.unrotate(key.rotated);
                if found_first(fingerprint ^ query, &radii, b) {
                    found(Match {
                        tid: key.tid,
                        fingerprint,
                        distance,
                    });
                }
            });
            if leaf.is_some() {
                self.visited += 1;
                return leaf;
            }
            self.walks.pop();
        }
        None
    }
}

/// A search for the rows without a fingerprint.
pub struct NullSearch {
    walk: LeafWalk,
    /// Number of leaves visited.
    visited: usize,
}

impl NullSearch {
    /// Makes a search for those of these scopes.
    pub fn new(scopes: Scopes) -> NullSearch {
        let filter = filter((&scopes, 0), 0, FARTHEST, -1, FARTHEST as i32);
        let walk = LeafWalk::new(scopes, filter);
        NullSearch { walk, visited: 0 }
    }

    /// Calls `found` with the rows of the next leaf and returns that leaf; None at the end.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        mut found: impl FnMut(Tid),
    ) -> Option<Locked<S::Shared>> {
        let room = reader.window(self.visited);
        self.walk.look_ahead(reader, Space::NULL, true, room);
        let leaf = self.walk.step(reader, Space::NULL, |key, _| found(key.tid));
        self.visited += usize::from(leaf.is_some());
        leaf
    }
}
