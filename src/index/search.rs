//! The searches: everything within a radius, and the nearest first.

use super::key::{BLOCKS, Key, Space, Tid};
use super::page::leaf::Filter;
use super::probe::{MAX_PROBED_RADIUS, Radii, WALK, shell_cost, walk_cost};
use super::view::View;
use super::visit::Walk;
use crate::pg::buffer::Shared;

/// The farthest that two fingerprints can be apart.
const FARTHEST: u32 = 64;

/// A row that a search found.
#[derive(Clone, Copy)]
pub struct Match {
    pub tid: Tid,
    pub fingerprint: u64,
    pub distance: u32,
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
    /// Chosen at the first step.
    radii: Option<Radii>,
    block: usize,
    walk: Option<Walk>,
}

impl Within {
    pub fn new(query: u64, radius: u32) -> Within {
        Within {
            query,
            radius,
            radii: None,
            block: 0,
            walk: None,
        }
    }

    /// As [`Within::new`], reading one whole key space.
    pub fn walk(query: u64, radius: u32) -> Within {
        Within {
            query,
            radius,
            radii: Some(WALK),
            block: 0,
            walk: None,
        }
    }

    /// Every row that has a fingerprint; distances are to `query`.
    pub fn everything(query: u64) -> Within {
        Within::walk(query, FARTHEST)
    }

    /// Shows `found` the matches of the next leaf and returns that leaf; None at the end.
    pub fn step<'r>(
        &mut self,
        view: &View<'r, '_>,
        mut found: impl FnMut(Match),
    ) -> Option<Shared<'r>> {
        while self.block < BLOCKS {
            let (b, query) = (self.block, self.query);
            let radii = *self
                .radii
                .get_or_insert_with(|| view.radii(query, self.radius));
            let space = Space::of_block(b);
            let walk = self
                .walk
                .get_or_insert_with(|| Walk::new(filter(query, b, self.radius, -1, radii[b])));
            let leaf = walk.step(view, space, |key, distance| {
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
    pub fn step<'r>(
        &mut self,
        view: &View<'r, '_>,
        mut found: impl FnMut(Tid),
    ) -> Option<Shared<'r>> {
        self.0.step(view, Space::NULL, |key, _| found(key.tid))
    }
}

/// The nearest first: ring by ring, all rows at distance 0, then at 1, and so on.
///
/// Ring `r` is complete once radii with `sum(t_i + 1) = r + 1` have been read (see `probe`), so each
/// further ring widens one block by one bit. What turns up ahead of its ring waits in a bin, up to a
/// horizon; behind the horizon the search starts again for a farther one. Where widening would cost
/// more than reading one key space, that is read instead, as many rings at a time as fit `limit`.
pub struct Nearest {
    query: u64,
    /// No row farther than this is wanted.
    farthest: u32,
    /// Rows that may wait in bins at a time, unless a single ring has more.
    limit: usize,
    /// Are key spaces probed (or is one read as a whole)?
    probing: bool,
    radii: Radii,
    /// The next ring to hand out.
    ring: u32,
    /// The first ring whose rows the present pass collects, and the last.
    start: u32,
    horizon: u32,
    bins: Vec<Vec<Tid>>,
}

/// Horizons of the probing passes; each pass costs about four times the one before.
const HORIZONS: [u32; 4] = [3, 7, 11, MAX_PROBED_RADIUS];
const NOTHING_READ: Radii = [-1; BLOCKS];
/// The widest radius of one block: 697 keys.
const WIDEST: i32 = 3;

impl Nearest {
    pub fn new(query: u64, farthest: u32, limit: usize) -> Nearest {
        Nearest {
            query,
            farthest: farthest.min(FARTHEST),
            limit,
            probing: true,
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
            self.complete_ring(view, &keep);
            let ring = self.ring;
            self.ring += 1;
            let rows = std::mem::take(&mut self.bins[ring as usize]);
            if !rows.is_empty() {
                return Some((ring, rows));
            }
        }
        None
    }

    /// Reads on until every row of the present ring is in its bin.
    fn complete_ring(&mut self, view: &View, keep: &impl Fn(u64) -> bool) {
        if self.ring > self.horizon {
            match HORIZONS
                .into_iter()
                .find(|h| self.probing && *h >= self.ring)
            {
                Some(horizon) => {
                    (self.start, self.horizon) = (self.ring, horizon);
                    self.radii = NOTHING_READ;
                }
                None => return self.read_band(view, keep),
            }
        }
        while self.probing && self.rings_complete() <= self.ring {
            match self.cheapest(view) {
                Some(b) => self.widen(b, view, keep),
                None => return self.read_band(view, keep),
            }
        }
    }

    fn rings_complete(&self) -> u32 {
        self.radii.iter().map(|t| (t + 1) as u32).sum()
    }

    /// The block that is cheapest to widen by one bit; None when reading a whole key space is cheaper.
    fn cheapest(&self, view: &View) -> Option<usize> {
        let narrow = (0..BLOCKS).filter(|b| self.radii[*b] < WIDEST);
        let Some(counts) = view.counts() else {
            return narrow
                .min_by_key(|b| self.radii[*b])
                .filter(|_| !view.is_one_leaf());
        };
        let cost = |b: &usize| {
            let key = Space::of_block(*b).key_of(self.query);
            shell_cost(counts, *b, key, (self.radii[*b] + 1) as usize)
        };
        let (cost, b) = narrow.map(|b| (cost(&b), b)).min()?;
        (cost < walk_cost(counts)).then_some(b)
    }

    /// Widens block `b` by one bit, which completes one more ring.
    fn widen(&mut self, b: usize, view: &View, keep: &impl Fn(u64) -> bool) {
        let (query, radii, start) = (self.query, self.radii, self.start);
        let space = Space::of_block(b);
        let mut walk = Walk::new(filter(query, b, self.horizon, radii[b], radii[b] + 1));
        let bins = &mut self.bins;
        let mut collect = |key: Key, distance: u32| {
            let fingerprint = space.unrotate(key.rotated);
            let differing = fingerprint ^ query;
            let seen = (0..BLOCKS).any(|j| j != b && block_distance(differing, j) <= radii[j]);
            if distance >= start && !seen && keep(fingerprint) {
                bins[distance as usize].push(key.tid);
            }
        };
        while walk.step(view, space, &mut collect).is_some() {}
        self.radii[b] += 1;
    }

    /// Collects the next rings from one whole key space, twice as many as the time before; the farthest
    /// are dropped again when the rows exceed the limit. What waits in bins is found again.
    fn read_band(&mut self, view: &View, keep: &impl Fn(u64) -> bool) {
        let start = self.ring;
        let before = if self.probing {
            2
        } else {
            self.horizon + 1 - self.start
        };
        let mut horizon = (start + 2 * before - 1).min(self.farthest);
        let mut bins = std::mem::take(&mut self.bins);
        bins.iter_mut().for_each(Vec::clear);
        let mut waiting = 0;
        self.read_space(view, horizon, |m| {
            if m.distance < start || m.distance > horizon || !keep(m.fingerprint) {
                return;
            }
            bins[m.distance as usize].push(m.tid);
            waiting += 1;
            while waiting > self.limit && horizon > start {
                waiting -= bins[horizon as usize].len();
                bins[horizon as usize] = Vec::new();
                horizon -= 1;
            }
        });
        self.bins = bins;
        (self.start, self.horizon, self.probing) = (start, horizon, false);
    }

    fn read_space(&self, view: &View, radius: u32, mut found: impl FnMut(Match)) {
        let mut all = Within::walk(self.query, radius);
        while all.step(view, &mut found).is_some() {}
    }
}
