//! Every pair of fingerprints within a Hamming radius, each once. Pure; the server is behind
//! [`Host`].
//!
//! A group of rows is divided by blocks of bits of which one must agree ([`super::split`]), in
//! place, until comparing all its pairs is cheaper than dividing it further. At each division a
//! pair belongs to the first block in which it agrees: so it is reported once, and a group of rows
//! that all agree in an earlier block is skipped. Groups are as large as the data makes them; a
//! large one is divided again, so that a value that many rows share does not cost the square of
//! their number. What remains is the square of rows that are all within the radius of each other,
//! which is the size of the answer.

#![forbid(unsafe_code)]

use super::compare::{Hit, TILE, Tiles, find};
use super::split::{Split, Task, choose};
use crate::store::Store;

/// A fingerprint, and the tag that stands for its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Row {
    pub fingerprint: u64,
    pub tag: u64,
}

/// What a search needs of its caller: temporary files, a place for pairs, a time to be cancelled.
pub trait Host {
    type File: Store;
    /// Makes a temporary file.
    fn file(&mut self) -> Self::File;
    /// Takes a pair, in any order, by its tags.
    fn pair(&mut self, a: u64, b: u64, distance: u32);
    /// Does it only matter which rows are connected? Then pairs may be left out whose rows others
    /// connect, and some come more than once: n equal rows are n - 1 pairs, not n (n - 1) / 2.
    fn is_transitive(&self) -> bool {
        false
    }
    /// Are equal rows to stand for each other? Then each comes in a pair with an equal one that came
    /// before it, the first of them in pairs with others, and no other pair comes.
    fn wants_distinct(&self) -> bool {
        false
    }
    /// Called every few thousand rows or comparisons; may unwind.
    fn pause(&mut self);
    /// Called now and then with the share of the work that is done, 0 to 1.
    fn progress(&mut self, share: f64);
}

/// Groups of at most this many rows are compared without being divided.
const FEW: usize = 32;
/// In groups of more rows, equal ones are left out of the comparison where only connections matter.
const MANY: usize = 128;
/// Bits by which rows are grouped in one pass: the ends of the groups fit the first-level cache.
pub const WINDOW: u32 = 8;
const GROUPS: usize = 1 << WINDOW;
/// Rows that are looked at or moved between two pauses.
const STEPS: usize = 1 << 16;

/// A search for pairs.
pub struct Finder<'h, H: Host> {
    pub host: &'h mut H,
    pub radius: u32,
    /// Masks in each of which a pair must differ: other branches report the pairs that agree.
    differ: Vec<u64>,
    left: Vec<u64>,
    right: Vec<u64>,
    hits: Vec<Hit>,
    /// The share of the work that is done, 0 to 1.
    done: f64,
    /// The share that the current group is; 0 within a part, where progress is not reported.
    share: f64,
}

/// The bits by which a group is divided next, and how far they are to be shifted to count from 0:
/// the highest bits of `must`, as far down as `bits` bits reach.
pub fn window(must: u64, bits: u32) -> (u64, u32) {
    let shift = (u64::BITS - must.leading_zeros()).saturating_sub(bits);
    (must >> shift << shift, shift)
}

impl<'h, H: Host> Finder<'h, H> {
    pub fn new(host: &'h mut H, radius: u32) -> Self {
        Finder {
            host,
            radius,
            differ: Vec::new(),
            left: Vec::with_capacity(TILE),
            right: Vec::with_capacity(TILE),
            hits: Vec::new(),
            done: 0.0,
            share: 1.0,
        }
    }

    /// Gives every pair of rows in memory to the host, in no particular order; `rows` are left in
    /// another order.
    pub fn slice(&mut self, rows: &mut [Row], task: Task) {
        if rows.len() <= FEW {
            return self.compare(rows, task.must);
        }
        let varying = self.varying(rows);
        if self.is_elsewhere(varying) {
            return;
        }
        if self.is_one(varying) {
            return self.chain(rows);
        }
        let task = task.within(varying);
        if task.must != 0 {
            return self.group(rows, task);
        }
        match choose(rows.len() as u64, task, self.radius) {
            None => {
                let many = rows.len() > MANY && self.host.is_transitive();
                let distinct = if many {
                    self.distinct(rows)
                } else {
                    rows.len()
                };
                self.compare(&rows[..distinct], 0);
            }
            Some(split) => {
                for i in 0..split.blocks.len() {
                    let outer = self.enter(&split, i);
                    self.slice(rows, split.branch(task, i));
                    self.leave(outer);
                }
            }
        }
    }

    /// The bits in which rows differ from each other.
    fn varying(&mut self, rows: &[Row]) -> u64 {
        let first = rows.first().map_or(0, |row| row.fingerprint);
        let mut varying = 0;
        for some in rows.chunks(STEPS) {
            self.host.pause();
            let differing = |bits, row: &Row| bits | (row.fingerprint ^ first);
            varying = some.iter().fold(varying, differing);
        }
        varying
    }

    /// Do other branches report all pairs of a group in which these bits vary?
    pub fn is_elsewhere(&self, varying: u64) -> bool {
        self.differ.iter().any(|mask| mask & varying == 0)
    }

    /// Are all rows of a group in which these bits vary connected, and is that all that matters?
    pub fn is_one(&self, varying: u64) -> bool {
        varying.count_ones() <= self.radius && self.host.is_transitive()
    }

    /// Reports that rows are connected, each with the next.
    fn chain(&mut self, rows: &[Row]) {
        for pair in rows.windows(2) {
            self.host.pause();
            self.connect(pair[0], pair[1]);
        }
    }

    pub fn connect(&mut self, a: Row, b: Row) {
        let distance = (a.fingerprint ^ b.fingerprint).count_ones();
        self.host.pair(a.tag, b.tag, distance);
    }

    /// Puts one row of each fingerprint to the front, and connects the others with them; returns
    /// how many are in front. `rows` must not be empty.
    pub fn distinct(&mut self, rows: &mut [Row]) -> usize {
        rows.sort_unstable_by(|a, b| {
            self.host.pause();
            (a.fingerprint, a.tag).cmp(&(b.fingerprint, b.tag))
        });
        let mut distinct = 1;
        for i in 1..rows.len() {
            let last = rows[distinct - 1];
            if rows[i].fingerprint == last.fingerprint {
                self.host.pause();
                self.connect(last, rows[i]);
            } else {
                rows.swap(distinct, i);
                distinct += 1;
            }
        }
        distinct
    }

    /// Begins branch `i` of a split: what the branches before it report is not reported again.
    /// Returns what [`Finder::leave`] wants.
    pub fn enter(&mut self, split: &Split, i: usize) -> (usize, f64) {
        let outer = (self.differ.len(), self.share);
        self.differ.extend(&split.blocks[..i]);
        self.share /= split.blocks.len() as f64;
        outer
    }

    /// Ends a branch.
    pub fn leave(&mut self, outer: (usize, f64)) {
        self.differ.truncate(outer.0);
        self.share = outer.1;
    }

    /// Begins a part of the current group, in which progress is not reported. Returns what
    /// [`Finder::end_part`] wants.
    pub fn begin_part(&mut self) -> f64 {
        std::mem::take(&mut self.share)
    }

    /// Ends a part that is the share `of` of the group. Reports how much of the whole is done,
    /// unless the group itself is within a part.
    pub fn end_part(&mut self, outer: f64, of: f64) {
        self.share = outer;
        if outer > 0.0 {
            self.done += outer * of;
            self.host.progress(self.done.min(1.0));
        }
    }

    /// Divides rows by the bits in which pairs must agree, as many as one pass takes.
    fn group(&mut self, rows: &mut [Row], task: Task) {
        let (bits, shift) = window(task.must, WINDOW);
        let task = Task {
            must: task.must & !bits,
            ..task
        };
        let of_row = |row: &Row| ((row.fingerprint & bits) >> shift) as usize;
        let ends = arrange(rows, of_row, || self.host.pause());
        let all = rows.len() as f64;
        let mut start = 0;
        for end in ends {
            if end - start > 1 {
                let outer = self.begin_part();
                self.slice(&mut rows[start..end], task);
                self.end_part(outer, (end - start) as f64 / all);
            }
            start = end;
        }
    }

    /// Compares all pairs of rows; reports those that agree in `must`, except for those that other
    /// branches report.
    pub fn compare(&mut self, rows: &[Row], must: u64) {
        let tiles = rows.chunks(TILE).len() as f64;
        for (t, left) in rows.chunks(TILE).enumerate() {
            let outer = self.begin_part();
            self.tiles(left, left, true, must);
            for right in rows.chunks(TILE).skip(t + 1) {
                self.tiles(left, right, false, must);
            }
            let of = (tiles - t as f64) / (tiles * (tiles + 1.0) / 2.0);
            self.end_part(outer, of);
        }
    }

    /// Compares the rows of two tiles, at most TILE each, which may be the same.
    pub fn tiles(&mut self, left: &[Row], right: &[Row], same: bool, must: u64) {
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
                let differing = a.fingerprint ^ b.fingerprint;
                if differing & must == 0 && self.differ.iter().all(|mask| mask & differing != 0) {
                    self.host.pair(a.tag, b.tag, differing.count_ones());
                }
            }
            self.hits.clear();
            if left.len() > FEW {
                self.host.pause();
            }
        }
    }
}

fn copy(rows: &[Row], to: &mut Vec<u64>) {
    to.clear();
    to.extend(rows.iter().map(|row| row.fingerprint));
}

/// Puts rows of the same group side by side, in place; returns where each group ends. (American
/// flag sort: McIlroy, Bostic, McIlroy, 'Engineering Radix Sort', 1993.) When `pause` unwinds, rows
/// are lost.
pub fn arrange<T: Copy>(
    rows: &mut [T],
    group: impl Fn(&T) -> usize,
    mut pause: impl FnMut(),
) -> [usize; GROUPS] {
    let mut ends = [0; GROUPS];
    for some in rows.chunks(STEPS) {
        pause();
        for row in some {
            ends[group(row)] += 1;
        }
    }
    let mut places = [0; GROUPS];
    let mut sum = 0;
    for (place, end) in places.iter_mut().zip(&mut ends) {
        *place = sum;
        sum += *end;
        *end = sum;
    }
    let mut moved = 0;
    for g in 0..GROUPS {
        while places[g] < ends[g] {
            // Follows a cycle of rows, each of which takes the next one's place.
            let mut row = rows[places[g]];
            loop {
                let home = group(&row);
                let place = &mut places[home];
                std::mem::swap(&mut rows[*place], &mut row);
                *place += 1;
                moved += 1;
                if moved % STEPS == 0 {
                    pause();
                }
                if home == g {
                    break;
                }
            }
        }
    }
    ends
}
