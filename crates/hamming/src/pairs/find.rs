//! Every pair of fingerprints within a Hamming radius, each once. Pure; the server is behind
//! [`PairSink`].
//!
//! A group of rows is divided by pieces of bits of which one must agree ([`super::split`]), in
//! place, until comparing all its pairs is cheaper than dividing it further. At each division a
//! pair belongs to the first piece in which it agrees: so it is reported once, and a group of rows
//! that all agree in an earlier piece is skipped. Groups are as large as the data makes them; a
//! large one is divided again, so that a value that many rows share does not cost the square of
//! their number. What remains is the square of rows that are all within the radius of each other,
//! which is the size of the answer.
//!
//! Pairs that are not needed, because an earlier piece has them or because their rows are connected
//! already, are left out before they are compared, where they are many ([`super::compare`]).
//!
//! A group has one side, whose rows are paired with each other, or two sides, and the rows of one
//! are paired with those of the other. Both sides are divided by the same bits.

#![forbid(unsafe_code)]

use super::compare::{Hit, TILE, Tiles, find};
use super::sink::{PairSink, Row, set};
use super::split::{GROUPS, STEPS, Size, Split, Task, WINDOW, choose, sort_by_group, window};

/// Groups of at most this many pairs are compared without being divided.
const UNDIVIDED_PAIRS: f64 = 512.0;
/// The comparison of tiles pauses if one has more rows than this.
const CHECKED_ABOVE: usize = 32;
/// The rows of a group, on one side or on two.
pub type Sides<'r, const N: usize> = [&'r mut [Row]; N];

/// Divides rows that lie behind each other into the sides of a group.
#[inline]
pub fn sides<const N: usize>(mut rows: &mut [Row], counts: [usize; N]) -> Sides<'_, N> {
    counts.map(|count| rows.split_off_mut(..count).unwrap_or_default())
}

/// The same rows once more.
#[inline]
pub fn reborrow<'r, const N: usize>(sides: &'r mut Sides<'_, N>) -> Sides<'r, N> {
    sides.each_mut().map(|side| &mut **side)
}

/// Returns whether there are no pairs.
#[inline]
pub fn is_alone<const N: usize>(counts: [u64; N]) -> bool {
    counts[0] == 0 || counts[N - 1] == 0 || N == 1 && counts[0] == 1
}

/// A division of a group, each of whose branches finds pairs that no other one does.
pub struct Branches {
    task: Task,
    split: Split,
}

impl Branches {
    /// The branches by these pieces of bits, of which every pair within the radius has one in
    /// common.
    #[inline]
    pub fn by(pieces: Vec<u64>) -> Self {
        Branches {
            task: Task::ALL,
            split: Split::by(pieces),
        }
    }
}

/// A search for pairs.
pub struct Finder<'s, S: PairSink> {
    /// The caller's.
    pub sink: &'s mut S,
    /// The largest distance of a pair.
    pub radius: u32,
    /// As the sink says.
    pub(super) keeps_sets: bool,
    pub(super) is_across: bool,
    /// Masks in each of which a pair must differ: other branches report the pairs that agree.
    pub(super) differ: Vec<u64>,
    left: Vec<u64>,
    right: Vec<u64>,
    hits: Vec<Hit>,
    /// Number of times that the rows of the current group were separated ([`super::compare`]).
    pub(super) separations: u32,
    /// The share of the work that is done, 0 to 1.
    pub(super) done: f64,
    /// The share that the current group is; 0 within a part, where progress is not reported.
    pub(super) share: f64,
}

impl<'s, S: PairSink> Finder<'s, S> {
    /// Begins a search.
    #[inline]
    pub fn new(sink: &'s mut S, radius: u32) -> Self {
        Finder {
            keeps_sets: sink.keeps_sets(),
            is_across: sink.is_across(),
            sink,
            radius,
            differ: Vec::new(),
            left: Vec::with_capacity(TILE),
            right: Vec::with_capacity(TILE),
            hits: Vec::new(),
            separations: 0,
            done: 0.0,
            share: 1.0,
        }
    }

    /// Gives every pair of rows in memory to the sink, in no particular order; `rows` are left in
    /// another order. What was not compared because it is not needed counts as done.
    #[inline]
    pub fn pairs_in<const N: usize>(&mut self, group: Sides<N>, task: Task) {
        let end = self.done + self.share;
        self.search(group, task);
        if self.share > 0.0 {
            self.reach(end);
        }
    }

    fn search<const N: usize>(&mut self, group: Sides<N>, task: Task) {
        let counts = group.each_ref().map(|side| side.len() as u64);
        if is_alone(counts) {
            return;
        }
        let size = Size::from_counts(counts);
        if size.pairs <= UNDIVIDED_PAIRS {
            return self.compare(group, task.must);
        }
        let varying = self.varying(&group);
        if self.is_elsewhere(varying) {
            return;
        }
        if self.is_one::<N>(varying) {
            return self.chain(group[0]);
        }
        let task = task.within(varying);
        if task.must != 0 {
            return self.group(group, task);
        }
        let Some(group) = self.needed(group, task, size) else {
            return;
        };
        match choose(size, task, self.radius) {
            None => self.compare(group, 0),
            Some(split) => {
                let (mut group, branches) = (group, Branches { task, split });
                for i in 0..branches.split.pieces.len() {
                    self.branch(reborrow(&mut group), &branches, i);
                }
            }
        }
    }

    /// Gives the pairs of branch `i` to the sink, as [`Finder::pairs_in`] does.
    #[inline]
    pub fn branch<const N: usize>(&mut self, group: Sides<N>, branches: &Branches, i: usize) {
        let Branches { task, split } = branches;
        let outer = self.enter(split, i);
        self.pairs_in(group, split.branch(*task, i));
        self.leave(outer);
    }

    /// The bits in which rows differ from each other.
    #[inline]
    fn varying<const N: usize>(&mut self, group: &Sides<N>) -> u64 {
        let first = group[0].first().map_or(0, |row| row.fingerprint);
        let mut varying = 0;
        for some in group.iter().flat_map(|side| side.chunks(STEPS)) {
            self.sink.check_interrupts();
            let differing = |bits, row: &Row| bits | (row.fingerprint ^ first);
            varying = some.iter().fold(varying, differing);
        }
        varying
    }

    /// Returns whether other branches report all pairs of a group in which these bits vary.
    #[inline]
    pub fn is_elsewhere(&self, varying: u64) -> bool {
        self.differ.iter().any(|mask| mask & varying == 0)
    }

    /// Returns whether tags have sets, and pairs of rows of one set are not needed.
    #[inline]
    pub(super) fn has_sets(&self) -> bool {
        self.keeps_sets || self.is_across
    }

    /// Returns whether it only matters which rows are connected.
    #[inline]
    pub fn is_transitive<const N: usize>(&self) -> bool {
        N == 1 && self.sink.is_transitive()
    }

    /// Returns whether all rows of a group in which these bits vary are connected, and only that
    /// matters.
    #[inline]
    pub fn is_one<const N: usize>(&self, varying: u64) -> bool {
        varying.count_ones() <= self.radius && self.is_transitive::<N>()
    }

    /// Reports that rows are connected, each with the next.
    fn chain(&mut self, rows: &[Row]) {
        for pair in rows.windows(2) {
            self.sink.check_interrupts();
            self.connect(pair[0], pair[1]);
        }
    }

    /// Reports a pair, whatever its distance is.
    #[inline]
    pub fn connect(&mut self, a: Row, b: Row) {
        let distance = (a.fingerprint ^ b.fingerprint).count_ones();
        self.sink.pair(a.tag, b.tag, distance);
    }

    /// Puts one row of each fingerprint to the front, and connects the others with them; returns
    /// those in front. `rows` must not be empty. With sets that pairs must not share, see
    /// `two_of_equal`.
    #[inline]
    pub fn distinct<'r>(&mut self, rows: &'r mut [Row]) -> &'r mut [Row] {
        rows.sort_unstable_by(|a, b| {
            self.sink.check_interrupts();
            (a.fingerprint, a.tag).cmp(&(b.fingerprint, b.tag))
        });
        if self.is_across {
            return self.two_of_equal(rows);
        }
        let mut distinct = 1;
        for i in 1..rows.len() {
            let last = rows[distinct - 1];
            if rows[i].fingerprint == last.fingerprint {
                self.sink.check_interrupts();
                self.connect(last, rows[i]);
            } else {
                rows.swap(distinct, i);
                distinct += 1;
            }
        }
        &mut rows[..distinct]
    }

    /// Begins branch `i` of a split: what the branches before it report is not reported again.
    /// Returns what [`Finder::leave`] wants.
    #[inline]
    pub fn enter(&mut self, split: &Split, i: usize) -> (usize, f64) {
        let outer = (self.differ.len(), self.share);
        self.differ.extend(&split.pieces[..i]);
        self.share /= split.pieces.len() as f64;
        outer
    }

    /// Ends a branch.
    #[inline]
    pub fn leave(&mut self, outer: (usize, f64)) {
        self.differ.truncate(outer.0);
        self.share = outer.1;
    }

    /// Begins a part of the current group, in which progress is not reported. Returns what
    /// [`Finder::end_part`] wants.
    #[inline]
    pub fn begin_part(&mut self) -> f64 {
        std::mem::take(&mut self.share)
    }

    /// Ends a part that is this share of the group. Reports how much of the whole is done,
    /// unless the group itself is within a part.
    #[inline]
    pub fn end_part(&mut self, outer: f64, share: f64) {
        self.share = outer;
        if outer > 0.0 {
            self.reach(self.done + outer * share);
        }
    }

    /// Reports that the work is done up to this share, unless it was before.
    fn reach(&mut self, done: f64) {
        self.done = self.done.max(done);
        self.sink.progress(self.done.min(1.0));
    }

    /// Divides rows by the bits in which pairs must agree, as many as one pass takes.
    fn group<const N: usize>(&mut self, mut group: Sides<N>, task: Task) {
        let (bits, shift) = window(task.must, WINDOW);
        let task = Task {
            must: task.must & !bits,
            ..task
        };
        let of_row = |row: &Row| ((row.fingerprint & bits) >> shift) as usize;
        let all: usize = group.iter().map(|side| side.len()).sum();
        let sizes = (group.each_mut())
            .map(|side| sort_by_group(side, of_row, || self.sink.check_interrupts()));
        let count = |i| sizes.each_ref().map(|of_side| of_side[i]);
        for counts in (0..GROUPS).map(count) {
            let mut counted = counts.into_iter();
            let part = group.each_mut().map(|side| {
                let count = counted.next().unwrap_or_default();
                side.split_off_mut(..count).unwrap_or_default()
            });
            if !is_alone(counts.map(|count| count as u64)) {
                let outer = self.begin_part();
                self.pairs_in(part, task);
                self.end_part(outer, counts.iter().sum::<usize>() as f64 / all as f64);
            }
        }
    }

    /// Compares all pairs of rows; reports those that agree in `must`, except for those that other
    /// branches report.
    #[inline]
    pub fn compare<const N: usize>(&mut self, group: Sides<N>, must: u64) {
        let (lefts, rights) = (group[0].chunks(TILE), group[N - 1].chunks(TILE));
        let tiles = lefts.len() as f64;
        for (t, left) in lefts.enumerate() {
            let outer = self.begin_part();
            if N == 1 {
                self.tiles(left, left, true, must);
            }
            for right in rights.clone().skip(if N == 1 { t + 1 } else { 0 }) {
                self.tiles(left, right, false, must);
            }
            let share = match N {
                1 => (tiles - t as f64) / (tiles * (tiles + 1.0) / 2.0),
                _ => 1.0 / tiles,
            };
            self.end_part(outer, share);
        }
    }

    /// Compares the rows of two tiles, at most TILE each, which may be the same.
    #[inline]
    pub fn tiles(&mut self, left: &[Row], right: &[Row], same: bool, must: u64) {
        // The inner loop is faster the more rows the second tile has.
        let swapped = right.len() < left.len();
        let (left, right) = if swapped {
            (right, left)
        } else {
            (left, right)
        };
        copy(left, &mut self.left);
        if !same {
            copy(right, &mut self.right);
        }
        let mut from = 0;
        while from < left.len() {
            let tiles = Tiles {
                left: &self.left,
                right: if same { &self.left } else { &self.right },
                same,
            };
            from = find(&tiles, self.radius, from, &mut self.hits);
            for k in 0..self.hits.len() {
                let (i, j) = self.hits[k];
                let (a, b) = (left[usize::from(i)], right[usize::from(j)]);
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                let differing = a.fingerprint ^ b.fingerprint;
                let differs = |mask: &u64| mask & differing != 0;
                let is_here =
                    self.keeps_sets || differing & must == 0 && self.differ.iter().all(differs);
                let is_needed = is_here && (!self.has_sets() || set(&a) != set(&b));
                if is_needed {
                    self.sink.pair(a.tag, b.tag, differing.count_ones());
                }
            }
            self.hits.clear();
            if right.len() > CHECKED_ABOVE {
                self.sink.check_interrupts();
            }
        }
    }
}

fn copy(rows: &[Row], to: &mut Vec<u64>) {
    to.clear();
    to.extend(rows.iter().map(|row| row.fingerprint));
}
