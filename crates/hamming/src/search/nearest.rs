//! The nearest first: ring by ring, all rows at distance 0, then at 1, and so on.
//!
//! Ring `r` is complete once radii with `sum(t_i + 1) = r + 1` have been read (see `probe`), so
//! each further ring widens one quarter by one bit. Rows that are met ahead of their ring wait in
//! bins, up to a horizon; beyond the horizon the search starts again with a farther one, and reads
//! the rings that are expected to be almost empty at once. Where widening would cost more than
//! reading one key space, that is read instead, for some rings at a time.
//!
//! Memory: when more rows wait than the limit, the farthest rings are dropped and found again
//! later; a single ring that exceeds the limit is searched once more and returned leaf by leaf.

use super::directory::ROWS_PER_LEAF;
use super::key_counts::Counts;
use super::leaf_walk::LeafWalk;
use super::passes::{FORESEEN, band_end, first_horizon, horizons, jump_end, most_for_a_ring};
use super::probe::{Even, KeyCounts, Radii, WHOLE_KEY_SPACE, shell_cost, visits_cost};
use super::reader::IndexReader;
use super::scopes::{Scopes, WIDEST};
use super::within::{FARTHEST, WithinSearch, filter, quarter_distance};
use crate::key::{Position, QUARTERS, Space};
use crate::tree::store::PageStore;
use simhash_base::indexed_row::Tid;

const NOTHING_READ: Radii = [-1; QUARTERS];

/// A search for the nearest.
pub struct NearestSearch {
    scopes: Scopes,
    query: u64,
    /// No row farther than this is wanted.
    farthest: u32,
    /// Whether key spaces are probed; otherwise one is read as a whole.
    probing: bool,
    radii: Radii,
    /// The next ring to return.
    ring: u32,
    /// The first ring whose rows the present pass collects.
    start: u32,
    bins: RingBins,
    /// The search for a ring that is returned leaf by leaf, if there is one.
    stream: Option<WithinSearch>,
    /// Number of leaves visited by widening.
    visited: usize,
}

/// Rows that wait for their ring.
struct RingBins {
    rings: Vec<Vec<Tid>>,
    waiting: usize,
    /// How many rows of each ring were met, whether they wait or not.
    met: Vec<usize>,
    /// Rows that may wait.
    limit: usize,
    /// The last ring that is collected; None when not even the first one fitted.
    horizon: Option<u32>,
}

impl RingBins {
    fn new(limit: usize, horizon: u32) -> RingBins {
        let rings: Vec<_> = (0..=FARTHEST).map(|_| Vec::new()).collect();
        RingBins {
            met: vec![0; rings.len()],
            rings,
            waiting: 0,
            limit,
            horizon: Some(horizon),
        }
    }

    /// Returns how many rows of each ring were met since the last start.
    fn start_over(&mut self, horizon: u32) -> Vec<usize> {
        self.rings.iter_mut().for_each(Vec::clear);
        self.waiting = 0;
        self.horizon = Some(horizon);
        std::mem::replace(&mut self.met, vec![0; self.rings.len()])
    }

    fn collects(&self, ring: u32) -> bool {
        self.horizon.is_some_and(|horizon| ring <= horizon)
    }

    /// Adds a row, unless its ring lies before `start` or beyond the horizon. When too many rows
    /// wait, drops the farthest rings, at last even `due`, the next to be returned.
    fn add<S: PageStore>(&mut self, ring: u32, tid: Tid, start: u32, due: u32) {
        self.met[ring as usize] += 1;
        if ring < start || !self.collects(ring) {
            return;
        }
        let bin = &mut self.rings[ring as usize];
        if bin.try_reserve(1).is_err() {
            S::out_of_memory();
        }
        bin.push(tid);
        self.waiting += 1;
        while let Some(horizon) = self.horizon.filter(|_| self.waiting > self.limit) {
            self.waiting -= std::mem::take(&mut self.rings[horizon as usize]).len();
            self.horizon = (horizon > due).then(|| horizon - 1);
        }
    }

    fn take(&mut self, ring: u32) -> Vec<Tid> {
        let rows = std::mem::take(&mut self.rings[ring as usize]);
        self.waiting -= rows.len();
        rows
    }
}

/// Returns the number of rows of a scope, as far as it is known.
fn rows_in_scope<S: PageStore>(reader: &IndexReader<'_, S>, scope: u32) -> f64 {
    let leaves = match reader.counts(scope) {
        Counts::Keys(counts) => counts.leaves(0),
        Counts::Leaves(leaves) => leaves,
        Counts::Unknown => 0,
    };
    leaves as f64 * ROWS_PER_LEAF
}

impl NearestSearch {
    /// `limit` is the number of rows that may wait in memory.
    pub fn new(scopes: Scopes, query: u64, farthest: u32, limit: usize) -> NearestSearch {
        let farthest = farthest.min(FARTHEST);
        NearestSearch {
            scopes,
            query,
            farthest,
            probing: true,
            radii: NOTHING_READ,
            ring: 0,
            start: 0,
            bins: RingBins::new(limit, first_horizon(farthest)),
            stream: None,
            visited: 0,
        }
    }

    /// Puts the next rows into `rows` and returns their distance; None at the end. Rows whose
    /// fingerprint `keep` refuses are left out.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        keep: impl Fn(u64) -> bool,
        rows: &mut Vec<Tid>,
    ) -> Option<u32> {
        rows.clear();
        while self.ring <= self.farthest {
            let ring = self.ring;
            if let Some(stream) = &mut self.stream {
                let more = stream.step(reader, |m| {
                    if m.distance == ring && keep(m.fingerprint) {
                        rows.push(m.tid);
                    }
                });
                if more.is_none() {
                    self.stream = None;
                    self.ring += 1;
                }
            } else {
                self.complete_ring(reader, &keep);
                if self.bins.horizon.is_none() {
                    self.stream = Some(WithinSearch::new(self.scopes, self.query, ring));
                    continue;
                }
                *rows = self.bins.take(ring);
                self.ring += 1;
            }
            if !rows.is_empty() {
                return Some(ring);
            }
        }
        None
    }

    /// Reads on until every row of the present ring is in its bin, or the ring is known not to fit.
    fn complete_ring<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        keep: &impl Fn(u64) -> bool,
    ) {
        if !self.bins.collects(self.ring) {
            // Several scopes are not probed: `cheapest` says so.
            let scope = self.scopes.one().filter(|_| self.probing);
            let farther = |scope| {
                let rows = rows_in_scope(reader, scope);
                let mut horizons = horizons(rows, self.farthest).into_iter();
                let horizon = horizons.find(|horizon| *horizon >= self.ring)?;
                Some((horizon, rows))
            };
            match scope.and_then(farther) {
                Some((horizon, rows)) => {
                    self.start = self.ring;
                    let met = self.bins.start_over(horizon);
                    self.radii = NOTHING_READ;
                    self.jump((rows, &met), reader, keep);
                }
                None => return self.read_band(reader, keep),
            }
        }
        while self.probing && self.bins.horizon.is_some() && self.rings_complete() <= self.ring {
            match self.cheapest(reader) {
                Some(b) => self.widen(b, self.radii[b] + 1, reader, keep),
                None => return self.read_band(reader, keep),
            }
        }
    }

    /// At the start of a second or third pass: reads the rings that are almost empty at once, by the
    /// number of rows that are searched and those that the pass before has met. Ring by ring a leaf is
    /// visited again for each distance that its keys have.
    fn jump<S: PageStore>(
        &mut self,
        (rows, met): (f64, &[usize]),
        reader: &IndexReader<'_, S>,
        keep: &impl Fn(u64) -> bool,
    ) {
        let Some(end) = jump_end((rows, met), self.ring, self.farthest) else {
            return;
        };
        let radii = reader.chosen_radii(&self.scopes, self.query, end);
        if radii == WHOLE_KEY_SPACE {
            // Widening finds out where reading a whole key space becomes cheaper.
            return;
        }
        // The last one first: where the next quarter is read already, few postings pass.
        for b in (0..QUARTERS).rev().filter(|b| radii[*b] >= 0) {
            self.widen(b, radii[b], reader, keep);
        }
    }

    fn rings_complete(&self) -> u32 {
        self.radii.iter().map(|t| (t + 1) as u32).sum()
    }

    /// Returns the quarter that is cheapest to widen by one bit; None when reading a whole key space
    /// is cheaper.
    fn cheapest<S: PageStore>(&self, reader: &IndexReader<'_, S>) -> Option<usize> {
        match reader.counts(self.scopes.one()?) {
            Counts::Keys(counts) => self.cheapest_by(&*counts),
            Counts::Leaves(1) => None,
            Counts::Leaves(leaves) => self.cheapest_by(&Even { leaves }),
            Counts::Unknown => self.widenable().min_by_key(|b| self.radii[*b]),
        }
    }

    fn cheapest_by(&self, counts: &impl KeyCounts) -> Option<usize> {
        let most = most_for_a_ring(counts, self.rings_complete(), self.farthest);
        let shell = |b: usize| (self.radii[b] + 1) as usize;
        let cost = |b: usize| {
            let key = Space::of_quarter(b).key_of(self.query);
            shell_cost(counts, b, key, shell(b))
        };
        // Rows are counted only where the visits alone do not cost too much.
        let possible = self
            .widenable()
            .filter(|&b| visits_cost(counts, b, shell(b)) < most);
        let (cost, b) = possible.map(|b| (cost(b), b)).min()?;
        (cost < most).then_some(b)
    }

    /// Returns the quarters that can be widened.
    fn widenable(&self) -> impl Iterator<Item = usize> {
        (0..QUARTERS).filter(|b| self.radii[*b] < WIDEST as i32)
    }

    /// Widens quarter `b` to `radius`. Each bit more completes one more ring.
    fn widen<S: PageStore>(
        &mut self,
        b: usize,
        radius: i32,
        reader: &IndexReader<'_, S>,
        keep: &impl Fn(u64) -> bool,
    ) {
        let Some(horizon) = self.bins.horizon else {
            return;
        };
        let (query, radii, start, due) = (self.query, self.radii, self.start, self.ring);
        let space = Space::of_quarter(b);
        let counted = if start == 0 { FORESEEN } else { 0 };
        let farthest = (horizon + counted).min(self.farthest);
        let filter = filter(
            (&self.scopes, query),
            b,
            farthest,
            (radii[b], radius),
            &radii,
        );
        let mut walk = LeafWalk::new(self.scopes, filter);
        let bins = &mut self.bins;
        let mut collect = |key: Position, distance: u32| {
            let fingerprint = space.unrotate(key.rotated);
            let differing = fingerprint ^ query;
            let is_read_already =
                (0..QUARTERS).any(|j| j != b && quarter_distance(differing, j) <= radii[j]);
            if !is_read_already && keep(fingerprint) {
                bins.add::<S>(distance, key.tid, start, due);
            }
        };
        let mut more = true;
        while more {
            walk.look_ahead(reader, space, true, reader.window(self.visited));
            more = walk.step(reader, space, &mut collect).is_some();
            self.visited += usize::from(more);
        }
        self.radii[b] = radius;
    }

    /// Collects the next rings from one whole key space: as many as hold some more rows, if these are
    /// uniform.
    fn read_band<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        keep: &impl Fn(u64) -> bool,
    ) {
        let before = match self.bins.horizon {
            Some(horizon) if !self.probing => horizon + 1 - self.start.min(horizon),
            _ => 0,
        };
        let start = self.ring;
        // Of several scopes the rows are not known.
        let rows = self
            .scopes
            .one()
            .map_or(0.0, |scope| rows_in_scope(reader, scope));
        let horizon = band_end((start, before), rows, self.farthest);
        self.bins.start_over(horizon);
        let bins = &mut self.bins;
        let mut all = WithinSearch::walk(self.scopes, self.query, horizon);
        let mut collect = |fingerprint: u64, distance: u32, tid: Tid| {
            if keep(fingerprint) {
                bins.add::<S>(distance, tid, start, start);
            }
        };
        while all
            .step(reader, |m| collect(m.fingerprint, m.distance, m.tid))
            .is_some()
        {}
        (self.start, self.probing) = (start, false);
    }
}
