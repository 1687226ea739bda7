//! The searches: everything within a radius, and the nearest first.

use super::key::{BLOCKS, Key, Space, Tid};
use super::page::leaf::Filter;
use super::page::meta::Meta;
use super::probe::{MAX_PROBED_RADIUS, Radii, WALK, radii};
use super::tree::Tree;
use super::visit::Walk;
use crate::pg::buffer::Shared;
use crate::pg::relation::Rel;

/// The farthest that two fingerprints can be apart.
const FARTHEST: u32 = 64;

/// A row that a search found.
#[derive(Clone, Copy)]
pub struct Match {
    pub tid: Tid,
    pub fingerprint: u64,
    pub distance: u32,
}

/// An index as one scan sees it from its start to its end.
pub struct View<'r> {
    pub rel: Rel<'r>,
    pub meta: Meta,
}

impl<'r> View<'r> {
    fn tree(&self, space: Space) -> Tree<'r> {
        Tree::new(self.rel, &self.meta, space)
    }
}

/// The filter of block `b`'s key space for fingerprints within `radius` of `query` whose block `b` is
/// more than `beyond` and at most `within` bits away.
fn filter(query: u64, b: usize, radius: u32, beyond: i32, within: i32) -> Filter {
    Filter {
        query: Space::of_block(b).rotate(query),
        radius,
        beyond,
        within,
    }
}

/// Distance between the blocks `b` of two fingerprints that differ in these bits.
fn block_distance(differing: u64, b: usize) -> i32 {
    (differing << (16 * b) >> 48).count_ones() as i32
}

/// Is block `b` the first whose radius this difference keeps to? Each match is then reported once,
/// from one key space, without remembering what was reported.
fn found_first(differing: u64, radii: &Radii, b: usize) -> bool {
    (0..b).all(|j| block_distance(differing, j) > radii[j])
}

/// Everything within a radius. The radii of the blocks are fixed for the whole search: the rule that
/// reports a match once depends on them.
pub struct Within {
    query: u64,
    radius: u32,
    radii: Radii,
    block: usize,
    walk: Option<Walk>,
}

impl Within {
    pub fn new(query: u64, radius: u32) -> Within {
        Within {
            query,
            radius,
            radii: radii(radius),
            block: 0,
            walk: None,
        }
    }

    /// Every row that has a fingerprint; distances are to `query`.
    pub fn everything(query: u64) -> Within {
        Within {
            query,
            radius: FARTHEST,
            radii: WALK,
            block: 0,
            walk: None,
        }
    }

    /// Shows `found` the matches of the next leaf and returns that leaf; None at the end.
    pub fn step<'r>(
        &mut self,
        view: &View<'r>,
        mut found: impl FnMut(Match),
    ) -> Option<Shared<'r>> {
        while self.block < BLOCKS {
            let (b, query, radii) = (self.block, self.query, self.radii);
            let space = Space::of_block(b);
            let walk = self
                .walk
                .get_or_insert_with(|| Walk::new(filter(query, b, self.radius, -1, radii[b])));
            let leaf = walk.step(&view.tree(space), |key, distance| {
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
                return leaf;
            }
            self.walk = None;
            self.block += 1;
        }
        None
    }
}

/// The rows without a fingerprint.
pub struct Nulls(Walk);

impl Nulls {
    pub fn new() -> Nulls {
        Nulls(Walk::new(Filter {
            query: 0,
            radius: FARTHEST,
            beyond: -1,
            within: FARTHEST as i32,
        }))
    }

    /// Shows `found` the rows of the next leaf and returns that leaf; None at the end.
    pub fn step<'r>(&mut self, view: &View<'r>, mut found: impl FnMut(Tid)) -> Option<Shared<'r>> {
        self.0
            .step(&view.tree(Space::NULL), |key, _| found(key.tid))
    }
}

/// The nearest first: ring by ring, all rows at distance 0, then at 1, and so on.
///
/// Ring `r` is complete once radii with `sum(t_i + 1) = r + 1` have been read (see [`radii`]), so
/// each further ring widens one block by one bit. What turns up ahead of its ring waits in a bin, up
/// to a horizon; behind the horizon the search starts again for a farther one. Where probing costs
/// more than reading one key space, that is read instead, as many rings at a time as fit `limit`.
pub struct Nearest {
    query: u64,
    /// No row farther than this is wanted.
    farthest: u32,
    /// Rows that may wait in bins at a time, unless a single ring has more.
    limit: usize,
    radii: Radii,
    /// Rings below this are done.
    ring: u32,
    /// The first ring of the present pass, and the last whose rows it collects.
    start: u32,
    horizon: u32,
    bins: Vec<Vec<Tid>>,
}

/// Horizons of the probing passes; each pass costs about four times the one before.
const HORIZONS: [u32; 4] = [3, 7, 11, MAX_PROBED_RADIUS];
const NOTHING_READ: Radii = [-1; BLOCKS];

impl Nearest {
    pub fn new(query: u64, farthest: u32, limit: usize) -> Nearest {
        Nearest {
            query,
            farthest: farthest.min(FARTHEST),
            limit,
            radii: NOTHING_READ,
            ring: 0,
            start: 0,
            horizon: HORIZONS[0],
            bins: vec![Vec::new(); FARTHEST as usize + 1],
        }
    }

    /// The rows of the next ring that has any, and their distance; None at the end. `keep` sees each
    /// row before it is kept.
    pub fn next_ring(
        &mut self,
        view: &View,
        keep: impl Fn(u64) -> bool,
    ) -> Option<(u32, Vec<Tid>)> {
        while self.ring <= self.farthest {
            if self.ring > self.horizon {
                self.next_pass(view, &keep);
            } else if self.horizon <= MAX_PROBED_RADIUS {
                self.widen(view, &keep);
            }
            let ring = self.ring;
            self.ring += 1;
            let rows = std::mem::take(&mut self.bins[ring as usize]);
            if !rows.is_empty() {
                return Some((ring, rows));
            }
        }
        None
    }

    /// Begins a pass with a farther horizon, at a ring that has not been read yet.
    fn next_pass(&mut self, view: &View, keep: &impl Fn(u64) -> bool) {
        self.start = self.ring;
        self.radii = NOTHING_READ;
        match HORIZONS.into_iter().find(|h| *h >= self.ring) {
            Some(horizon) => {
                self.horizon = horizon;
                // The new pass has to catch up with the rings that are done.
                for _ in 0..=self.ring {
                    self.widen(view, keep);
                }
            }
            None => self.read_band(view, keep),
        }
    }

    /// Widens the narrowest block by one bit, which completes one more ring.
    fn widen(&mut self, view: &View, keep: &impl Fn(u64) -> bool) {
        let narrowest = self.radii.iter().min().copied().unwrap_or(-1);
        let b = self.radii.iter().position(|t| *t == narrowest).unwrap_or(0);
        let space = Space::of_block(b);
        let mut walk = Walk::new(filter(
            self.query,
            b,
            self.horizon,
            narrowest,
            narrowest + 1,
        ));
        let tree = view.tree(space);
        let (query, radii, start) = (self.query, self.radii, self.start);
        let bins = &mut self.bins;
        let mut collect = |key: Key, distance: u32| {
            let fingerprint = space.unrotate(key.rotated);
            let differing = fingerprint ^ query;
            let seen = (0..BLOCKS).any(|j| j != b && block_distance(differing, j) <= radii[j]);
            if distance >= start && !seen && keep(fingerprint) {
                bins[distance as usize].push(key.tid);
            }
        };
        while walk.step(&tree, &mut collect).is_some() {}
        self.radii[b] += 1;
    }

    /// Collects as many rings as fit the limit, at least one, from one whole key space.
    fn read_band(&mut self, view: &View, keep: &impl Fn(u64) -> bool) {
        let mut counts = [0usize; FARTHEST as usize + 1];
        self.read_space(view, FARTHEST, |m| {
            if keep(m.fingerprint) {
                counts[m.distance as usize] += 1;
            }
        });
        let mut rows = 0;
        let fitting = (self.ring..=FARTHEST)
            .take_while(|d| {
                rows += counts[*d as usize];
                rows <= self.limit
            })
            .last();
        self.horizon = fitting.unwrap_or(self.ring);
        let (start, horizon) = (self.start, self.horizon);
        let mut bins = std::mem::take(&mut self.bins);
        self.read_space(view, horizon, |m| {
            if m.distance >= start && keep(m.fingerprint) {
                bins[m.distance as usize].push(m.tid);
            }
        });
        self.bins = bins;
    }

    fn read_space(&self, view: &View, radius: u32, mut found: impl FnMut(Match)) {
        let mut all = Within {
            query: self.query,
            radius,
            radii: WALK,
            block: 0,
            walk: None,
        };
        while all.step(view, &mut found).is_some() {}
    }
}
