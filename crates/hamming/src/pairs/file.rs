//! Finds the pairs of more rows than memory can hold: it divides groups into temporary files by the
//! same pigeonholes until each fits, and searches each in memory ([`super::find`]). simhash_pairs,
//! the clusters and the components gather their rows here. Each pair is found once, whether the
//! rows are in memory or in files.

#![forbid(unsafe_code)]

use super::compare::TILE;
use super::find::{Finder, is_alone, sides};
use super::row_file::{CHUNK, ROW, RowFile, counts, rows, varying};
use super::sets::{BESIDE, is_crowded};
use super::sink::{PairSink, Row, set};
use super::split::{Size, Task, WINDOW, choose, window};
use simhash_base::store::Store;
use std::collections::TryReserveError;

/// Bytes of the buffer that the server keeps for an open temporary file.
const FILE_BUFFER: usize = 8192;

/// The rows of a group, of one side or of two, gathered in memory, or in files once there are too
/// many.
pub struct Gathered<F, const N: usize> {
    /// Those of the first side before those of the second.
    rows: Vec<Row>,
    counts: [usize; N],
    /// Rows that memory holds.
    limit: usize,
    spilled: Option<[RowFile<F>; N]>,
}

impl<F: Store, const N: usize> Gathered<F, N> {
    /// Creates an empty group that uses `memory` bytes.
    #[inline]
    pub fn new(memory: usize) -> Self {
        Gathered {
            rows: Vec::new(),
            counts: [0; N],
            limit: (memory / ROW).max(4 * TILE),
            spilled: None,
        }
    }

    /// Adds a row to side 0 or 1; fails when the system has no more memory.
    #[inline]
    pub fn add(
        &mut self,
        side: usize,
        row: Row,
        sink: &mut impl PairSink<File = F>,
    ) -> Result<(), TryReserveError> {
        if self.spilled.is_none() && self.rows.len() == self.limit {
            self.spill(sink);
        }
        if let Some(parts) = &mut self.spilled {
            parts[side].add(row);
            return Ok(());
        }
        if self.rows.len() == self.rows.capacity() {
            let more = self.rows.len().max(TILE).min(self.limit - self.rows.len());
            self.rows.try_reserve_exact(more)?;
        }
        self.rows.push(row);
        self.counts[side] += 1;
        if side + 1 < N {
            // The first row of the other side makes room.
            let last = self.rows.len() - 1;
            self.rows.swap(self.counts[side] - 1, last);
        }
        Ok(())
    }

    /// Adds rows to a side, as [`Gathered::add`] does one.
    #[inline]
    pub fn add_all(
        &mut self,
        side: usize,
        rows: &[Row],
        sink: &mut impl PairSink<File = F>,
    ) -> Result<(), TryReserveError> {
        let is_last = self.counts[side + 1..].iter().all(|count| *count == 0);
        let fits = self.spilled.is_none() && rows.len() <= self.limit - self.rows.len();
        if !is_last || !fits {
            return rows.iter().try_for_each(|row| self.add(side, *row, sink));
        }
        let room = self.rows.capacity() - self.rows.len();
        if room < rows.len() {
            let more = self.rows.len().max(rows.len());
            self.rows
                .try_reserve_exact(more.min(self.limit - self.rows.len()))?;
        }
        self.rows.extend_from_slice(rows);
        self.counts[side] += rows.len();
        Ok(())
    }

    /// Returns how many rows were added.
    #[inline]
    pub fn count(&self) -> u64 {
        match &self.spilled {
            None => self.rows.len() as u64,
            Some(parts) => rows(parts),
        }
    }

    /// Moves the rows to files.
    fn spill(&mut self, sink: &mut impl PairSink<File = F>) {
        let mut parts = std::array::from_fn(|_| RowFile::new(sink.file()));
        let group = sides(&mut self.rows, self.counts);
        for (part, side) in parts.iter_mut().zip(group) {
            for some in side.chunks(CHUNK) {
                sink.check_interrupts();
                some.iter().for_each(|row| part.add(*row));
            }
        }
        self.rows.clear();
        // From here on the other half of the memory is for the buffers of files.
        self.rows.shrink_to(self.limit / 2);
        self.spilled = Some(parts);
    }

    /// Forgets the rows, to gather those of another group.
    #[inline]
    pub fn clear(&mut self) {
        self.rows.clear();
        self.counts = [0; N];
        self.spilled = None;
    }

    /// The rows, and how many each side has; None when they are in files.
    #[inline]
    pub fn in_memory(&mut self) -> Option<(&mut [Row], [usize; N])> {
        match self.spilled {
            None => Some((&mut self.rows, self.counts)),
            Some(_) => None,
        }
    }

    /// Gives every pair within `radius` to the sink.
    #[inline]
    pub fn find_pairs(&mut self, sink: &mut impl PairSink<File = F>, radius: u32) {
        if self.spilled.is_none() && !self.find_in_memory(sink, radius) {
            self.spill(sink);
        }
        let Some(parts) = &mut self.spilled else {
            return;
        };
        parts.iter_mut().for_each(RowFile::flush);
        let connects = N == 1 && sink.is_transitive();
        // A quarter of the memory is for the buffers of files.
        let limit = match connects {
            true => self.limit / 4 * 3 * ROW / (ROW + BESIDE),
            false => self.limit / 2,
        };
        let files = self.limit * ROW / 4 / (FILE_BUFFER + CHUNK * ROW) / N;
        let mut search = Files {
            finder: Finder::new(sink, radius),
            rows: std::mem::take(&mut self.rows),
            limit,
            connects,
            bits: files.max(4).ilog2().min(WINDOW),
        };
        match connects || N == 1 && search.finder.sink.wants_distinct() {
            true => {
                let mut distinct = [RowFile::new(search.finder.sink.file())];
                search.distinct(&mut parts[0], &mut distinct[0]);
                distinct[0].flush();
                search.part(&mut distinct, Task::ALL);
            }
            false => search.part(parts, Task::ALL),
        }
        self.rows = std::mem::take(&mut search.rows);
        self.rows.clear();
    }

    /// Gives every pair of rows in memory to the sink. Returns false when nothing was done, because
    /// there is no room for the sets of rows.
    fn find_in_memory(&mut self, sink: &mut impl PairSink<File = F>, radius: u32) -> bool {
        if is_alone(self.counts.map(|count| count as u64)) {
            return true;
        }
        let mut group = sides(&mut self.rows, self.counts);
        let mut finder = Finder::new(sink, radius);
        let connects = N == 1 && finder.sink.is_transitive();
        if connects || N == 1 && finder.sink.wants_distinct() {
            group[0] = finder.distinct(std::mem::take(&mut group[0]));
        }
        if connects && is_crowded(group[0], radius) {
            let beside = group[0].len() * BESIDE;
            return self.counts[0] * ROW + beside <= self.limit * ROW
                && finder.components(group[0], Task::ALL).is_ok();
        }
        finder.pairs_in(group, Task::ALL);
        true
    }

    /// Shows every row.
    #[inline]
    pub fn for_each(&mut self, check_interrupts: &mut dyn FnMut(), mut each: impl FnMut(Row)) {
        if let Some(parts) = &mut self.spilled {
            return parts.iter_mut().for_each(|part| {
                part.flush();
                part.for_each(check_interrupts, &mut each);
            });
        }
        for some in self.rows.chunks(CHUNK) {
            check_interrupts();
            some.iter().for_each(|row| each(*row));
        }
    }
}

/// A search for pairs of rows in files.
struct Files<'s, S: PairSink> {
    finder: Finder<'s, S>,
    /// For the rows of files that fit.
    rows: Vec<Row>,
    limit: usize,
    /// Whether it only matters which rows are connected. Then there is room for the sets of `limit`
    /// rows.
    connects: bool,
    /// A file is divided into two to the power of this.
    bits: u32,
}

impl<S: PairSink> Files<'_, S> {
    /// As [`Finder::pairs_in`], for a file.
    fn part<const N: usize>(&mut self, parts: &mut [RowFile<S::File>; N], task: Task) {
        let (counts, varying) = (counts(parts), varying(parts));
        if is_alone(counts) || self.finder.is_elsewhere(varying) {
            return;
        }
        if rows(parts) <= self.limit as u64 {
            self.load(parts);
            let connected = self.connects
                && is_crowded(&self.rows, self.finder.radius)
                && self.finder.components(&mut self.rows, task).is_ok();
            if connected {
                return;
            }
            let group = sides(&mut self.rows, counts.map(|count| count as usize));
            return self.finder.pairs_in(group, task);
        }
        if self.finder.is_one::<N>(varying) {
            return self.chain(&mut parts[0]);
        }
        let task = task.within(varying);
        if task.must != 0 {
            return self.group(parts, task);
        }
        let Some(split) = choose(Size::from_counts(counts), task, self.finder.radius) else {
            return self.compare(parts);
        };
        for i in 0..split.pieces.len() {
            let outer = self.finder.enter(&split, i);
            self.part(parts, split.branch(task, i));
            self.finder.leave(outer);
        }
    }

    /// Reads the rows of files that fit.
    fn load(&mut self, parts: &mut [RowFile<S::File>]) {
        self.rows.clear();
        for part in parts {
            let check_interrupts = &mut || self.finder.sink.check_interrupts();
            part.read(0, self.limit, &mut self.rows, check_interrupts);
        }
    }

    /// As the finder's division by bits in which pairs must agree.
    fn group<const N: usize>(&mut self, parts: &mut [RowFile<S::File>; N], task: Task) {
        let (bits, groups) = self.divide(parts, task.must);
        let task = Task {
            must: task.must & !bits,
            ..task
        };
        let all = rows(parts) as f64;
        for mut group in groups {
            let share = rows(&group) as f64 / all;
            let outer = self.finder.begin_part();
            self.part(&mut group, task);
            self.finder.end_part(outer, share);
        }
    }

    /// Divides rows by as many of some bits as there may be files; returns those bits.
    fn divide<const N: usize>(
        &mut self,
        parts: &mut [RowFile<S::File>; N],
        by: u64,
    ) -> (u64, Vec<[RowFile<S::File>; N]>) {
        let (bits, shift) = window(by, self.bits);
        let sink = &mut *self.finder.sink;
        let mut groups: Vec<[_; N]> = (0..1 << self.bits)
            .map(|_| std::array::from_fn(|_| RowFile::new(sink.file())))
            .collect();
        for (side, part) in parts.iter_mut().enumerate() {
            part.for_each(&mut || sink.check_interrupts(), |row| {
                groups[((row.fingerprint & bits) >> shift) as usize][side].add(row);
            });
        }
        groups.iter_mut().flatten().for_each(RowFile::flush);
        (bits, groups)
    }

    /// As [`Finder::distinct`], from one file into another.
    fn distinct(&mut self, part: &mut RowFile<S::File>, into: &mut RowFile<S::File>) {
        if part.rows <= self.limit as u64 {
            self.load(std::slice::from_mut(part));
            if part.rows > 0 {
                let distinct = self.finder.distinct(&mut self.rows);
                distinct.iter().for_each(|row| into.add(*row));
            }
        } else if part.varying == 0 && self.finder.is_across {
            self.two_of_equal(part, into);
        } else if part.varying == 0 {
            self.chain(part);
            self.rows.clear();
            part.read(0, 1, &mut self.rows, &mut || ());
            self.rows.iter().for_each(|row| into.add(*row));
        } else {
            let by = part.varying;
            for [mut group] in self.divide(std::array::from_mut(part), by).1 {
                self.distinct(&mut group, into);
            }
        }
    }

    /// As `Finder::two_of_equal`, from a file of equal rows.
    fn two_of_equal(&mut self, part: &mut RowFile<S::File>, into: &mut RowFile<S::File>) {
        self.rows.clear();
        part.read(0, 1, &mut self.rows, &mut || ());
        let (first, mut other) = (self.rows[0], None);
        let sink = &mut *self.finder.sink;
        part.for_each(&mut || sink.check_interrupts(), |row| {
            if set(&row) != set(&first) {
                other = Some(row);
            }
        });
        let Some(other) = other else {
            return part.for_each(&mut || sink.check_interrupts(), |row| into.add(row));
        };
        let finder = &mut self.finder;
        part.for_each(&mut || (), |row| {
            if row != first {
                finder.connect_equal(row, [first, other]);
            }
        });
        [first, other].into_iter().for_each(|row| into.add(row));
    }

    /// As [`Finder::chain`], for a file.
    fn chain(&mut self, part: &mut RowFile<S::File>) {
        let (mut rows, mut at, mut last) = (Vec::with_capacity(CHUNK), 0, None);
        while at < part.rows {
            rows.clear();
            part.read(at, CHUNK, &mut rows, &mut || {
                self.finder.sink.check_interrupts()
            });
            at += rows.len() as u64;
            for row in &rows {
                if let Some(last) = last.replace(*row) {
                    self.finder.connect(last, *row);
                }
            }
        }
    }

    /// Compares all pairs: the rows of the first side that memory holds with those of the second,
    /// or with each other and with all rows after them.
    fn compare<const N: usize>(&mut self, parts: &mut [RowFile<S::File>; N]) {
        let (counts, mut others) = (counts(parts), Vec::with_capacity(TILE));
        let mut at = 0;
        while at < counts[0] {
            self.rows.clear();
            let check_interrupts = &mut || self.finder.sink.check_interrupts();
            parts[0].read(at, self.limit, &mut self.rows, check_interrupts);
            let outer = self.finder.begin_part();
            let some = self.rows.len() as u64;
            at += some;
            let (mut pairs, mut first) = (0.0, 0);
            if N == 1 {
                self.finder.compare([&mut self.rows], 0);
                (pairs, first) = (Size::from_counts([some]).pairs, at);
            }
            pairs += some as f64 * (counts[N - 1] - first) as f64;
            for next in (first..counts[N - 1]).step_by(TILE) {
                others.clear();
                let check_interrupts = &mut || self.finder.sink.check_interrupts();
                parts[N - 1].read(next, TILE, &mut others, check_interrupts);
                for rows in self.rows.chunks(TILE) {
                    self.finder.tiles(rows, &others, false, 0);
                }
            }
            self.finder
                .end_part(outer, pairs / Size::from_counts(counts).pairs);
        }
    }
}
